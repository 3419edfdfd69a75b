"""Laws of tiny regression problems, and their largest privacy loss over all neighbours.

Production supplies everything that carries privacy: plans with their rates, widths and ridges, the
norms, and every record's loss, gradient and Hessian, read through the one door. The auditor only
adds records up, normalises, integrates the noise over normal cones, and divides.

    Model              what is asked: pointwise loss, mechanism, norm, relation, epsilon, domain
    Lattice            outputs to look at: points of Theta, edges and vertices of a ball
    Pieces             what each record of a universe adds at each of them
    log_laws           one row of log probabilities (or log densities) for each dataset
    audit              largest loss and largest range over all neighbours of a universe
    climb              directed search where enumeration is out of reach

A lattice is no approximation of the verdict. Densities with a normaliser are private under any
public base measure, also one that sits on the lattice; densities without one are compared at each
theta; and a sum over common rays of a cone has no larger ratio than its terms. So every loss must
be at most epsilon at any fineness, but for the rounding of float64 (`SLACK`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from audit.oracle import REPLACE
from regression.quadrature import diamond, log_base, whole_space
from regression.setting import NORMS, Array, problem
from regression.surface import edge_density, edges, rays, vertex_mass, vertices

from kng.bases import Uniform
from kng.core.parts import Norm
from kng.core.perturbed import PerturbedPlan
from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.data import open_regression
from kng.domains import Whole
from kng.losses import Huber
from kng.losses.fields.quadratic_field import QuadraticField
from kng.losses.pointwise.function import Pointwise
from kng.mechanisms import ObjectivePerturbation
from kng.norms import WeightedSup
from kng.samplers.real.space import Scale

Record = tuple[float, ...]  # z_1, ..., z_k, y: dyadic, so that ingestion does not round them
Counts = np.ndarray[Any, np.dtype[np.int64]]
Witness = tuple[tuple[Record, ...], tuple[Record, ...]]

SLACK = 1e-9
# Responses of Huber's loss reach this many thresholds.
REACH = 8


# --- what is asked -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """One mechanism on one linear model, with everything public that its plan needs."""

    pointwise: Pointwise
    mechanism: Any
    dim: int
    norm: str = "linf"
    radius: Fraction | None = None
    relation: str = REPLACE
    epsilon: Fraction = Fraction(1)
    intercept: bool = False
    people: int = 1
    low: Fraction = Fraction(-1)  # where covariates begin, and the response
    low_y: Fraction = Fraction(-1)

    def problem(self, n: int = 1) -> Problem:
        """Return the production problem."""
        flat = self.radius is None and isinstance(self.mechanism, ObjectivePerturbation)
        return problem(
            self.dim,
            n=n,
            norm=NORMS[self.norm],
            radius=self.radius,
            intercept=self.intercept,
            relation=self.relation,
            people=self.people,
            pointwise=self.pointwise,
            domain=Whole(self.dim, base=Uniform()) if flat else None,
            unit=REACH if isinstance(self.pointwise, Huber) else 1,
            low=self.low,
            low_y=self.low_y,
        )

    def plan(self, n: int = 1) -> DensityPlan | PerturbedPlan:
        """Return the production plan; a fresh one, so that seeded faults take effect."""
        plan: DensityPlan | PerturbedPlan = self.mechanism.plan(self.problem(n), self.epsilon)
        return plan


@dataclass(frozen=True)
class Lattice:
    """Points of Theta: inside, along each edge of a ball, at its vertices."""

    inside: Array
    edges: tuple[tuple[tuple[int, int], Array], ...] = ()
    vertices: tuple[tuple[tuple[int, int], Array], ...] = ()

    @property
    def points(self) -> Array:
        """All of them, in this order."""
        parts = [self.inside, *(at for _, at in self.edges), *(at[None] for _, at in self.vertices)]
        return np.concatenate(parts)


@lru_cache
def lattice(
    dim: int, radius: Fraction | None, points: int, *, boundary: bool, reach: float = 0.97
) -> Lattice:
    """Return a lattice that is uniform in the chart; 0 and the axes belong to it."""
    line = np.linspace(-1, 1, points)
    square = np.stack(np.meshgrid(*[line] * dim, indexing="ij"), axis=-1).reshape(-1, dim)
    if radius is None:
        return Lattice(whole_space(reach * square))
    end = float(radius)
    if not boundary:
        return Lattice(end * diamond(square))
    sides = tuple(edges(end, 9)) if dim == 2 else ()
    return Lattice(0.999 * end * diamond(square), sides, tuple(vertices(dim, end)))


# --- universes and neighbours --------------------------------------------------------------------


@dataclass(frozen=True)
class Universe:
    """Every multiset of at most ``most`` of these records, as counts of each."""

    records: tuple[Record, ...]
    counts: Counts

    @classmethod
    @lru_cache
    def of(cls, records: tuple[Record, ...], relation: str, most: int = 3) -> Universe:
        """Enumerate; an empty file exists only where n is private."""
        rows = [
            np.bincount(np.array(chosen, dtype=np.int64), minlength=len(records))
            for n in range(relation == REPLACE, most + 1)
            for chosen in combinations_with_replacement(range(len(records)), n)
        ]
        return cls(records, np.array(rows))

    @lru_cache  # noqa: B019 (universes are few and live as long as the tests)
    def pairs(self, relation: str, people: int) -> tuple[Counts, Counts]:
        """Return rows of neighbours, found from counts and not from how they were made."""
        left, right = [], []
        for i, row in enumerate(self.counts):
            change = self.counts[i + 1 :] - row
            come, gone = np.maximum(change, 0).sum(axis=1), np.maximum(-change, 0).sum(axis=1)
            near = (come == gone) & (come <= people)
            if relation != REPLACE:
                near = come + gone <= people
            at = i + 1 + np.flatnonzero(near)
            left += [i] * len(at)
            right += list(at)
        assert left, "an audit without neighbours proves nothing"
        return np.array(left), np.array(right)

    def dataset(self, row: int) -> tuple[Record, ...]:
        """Return one dataset as records."""
        return tuple(
            r for r, k in zip(self.records, self.counts[row], strict=True) for _ in range(k)
        )

    def __hash__(self) -> int:
        return hash((self.records, self.counts.shape))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Universe)
            and self.records == other.records
            and (np.array_equal(self.counts, other.counts))
        )


# --- what a record adds --------------------------------------------------------------------------


def read(plan: DensityPlan | PerturbedPlan, dataset: Iterable[Record]) -> Any:
    """Return the field that production reads for a plan, through its one door."""
    records = plan.problem.records
    table = np.array(list(dataset), dtype=np.float64).reshape(-1, len(records))
    return plan.read(open_regression(table[:, :-1], table[:, -1], records), [plan])[0]


@dataclass(frozen=True)
class Pieces:
    """Loss, gradient and Hessian at every point; first axis: records or datasets."""

    value: Array
    gradient: Array
    hessian: Array

    @classmethod
    def of(
        cls, plan: DensityPlan | PerturbedPlan, records: Sequence[Record], theta: Array
    ) -> Pieces:
        """Ask production for one record at a time."""
        parts = [_at_points(read(plan, [r]), theta) for r in records]
        return cls(*(np.array(part) for part in zip(*parts, strict=True)))

    def sums(self, counts: Counts) -> Pieces:
        """Add records up."""
        return Pieces(
            *(np.tensordot(counts, a, 1) for a in (self.value, self.gradient, self.hessian))
        )


def _at_points(summed: Any, theta: Array) -> tuple[Array, Array, Array]:
    """Return loss, gradient and Hessian of one field at every point."""
    found = [derivatives(summed, at) for at in theta]
    value, gradient, hessian = (np.array([point[k] for point in found]) for k in range(3))
    return value, gradient, hessian


def derivatives(summed: Any, at: Array) -> tuple[float, Array, Array]:
    """Return the same at one point; a piecewise field has no value, and none is asked for."""
    if isinstance(summed, QuadraticField):
        return summed.derivatives(at)
    piece = summed.piece([Fraction(v) for v in at], Fraction(1))
    hessian = np.array([[float(v) for v in row] for row in piece.rows])
    return 0.0, hessian @ at - np.array([float(v) for v in piece.right]), hessian


# --- laws ----------------------------------------------------------------------------------------


def log_laws(plan: DensityPlan | PerturbedPlan, pieces: Pieces, at: Lattice) -> Array:
    """Return log probabilities of lattice points, one row for each dataset."""
    theta = at.points
    if isinstance(plan, PerturbedPlan):
        return _perturbed(plan, pieces, at)
    rate, scale = float(plan.rate), Scale.of(plan)
    if plan.weighs == "value":
        logs = -rate * pieces.value / scale.bound
    else:
        divided = (pieces.gradient + float(plan.ridge) * theta) / scale.widths(theta)
        logs = -rate * lengths(plan.problem.norm, divided)
    # the lattice is uniform in the chart, as one degree of freedom is; the tail is three's
    logs = logs + log_base(theta, None if isinstance(plan.problem.domain, Whole) else 1.0)
    return np.asarray(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def lengths(norm: Any, vectors: Array) -> Array:
    """Return the norms of many vectors."""
    rows = vectors.reshape(-1, vectors.shape[-1])
    return np.asarray(norm.lengths(rows)).reshape(vectors.shape[:-1])


def plain(norm: Norm, rate: float) -> tuple[str, float]:
    """Return a norm by its name and the rate in it; a box of equal sides is a larger cube."""
    if isinstance(norm, WeightedSup):
        (side,) = set(norm.width)
        return "linf", rate / float(side)
    return next(key for key, known in NORMS.items() if known == norm), rate


def _perturbed(plan: PerturbedPlan, pieces: Pieces, at: Lattice) -> Array:
    """Return log densities, which need no normaliser, and log masses of the faces of a ball."""
    norm, d = plan.problem.norm, at.points.shape[1]
    rate, ridge = float(plan.rate), float(plan.ridge)
    gradient = pieces.gradient + ridge * (at.points - np.array(plan.centre, dtype=float))
    hessian = pieces.hessian + ridge * np.eye(d)
    n, inner = len(gradient), len(at.inside)
    exponent = rate * lengths(norm, gradient[:, :inner])
    parts = [np.linalg.slogdet(hessian[:, :inner])[1] - exponent]
    name, rate = plain(norm, rate)
    m = rays(float(np.abs(gradient).max()) + 30 / rate, 120)
    start = inner
    for signs, points in at.edges:
        stop = start + len(points)
        upper = tuple(hessian[:, start:stop, i, j].reshape(-1) for i, j in ((0, 0), (0, 1), (1, 1)))
        along = edge_density(gradient[:, start:stop].reshape(-1, d), upper, signs, rate, name, m)
        parts.append(np.log(along).reshape(n, -1))
        start = stop
    for key, _ in at.vertices:
        mass = vertex_mass(gradient[:, start], key, rate, name, m, 9)
        parts.append(np.log(mass)[:, None])
        start += 1
    return np.concatenate(parts, axis=1)


# --- verdicts ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """The largest privacy loss that was found, and where."""

    epsilon: float
    width: float
    worst: float
    spread: float  # largest range of the log ratio of one pair
    witness: Witness = field(repr=False)

    @property
    def tightness(self) -> float:
        """Share of epsilon that is really used."""
        return self.worst / self.epsilon

    @property
    def private(self) -> bool:
        """Whether loss and range stay within what the plan books."""
        return self.worst <= self.epsilon + SLACK and self.spread <= self.width + SLACK

    @property
    def broken(self) -> bool:
        """Whether the loss is above epsilon, by far more than rounding."""
        return self.worst > self.epsilon + 1e-3

    @property
    def caught(self) -> bool:
        """Whether either promise is broken: the loss, or its range."""
        return self.broken or self.spread > self.width + 1e-3


@lru_cache(maxsize=32)
def _known(model: Model, records: tuple[Record, ...], at: int, theta: bytes) -> Pieces:
    return Pieces.of(model.plan(), records, np.frombuffer(theta).reshape(at, model.dim))


def forget() -> None:
    """Read records again: a fault has been seeded, or mended."""
    _known.cache_clear()


def pieces_of(model: Model, records: tuple[Record, ...], at: Lattice) -> Pieces:
    """Return production's pieces, remembered between models with the same loss and design."""
    theta = at.points
    read_by = Model(
        model.pointwise, ObjectivePerturbation(), model.dim, radius=Fraction(1),
        intercept=model.intercept, low=model.low, low_y=model.low_y,
    )  # fmt: skip
    return _known(read_by, records, len(theta), theta.tobytes())


