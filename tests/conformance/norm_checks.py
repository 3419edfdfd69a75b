"""What every norm must keep, for those of the package and of anybody else."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from conformance.points import Vector, boxes, corners, cuboids, exactly, inside
from flint import arb
from scipy.stats import gamma, ks_2samp, kstest

from kng.core.bits import SeededBits
from kng.core.bodies import Ball, Cuboid
from kng.core.capabilities import LazyNorm, MeasuredBall, RejectingNorm
from kng.core.enclosures import precision
from kng.core.lazy_noise import LazyNoise, rounded_noise
from kng.core.parts import RoundedNorm

Square = Callable[[Vector], F]
# What rounding a value up may add, as a share of it, before the lattice of values is known.
SLACK = F(1, 2**90)
# A right norm fails one test of its noise in a million; seeds are fixed.
ALARM = 1e-6
DRAWS = 3000
# Steps of noise are this fine, so that rounding it is nothing.
FINE = F(1, 2**40)


def conforms(make: Callable[[int], Any], square: Square, dims: tuple[int, ...] = (1, 2, 3)) -> None:
    """Attack a norm that follows no changes: ``make`` gives it for d coordinates.

    ``square`` is its definition: the square of the norm in fractions, which roots do not blur.
    """
    for d in dims:
        norm = make(d)
        _stated(norm, d)
        _values(norm, square, d)
        _boxes(norm, square, d)
        _largest(norm, square, d)
        _moves(norm, d)
        if d > 1 and isinstance(norm, LazyNorm):
            _noise(norm, square, d)


def _stated(norm: Any, d: int) -> None:
    """It measures d coordinates, is a value, and stays itself whatever a record can change."""
    assert norm.refusal(d) is None
    says = norm.refusal(d + 1)
    if says is None:  # it measures any number of coordinates, and overlooks none
        assert all(norm.value(axis) > 0 for axis in _axes(d + 1))
    else:
        assert str(d) in says
        assert str(d + 1) in says
    copy = pickle.loads(pickle.dumps(norm))
    assert (copy, hash(copy)) == (norm, hash(norm))
    assert not norm.follows
    unit = (F(1),) * d
    assert norm.at([Cuboid(tuple(-v for v in unit), unit), Ball(F(1, 3), d)]) is norm


def _vectors(d: int, count: int, seed: int) -> list[Vector]:
    """Random vectors of many sizes with zeros in them, and the axes."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-99, 100, (count, d)) * (rng.random((count, d)) < 0.8)
    sizes = [F(10) ** int(k) / 7 for k in rng.integers(-30, 31, count)]
    found = [tuple(s * int(v) for v in row) for s, row in zip(sizes, rows, strict=True)]
    return found + _axes(d)


def _axes(d: int) -> list[Vector]:
    return [tuple(F(i == j) for i in range(d)) for j in range(d)]


def _values(norm: Any, square: Square, d: int) -> None:
    """Values are the definition, rounded up by next to nothing, and those of a norm."""
    found = _vectors(d, 60, 1)
    for u, v in zip(found, reversed(found), strict=True):
        size, true = norm.value(u), square(u)
        assert (size > 0) == any(u)
        assert true <= size * size <= true * (1 + SLACK) ** 2
        scaled = norm.value(tuple(F(-5, 3) * a for a in u))
        assert abs(scaled - F(5, 3) * size) <= 2 * SLACK * size
        total = norm.value(tuple(a + b for a, b in zip(u, v, strict=True)))
        assert total <= (size + norm.value(v)) * (1 + SLACK)


def _boxes(norm: Any, square: Square, d: int) -> None:
    """Bounds hold at every point of a box, however float64 rounds, and are close at points."""
    rng = np.random.default_rng(2)
    low, high = boxes(d, 1, 60)
    lower, upper = norm.bounds(low, high)
    assert lower.shape == upper.shape == (60,)
    for a, b, least, most in zip(low, high, lower, upper, strict=True):
        ends = exactly(a), exactly(b)
        for point in [inside(*ends, rng) for _ in range(6)] + corners(*ends):
            assert F(float(least)) ** 2 <= square(point) <= F(float(most)) ** 2
    lower, upper = norm.bounds(low, low)
    for row, least, most in zip(low, lower, upper, strict=True):
        size = float(norm.value(exactly(row)))
        assert size - 1e-9 * size - 1e-100 <= least <= most <= size + 1e-9 * size + 1e-100
    for number in (1e308, 1e200, 1e-200, 5e-324):
        corner = np.full((1, d), number)
        lower, upper = norm.bounds(corner, corner)
        true = square(exactly(corner[0]))
        assert np.isfinite(lower[0])
        assert F(float(lower[0])) ** 2 <= true
        assert np.isinf(upper[0]) or true <= F(float(upper[0])) ** 2
    endless = np.full((1, d), np.inf)
    lower, upper = norm.bounds(-endless, endless)
    assert lower[0] == 0
    assert np.isinf(upper[0])


