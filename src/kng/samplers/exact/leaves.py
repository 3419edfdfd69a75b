"""The exact core: weighted leaves, a uniform point of one, an exact acceptance.

    cover Theta by leaves; leaf l has count_l points and an exponent floor_l <= gamma(k) on them
    W_l >= 2**P * count_l * exp(-floor_l)                                   integers, rounded up
    attempt:  l with probability W_l / sum W;  k uniform in l;
              accept with probability 2**P * count_l * exp(-gamma(k)) / W_l

An attempt returns k with probability 2**P exp(-gamma(k)) / sum W, so an accepted point has the
law exp(-gamma) / Z whatever the leaves are. (Accepting with exp(-(gamma - floor)) instead would
forget the rounding of W, and one record could then move real mass.) Exactly ``attempts`` attempts
are made and the first accepted point is kept; if there is none, or on a coin of probability beta,
the answer is a uniform point of the domain, which the smoothing lemma pays for.

Paper    replaces the paper's Markov chains.
Privacy  docs/proofs/samplers/leaves.md, docs/proofs/lemmas/smoothing.md. The number of attempts
         is public; an acceptance probability above one stops the process, since it means a
         wrong bound.
Cost     Some 6 microseconds an attempt: a float decides, and Arb where the float cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple, TypeVar

from kng.core.bits import Bits
from kng.core.enclosures import exp_minus
from kng.core.smoothing import Smoothing
from kng.samplers.exact.coins import below, below_near, bernoulli, choose, exp_near, uniform

T = TypeVar("T")
# Points must weigh this much, in bits, for the rounding of W to be lost in a float's margin.
_HEAVY = 60


class Leaf(NamedTuple):
    """A run of lattice points, and a lower bound on the exponent over it."""

    first: int
    count: int  # type: ignore[assignment]  # a leaf is no tuple to count in
    floor: Fraction


# First point, count and number of its floor: a leaf as hundreds of them are made for every draw.
Run = tuple[int, int, int]


class LeafEnvelope:
    """The leaves with their integer weights.

    A point above a floor weighs its ``height``: 2**scale * exp(-floor), and at most 2 more.
    """

    __slots__ = ("_floors", "_runs", "cumulative", "scale", "weights")

    def __init__(
        self, runs: Sequence[Run], floors: Sequence[Fraction], heights: Sequence[int], scale: int
    ) -> None:
        self._runs, self._floors, self.scale = runs, floors, scale
        self.weights = [count * heights[level] for _, count, level in runs]
        self.cumulative = list(accumulate(self.weights))

    @property
    def leaves(self) -> list[Leaf]:
        """The leaves, for those who look at them."""
        return [Leaf(first, count, self._floors[level]) for first, count, level in self._runs]

    def attempt(self, exponent: Callable[[int], Fraction], bits: Bits) -> int | None:
        """Make one attempt; return the point, or None if it was rejected."""
        index = choose(bits, self.cumulative)
        first, count, level = self._runs[index]
        floor, weight = self._floors[level], self.weights[index]
        point = first + uniform(bits, count)
        gamma = exponent(point)
        # The acceptance is exp(-t) up to the rounding of W; t = gamma - floor = above / under.
        above = gamma.numerator * floor.denominator - floor.numerator * gamma.denominator
        under = gamma.denominator * floor.denominator
        if above < 0:
            raise AssertionError("an exponent lies below its leaf's bound")

        def acceptance(length: int) -> tuple[int, int]:
            # 2**length * p = count * 2**(length + scale) exp(-gamma) / W
            low, high = exp_minus(gamma, length + self.scale)
            return count * low // weight, -(-count * high // weight)

        if 4 * above > under or weight >> _HEAVY < count:
            accepted = below(bits, acceptance)
        else:
            accepted = below_near(bits, exp_near(above / under), acceptance)
        return point if accepted else None


def scale_of(depth: int) -> int:
    """Return P; exp(-depth) > 2**-(2 depth), so every point keeps at least 64 significant bits."""
    return 64 + 2 * depth


def height(floor: Fraction, scale: int) -> int:
    """Return what one point of a leaf weighs: 2**scale * exp(-floor), rounded up."""
    return exp_minus(floor, scale)[1]


def weighed(leaves: Sequence[Leaf], depth: int) -> LeafEnvelope:
    """Give each leaf its weight."""
    scale = scale_of(depth)
    return LeafEnvelope(
        [(leaf.first, leaf.count, level) for level, leaf in enumerate(leaves)],
        [leaf.floor for leaf in leaves],
        [height(leaf.floor, scale) for leaf in leaves],
        scale,
    )


def draw(
    envelope: LeafEnvelope,
    exponent: Callable[[int], Fraction],
    fallback: tuple[int, int],
    smoothing: Smoothing,
    bits: Bits,
) -> int:
    """Return a point with a law that the smoothing lemma makes exactly private.

    ``fallback`` is the first point and the number of points of the whole domain.
    """
    accepted: int | None = None
    for _ in range(smoothing.attempts):
        point = envelope.attempt(exponent, bits)
        accepted = point if accepted is None else accepted
    spare = fallback[0] + uniform(bits, fallback[1])
    return smoothed(accepted, spare, smoothing, bits)


def smoothed(accepted: T | None, spare: T, smoothing: Smoothing, bits: Bits) -> T:
    """Return the accepted point, but the spare one if there is none or on a coin of beta.

    The spare point comes from a public law that gives every point of the domain at least one part
    in ``smoothing.points``; it is drawn whether it is needed or not.
    """
    if bernoulli(bits, smoothing.beta) or accepted is None:
        return spare
    return accepted
