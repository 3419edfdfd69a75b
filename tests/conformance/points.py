"""Boxes, cuboids and points of them, for attacks."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

Vector = tuple[Fraction, ...]


def exactly(row: np.ndarray) -> Vector:
    """Return a row of floats as the numbers that they are."""
    return tuple(Fraction(float(a)) for a in row)


def boxes(dim: int, seed: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random boxes of many sizes in floats, around 0 or not, some of them points."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(count, dim)) * 10.0 ** rng.integers(-6, 7, size=(count, 1))
    half = np.abs(rng.normal(size=(count, dim))) * 10.0 ** rng.integers(-7, 7, size=(count, 1))
    half[rng.random((count, dim)) < 0.2] = 0.0
    centre[rng.random((count, dim)) < 0.2] = 0.0
    return centre - half, centre + half


def cuboids(dim: int, seed: int, count: int) -> list[tuple[Vector, Vector]]:
    """Return random cuboids by their corners, in sevenths."""
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(-30, 31, size=(count, 2, dim)), axis=1)
    read = [[tuple(Fraction(int(a), 7) for a in row) for row in pair] for pair in ends]
    return [(low, high) for low, high in read]


def inside(low: Vector, high: Vector, rng: np.random.Generator) -> Vector:
    """Return a random point between two corners, often on a side."""
    shares = [Fraction(int(k), 16) for k in np.clip(rng.integers(-6, 23, len(low)), 0, 16)]
    return tuple(a + t * (b - a) for a, b, t in zip(low, high, shares, strict=True))


def corners(low: Vector, high: Vector) -> list[Vector]:
    """Return all corners of a cuboid."""
    return list(product(*zip(low, high, strict=True)))
