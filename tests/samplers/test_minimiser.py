"""The minimiser of a perturbed objective is exact: its conditions hold in rational numbers.

On R^d the gradient is 0. On a ball of radius B the gradient g has -g'theta = B max |g_j|, and
theta lies in the ball: then g'(x - theta) >= 0 for every x of the ball, which makes theta the
minimiser of a convex function. Both are decided without a tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from data.reading import batches
from scipy.optimize import minimize

from kng.core.bounds import Bounds
from kng.core.design import Design, across
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.quadratic import Quadratic
from kng.core.solve import piecewise as descending
from kng.core.solve import quadratic_minimiser as rational
from kng.core.solve.piecewise import PiecewiseObjective, descent, first_point
from kng.core.solve.quadratic_minimiser import minimiser
from kng.data import open_regression
from kng.domains import L1Ball
from kng.losses import Linear, Squared
from kng.losses.fields.piecewise_field import read_pieces
from kng.losses.linear_encoding import encoded
from kng.mechanisms import ObjectivePerturbation
from kng.norms import LInf

Array = np.ndarray
HALF = Fraction(1, 2)


def gradient(quadratic: Quadratic, theta: Sequence[Fraction]) -> list[Fraction]:
    rows = zip(quadratic.rows, quadratic.right, strict=True)
    return [sum(a * t for a, t in zip(row, theta, strict=True)) - r for row, r in rows]


def minimise(objective: PiecewiseObjective) -> tuple[Fraction, ...]:
    """Return the last point of the descent, which says itself that it is the minimiser."""
    *_, (theta, away) = descent(objective, first_point(objective))
    assert away == 0
    return theta


def is_minimum(
    slopes: Sequence[Fraction], theta: Sequence[Fraction], radius: Fraction | None
) -> bool:
    """Tell whether a convex function with this gradient at theta is least there."""
    if radius is None:
        return not any(slopes)
    along = sum(g * t for g, t in zip(slopes, theta, strict=True))
    return sum(map(abs, theta)) <= radius and -along == radius * max(map(abs, slopes))


def whole_numbers(seed: int) -> tuple[Quadratic, Fraction]:
    """Return a positive definite form of few distinct whole numbers: ties everywhere."""
    rng = np.random.default_rng(seed)
    d, n = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    Z = rng.choice([-1, 0, 1], (n, d))
    square = Z.T @ Z * 10 ** int(rng.integers(0, 6))
    right = Z.T @ rng.choice([-1, 0, 1], n) * 10 ** int(rng.integers(0, 6))
    ridge = Fraction(1, int(rng.choice([1, 3, 1000])))
    plain = Quadratic.of(
        [[Fraction(int(v)) for v in row] for row in square], [Fraction(int(v)) for v in right]
    )
    radius = Fraction(str(rng.choice(["1/1000", "1/10", "1/2", "1", "5", "100"])))
    return plain.plus(ridge, [Fraction(0)] * d), radius


@pytest.mark.parametrize("block", range(8))
def test_a_quadratic_over_a_ball_is_minimised_exactly(block):
    outside = 0
    for seed in range(60 * block, 60 * block + 60):
        quadratic, radius = whole_numbers(seed)
        for bound in (radius, None):
            theta, shift = minimiser(quadratic, bound)
            assert shift == 0
            slopes = gradient(quadratic, theta)
            if bound is not None and sum(map(abs, theta)) < bound:
                assert not any(slopes)
            else:
                assert is_minimum(slopes, theta, bound)
                outside += bound is not None
    assert outside > 10  # the ball matters in many of them


@pytest.mark.parametrize("block", range(4))
def test_without_a_guess_the_path_leads_there_too(block, monkeypatch):
    """The way taken if mending goes in circles; ties may leave an error of a shift of 2^-200."""
    monkeypatch.setattr(rational, "_mended", lambda *_: None)
    for seed in range(60 * block, 60 * block + 60):
        quadratic, radius = whole_numbers(seed)
        theta, shift = minimiser(quadratic, radius)
        slopes = gradient(quadratic, theta)
        if any(slopes):
            along = sum(g * t for g, t in zip(slopes, theta, strict=True))
            # the gap bounds gamma/2 times the squared distance, and gamma >= 1/1000
            gap = radius * max(map(abs, slopes)) + along
            assert gap < Fraction(1, 2**190)
            assert gap == 0 or 0 < shift < Fraction(1, 2**190)
            assert sum(map(abs, theta)) <= radius


def test_a_bad_guess_is_mended(monkeypatch):
    for seed in range(120):
        quadratic, radius = whole_numbers(seed)
        rng = np.random.default_rng(seed)
        d = quadratic.dim
        signs = {j: int(rng.choice([-1, 1])) for j in range(d) if rng.uniform() < 0.5} or {0: 1}
        monkeypatch.setattr(rational, "_guess", lambda *_, signs=signs: signs)
        theta, _ = minimiser(quadratic, radius)
        slopes = gradient(quadratic, theta)
        gap = radius * max(map(abs, slopes)) + sum(
            g * t for g, t in zip(slopes, theta, strict=True)
        )
        assert not any(slopes) or gap < Fraction(1, 2**190)


# --- Huber ---------------------------------------------------------------------------------------

THRESHOLD = Fraction(1, 4)
RIDGE = Fraction(1, 100)
ORIGIN = (Fraction(0),) * 3
UNIT = PrivacyUnit(ReplaceOne(2**20))  # so many that every piece is a pass


def huber(
    X: Array, y: Array, limit: Fraction
) -> tuple[PiecewiseObjective, list[list[Fraction]], list]:
    """Return the objective without noise, and the records as the rational numbers they become."""
    covariates = Bounds((Fraction(-1),) * X.shape[1], (Fraction(1),) * X.shape[1])
    records = encoded(covariates, (-limit, limit, THRESHOLD / 2**6), across)
    design = Design(records, True, THRESHOLD)
    source = open_regression(X, y, records)
    whole = np.concatenate([np.array(batch) for batch in batches(source)])
    Z = [
        [
            Fraction(1),
            *(
                Fraction(2 * int(k) - c, s)
                for k, c, s in zip(row[:-1], design.offsets, design.spans, strict=False)
            ),
        ]
        for row in whole
    ]
    unit = records.step[-1] / design.half_y / 2
    t = [(2 * int(row[-1]) - design.offsets[-1]) * unit for row in whole]
    rng = np.random.default_rng(len(y))
    linear = tuple(Fraction(float(v)) for v in rng.normal(size=design.dim))
    centre = (Fraction(1, 3),) * design.dim
    field = read_pieces(source, design, UNIT, LInf())
    return PiecewiseObjective(field, linear, RIDGE, centre, None), Z, t


def records(kind: str, n: int, d: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(n + d)
    X = rng.uniform(-1, 1, (n, d - 1))
    if kind == "two far bounds":
        return X, rng.choice([-1, 1], n) * 2.0**18
    if kind == "heavy tails":
        return X, 10 * rng.standard_cauchy(n)
    if kind == "dummies":
        X = np.sign(X)
    if kind == "kinks":  # residuals of whole thresholds: many records on a hyperplane at once
        X = np.sign(X)
        return X, rng.integers(-4, 5, n) * float(THRESHOLD)
    if kind == "columns alike":
        X = np.repeat(X[:, :1], d - 1, axis=1)
    return X, X @ np.linspace(-2, 2, d - 1) + rng.normal(size=n)


def slopes_at(
    objective: PiecewiseObjective, Z: list, t: list, theta: Sequence[Fraction]
) -> list[Fraction]:
    """Return the gradient of the whole objective, record by record."""
    slopes = [
        u + objective.ridge * (v - c)
        for u, v, c in zip(objective.linear, theta, objective.centre, strict=True)
    ]
    for z, response in zip(Z, t, strict=True):
        residual = sum(a * b for a, b in zip(z, theta, strict=True)) - response
        psi = max(Fraction(-1), min(Fraction(1), residual))
        slopes = [g + psi * a for g, a in zip(slopes, z, strict=True)]
    return slopes


KINDS = ("ordinary", "two far bounds", "heavy tails", "dummies", "kinks", "columns alike")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(1, 2), (7, 3), (60, 2), (60, 6), (400, 4)])
@pytest.mark.parametrize("radius", [None, HALF, Fraction(20)])
def test_hubers_minimiser_is_exact(kind, n, d, radius):
    objective, Z, t = huber(*records(kind, n, d), Fraction(2**18))
    objective = replace(objective, radius=radius)
    theta = minimise(objective)
    slopes = slopes_at(objective, Z, t, theta)
    inside = radius is not None and sum(map(abs, theta)) < radius
    assert is_minimum(slopes, theta, None if inside else radius)


def test_steps_are_few():
    """A pass over the records each; a convex problem this hard takes some ten of them."""
    passes = []
    for kind in KINDS:
        for n, d in ((60, 2), (400, 4), (3000, 12)):
            objective, _, _ = huber(*records(kind, n, d), Fraction(2**18))
            seen: list[int] = []

            class Counted:
                def piece(self, theta, width, field=objective.field, seen=seen):
                    seen.append(1)
                    return field.piece(theta, width)

            minimise(replace(objective, field=Counted()))
            passes.append(len(seen))
    assert max(passes) < 60
    assert np.median(passes) < 12


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", [None, HALF, Fraction(20)])
def test_steps_that_cannot_fail_reach_it_too(kind, radius, monkeypatch):
    """The way that is taken when Newton's steps lead nowhere: every bound on it holds."""
    monkeypatch.setattr(descending, "_STEPS", 0)
    monkeypatch.setattr(descending, "_STEPS_BELOW", 0)
    objective, Z, t = huber(*records(kind, 60, 3), Fraction(2**18))
    objective = replace(objective, radius=radius)
    *before, (theta, away) = descent(objective, ORIGIN)
    slopes = slopes_at(objective, Z, t, theta)
    inside = radius is not None and sum(map(abs, theta)) < radius
    assert away == 0
    assert is_minimum(slopes, theta, None if inside else radius)
    assert before
    for point, bound in before:
        apart = sum((a - b) ** 2 for a, b in zip(point, theta, strict=True))
        assert apart <= bound**2
        assert radius is None or sum(map(abs, point)) <= radius
    assert len(before) < 100


