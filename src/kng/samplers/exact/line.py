"""Exact draws for one coordinate with one valley: leaves between level sets.

A KNG score of a convex loss in one dimension falls to its least value and rises again, so

    { theta : gamma(theta) <= g }

is an interval for every g, and the intervals of growing g nest. Cut at g = least + j / 4, they
give leaves on which gamma varies by at most 1/4, whatever the data: some 120 + 6 log2(points) of
them. Beyond log(points) + 14 one coarse leaf on each side is enough, and beyond the depth of the
smoothing lemma nothing is needed. Then

    sum of the envelope <= Z * (exp(1/4) + exp(-14) + rounding) < Z / (3/4),

so an attempt misses with probability below 1/4 for every dataset (`docs/proofs/samplers/order.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeGuard

from kng.core.bits import Bits
from kng.core.capabilities import LevelField, LineField
from kng.core.certificate import Certificate
from kng.core.parts import Point, described, filled
from kng.core.plan import DensityPlan
from kng.core.privacy import Assumption, Guarantee
from kng.core.smoothing import smoothing
from kng.samplers.exact.leaves import LeafEnvelope, Run, draw, height, scale_of

Exponent = Callable[[int], Fraction]

_SPACING = Fraction(1, 4)
_MISS = Fraction(1, 4)
_MARGIN = 14


@dataclass(frozen=True, slots=True)
class Order:
    """Draw from exp(-gamma) on a line whose gamma has one valley.

        leaves: the two ends of { gamma <= least + j/4 } minus { gamma <= least + (j-1)/4 }

    For a quantile these are runs between records whose ranks lie a public distance apart, so
    their number does not grow with the data.

    Paper    Sections 4.4 and 4.5 with x = 1, drawn exactly instead of by a chain.
    Privacy  docs/proofs/samplers/order.md: an attempt misses with probability below 1/4 for every
             dataset, so a public number of attempts and the smoothing lemma give exactly epsilon.
    Cost     A few hundred leaves and some fifty attempts: half a millisecond, whatever n.
    """

    name: ClassVar[str] = "order"

    def refusal(self, plan: DensityPlan) -> str | None:
        """Refuse an unbounded line, and one with gaps."""
        domain = plan.problem.domain
        if domain.bounded and domain.base.even and filled(plan.domain):
            return None
        return (
            f"The order sampler draws {described(plan.problem.loss)} from all points between two "
            f"ends, each as likely as others, not from {described(domain)}. Use Box."
        )

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise an exact draw for one coordinate."""
        paid = smoothing(plan.domain.points, plan.each, _MISS)
        _cuts(plan.domain.points, paid.depth, _SPACING)  # kept for the draw
        return plan.certified(
            Certificate(
                self,
                Guarantee.EXACT,
                (Assumption.RANDOM_BITS, Assumption.UNSEEN_CLOCK),
                paid,
            )
        )

    def draw(self, plan: DensityPlan, field: LineField, bits: Bits) -> Point:
        """Return one lattice point."""
        envelope, exponent = envelope_of(plan, field)
        domain = plan.domain
        fallback = domain.first[0], plan.smoothing.points
        return (draw(envelope, exponent, fallback, plan.smoothing, bits),)


def envelope_of(plan: DensityPlan, field: LineField) -> tuple[LeafEnvelope, Exponent]:
    """Return the leaves, and the exponent above its least value."""
    first, last = plan.domain.first[0], plan.domain.last[0]
    mode = min(max(field.mode(), first), last)
    if plan.steady is not None and _levelled(field):
        return _in_whole_numbers(plan, field, mode)
    least = plan.exponent((mode,), field.score((mode,)))

    def exponent(theta: int) -> Fraction:
        return plan.exponent((theta,), field.score((theta,))) - least

    def sublevels(levels: Iterable[Fraction]) -> Iterator[tuple[int, int]]:
        """Yield { exponent <= level } of growing levels, by bisection from the one before."""
        a, b = mode, mode
        for level in levels:
            a = -_farthest(level, lambda t: exponent(-t), -a, -first)
            b = _farthest(level, exponent, b, last)
            yield a, b

    cuts = _cuts(plan.smoothing.points, plan.smoothing.depth, _SPACING)
    runs = _between(list(sublevels(cuts.levels)))
    return LeafEnvelope(runs, cuts.levels, cuts.heights, cuts.scale), exponent


def _levelled(field: LineField) -> TypeGuard[LevelField]:
    """Tell whether a field knows its level sets; to ask the whole protocol takes far longer."""
    return hasattr(field, "sublevels")


def _in_whole_numbers(
    plan: DensityPlan, field: LevelField, mode: int
) -> tuple[LeafEnvelope, Exponent]:
    """Return the same where the exponent is a whole multiple of a public unit."""
    first, last = plan.domain.first[0], plan.domain.last[0]
    unit, least = plan.exponent((mode,), field.unit), field.multiple(mode)
    above, under = unit.numerator, unit.denominator

    def exponent(theta: int) -> Fraction:
        return Fraction((field.multiple(theta) - least) * above, under)

    public = plan.smoothing.points, plan.smoothing.depth, _SPACING
    cuts = _cuts(*public)
    found = field.sublevels([least + level for level in _multiples(*public, unit)])
    runs = _between([(a if a > first else first, b if b < last else last) for a, b in found])
    return LeafEnvelope(runs, cuts.levels, cuts.heights, cuts.scale), exponent


def _between(sublevels: Sequence[tuple[int, int]]) -> list[Run]:
    """Return the leaves between level sets that nest; what lies beyond set k has floor k."""
    a, b = sublevels[0]
    runs = [(a, b - a + 1, 0)]
    for level, (wider_a, wider_b) in enumerate(sublevels[1:]):
        if wider_a < a:
            runs.append((wider_a, a - wider_a, level))
        if wider_b > b:
            runs.append((b + 1, wider_b - b, level))
        a, b = wider_a, wider_b
    return runs


@dataclass(frozen=True, slots=True)
class _Cuts:
    """Where to cut, and what a point beyond each cut weighs: public, and the same for all data."""

    levels: tuple[Fraction, ...]
    heights: tuple[int, ...]
    scale: int


@lru_cache(maxsize=64)
def _cuts(points: int, depth: int, spacing: Fraction) -> _Cuts:
    levels, scale = _levels(points, depth, spacing), scale_of(depth)
    return _Cuts(levels, tuple(height(level, scale) for level in levels), scale)


@lru_cache(maxsize=64)
def _multiples(points: int, depth: int, spacing: Fraction, unit: Fraction) -> tuple[int, ...]:
    """Return how many units each level holds."""
    return tuple(int(level // unit) for level in _levels(points, depth, spacing))


def _levels(points: int, depth: int, spacing: Fraction) -> tuple[Fraction, ...]:
    """Return where to cut, from 0 to the depth: finely up to log(points) + 14, then once.

    log(points) is below 0.7 times the number of bits of points, which keeps this rational.
    """
    cut = min(int((Fraction(7 * points.bit_length(), 10) + _MARGIN) / spacing) + 1, 4 * depth)
    fine = tuple(k * spacing for k in range(cut + 1))
    return fine if fine[-1] >= depth else (*fine, Fraction(depth))


def _farthest(level: Fraction, exponent: Exponent, near: int, far: int) -> int:
    """Return the largest t in ``near .. far`` with an exponent up to the level, as near has."""
    low, high = near, far + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exponent(middle) <= level else (low, middle)
    return low
