"""Noise on a sum that the answer is a public multiple of: sums, counts, and means of n records.

    answer = nearest lattice point to  truth + noise

so that  |truth - answer| <= |noise| + step / 2.  An answer that was moved into its range is only
nearer to the truth, which lies in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from kng.core.errors import SpecError
from kng.core.exact import as_stored
from kng.core.lattice import Lattice
from kng.core.noise.interval import Ends, Kind, Released
from kng.core.noise.tails import Tail


@dataclass(frozen=True, slots=True)
class SumNoise:
    """The noise of each number of a value, in the caller's units.

    ``widened`` is how far an answer is rounded, at most. ``centres`` are the noisy numbers where
    the answer was moved in another way than each number by itself; otherwise empty.
    """

    tails: tuple[Tail, ...]
    widened: tuple[Fraction, ...]
    centres: tuple[Fraction, ...] = ()
    form: ClassVar[str] = "sum"
    kind: ClassVar[Kind] = "exact"

    def fits(self, numbers: int) -> bool:
        """Whether it is about so many numbers."""
        sizes = {len(self.tails), len(self.widened), len(self.centres) or numbers}
        return sizes == {numbers} and all(w >= 0 for w in self.widened)

    def ends(self, released: Released, level: float) -> Ends:
        """Return the interval of each number, within the range of answers."""
        around = [float(v) for v in self.centres or released.exact_value]
        pairs = zip(self.tails, self.widened, strict=True)
        reach = [tail.within(level) + float(wide) for tail, wide in pairs]
        low = tuple(
            max(c - r, float(o))
            for c, r, o in zip(around, reach, released.lattice.origin, strict=True)
        )
        tops = (o + h * k for o, h, k in zip(*_parts(released.lattice), strict=True))
        high = tuple(min(c + r, float(t)) for c, r, t in zip(around, reach, tops, strict=True))
        return Ends(low, high, tuple(reach))

    @property
    def unit(self) -> str:
        """What the ends are measured in."""
        return "the units of the answer"

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        found: dict[str, Any] = {
            "form": self.form,
            "coordinates": [tail.to_mapping() for tail in self.tails],
            "widened": [str(w) for w in self.widened],
        }
        return found | ({"centres": [str(c) for c in self.centres]} if self.centres else {})

    @classmethod
    def from_mapping(cls, facts: Any) -> SumNoise:
        """Read it from JSON."""
        tails = tuple(Tail.from_mapping(tail) for tail in facts["coordinates"])
        if any(tail.law == "hull" for tail in tails):
            raise SpecError("this release holds the noise of a quotient where a sum belongs.")
        widened = tuple(as_stored(w) for w in facts["widened"])
        return cls(tails, widened, tuple(as_stored(c) for c in facts.get("centres", ())))


def _parts(lattice: Lattice) -> tuple[Sequence[Fraction], Sequence[Fraction], Sequence[int]]:
    return lattice.origin, lattice.step, lattice.last