def test_a_point_beside_the_minimiser_is_seen():
    """The conditions above have no tolerance."""
    objective, Z, t = huber(*records("heavy tails", 400, 4), Fraction(2**18))
    theta = minimise(objective)
    assert not any(slopes_at(objective, Z, t, theta))
    moved = (theta[0] + Fraction(1, 2**300), *theta[1:])
    assert any(slopes_at(objective, Z, t, moved))


def test_records_on_a_kink_are_decided_exactly():
    """Thirds: float64 would put half of these records beside the kink they lie on."""
    X = np.repeat(np.array([[0.5], [-0.5], [0.25], [1.0]]), 50, axis=0)
    y = np.arange(200) % 8 * float(THRESHOLD)
    objective, Z, t = huber(X, y, Fraction(2**18))
    for first in range(-12, 13):
        theta = (Fraction(first, 3), Fraction(2 * first + 1, 3))
        piece = objective.field.piece(theta, Fraction(1))
        within = [
            abs(sum(a * b for a, b in zip(z, theta, strict=True)) - response) <= 1
            for z, response in zip(Z, t, strict=True)
        ]
        assert piece.rows[0][0] == sum(within)
    line = Fraction(7, 3), Fraction(2, 3)
    for z, response in zip(Z, t, strict=True):  # every record exactly on its kink, one by one
        slope = (response + 1 - line[0]) / z[1] if z[1] else line[1]
        field = objective.field.piece((line[0], slope), Fraction(1))
        residuals = [abs(line[0] + a[1] * slope - b) for a, b in zip(Z, t, strict=True)]
        assert field.rows[0][0] == sum(v <= 1 for v in residuals)


