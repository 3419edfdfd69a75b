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

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from kng.core.bits import Bits
from kng.core.errors import IncompatibleParts
from kng.core.plan import Certificate, DensityPlan
from kng.core.privacy import Assumption, Guarantee
from kng.core.protocols import LevelField, LineField, Point
from kng.core.sensitivity import Constant
from kng.core.smoothing import smoothing
from kng.samplers.leaves import Envelope, Leaf, draw

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
    Cost     A few hundred leaves and some fifty attempts: milliseconds, whatever n.
    """

    name: ClassVar[str] = "order"

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise an exact draw for one coordinate."""
        if plan.domain.dim != 1:
            raise IncompatibleParts(
                f"The order sampler draws one coordinate; this problem has {plan.domain.dim}. "
                "For the mean of several columns use mechanism='k-norm'."
            )
        return plan.certified(
            Certificate(
                self.name,
                Guarantee.EXACT,
                (Assumption.RANDOM_BITS, Assumption.UNSEEN_CLOCK),
                smoothing(plan.domain.points, plan.epsilon, _MISS),
            )
        )

    def draw(self, plan: DensityPlan, field: LineField, bits: Bits) -> Point:
        """Return one lattice point."""
        envelope, exponent = envelope_of(plan, field)
        domain = plan.domain
        fallback = domain.first[0], domain.points
        return (draw(envelope, exponent, fallback, plan.smoothing, bits),)


def envelope_of(plan: DensityPlan, field: LineField) -> tuple[Envelope, Callable[[int], Fraction]]:
    """Return the leaves, and the exponent above its least value."""
    first, last = plan.domain.first[0], plan.domain.last[0]
    mode = min(max(field.mode(), first), last)
    least = plan.exponent((mode,), field.score(mode))

    def exponent(theta: int) -> Fraction:
        return plan.exponent((theta,), field.score(theta)) - least

    def searched(level: Fraction, inner: tuple[int, int]) -> tuple[int, int]:
        """Return { exponent <= level }, which contains ``inner``, by bisection."""
        return (
            -_farthest(lambda t: exponent(-t) <= level, -inner[0], -first),
            _farthest(lambda t: exponent(t) <= level, inner[1], last),
        )

    sublevel: Callable[[Fraction, tuple[int, int]], tuple[int, int]] = searched
    if isinstance(field, LevelField) and isinstance(plan.sensitivity, Constant):
        level_field = field
        per_exponent = plan.score_at((mode,), Fraction(1))

        def known(level: Fraction, _: tuple[int, int]) -> tuple[int, int]:
            """Return { exponent <= level } as the field knows it."""
            a, b = level_field.sublevel((least + level) * per_exponent)
            return max(a, first), min(b, last)

        sublevel = known
    a, b = sublevel(Fraction(0), (mode, mode))
    leaves = [Leaf(a, b - a + 1, Fraction(0))]
    for floor, level in pairwise(_levels(plan.domain.points, plan.depth)):
        wider_a, wider_b = sublevel(level, (a, b))
        if wider_a < a:
            leaves.append(Leaf(wider_a, a - wider_a, floor))
        if wider_b > b:
            leaves.append(Leaf(b + 1, wider_b - b, floor))
        a, b = wider_a, wider_b
    return Envelope(leaves, plan.depth), exponent


def _levels(points: int, depth: int) -> list[Fraction]:
    """Return where to cut, from 0 to the depth: finely up to log(points) + 14, then once.

    log(points) is below 0.7 times the number of bits of points, which keeps this rational.
    """
    cut = min(int((Fraction(7 * points.bit_length(), 10) + _MARGIN) / _SPACING) + 1, 4 * depth)
    fine = [k * _SPACING for k in range(cut + 1)]
    return fine if fine[-1] >= depth else [*fine, Fraction(depth)]


def _farthest(holds: Callable[[int], bool], near: int, far: int) -> int:
    """Return the largest t in ``near .. far`` that still holds; it holds at near."""
    low, high = near, far + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
