"""The auditor's own formulas for private regression, and laws by quadrature.

Nothing here is taken from the code under test but the plain data of a plan: formulas are written
down a second time, from the definition of a record's gradient, and integrals are sums over a grid.

    problem, design        a regression in standardised units
    widths, score          Delta_j(theta) and the KNG score, from the definition
    Cells, cells           equal-mass cells of a density in one or two coordinates
    p_value                chi-square of draws against cells
    surface                what objective perturbation leaves on the surface of a diamond
    Universe               tiny datasets, their neighbours and their exact largest loss

Half convention throughout: gradient A theta - b, Delta at most 2 (1 + ||theta||_1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.stats import chi2

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.encoding import Encoding
from kng.core.privacy import AddRemove, Neighbours, PrivacyUnit, ReplaceOne
from kng.core.regression import AffineField, Regression
from kng.data import open_regression
from kng.domains import HeavyTailed, L1Ball
from kng.losses import LeastSquares
from kng.norms import L1, L2, CoordinateSup, LInf

Array = np.ndarray[Any, np.dtype[np.float64]]
Record = tuple[Fraction, ...]  # z_1, ..., z_k, y
Dataset = tuple[Record, ...]

REPLACE, ADD = "replace-one", "add-remove"
RELATIONS = (REPLACE, ADD)
NORMS = {"coordinate": CoordinateSup(), "linf": LInf(), "l2": L2(), "l1": L1()}
# A right sampler fails one test in a million; seeds are fixed, so it fails always or never.
ALARM = 1e-6
# Rates that a test must tell from the right one.
WRONG = (0.8, 1.2)


# --- problems ------------------------------------------------------------------------------------


def design(dim: int, *, intercept: bool = False, steps: int = 2**16, unit: int = 1) -> Design:
    """Return columns on [-1, 1] in ``steps`` steps; ``unit`` widens the response beyond that."""
    columns = dim - intercept
    low, high = (Fraction(-1),) * columns, (Fraction(1),) * columns
    bounds = Bounds((*low, Fraction(-unit)), (*high, Fraction(unit)))
    step = Fraction(2, steps)
    scale = None if unit == 1 else Fraction(1)
    missing = ((steps // 2,) * columns) + (unit * steps // 2,)
    return Design(Encoding(bounds, (step,) * (columns + 1), missing), intercept, scale)


def relation_of(name: str, n: int) -> Neighbours:
    return ReplaceOne(max(n, 1)) if name == REPLACE else AddRemove()


def problem(
    dim: int,
    *,
    n: int = 1,
    norm: Any = None,
    radius: Fraction | int | None = None,
    intercept: bool = False,
    relation: str = REPLACE,
    people: int = 1,
    loss: Any = None,
    domain: Any = None,
    steps: int = 2**16,
    unit: int = 1,
) -> Regression:
    """Return a regression problem; ``radius`` asks for the ball, otherwise the whole space."""
    if domain is None:
        domain = HeavyTailed(dim) if radius is None else L1Ball(dim, Fraction(radius))
    return Regression(
        loss or LeastSquares(),
        norm or CoordinateSup(),
        domain,
        design(dim, intercept=intercept, steps=steps, unit=unit),
        PrivacyUnit(relation_of(relation, n), people),
    )


def with_ones(X: Array, intercept: bool) -> Array:
    """Return covariates as the model sees them."""
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


def field_of(Z: Array, y: Array) -> AffineField:
    """Return A and b by plain products."""
    return AffineField(Z.T @ Z, Z.T @ y)


# --- formulas, a second time -----------------------------------------------------------------------


def widths(theta: Array, *, intercept: bool, relation: str) -> Array:
    """Return Delta_j for rows of theta, from the definition of a record's gradient.

    Coordinate j of one record's gradient is a t^2 + w t, where t = z_j and w is anything of size at
    most T = 1 + sum of the other |theta_k|. Over |t| <= 1 its largest value is a + T and its least
    is that of a t^2 - T t; replacing a record moves it by the difference, and adding one by the
    larger of the two sizes. The intercept has t = 1 always.
    """
    theta = np.asarray(theta, dtype=float)
    a = np.abs(theta)
    rest = 1 + a.sum(axis=-1, keepdims=True) - a
    top = a + rest
    if relation == ADD:
        return top
    t = np.minimum(rest / (2 * np.maximum(a, 1e-300)), 1.0)
    result = top - (a * t * t - rest * t)
    if intercept:
        result[..., 0] = 2 * rest[..., 0]
    return result


def length(rows: Array, norm: str) -> Array:
    """Return the norm of each row."""
    sizes = np.abs(rows)
    if norm == "l1":
        return sizes.sum(axis=-1)
    if norm == "l2":
        return np.sqrt((sizes**2).sum(axis=-1))
    return sizes.max(axis=-1)


@dataclass(frozen=True)
class Score:
    """||(A theta + ridge theta - b) / Delta(theta)||_K, with the constant Delta of a ball."""

    field: AffineField
    ridge: float
    norm: str
    intercept: bool = False
    relation: str = REPLACE
    radius: float | None = None

    def __call__(self, theta: Array) -> Array:
        A, b = self.field.matrix, self.field.vector
        gradient = theta @ A + self.ridge * theta - b
        if self.radius is not None:
            corner = length(np.ones((1, len(b))), self.norm)[0]
            factor = 2 if self.relation == REPLACE else 1
            return length(gradient, self.norm) / (corner * factor * (1 + self.radius))
        by = widths(theta, intercept=self.intercept, relation=self.relation)
        if self.norm == "coordinate":
            return np.abs(gradient / by).max(axis=-1)
        return length(gradient, self.norm) / length(by, self.norm)


# --- laws by quadrature --------------------------------------------------------------------------


def whole_space(square: Array) -> Array:
    """Map (-1, 1)^d to R^d so that the heavy-tailed base measure is uniform (d = 1, 2)."""
    phi = diamond(square)
    return phi / (1 - np.abs(phi).sum(axis=-1, keepdims=True))


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
    cut = None
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


def accepted(proposals: Any, wanted: int, seed: int, size: int = 2**14) -> Array:
    """Return accepted proposals of a rejection sampler, all of a batch and not only its first."""
    bits = SeededBits(seed)
    kept: list[Array] = []
    while sum(map(len, kept)) < wanted:
        theta, log_accept = proposals.batch(bits, size)
        kept.append(theta[np.log(bits.uniforms(size)) < log_accept])
    return np.concatenate(kept)[:wanted]


# --- objective perturbation ----------------------------------------------------------------------

# Rows of theta to gradient rows and to the upper triangle of the Hessian, ridge included.
Derivatives = Callable[[Array], tuple[Array, tuple[Array, ...]]]


def determinant(upper: tuple[Array, ...]) -> Array:
    """Return determinants of symmetric matrices from their upper triangles, d = 1 or 2."""
    return upper[0] if len(upper) == 1 else upper[0] * upper[2] - upper[1] ** 2


def noise_constant(dim: int, rate: float, norm: str) -> float:
    """Return the constant that makes exp(-rate ||u||) a density: 1 / (d! vol rate^-d)."""
    volume = {"linf": 2.0**dim, "l1": 2.0**dim / math.factorial(dim), "l2": [0, 2, math.pi][dim]}
    return rate**dim / (math.factorial(dim) * volume[norm])


def surface(
    derivatives: Derivatives, dim: int, radius: float, rate: float, norm: str, bins: int = 3
) -> dict[tuple[int, ...], float]:
    """Return the mass on each vertex and on bins of each edge of the l1 ball.

    The minimiser is a boundary point exactly when minus the perturbed gradient lies in the normal
    cone there; so masses are integrals of the noise over shifted cones. Keys: (sign, axis) for a
    vertex and (sign, sign, bin) for an edge.
    """
    constant = noise_constant(dim, rate, norm)

    def density(u: Array) -> Array:
        return constant * np.exp(-rate * length(u, norm))

    masses: dict[tuple[int, ...], float] = {}
    reach = 0.0
    corners = [(sign, axis) for sign in (1, -1) for axis in range(dim)]
    for sign, axis in corners:
        at = np.zeros((1, dim))
        at[0, axis] = sign * radius
        reach = max(reach, float(np.abs(derivatives(at)[0]).max()))
    depth = reach + 40 / rate
    m = (np.arange(4000) + 0.5) / 4000 * depth
    for sign, axis in corners:
        at = np.zeros((1, dim))
        at[0, axis] = sign * radius
        gradient = derivatives(at)[0]
        t = (np.arange(300) + 0.5) / 150 - 1 if dim == 2 else np.zeros(1)
        w = np.zeros((len(m), len(t), dim))
        w[..., axis] = sign * m[:, None]
        if dim == 2:
            w[..., 1 - axis] = m[:, None] * t
        jacobian = m[:, None] * 2 / len(t) if dim == 2 else 1.0
        masses[sign, axis] = float((density(-gradient - w) * jacobian).sum() * depth / len(m))
    if dim == 1:
        return masses
    for s in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        tau = (np.arange(300) + 0.5) / 150 - 1
        theta = radius / 2 * np.column_stack([s[0] * (1 + tau), s[1] * (1 - tau)])
        gradient, (first, mixed, second) = derivatives(theta)
        # d theta / d tau = (s_1, -s_2) radius / 2, through the Hessian, then against (s_1, s_2)
        along = (
            radius / 2 * (first * s[0] - mixed * s[1]),
            radius / 2 * (mixed * s[0] - second * s[1]),
        )
        jacobian = np.abs(along[0] * s[1] - along[1] * s[0])
        u = -gradient[None] - m[:, None, None] * np.array(s)
        line = density(u).sum(axis=0) * depth / len(m) * jacobian * 2 / len(tau)
        for part, value in enumerate(line.reshape(bins, -1).sum(axis=1)):
            masses[s[0], s[1], part] = float(value)
    return masses


def surface_counts(
    theta: Array, radius: float, keys: Iterable[tuple[int, ...]], bins: int = 3
) -> dict[tuple[int, ...], int]:
    """Count draws on the vertices and edges; zeros of the path solver are exact."""
    found = dict.fromkeys(keys, 0)
    on = np.abs(theta).sum(axis=1) > radius * (1 - 1e-9)
    for row in theta[on]:
        active = np.flatnonzero(row)
        signs = tuple(int(v) for v in np.sign(row))
        if len(active) == 1:
            found[signs[active[0]], int(active[0])] += 1
        else:
            tau = 2 * abs(row[0]) / radius - 1
            found[(*signs, min(int((tau + 1) / 2 * bins), bins - 1))] += 1
    return found


# --- exact audits --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loss:
    """The largest |log ratio| over neighbours, its largest range, and where it was found."""

    worst: float
    spread: float
    witness: tuple[Dataset, Dataset]


def datasets(records: Iterable[Record], sizes: Iterable[int]) -> list[Dataset]:
    """Return every multiset of records of each size."""
    records = sorted(records)
    return [d for n in sizes for d in combinations_with_replacement(records, n)]


def neighbours(
    universe: Sequence[Dataset], relation: str, people: int = 1
) -> list[tuple[int, ...]]:
    """Return index pairs of datasets that differ by at most ``people`` changes.

    Found from counts of each record, so that it does not go over how the datasets were made.
    """
    records = sorted({r for d in universe for r in d})
    at = {r: i for i, r in enumerate(records)}
    counts = np.zeros((len(universe), len(records)), dtype=int)
    for row, dataset in enumerate(universe):
        for record in dataset:
            counts[row, at[record]] += 1
    found = []
    for i in range(len(universe)):
        change = counts[i + 1 :] - counts[i]
        gone, come = np.maximum(-change, 0).sum(axis=1), np.maximum(change, 0).sum(axis=1)
        near = (gone == come) & (gone <= people) if relation == REPLACE else gone + come <= people
        found += [(i, i + 1 + j) for j in np.flatnonzero(near)]
    assert found, "an audit without neighbours proves nothing"
    return found


def largest_loss(
    log_laws: Array, universe: Sequence[Dataset], pairs: Sequence[tuple[int, ...]]
) -> Loss:
    """Return the worst pair; rows of ``log_laws`` are log probabilities of each dataset."""
    i, j = np.array(pairs).T
    difference = log_laws[i] - log_laws[j]
    worst = np.abs(difference).max(axis=1)
    k = int(worst.argmax())
    spread = float((difference.max(axis=1) - difference.min(axis=1)).max())
    return Loss(float(worst[k]), spread, (universe[i[k]], universe[j[k]]))


def normalised(exponents: Array, log_base: Array) -> Array:
    """Return log probabilities from exponents that were computed exactly and rounded once."""
    values = log_base - exponents
    return values - np.logaddexp.reduce(values, axis=1)[:, None]


def read(dataset: Dataset, plan: Any, loss: str = "affine") -> Any:
    """Return the field that production reads, through its one door."""
    regression = plan.problem
    table = np.array([[float(v) for v in r] for r in dataset])
    table = table.reshape(len(dataset), len(regression.design.records))
    source = open_regression(table[:, :-1], table[:, -1], regression.design.records)
    reader = regression.loss.read_affine if loss == "affine" else regression.loss.read_smooth
    return reader(source, regression.design)


def lattice(dim: int, reach: Fraction | int, points: int) -> Array:
    """Return a lattice of exact fractions in the cube of half width ``reach``, as rows."""
    line = [Fraction(reach) * (2 * Fraction(i, points - 1) - 1) for i in range(points)]
    rows = np.stack(np.meshgrid(*[np.array(line, dtype=object)] * dim, indexing="ij"), axis=-1)
    return rows.reshape(-1, dim)


def fractions(values: Array) -> Array:
    """Return floats as exact fractions."""
    array = np.asarray(values, dtype=float)
    flat = [Fraction(float(v)) for v in array.flat]
    return np.array(flat, dtype=object).reshape(array.shape)


def floats(values: Array) -> Array:
    """Round exact fractions once."""
    return np.array([float(v) for v in values.flat]).reshape(values.shape)
