"""Least squares and Huber through 0, with records that fill less than [-1, 1]: exact attacks."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from regression.setting import ADD, RELATIONS, REPLACE, design, linear, relation_of

from kng.bases import Uniform
from kng.core.bounds import Bounds
from kng.core.delta import changes
from kng.core.design import Design, from_zero
from kng.core.lattice import Lattice
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.regions import Region
from kng.data import open_regression
from kng.domains import Box, Whole
from kng.losses import Huber, Linear
from kng.losses.fields.huber_records import ENDS
from kng.losses.linear_encoding import encoded
from kng.mechanisms import KNG, ObjectivePerturbation
from kng.norms import LInf

F = Fraction
# Where covariates and response begin; both end at 1.
LOWS = [(F(0), F(0)), (F(0), F(-1)), (F(-1), F(0)), (F(1, 4), F(1, 2)), (F(-1, 2), F(-1, 4))]
THETAS = [
    [F(0), F(0)],
    [F(1, 4), F(-1, 3)],
    [F(2), F(1, 2)],
    [F(-3), F(1)],
    [F(5), F(-5)],
    [F(50), F(0)],
    [F(3, 4), F(0)],
    [F(-1000), F(999)],
]


def gradient(theta: list[Fraction], z: tuple[Fraction, ...], y: Fraction) -> list[Fraction]:
    residual = sum((a * b for a, b in zip(theta, z, strict=True)), F(0)) - y
    return [residual * v for v in z]


def brute(theta: list[Fraction], low: Fraction, low_y: Fraction, j: int, relation: str) -> Fraction:
    """Return the widest change of coordinate j: ends of all but z_j, which gets a fine grid."""
    grid = [low + (1 - low) * F(i, 60) for i in range(61)]
    cells = [grid if k == j else (low, F(1)) for k in range(len(theta))]
    values = [gradient(theta, z, y)[j] for z in product(*cells) for y in (low_y, F(1))]
    return max(values) - min(values) if relation == REPLACE else max(map(abs, values))


def widths(theta: list[Fraction], shape: Design, relation: str) -> list[Fraction]:
    body = linear(shape).body(Region.at(tuple(theta)))
    (piece,) = changes(body, protected(relation))
    return [max(abs(a), abs(b)) for a, b in piece.sides()]


def protected(relation: str) -> PrivacyUnit:
    return PrivacyUnit(relation_of(relation, 1))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("lows", LOWS, ids=str)
def test_no_record_moves_a_coordinate_beyond_its_width(lows, relation):
    shape, unit = design(2, low=lows[0], low_y=lows[1]), protected(relation)
    loss = linear(shape)
    for theta in THETAS:
        bounds = widths(theta, shape, relation)
        size = 1 + sum(map(abs, theta))
        assert max(bounds) <= loss.growth(unit) * size
        for j in range(2):
            assert brute(theta, *lows, j, relation) <= bounds[j], (theta, j)
        floats = loss.widths(np.array([[float(t) for t in theta]]), unit)[0]
        assert floats == pytest.approx([float(b) for b in bounds], rel=1e-14)


@pytest.mark.parametrize("lows", LOWS, ids=str)
def test_the_slope_is_attained_at_zero(lows):
    """Where 0 lies inside a column's interval, or the longest is longer than 1."""
    shape = design(2, low=lows[0], low_y=lows[1])
    slope = linear(shape).growth(protected(REPLACE))
    found = brute([F(0), F(0)], *lows, 0, REPLACE)
    assert slope == max(F(1), 1 - lows[0], 1 - lows[1])
    assert found == (slope if min(lows) <= 0 else 1 - lows[0] * lows[1])
    assert linear(shape).growth(protected(ADD)) == 1
    assert brute([F(0), F(0)], *lows, 0, ADD) == 1


def test_records_of_one_sign_cost_half():
    positive, both = design(2, low=0, low_y=0), design(2)
    for theta in THETAS:
        half = widths(theta, positive, REPLACE)
        whole = widths(theta, both, REPLACE)
        assert all(a <= b for a, b in zip(half, whole, strict=True))
    zero = [F(0), F(0)]
    assert [2 * w for w in widths(zero, positive, REPLACE)] == widths(zero, both, REPLACE)


# --- what is read --------------------------------------------------------------------------------


def caller(box, response, scale=None) -> Design:
    lows, highs = zip(*((F(a), F(b)) for a, b in box), strict=True)
    return Design(encoded(Bounds(lows, highs), response, from_zero), False, scale)


BOX = [(0, 10), (18, 90), (-7, 3)]


