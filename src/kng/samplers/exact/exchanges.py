"""Exact noise on counts that share records, in the norm `Exchange`, on whole numbers.

    v in Z^m  with probability proportional to  exp( -rate max(P, N) )
    P = sum of the positive entries,   N = minus the sum of the negative ones

There are A(k) points with max(P, N) = k, and with q = exp(-rate)

    sum_k A(k) q^k  =  sum_i C(m, i)^2 q^i / (1 - q)^m

so the level k is i + m geometric variables, where i has the weight C(m, i)^2 q^i. Given the level
all points are alike, and one is made of subsets drawn uniformly.

Paper    Section 4.1, remark, on the lattice of counts.
Privacy  docs/proofs/losses/tally.md. There is no data argument.
Cost     About 30 microseconds a coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise

from flint import arb

from kng.core.bits import Bits
from kng.core.enclosures import ball, precision
from kng.core.naming import argument
from kng.core.parts import Point
from kng.core.uniforms import LazyUniform
from kng.samplers.exact.coins import choose, uniform
from kng.samplers.exact.geometric import geometric

# Coordinates up to which the weights below take less than a second.
_MOST = 2**13
_GUARD = 64


def exchange_refusal(steps: Sequence[Fraction]) -> str | None:
    """Say from public facts why noise cannot be drawn, or None."""
    if len(set(steps)) > 1:
        return "KNorm draws from the norm Exchange where all coordinates have one step. Use L1."
    if len(steps) > _MOST:
        return (
            f"KNorm draws from the norm Exchange in up to {_MOST} coordinates; these are "
            f"{len(steps)}. Use fewer, or {argument('neighbours', 'add-remove')}."
        )
    return None


def exchange_noise(bits: Bits, rate: Fraction, dim: int) -> Point:
    """Return one draw; there is no data argument."""
    level = _peak(bits, rate, dim) + sum(geometric(bits, rate) for _ in range(dim))
    return at_level(bits, level, dim) if level else (0,) * dim


def _peak(bits: Bits, rate: Fraction, dim: int) -> int:
    """Return i with probability proportional to C(m, i)^2 exp(-rate i)."""
    number = LazyUniform()
    while True:
        number.refine(bits)
        with precision(number.length + _GUARD):
            running = _running(rate, dim, number.length + _GUARD)
            at = number.ball() * running[-1]
            # Enclosures at the precision in force: certainly below, or not certainly.
            cell = sum(1 for total in running if total <= at)
            if cell <= dim and at < running[cell]:
                return cell


@lru_cache(maxsize=16)
def _running(rate: Fraction, dim: int, bits: int) -> tuple[arb, ...]:
    """Enclose the running sums of the weights, with so many bits."""
    with precision(bits):
        factor, weight, weights = (-ball(rate)).exp(), arb(1), [arb(1)]
        for i in range(dim):
            weight = weight * factor * (dim - i) ** 2 / (i + 1) ** 2
            weights.append(weight)
        return tuple(accumulate(weights))


def at_level(bits: Bits, level: int, dim: int) -> Point:
    """Return one of the points with max(P, N) = level, level >= 1, all of them alike.

    Drawn is one with P = level >= N, and its sign. Where N = level as well, it and its mirror image
    are both of that kind, so half of them are drawn anew.
    """
    running = _signs(level, dim)
    while True:
        rising = 1 + choose(bits, running)
        falling = dim - rising
        up = _gaps(subset(bits, rising - 1, level - 1), level)
        # Entries from 0 on whose sum is at most the level: what is left over is the last gap.
        room = falling + level
        down = [gap - 1 for gap in _gaps(subset(bits, falling, room), room + 1)]
        if not down.pop() and bits.take(1):
            continue
        sign = -1 if bits.take(1) else 1
        chosen = set(subset(bits, rising, dim))
        ups, downs = iter(up), iter(down)
        return tuple(sign * (next(ups) if j in chosen else -next(downs)) for j in range(dim))


def _signs(level: int, dim: int) -> list[int]:
    """Return running sums of how many points with P = level >= N have a = 1, 2, ... rising entries.

    C(m, a) signs, C(k - 1, a - 1) ways to make up k, C(m - a + k, k) ways to stay within k.
    """
    k, weight, weights = level, dim, []
    for i in range(dim - 1):  # C(m - 1 + k, k), for a = 1
        weight = weight * (k + i + 1) // (i + 1)
    for a in range(1, min(dim, k) + 1):
        weights.append(weight)
        weight = weight * (dim - a) ** 2 * (k - a) // ((a + 1) * a * (dim - a + k))
    return list(accumulate(weights))


def subset(bits: Bits, size: int, among: int) -> list[int]:
    """Return a uniform subset of 0 .. among - 1 with so many elements, in order (Floyd)."""
    found: set[int] = set()
    for last in range(among - size, among):
        at = uniform(bits, last + 1)
        found.add(last if at in found else at)
    return sorted(found)


def _gaps(cuts: Sequence[int], end: int) -> list[int]:
    """Return the distances between -1, cuts and end - 1: positive numbers that add up to end."""
    return [b - a for a, b in pairwise([-1, *cuts, end - 1])]
