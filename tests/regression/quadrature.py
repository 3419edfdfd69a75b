"""Laws by quadrature: densities on a square, cut into cells of equal mass.

whole_space, diamond   the square (-1, 1)^d becomes R^d or an l1 ball, with a uniform base
log_base               what a base measure with more degrees of freedom weighs on top
cells                  equal-mass cells of a density, and their masses at wrong rates too
p_value                chi-square of counts against masses
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from regression.setting import Array
from scipy.stats import chi2

# A right sampler fails one test in a million; seeds are fixed, so it fails always or never.
ALARM = 1e-6
# Rates that a test must tell from the right one.
WRONG = (0.8, 1.2)


def whole_space(square: Array) -> Array:
    """Map (-1, 1)^d to R^d so that one degree of freedom has a uniform base (d = 1, 2)."""
    phi = diamond(square)
    return phi / (1 - np.abs(phi).sum(axis=-1, keepdims=True))


def log_base(theta: Array, radius: float | None, freedom: int = 3) -> Array:
    """Return what the base measure weighs in the square: more freedom, and more near 0."""
    tail = 0 if radius is not None else freedom - 1
    return np.asarray(-tail * np.log1p(np.abs(theta).sum(axis=-1)))


def diamond(square: Array) -> Array:
    """Map the square (-1, 1)^d onto the unit l1 ball; in the plane it is a turned square."""
    if square.shape[-1] == 1:
        return square
    s, t = square[..., :1], square[..., 1:]
    return np.concatenate([(s + t) / 2, (s - t) / 2], axis=-1)


def into_square(theta: Array, radius: float | None) -> Array:
    """Undo `whole_space`, or `diamond` scaled to a radius."""
    size = np.abs(theta).sum(axis=-1, keepdims=True)
    phi = theta / (1 + size) if radius is None else theta / radius
    if theta.shape[-1] == 1:
        return phi
    return np.concatenate(
        [phi[..., :1] + phi[..., 1:], phi[..., :1] - phi[..., 1:]],
        axis=-1,
    )


# Of a point of the square: log of the base density, and the exponent that a rate multiplies.
LogDensity = Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Cells:
    """Cells of the square with about equal mass, and their masses for several rates.

    ``mass[factor]`` is the unnormalised integral when the exponent is multiplied by ``factor``.
    """

    edges: Array
    inner: tuple[Array, ...]
    mass: dict[float, Array]

    def counts(self, square: Array) -> Array:
        """Count draws, given as points of the square."""
        first = np.searchsorted(self.edges, square[:, 0])
        if square.shape[1] == 1:
            return np.bincount(first, minlength=len(self.edges) + 1)
        parts = []
        for i, edges in enumerate(self.inner):
            second = np.searchsorted(edges, square[first == i, 1])
            parts.append(np.bincount(second, minlength=len(edges) + 1))
        return np.concatenate(parts)


def cells(
    log_density: LogDensity,
    dim: int,
    *,
    factors: Sequence[float] = (1.0, *WRONG),
    parts: tuple[int, int] = (10, 7),
    draws: int = 50_000,
) -> Cells:
    """Integrate a density over the square (-1, 1)^d by midpoints, in a window that holds it all.

    The edges of cells are edges of the grid, so nothing is interpolated. A grid of half the
    resolution must agree, or the resolution is doubled.
    """
    window = _window(log_density, dim)
    points = 400 if dim == 2 else 20_000
    cut: Cut | None = None
    mass: dict[float, Array] = {}
    while points <= (3200 if dim == 2 else 320_000):
        weights = _weights(log_density, window, points, factors)
        if cut is not None:
            # an edge of the coarser grid is an edge of this one
            cut = Cut(2 * cut.rows, tuple(2 * c for c in cut.columns))
            coarse, fine = mass[factors[0]], cut.masses(weights[factors[0]])
            share = ((fine - coarse) ** 2 / np.maximum(fine, 1e-300)).sum() / fine.sum()
            # midpoints err by a quarter of that; so many draws then add 0.2 to the chi-square
            if draws * share < 3:
                mass = {f: cut.masses(w) for f, w in weights.items()}
                return Cells(*cut.edges(window, points), mass)
        cut = Cut.equal(weights[factors[0]], parts)
        mass = {f: cut.masses(w) for f, w in weights.items()}
        points *= 2
    raise AssertionError("the quadrature does not settle; choose data with a flatter density")


@dataclass(frozen=True)
class Cut:
    """Indices that cut a grid of weights into rows, and each row into columns."""

    rows: Array
    columns: tuple[Array, ...]

    @classmethod
    def equal(cls, weights: Array, parts: tuple[int, int]) -> Cut:
        if weights.ndim == 1:
            return cls(_cuts(weights, parts[0] * parts[1]), ())
        rows = _cuts(weights.sum(axis=1), parts[0])
        slabs = np.add.reduceat(weights, [0, *rows], axis=0)
        return cls(rows, tuple(_cuts(slab, parts[1]) for slab in slabs))

    def masses(self, weights: Array) -> Array:
        slabs = np.add.reduceat(weights, [0, *self.rows], axis=0)
        if weights.ndim == 1:
            return slabs
        pairs = zip(slabs, self.columns, strict=True)
        return np.concatenate([np.add.reduceat(slab, [0, *at]) for slab, at in pairs])

    def edges(
        self, window: list[tuple[float, float]], points: int
    ) -> tuple[Array, tuple[Array, ...]]:
        axes = [np.linspace(a, b, points + 1) for a, b in window]
        return axes[0][self.rows], tuple(axes[1][at] for at in self.columns)


def _weights(
    log_density: LogDensity,
    window: list[tuple[float, float]],
    points: int,
    factors: Sequence[float],
) -> dict[float, Array]:
    """Return density times area at the midpoints of a grid over the window."""
    axes = [a + (np.arange(points) + 0.5) * (b - a) / points for a, b in window]
    square = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    base, exponent = log_density(square.reshape(-1, len(window)))
    area = math.prod((b - a) / points for a, b in window)
    return {f: np.exp(base - f * exponent).reshape(square.shape[:-1]) * area for f in factors}


def _window(log_density: LogDensity, dim: int) -> list[tuple[float, float]]:
    """Return a box outside of which less than exp(-35) of the peak is left."""
    points = 200 if dim == 2 else 4000
    axis = np.linspace(-1, 1, points + 1)
    middles = (axis[1:] + axis[:-1]) / 2
    square = np.stack(np.meshgrid(*[middles] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    base, exponent = log_density(square)
    value = base - 0.8 * exponent  # the widest of the laws that are compared
    held = square[value > value.max() - 35]
    step = 2 / points
    low, high = held.min(axis=0) - 1.5 * step, held.max(axis=0) + 1.5 * step
    return [(max(a, -1.0), min(b, 1.0)) for a, b in zip(low, high, strict=True)]


def _cuts(mass: Array, parts: int) -> Array:
    """Return indices that cut a sequence of masses into parts of about equal mass."""
    total = np.cumsum(mass)
    at = np.searchsorted(total, total[-1] * np.arange(1, parts) / parts) + 1
    return np.unique(np.clip(at, 1, len(mass) - 1))


def p_value(counts: Array, mass: Array, total: float | None = None) -> float:
    """Return the chi-square p-value of counts against masses, small cells thrown together.

    ``total`` is the mass of everything; without it the masses are normalised.
    """
    mass = np.asarray(mass, dtype=float)
    n = counts.sum()
    expected = n * mass / (mass.sum() if total is None else total)
    large = expected >= 12
    a, b = counts[large].astype(float), expected[large]
    rest, rest_expected = n - a.sum(), n - b.sum()
    if rest_expected >= 12:
        a, b = np.append(a, rest), np.append(b, rest_expected)
    else:
        a[-1], b[-1] = a[-1] + rest, b[-1] + rest_expected
    return float(chi2.sf(((a - b) ** 2 / b).sum(), len(b) - 1))


def verdict(found: dict[float, float]) -> None:
    """The law at rate 1 stands, and laws 20 % off fall."""
    assert found[1.0] > ALARM, found
    assert all(found[factor] < ALARM for factor in WRONG), found