def survey(n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(4)
    X = draw.uniform([-2, 10, -9], [12, 99, 5], (n, 3))
    return X, draw.uniform(-50, 120, n)


def test_products_are_those_of_the_clipped_records_measured_from_zero():
    shape = caller(BOX, from_zero(F(-40), F(100), 2**16))
    X, y = survey()
    loss, unit = linear(shape), PrivacyUnit(ReplaceOne(len(y)))
    posed = Problem(loss, LInf(), Whole(3), shape.records, shape.lattice, unit)
    (field,) = loss.read(open_regression(X, y, shape.records), [KNG().plan(posed, F(1))])
    low, high = np.array(BOX, dtype=float).T
    unit = np.abs([low, high]).max(axis=0)
    Z, t = np.clip(X, low, high) / unit, np.clip(y, -40, 100) / 100
    assert np.allclose(field.matrix, Z.T @ Z, atol=500 * 2**-15)
    assert np.allclose(field.vector, Z.T @ t, atol=500 * 2**-15)
    # and exactly those of the integers
    Z = np.array(
        [
            [F(2 * int(k) - c, s) for k, c, s in zip(row, shape.offsets, shape.spans, strict=True)]
            for row in _integers(X, y, shape)
        ]
    )
    assert max(map(abs, Z.flat)) == 1
    table = Z.T @ Z
    assert field.matrix.tolist() == [[float(v) for v in row[:-1]] for row in table[:-1]]
    assert field.vector.tolist() == [float(v) for v in table[:-1, -1]]


def _integers(X: np.ndarray, y: np.ndarray, shape: Design) -> np.ndarray:
    class Rows:
        def select(self, batch):
            return batch

    return open_regression(X, y, shape.records).collect(Rows())


def test_hubers_sums_are_those_of_the_clipped_records_measured_from_zero():
    shape = caller(BOX, (-(2**24) * F(1), 2**24 * F(1), F(1, 2**16)), F(16))
    X, y = survey()
    low, high = np.array(BOX, dtype=float).T
    Z = np.clip(X, low, high) / np.abs([low, high]).max(axis=0)
    theta = np.array([1.0, -0.5, 0.25])
    psi = np.clip(Z @ theta - y / 16, -1, 1)
    source = open_regression(X, y, shape.records)
    loss, unit = Linear(Huber(16), intercept=False).over(shape), PrivacyUnit(ReplaceOne(len(y)))
    whole = Whole(3, base=Uniform())
    posed = Problem(loss, LInf(), whole, shape.records, shape.lattice, unit)
    plan = ObjectivePerturbation(F(1, 2)).plan(posed, F(1))
    (field,) = plan.read(source, [plan])
    piece = field.piece([F(v) for v in theta], F(1))
    hessian = np.array(piece.rows, dtype=float)
    found = hessian @ theta - np.array(piece.right, dtype=float)
    assert np.allclose(found, psi @ Z, atol=500 * 2**-15)
    inlier = Z[np.abs(psi) < 1]
    assert np.allclose(hessian, inlier.T @ inlier, atol=1.1)


@pytest.mark.parametrize("box", [(0, 10), (18, 90), (-7, -3), (-1, 2)], ids=str)
def test_hubers_two_and_one_are_attained_in_every_box(box):
    """The far end of the covariate, with responses far below and far above: 1 and -1."""
    shape = caller([box], (-(2**20) * F(1), 2**20 * F(1), F(1, 2**20)), F(1))
    answers = Lattice((F(-4),), (F(1),), (8,))
    scores = {}
    for y in (-1e9, 1e9):
        X = np.array([[max(box, key=abs)]], dtype=float)
        plan = _plan(shape, answers, REPLACE)
        (field,) = plan.read(open_regression(X, np.array([y]), shape.records), [plan])
        assert abs(field.rows[0, 0]) == ENDS
        scores[y] = [field.score((t,)) for t in range(-4, 5)]
        signs = np.sign(field.rows[:, 0] * np.arange(-4, 5)[:, None] - field.response)
        assert len(np.unique(signs)) == 1, "one side of every plane"
        assert scores[y] == [1] * 9
    assert _plan(shape, answers, REPLACE).steady == 2
    assert _plan(shape, answers, ADD).steady == 1


def _plan(shape: Design, answers: Lattice, relation: str) -> DensityPlan:
    unit = PrivacyUnit(relation_of(relation, 1))
    loss = Linear(Huber(1), intercept=False).over(shape, answers)
    problem = Problem(loss, LInf(), Box.of(answers), shape.records, answers, unit)
    plan = KNG().plan(problem, F(1))
    assert isinstance(plan, DensityPlan)
    return plan