def test_scipy_finds_no_less():
    X, y = records("heavy tails", 200, 3)
    objective, Z, t = huber(X, y, Fraction(2**18))
    Z, t = np.array(Z, dtype=float), np.array(t, dtype=float)

    def value(theta: Array) -> float:
        size = np.abs(Z @ theta - t)
        loss = np.where(size <= 1, size**2 / 2, size - 0.5)
        away = theta - np.array(objective.centre, dtype=float)
        linear = np.array(objective.linear, dtype=float)
        return float(loss.sum() + float(RIDGE) / 2 * away @ away + linear @ theta)

    ours = np.array(minimise(objective), dtype=float)
    theirs = minimize(value, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    assert value(ours) <= theirs.fun + 1e-9
    assert np.allclose(ours, theirs.x, atol=1e-4)


def test_least_squares_keeps_every_digit():
    """The products are never rounded: a sum of squares beyond 2^53 has its last digit."""
    X, y = records("ordinary", 5000, 3)
    covariates = Bounds((Fraction(-1),) * 2, (Fraction(1),) * 2)
    span = Fraction(-8), Fraction(8), Fraction(1, 2**16)
    design = Design(encoded(covariates, span, across), True)
    source = open_regression(X, y, design.records)
    loss = Linear(Squared()).over(design, design.lattice)
    ball = L1Ball(1, dim=3)
    asked = Problem(loss, LInf(), ball, design.records, design.lattice, UNIT)
    plan = ObjectivePerturbation().plan(asked, Fraction(1))
    [field] = plan.read(source, [plan])
    piece = field.piece((Fraction(0),) * 3, Fraction(1))
    whole = np.concatenate([np.array(batch) for batch in batches(source)])
    total = sum(
        Fraction(2 * int(row[0]) - design.offsets[0], design.spans[0]) ** 2 for row in whole
    )
    assert piece.rows[1][1] == total
