"""Quantiles on a line, from the ranks of the records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from math import ceil

from kng.core.parts import Point
from kng.core.privacy import AddRemove, Neighbours, PrivacyUnit
from kng.core.records import Records
from kng.losses.kernels.ranks import Ranks, Wanted, read_ranks
from kng.losses.reading import ReadPlan

# A score beyond that of any records.
EVERYWHERE = Fraction(2**62)


def relation_of(unit: PrivacyUnit) -> Neighbours:
    """Return what is public of the number of records; where some may be absent, nothing is."""
    return unit.neighbours if unit.presence == "always" else AddRemove()


def read_ranked(source: Records, plans: Sequence[ReadPlan]) -> list[RankField]:
    """Read the ranks that carry weight, for each plan's quantile."""
    levels = [plan.problem.loss.pointwise.tau for plan in plans]
    wanted = [Wanted(level, reach_of(plan)) for level, plan in zip(levels, plans, strict=True)]
    domain, relation = plans[0].domain, plans[0].problem.unit.neighbours
    ranks = read_ranks(source, relation, domain.first[0], domain.last[0], wanted)
    return [RankField(tau, counts) for tau, counts in zip(levels, ranks, strict=True)]


def reach_of(plan: ReadPlan) -> Fraction:
    """Return up to which score records are wanted; a sampler without a depth looks everywhere."""
    if plan.depth is None:
        return EVERYWHERE
    return plan.score_at(plan.domain.first, Fraction(plan.depth))


@dataclass(frozen=True, slots=True)
class RankField:
    """Distance of tau n to the interval of counts at theta, inside the window that was read.

    With tau = p / q it is a whole number of q-ths, and is compared as such.
    """

    tau: Fraction
    ranks: Ranks
    _q: int = field(init=False, repr=False)
    _target: int = field(init=False, repr=False)  # p n

    def __post_init__(self) -> None:
        object.__setattr__(self, "_q", self.tau.denominator)
        object.__setattr__(self, "_target", self.tau.numerator * self.ranks.total)

    @property
    def unit(self) -> Fraction:
        """One q-th of a record."""
        return Fraction(1, self._q)

    def mode(self) -> int:
        """Return a lattice point whose interval of counts holds tau n."""
        return self.ranks.first_reaching(-(-self._target // self._q))

    def score(self, theta: Point) -> Fraction:
        """Return the distance of tau n to [#{x < theta}, #{x <= theta}]."""
        return Fraction(self.multiple(theta[0]), self._q)

    def multiple(self, theta: int) -> int:
        """Return the distance of p n to [q #{x < theta}, q #{x <= theta}]."""
        below, upto = self.ranks.counts(theta)
        left, right = self._q * below - self._target, self._target - self._q * upto
        return left if left > 0 else right if right > 0 else 0

    def sublevels(self, levels: Sequence[int]) -> list[tuple[int, int]]:
        """Return the window's points with q #{x <= theta} >= p n - level and mirrored."""
        q, target = self._q, self._target
        first = self.ranks.each_reaching([-((level - target) // q) for level in levels])
        # #{x < theta} <= r is #{x < theta} < r + 1
        last = self.ranks.each_reaching([(target + level) // q + 1 for level in levels])
        return list(zip(first, last, strict=True))


class TiltedField:
    """The summed loss itself, from the distinct records and their running sums.

    ``step`` is the size of a whole number, in the units of the score.
    """

    __slots__ = ("_counts", "_sums", "_values", "ranks", "step", "tau")

    def __init__(self, tau: Fraction, ranks: Ranks, step: Fraction = Fraction(1)) -> None:
        self.tau, self.ranks, self.step = tau, ranks, step
        sizes = [b - a for a, b in zip([ranks.before, *ranks.upto], ranks.upto, strict=False)]
        self._values = ranks.values
        self._counts = [0, *ranks.upto]
        self._sums = [0, *accumulate(v * c for v, c in zip(ranks.values, sizes, strict=True))]

    def mode(self) -> int:
        """Return a sample quantile, where the loss is least."""
        return self.ranks.first_reaching(ceil(self.tau * self.ranks.total))

    def score(self, theta: Point) -> Fraction:
        """Return tau * sum (x - theta)_+ + (1 - tau) * sum (theta - x)_+."""
        k = theta[0]
        i = bisect_right(self._values, k)
        below = k * self._counts[i] - self._sums[i]
        above = (self._sums[-1] - self._sums[i]) - k * (self._counts[-1] - self._counts[i])
        return (self.tau * above + (1 - self.tau) * below) * self.step