def audit(model: Model, records: tuple[Record, ...], points: int, most: int = 3) -> Verdict:
    """Return the largest loss over all neighbours among all small datasets of these records."""
    plan = model.plan()
    universe = Universe.of(records, model.relation, most)
    at = lattice(model.dim, model.radius, points, boundary=isinstance(plan, PerturbedPlan))
    logs = log_laws(plan, pieces_of(model, records, at).sums(universe.counts), at)
    i, j = universe.pairs(model.relation, model.people)
    difference = logs[i] - logs[j]
    worst = np.abs(difference).max(axis=1)
    k = int(worst.argmax())
    return Verdict(
        float(model.epsilon),
        float(plan.width),
        float(worst[k]),
        float(np.ptp(difference, axis=1).max()),
        (universe.dataset(i[k]), universe.dataset(j[k])),
    )


# --- directed search -----------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """Neighbours with common records, and the point where they are compared, if only one is.

    Under replace-one they end with ``first`` and ``second``; under add-remove one lacks ``first``.
    """

    common: tuple[Record, ...]
    first: Record
    second: Record
    theta: tuple[float, ...] = ()

    def datasets(self, relation: str) -> Witness:
        """Return the two datasets."""
        left = (*self.common, self.first)
        return left, ((*self.common, self.second) if relation == REPLACE else self.common)


def moved(state: State, rng: random.Random, high: Sequence[float], end: float) -> State:
    """Change one thing: a record, several that are alike, or theta.

    ``high`` bounds the columns, ``end`` the l1 norm of theta. Records go to corners, to 0, a little
    aside, or anywhere on a lattice of sixteenths.
    """

    def record(old: Record) -> Record:
        j = rng.randrange(len(old))
        top = high[j]
        near = old[j] + rng.choice((-1, 1)) / 16
        anywhere = rng.randint(-16, 16) / 16 * top
        value = rng.choice((-top, top, 0.0, near, anywhere, -old[j]))
        return (*old[:j], min(max(value, -top), top), *old[j + 1 :])

    which = rng.randrange(5 if state.theta else 4)
    if which == 0:
        return State(state.common, record(state.first), state.second, state.theta)
    if which == 1:
        return State(state.common, state.first, record(state.second), state.theta)
    if which <= 3:
        old = rng.choice(state.common)
        new = rng.choice((record(old), record(old), rng.choice(state.common), state.first))
        most = rng.choice((1, len(state.common) // 4, len(state.common)))
        at = [i for i, r in enumerate(state.common) if r == old][:most]
        common = tuple(new if i in at else r for i, r in enumerate(state.common))
        return State(common, state.first, state.second, state.theta)
    size = rng.choice((1.0, 0.1, 0.01, 0.001))
    theta = np.array(state.theta) + size * np.array([rng.gauss(0, 1) for _ in state.theta])
    if rng.random() < 0.2:  # along the diagonal all coordinates of a corner count alike
        theta = np.sign(theta) * np.abs(theta).max()
    theta *= min(1.0, end / max(float(np.abs(theta).sum()), 1e-300))
    return State(state.common, state.first, state.second, tuple(theta))


def climb(model: Model, n: int, seed: int, steps: int, points: int = 0) -> Verdict:
    """Move records (and theta) while the loss of a pair of n records grows; return where it ends.

    With ``points`` laws are compared on a whole lattice, as a normaliser needs, and the winner on
    a finer one, so that the peak of sixty records does not hide between two points; without, at one
    theta, and at the vertices of a ball. Odd seeds begin with all records at one corner, even ones
    with records that move nothing.
    """
    rng = random.Random(seed)
    plan = model.plan(n)
    columns = len(plan.problem.records)
    high = (*(1.0,) * (columns - 1), float(REACH if isinstance(model.pointwise, Huber) else 1))
    end = 4.0 if model.radius is None else 0.999 * float(model.radius)
    ball = () if model.radius is None else tuple(vertices(model.dim, float(model.radius)))

    @lru_cache(maxsize=4096)
    def affine(record: Record) -> Any:
        return read(plan, [record])

    def pieces(dataset: tuple[Record, ...], theta: Array) -> tuple[Array, ...]:
        if not points:
            return _at_points(read(plan, dataset), theta)
        fields = [affine(r) for r in dataset]
        A, b = sum(f.matrix for f in fields), sum(f.vector for f in fields)
        gradient = theta @ A - b
        return (theta * (gradient - b)).sum(axis=1) / 2, gradient, np.zeros(len(theta))

    def difference(state: State, lines: int) -> Array:
        at = Lattice(np.array([state.theta]), (), ball)
        if lines:
            at = lattice(model.dim, model.radius, lines, boundary=False)
        # both in one call, so that the rays of cones are common
        both = [pieces(d, at.points) for d in state.datasets(model.relation)]
        one, two = log_laws(plan, Pieces(*map(np.array, zip(*both, strict=True))), at)
        return np.asarray(one - two)

    corner, other = (tuple(rng.choice((-v, v)) for v in high) for _ in range(2))
    theta = () if points else tuple(rng.uniform(-end, end) / model.dim for _ in range(model.dim))
    filler = corner if seed % 2 else (0.0,) * columns
    state = State((filler,) * (n - 1), corner, other, theta)
    best = float(np.abs(difference(state, points)).max())
    for _ in range(steps):
        trial = moved(state, rng, high, end)
        found = float(np.abs(difference(trial, points)).max())
        if found >= best:
            state, best = trial, found
    last = difference(state, 4 * points - 3 if points else 0)
    worst, spread = float(np.abs(last).max()), float(np.ptp(last))
    witness = state.datasets(model.relation)
    return Verdict(float(model.epsilon), float(plan.width), worst, spread, witness)
