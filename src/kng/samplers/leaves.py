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
Cost     Some 20 microseconds an attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TypeVar

from kng.core.bits import Bits
from kng.core.enclosures import exp_minus
from kng.core.smoothing import Smoothing
from kng.samplers.coins import below, bernoulli, choose, uniform

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A run of lattice points, and a lower bound on the exponent over it."""

    first: int
    count: int
    floor: Fraction


class Envelope:
    """The leaves with their integer weights."""

    __slots__ = ("cumulative", "leaves", "scale", "weights")

    def __init__(self, leaves: Sequence[Leaf], depth: int) -> None:
        # exp(-depth) > 2**-(2 depth): every weight keeps at least 64 significant bits.
        self.scale = 64 + 2 * depth
        self.leaves = leaves
        self.weights = [leaf.count * exp_minus(leaf.floor, self.scale)[1] for leaf in leaves]
        self.cumulative = list(accumulate(self.weights))

    def attempt(self, exponent: Callable[[int], Fraction], bits: Bits) -> int | None:
        """Make one attempt; return the point, or None if it was rejected."""
        index = choose(bits, self.cumulative)
        leaf, weight = self.leaves[index], self.weights[index]
        point = leaf.first + uniform(bits, leaf.count)
        gamma = exponent(point)
        if gamma < leaf.floor:
            raise AssertionError("an exponent lies below its leaf's bound")

        def acceptance(length: int) -> tuple[int, int]:
            # 2**length * p = count * 2**(length + scale) exp(-gamma) / W
            low, high = exp_minus(gamma, length + self.scale)
            return leaf.count * low // weight, -(-leaf.count * high // weight)

        return point if below(bits, acceptance) else None


def draw(
    envelope: Envelope,
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
