"""Exact draws of coordinates in order, all of them at once: paths of walks, accepted exactly.

An attempt takes a path of `exact.walks` and points of it, or, once in 2**20, any points in order.
With P the probability of a theta on its path and S the sum of all weights it is accepted with
probability

    (1 - 2**-15) exp(-gamma) / (S P)        on a path,
    (1 - 2**-15) (2**20 - 1) M exp(-gamma) / S     where a coordinate leaves its window,

both decided exactly, so that every theta is as likely as its law says, whatever the floats are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, log
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.capabilities import WalkField
from kng.core.certificate import Certificate
from kng.core.enclosures import exp_minus
from kng.core.exact import show
from kng.core.parts import Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import Assumption, Guarantee, ReplaceOne
from kng.core.smoothing import smoothing
from kng.samplers.exact.coins import below, uniform
from kng.samplers.exact.leaves import smoothed
from kng.samplers.exact.walk_windows import slack_of
from kng.samplers.exact.walks import WalkEnvelope, points_of

if TYPE_CHECKING:
    from kng.samplers.exact.long_walks import LongWalks

# An attempt is accepted with probability exp(-9/4) (1 - 2**-14) or more, for every dataset.
_MISS = Fraction(9, 10)
# How often an attempt takes any points, in powers of two; and its room in exponents.
_ANY = 20
_ROOM = (_ANY + 1) * log(2)
# What rounding in floats may have lost of a path's probability.
_KEPT = 1 - Fraction(1, 2**15)
# Up to which weights are floats: log2 of the tuples there are, because of the range of float64,
# and coordinates, because a node has a weight for each number of them in one block.
_FLOATS, _ROWS = 540, 33
# Coordinates up to which a plan is made in seconds: it looks at every pair of them.
_COORDINATES = 400
# What the weights of all nodes may take, in bytes, whatever the records are.
_MEMORY = 2**30
# The narrowest window that is tried, in exponents.
_NARROW = 24.0


@dataclass(frozen=True, slots=True)
class Together:
    """Draw theta_1 <= ... <= theta_m from exp(-gamma), where gamma is the length of a walk.

        law: uniform over paths of nodes, weighed by dynamic programming

    Paper    Section 4.5 with x = 1, for several quantiles at once.
    Privacy  docs/proofs/samplers/together.md: an attempt is accepted with probability 1/10 or more
             for every dataset, so a public number of attempts and the smoothing lemma give exactly
             epsilon. Time depends on the data, as the assumption says.
    Cost     Some thousand nodes a coordinate at most, whatever n; milliseconds.
    """

    name: ClassVar[str] = "together"

    def refusal(self, plan: DensityPlan) -> str | None:
        """Refuse a base measure, and coordinates whose walks might fill the memory."""
        domain = plan.problem.domain
        if not domain.base.even:
            return (
                f"Quantiles are drawn together where all answers are as likely before the records "
                f"are seen, not from {described(domain)}. Leave the base out."
            )
        said = too_many(_points(plan), plan.domain.dim)
        if said is None and memory(plan) > _MEMORY:
            said = (
                f"{plan.domain.dim} quantiles drawn together with epsilon {show(plan.epsilon)} "
                "might take more than a gigabyte of memory. Ask for fewer, or use a coarser "
                "granularity."
            )
        return said

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise an exact draw."""
        if in_logarithms(plan):
            _logarithms().load()
        return plan.certified(
            Certificate(
                self,
                Guarantee.EXACT,
                (Assumption.RANDOM_BITS, Assumption.UNSEEN_CLOCK),
                smoothing(tuples(plan), plan.each, _MISS),
            )
        )

    def draw(self, plan: DensityPlan, field: WalkField, bits: Bits) -> Point:
        """Return points in order."""
        attempts, accepted = Attempts(plan, field), None
        for _ in range(plan.smoothing.attempts):
            accepted = attempts.one(bits)
            if accepted is not None:
                break
        return smoothed(accepted, attempts.anywhere(bits), plan.smoothing, bits)


def too_many(points: int, m: int) -> str | None:
    """Say from two public numbers why m coordinates are too many, whatever epsilon is, or None."""
    wide = log(_tuples(points, m)) + _ROOM
    if m <= _COORDINATES and 8 * m * wide / slack_of(m) <= _MEMORY:
        return None
    return (
        f"{m} quantiles on a lattice of {points:,} points are too many to be drawn together. Ask "
        "for fewer, or use a coarser granularity."
    )


def memory(plan: DensityPlan) -> float:
    """Return a bound, from public facts, on the bytes that weights of nodes take.

    A node has 8, and one of a block that holds many points 24. A window of 2 reach has a block and
    a gap for each rank, or two blocks for each cell of ranks; and cells of the slack.
    """
    m, points, neighbours = plan.domain.dim, _points(plan), plan.problem.unit.neighbours
    rate = float(plan.exponent(plan.domain.first, Fraction(1)))
    wide, slack = log(tuples(plan)) + _ROOM, slack_of(m)
    ranks = 2 * (wide / rate + 3)
    blocks = min(points, 2 * (ranks / max(int(slack / rate), 1) + 2))
    if isinstance(neighbours, ReplaceOne):
        blocks = min(blocks, 2 * neighbours.n + 1)
    return m * (24 * blocks + 8 * (wide / slack + 4))


