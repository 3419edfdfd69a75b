"""Noise on the counts of yes and of no, whose share is released.

Both noisy counts are released, Y = y + u and N = m + v. The share p = y / (y + m) satisfies

    Y - p (Y + N) = (1 - p) u - p v,    which is at most max(|u|, |v|) in size.

Either of both is beyond its own quantile t at half the chance, so that p is one of those with
|Y - p (Y + N)| <= t.  Without any record there is no share, and the interval says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kng.core.noise.interval import Ends, Kind, Released
from kng.core.noise.ratio import solved
from kng.core.noise.tails import Tail


@dataclass(frozen=True, slots=True)
class ShareNoise:
    """Noisy counts of yes and no, and the law of the noise of each."""

    parts: tuple[int, int]
    tail: Tail
    form: ClassVar[str] = "share"
    kind: ClassVar[Kind] = "exact"

    def fits(self, numbers: int) -> bool:
        """Whether it is about so many numbers."""
        return numbers == 1 and len(self.parts) == 2

    @property
    def unit(self) -> str:
        """What the ends are measured in."""
        return "the units of the answer"

    def ends(self, released: Released, level: float) -> Ends:
        """Return the interval of the share, between 0 and 1."""
        yes, no = self.parts
        ends = solved(yes, yes + no, self.tail.within((1 + level) / 2))
        low, high = max(ends[0], 0.0), min(ends[1], 1.0)
        if low > high:  # nothing fits: noise was larger than the level allows for
            low = high = 0.0 if high < 0 else 1.0
        value = float(released.exact_value[0])
        return Ends((low,), (high,), (max(value - low, high - value, 0.0),))

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"form": self.form, "noisy": list(self.parts), "each": self.tail.to_mapping()}

    @classmethod
    def from_mapping(cls, facts: Any) -> ShareNoise:
        """Read it from JSON."""
        yes, no = facts["noisy"]
        if type(yes) is not int or type(no) is not int:
            raise ValueError("counts are whole numbers")
        return cls((yes, no), Tail.from_mapping(facts["each"]))