def _largest(norm: Any, square: Square, d: int) -> None:
    """The largest value between corners and in a ball: never exceeded, and attained."""
    rng = np.random.default_rng(3)
    for low, high in cuboids(d, 4, 40):
        largest = norm.largest(low, high)
        assert all(square(inside(low, high, rng)) <= largest**2 for _ in range(6))
        attained = max(map(square, corners(low, high)))
        assert attained <= largest**2 <= attained * (1 + SLACK) ** 2
    radius = F(5, 3)
    largest, best = norm.largest_in_ball(radius, d), F(0)
    for row in rng.normal(size=(1000, d)).tolist() + np.eye(d).tolist() + [[1.0] * d]:
        point = exactly(np.array(row))
        best = max(best, radius**2 * square(point) / sum((a * a for a in point), F(0)))
    assert F(9, 10) * largest**2 <= best <= largest**2


def _moves(norm: Any, d: int) -> None:
    """No change moves a value by more than the largest of its kind: Delta is computed from that.

    Small changes of long vectors along themselves, where a value moves by all of the change.
    """
    for low, high in cuboids(d, 5, 20):
        small, large = (tuple(v / 10**12 for v in end) for end in (low, high))
        _moved(norm, norm.largest(small, large), corners(small, large), (small, large))
    radius = F(7, 5)
    longest = norm.largest_in_ball(radius, d)
    sides = [F(3, 5), F(4, 5), *(F(0),) * (d - 2)] if d > 1 else [F(1)]
    changes = [tuple(radius * v for v in row) for row in [*_axes(d), sides, sides[::-1]]]
    _moved(norm, longest, changes, None)


def _moved(
    norm: Any, longest: F, changes: list[Vector], ends: tuple[Vector, Vector] | None
) -> None:
    """Move vectors by changes between two ends, or by those of the ball."""
    if not longest:
        return
    d = len(changes[0])
    fitted = norm.rounded_for(longest) if isinstance(norm, RoundedNorm) else norm
    most = fitted.largest_in_ball(F(7, 5), d) if ends is None else fitted.largest(*ends)
    for change in changes:
        for times in (F(0), F(1), F(3, 7), F(10**20 + 1, 3), F(10**40, 7)):
            start = tuple(times * v for v in change)
            end = tuple(a + v for a, v in zip(start, change, strict=True))
            assert fitted.value(end) - fitted.value(start) <= most


def _noise(norm: Any, square: Square, d: int) -> None:
    """Noise has density proportional to exp(-||u||): a length of Gamma(d), and any direction s of
    the sphere with density proportional to ||s||^-d, whatever the length."""
    bits, rng = SeededBits(d), np.random.default_rng(d)
    drawn = np.array(
        [rounded_noise(bits, LazyNoise(norm, F(1), d), (FINE,) * d) for _ in range(DRAWS)]
    ) * float(FINE)
    lengths = _lengths(drawn, square)
    assert kstest(lengths, gamma(d).cdf).pvalue > ALARM
    unit = rng.normal(size=(8 * DRAWS, d))
    unit /= np.sqrt((unit * unit).sum(axis=1, keepdims=True))
    sizes = _lengths(unit, square)
    kept = rng.random(len(unit)) < (sizes.min() / sizes) ** d
    unit, sizes = unit[kept], sizes[kept]
    directions = drawn / np.sqrt((drawn * drawn).sum(axis=1, keepdims=True))
    for along in [*np.eye(d), *rng.normal(size=(4, d))]:
        assert ks_2samp(directions @ along, unit @ along).pvalue > ALARM
        long = lengths > np.median(lengths)
        assert ks_2samp(directions[long] @ along, directions[~long] @ along).pvalue > ALARM
    if isinstance(norm, MeasuredBall):
        squares = ((unit / sizes[:, None]) ** 2).mean(axis=0) * d / (d + 2)
        assert norm.second_moments(d) == pytest.approx(squares, rel=0.1)
    if isinstance(norm, RejectingNorm):
        _rejected(norm, d, rng)


def _rejected(norm: Any, d: int, rng: np.random.Generator) -> None:
    """Points are decided, and as many stand for one as it says."""
    with precision(128):
        tried = [[arb(v) for v in row] for row in rng.random((1000, norm.uniforms(d))).tolist()]
        verdicts = [norm.inside(row, d) for row in tried]
        assert None not in verdicts
        assert sum(verdicts) / 1000 >= 0.8 / norm.proposals(d)
        # Where nothing is known yet, nothing is decided, unless nothing is ever rejected.
        unknown = [arb(0.5, 0.5)] * norm.uniforms(d)
        assert norm.inside(unknown, d) is None or all(verdicts)


def _lengths(rows: np.ndarray, square: Square) -> np.ndarray:
    return np.sqrt([float(square(exactly(row))) for row in rows])