def in_logarithms(plan: DensityPlan) -> bool:
    """Tell from public facts whether weights are kept as logarithms."""
    return tuples(plan).bit_length() > _FLOATS or plan.domain.dim > _ROWS


def _logarithms() -> type[LongWalks]:
    """Return the envelope in logarithms; it loads numba, which fewer quantiles do without."""
    from kng.samplers.exact.long_walks import LongWalks

    return LongWalks


def tuples(plan: DensityPlan) -> int:
    """Return how many tuples in order there are: M in the smoothing lemma."""
    return _tuples(_points(plan), plan.domain.dim)


def _points(plan: DensityPlan) -> int:
    return plan.domain.last[0] - plan.domain.first[0] + 1


def _tuples(points: int, m: int) -> int:
    return comb(points + m - 1, m)


class Attempts:
    """Attempts for one dataset."""

    def __init__(self, plan: DensityPlan, field: WalkField) -> None:
        self._plan, self._field, self.tuples = plan, field, tuples(plan)
        rate = plan.exponent(plan.domain.first, Fraction(1))
        most = log(self.tuples) + _ROOM
        wide = min(max(_NARROW, most - guess(field, rate)), most)
        weigh = _logarithms() if in_logarithms(plan) else WalkEnvelope
        self.paths = weigh(field, rate, wide / 2)
        while (needed := most - self.paths.log_mass) > wide and wide < most:
            wide = min(max(needed + 1, 1.5 * wide), most)
            del self.paths  # before there are two
            self.paths = weigh(field, rate, wide / 2)

    def one(self, bits: Bits) -> Point | None:
        """Make one attempt; return the point, or None if it was rejected."""
        mass = self.paths.mass
        if bits.take(_ANY) == 0:
            point = self.anywhere(bits)
            if not self.outside(point):
                return None
            likely = mass / (_KEPT * (2**_ANY - 1) * self.tuples)
        else:
            groups, share = self.paths.trace(
                lambda running: int(
                    np.searchsorted(running, uniform(bits, int(running[-1])), side="right")
                )
            )
            point = points_of(self.paths.blocks, groups, lambda c, b: multiset(bits, c, b))
            likely = mass * share / _KEPT
        gamma = self._plan.exponent(point, self._field.score(point))
        return point if accepts(gamma, likely, bits) else None

    def anywhere(self, bits: Bits) -> Point:
        """Return points in order, each tuple of them alike."""
        domain = self._plan.domain
        first, last = domain.first[0], domain.last[0]
        return tuple(first + k for k in multiset(bits, last - first + 1, domain.dim))

    def outside(self, point: Point) -> bool:
        """Whether a coordinate has left its window; what was not read lies too deep to count."""
        blocks, field = self.paths.blocks, self._field
        at = np.searchsorted(blocks.first, point, side="right") - 1
        here = np.maximum(at, 0)
        if np.any((at < 0) | (np.array(point) >= blocks.first[here] + blocks.size[here])):
            return False
        spans = [self.paths.windows.span(level) for level in field.levels]
        return any(not a <= i < b for i, (a, b) in zip(at, spans, strict=True))


def accepts(gamma: Fraction, likely: Fraction, bits: Bits) -> bool:
    """Return True with probability exactly exp(-gamma) / likely."""
    above, under = likely.denominator, likely.numerator
    spare = max(above.bit_length() - under.bit_length(), 0) + 1

    def acceptance(length: int) -> tuple[int, int]:
        low, high = exp_minus(gamma, length + spare)
        low, high = above * low // (under << spare), -(-above * high // (under << spare))
        if low > 1 << length:
            raise AssertionError("a path weighs less than one of its thetas")
        return low, high

    return below(bits, acceptance)


def multiset(bits: Bits, count: int, size: int) -> list[int]:
    """Return ``size`` of ``count`` points in order, with repetition, each choice alike.

    They are a set of that many among count + size - 1, which is drawn by Floyd's method.
    """
    if size == 1:
        return [uniform(bits, count)]
    chosen: set[int] = set()
    for last in range(count - 1, count + size - 1):
        k = uniform(bits, last + 1)
        chosen.add(last if k in chosen else k)
    return [k - i for i, k in enumerate(sorted(chosen))]


def guess(field: WalkField, rate: Fraction) -> float:
    """Return about what the log of all weights is; it changes time only.

    The product of how many points lie near each wanted rank.
    """
    near = min(int(2 / rate) + 1, field.total + 1)
    size = np.concatenate(([0], np.cumsum(field.runs.size)))
    total = -2.0 * len(field.levels)
    for level in field.levels:
        target = level.numerator * field.total // level.denominator
        start = np.searchsorted(field.runs.upto, target - near, side="left")
        end = np.searchsorted(field.runs.below, target + near, side="right")
        total += log(max(int(size[end] - size[start]), 1))
    return total
