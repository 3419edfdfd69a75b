"""How far a private quantile is from the one that was asked for, in ranks.

Of M lattice points, weighted by exp(-c score), at least one has the score 0: the quantile of the
records. Let B be the weight of all points whose score is t or more. B <= (M - 1) exp(-c t), and

    P(score >= t) = B / (all weight) <= B / (B + 1) <= (M - 1) / (M - 1 + exp(c t))

Records that are all equal reach it. The score is how many records lie between the answer and the
rank that was asked for; of several quantiles that are drawn together, at least as many.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, log
from typing import Any, ClassVar

from kng.core.exact import as_stored
from kng.core.noise.interval import Ends, Kind, Released

# Draws are within 2**-39 of their law (`kng.core.smoothing`).
_SLACK = 2.0**-38


@dataclass(frozen=True, slots=True)
class RankNoise:
    """Which quantiles were drawn, and from how many points at which rate.

    Attributes
    ----------
    quantiles : tuple of Fraction
        Those that were asked for.
    records : int or None
        The public number of records; None where it is private.
    rate : Fraction
        c: epsilon / (2 Delta), for the whole unit of privacy.
    points : float
        Natural logarithm of M - 1.
    draws : int
        Into how many draws epsilon was divided; answers are then put in order.
    """

    quantiles: tuple[Fraction, ...]
    records: int | None
    rate: Fraction
    points: float
    draws: int
    form: ClassVar[str] = "ranks"
    kind: ClassVar[Kind] = "ranks"

    def fits(self, numbers: int) -> bool:
        """Whether it is about so many numbers."""
        known = self.records is None or (type(self.records) is int and self.records > 0)
        sizes = self.rate > 0 and isfinite(self.points) and self.draws in (1, numbers)
        return len(self.quantiles) == numbers and known and sizes

    @property
    def unit(self) -> str:
        """What the ends are measured in."""
        if self.records is None:
            return "records from the rank that was asked for"
        return "ranks, as shares of the records"

    def within(self, level: float) -> float:
        """Return t with P(score >= t) <= 1 - level, for all quantiles at once.

        Putting draws in order leaves the largest error no larger, so each of them has its part of
        the chance.
        """
        beyond = max((1 - level) / self.draws - _SLACK, _SLACK)
        return max(0.0, (self.points + log((1 - beyond) / beyond)) / float(self.rate))

    def ends(self, released: Released, level: float) -> Ends:  # noqa: ARG002
        """Return the interval of ranks around each quantile."""
        t, numbers = self.within(level), len(self.quantiles)
        if self.records is None:
            return Ends((-t,) * numbers, (t,) * numbers, (t,) * numbers)
        share = min(t / self.records, 1.0)
        low = tuple(max(float(q) - share, 0.0) for q in self.quantiles)
        high = tuple(min(float(q) + share, 1.0) for q in self.quantiles)
        return Ends(low, high, (share,) * numbers)

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "form": self.form,
            "quantiles": [str(q) for q in self.quantiles],
            "records": self.records,
            "rate": str(self.rate),
            "log_points": self.points,
            "draws": self.draws,
        }

    @classmethod
    def from_mapping(cls, facts: Any) -> RankNoise:
        """Read it from JSON."""
        quantiles = tuple(as_stored(q) for q in facts["quantiles"])
        points, draws = float(facts["log_points"]), int(facts["draws"])
        return cls(quantiles, facts["records"], as_stored(facts["rate"]), points, draws)
