"""Noise on a sum that the answer is a public multiple of: sums, counts, and means of n records.

    answer = nearest lattice point to  truth + noise

so that  |truth - answer| <= |noise| + step / 2.  An answer that was moved into its range is only
nearer to the truth, which lies in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from kng.core.errors import SpecError
from kng.core.exact import as_float, as_stored
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
        around = [as_float(v) for v in self.centres or released.exact_value]
        pairs = zip(self.tails, self.widened, strict=True)
        reach = [tail.within(level) + as_float(wide) for tail, wide in pairs]
        low, high, margin = [], [], []
        for c, r, v, (bottom, top) in zip(
            around, reach, map(float, released.exact_value), _ranges(released.lattice), strict=True
        ):
            # A centre may lie beyond the range by more than noise reaches; then its end is nearest.
            low.append(min(max(c - r, bottom), top))
            high.append(max(min(c + r, top), bottom))
            whole = c == v and (bottom <= c - r or c + r <= top)
            margin.append(r if whole else max(v - low[-1], high[-1] - v))
        return Ends(tuple(low), tuple(high), tuple(margin))

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


def _ranges(lattice: Lattice) -> Iterator[tuple[float, float]]:
    """Yield the ends of the range of each answer."""
    for origin, step, last in zip(lattice.origin, lattice.step, lattice.last, strict=True):
        yield float(origin), float(origin + step * last)
