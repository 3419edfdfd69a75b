"""Minimisers by certified gradients: enclosures hold, distances hold, and nothing gives up.

The oracle is Newton's method on the logistic loss in Arb with 400 bits, record by record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.capabilities import CurvedField
from kng.core.curvature import Around, Curvature
from kng.core.design import Design
from kng.core.enclosures import ball, floor_ceil, precision
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.solve.curved import CurvedSolver
from kng.data import open_regression
from kng.domains import L1Ball, Whole
from kng.losses import Linear, Logistic
from kng.losses.fields.curved_field import CurvedSums
from kng.losses.kernels.curved_rows import CurvedRows
from kng.mechanisms import ObjectivePerturbation
from kng.norms import LInf
from kng.samplers.exact.objective import Perturbed

Array = np.ndarray[Any, np.dtype[np.float64]]
ONE, BITS = Fraction(1), 400


def design_of(columns: int, intercept: bool = True) -> Design:
    bounds = Bounds((-ONE,) * columns, (ONE,) * columns)
    return Linear(Logistic(), intercept=intercept).encode(bounds, (Fraction(0), ONE))


def records(kind: str, n: int, columns: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(len(kind))
    X = rng.uniform(-1, 1, (n, columns))
    if kind == "collinear":
        X[:, -1] = X[:, 0]
    odds = X @ np.linspace(2, -1, columns)
    y = (rng.uniform(size=n) < 1 / (1 + np.exp(-odds))) * 1.0
    if kind == "separable":
        y = (X[:, 0] > 0) * 1.0
    return X, np.ones(n) if kind == "one class" else y


def field_of(kind: str, n: int = 300, columns: int = 3) -> CurvedSums:
    design = design_of(columns)
    source = open_regression(*records(kind, n, columns), design.records)
    return CurvedSums(source.reduce(CurvedRows(design)), design, Logistic(), ONE)


def exact_rows(field: CurvedSums) -> tuple[list[list[Fraction]], list[int]]:
    """Return z and y of every record, in rational numbers."""
    table = np.concatenate(field.blocks)
    rows = [[ONE, *(Fraction(int(v), 2**16) for v in row[:-2])] for row in table]
    return rows, [int(row[-1]) for row in table]


def oracle(field: CurvedSums, theta: Sequence[arb], ridge: Fraction) -> tuple[arb_mat, arb_mat]:
    """Return gradient and Hessian of the loss and the ridge, from the definition."""
    d = len(theta)
    gradient, hessian = [ball(ridge) * t for t in theta], [[arb(0)] * d for _ in range(d)]
    for z, y in zip(*exact_rows(field), strict=True):
        row = [ball(v) for v in z]
        p = 1 / (1 + (-sum((a * t for a, t in zip(row, theta, strict=True)), arb(0))).exp())
        for i in range(d):
            gradient[i] += (p - y) * row[i]
            for j in range(d):
                hessian[i][j] += p * (1 - p) * row[i] * row[j]
    for i in range(d):
        hessian[i][i] += ball(ridge)
    return arb_mat([[g] for g in gradient]), arb_mat(hessian)


def minimiser_of(field: CurvedSums, linear: Sequence[Fraction], ridge: Fraction) -> list[Fraction]:
    """Return the minimiser to 2**-200 or better, from where the solver has led."""
    solver = CurvedSolver(field, ridge, (Fraction(0),) * len(linear), None)
    theta, _ = next(iter(solver.descent(tuple(linear))))
    with precision(BITS):
        at = [ball(t) for t in theta]
        for _ in range(4):
            gradient, hessian = oracle(field, at, ridge)
            step = hessian.solve(gradient + arb_mat([[ball(u)] for u in linear]))
            at = [(t - step[i, 0]).mid() for i, t in enumerate(at)]
        found = [floor_ceil(t, 250)[0] for t in at]
    return [Fraction(v, 2**250) for v in found]


KINDS = ("plain", "separable", "one class", "collinear")
LINEAR = (Fraction(3), Fraction(-1, 3), Fraction(2, 7), Fraction(5))


@pytest.mark.parametrize("ridge", [Fraction(1, 50), Fraction(3)])
@pytest.mark.parametrize("kind", KINDS)
def test_no_point_is_farther_from_the_minimiser_than_it_says(kind: str, ridge: Fraction) -> None:
    """The bound holds at every point of a descent, and it is of use: 2**-36 at the first."""
    field = field_of(kind, 120)
    truth = minimiser_of(field, LINEAR, ridge)
    solver = CurvedSolver(field, ridge, (Fraction(0),) * 4, None)
    points = list(islice(solver.descent(LINEAR), 3))
    assert points[0][1] < Fraction(1, 2**36)
    for theta, away in points:
        assert max(abs(a - b) for a, b in zip(theta, truth, strict=True)) <= away
    assert points[-1][1] < Fraction(1, 2**44)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_in_float64_hold_the_true_gradient_and_hessian(kind: str) -> None:
    field = field_of(kind, 200)
    theta = (Fraction(1, 3), Fraction(4), Fraction(-1, 7), Fraction(2))
    around = field.around(theta)
    exact, off = field.gradient(theta, 200)
    assert off < Fraction(1, 2**180)
    with precision(BITS):
        gradient, _ = oracle(field, [ball(t) for t in theta], Fraction(0))
        for j, value in enumerate(exact):
            assert abs(ball(value) - gradient[j, 0]) <= ball(off) + arb(2) ** -300
    missed = [abs(Fraction(a) - b) for a, b in zip(around.gradient.tolist(), exact, strict=True)]
    assert max(missed) <= Fraction(around.doubt) + Fraction(around.rounding)
    assert around.doubt < 200 * 2.0**-44
    # Nearby Hessians lie above the bound, and not by much.
    for moved in (-1, 1):
        near = [float(t) + moved * 2.0**-19 for t in theta]
        _, hessian = field.slopes(np.array(near))
        least = np.linalg.eigvalsh(hessian - around.least)
        assert least.min() >= -around.fuzz - 1e-12
        assert least.max() <= 1e-3 * np.trace(hessian) + 1e-12


def test_doubts_count() -> None:
    """A distance that forgot what float64 is off by would be wrong: a planted error is noticed."""
    field = field_of("plain", 120)
    truth = minimiser_of(field, LINEAR, ONE)
    solver = CurvedSolver(field, ONE, (Fraction(0),) * 4, None)
    theta, away = next(iter(solver.descent(LINEAR)))
    around = field.around(theta)
    slopes = [Fraction(v) for v in around.gradient.tolist()]
    push = 10 * Fraction(around.doubt)

    def distance(error: Fraction) -> Fraction:
        moved = replace(around, gradient=around.gradient + float(error))
        residual = [g + t + u + error for g, t, u in zip(slopes, theta, LINEAR, strict=True)]
        return Curvature(moved, ONE).away(theta, tuple(residual), None)

    assert distance(Fraction(0)) == away
    assert distance(push) > 2 * away
    assert max(abs(a - b) for a, b in zip(theta, truth, strict=True)) <= away


class Blind:
    """A field whose sums in float64 are worth nothing: doubts without end, and lying slopes."""

    def __init__(self, field: CurvedSums, lie: float) -> None:
        self.field, self.lie, self.asked = field, lie, 0

    def steepest(self) -> Fraction:
        return self.field.steepest()

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        gradient, hessian = self.field.slopes(theta)
        return gradient + self.lie, hessian

    def around(self, theta: Any) -> Around:
        known = self.field.around(theta)
        d = len(theta)
        return replace(known, doubt=1e6, least=np.zeros((d, d)), fuzz=1e9)

    def gradient(self, theta: Any, bits: int) -> tuple[Any, Fraction]:
        self.asked += 1
        return self.field.gradient(theta, bits)


def plan_of(radius: Fraction | None, n: int, epsilon: Fraction = Fraction(8)) -> Any:
    design = design_of(1)
    domain = Whole(2) if radius is None else L1Ball(radius, dim=2)
    loss = Linear(Logistic()).over(design)
    unit = PrivacyUnit(ReplaceOne(n), 1)
    asked = Problem(loss, LInf(), domain, design.records, design.lattice, unit)
    return ObjectivePerturbation(Fraction(1, 2)).plan(asked, epsilon)


@pytest.mark.parametrize("radius", [None, Fraction(1, 3), Fraction(20)])
@pytest.mark.parametrize("parts", [8, 0])
def test_a_blind_solver_finds_the_same_cells(
    radius: Fraction | None, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where float64 decides nothing, gradients enclosed record by record do.

    Without any part of Newton's steps sure ones are left, which take longer.
    """
    monkeypatch.setattr("kng.core.solve.curved._HALVES", parts)
    epsilon = Fraction(8) if parts else Fraction(1, 2)
    field = field_of("plain", 8, 1)
    plan = plan_of(radius, 8, epsilon)
    blind = Blind(field, 0.5)
    assert isinstance(blind, CurvedField)
    for seed in range(4):
        seen = Perturbed().draw(plan, field, SeededBits(seed))
        assert Perturbed().draw(plan, blind, SeededBits(seed)) == seen
    assert blind.asked > (3 if parts or radius == Fraction(1, 3) else 40)


def test_on_a_ball_vertices_and_faces_are_reached() -> None:
    """Coordinates that are exactly 0, and the radius itself, have positive probability."""
    field, plan = field_of("plain", 8, 1), plan_of(Fraction(1, 3), 8)
    drawn = [plan.lattice.units(Perturbed().draw(plan, field, SeededBits(s))) for s in range(60)]
    assert any(abs(t[0]) == Fraction(1, 3) for t in drawn)
    assert any(sum(map(abs, t)) == Fraction(1, 3) and 0 not in t for t in drawn)
    assert all(sum(map(abs, t)) <= Fraction(1, 3) + sum(plan.lattice.step) for t in drawn)


@pytest.mark.parametrize("kind", KINDS)
def test_hard_records_take_ordinary_steps(kind: str) -> None:
    """No record-by-record pass and few steps, in ten coefficients."""
    field = field_of(kind, 20_000, 9)
    counts = {"slopes": 0, "gradient": 0}

    class Counted(Blind):
        def slopes(self, theta: Array) -> tuple[Array, Array]:
            counts["slopes"] += 1
            return field.slopes(theta)

        def around(self, theta: Any) -> Around:
            return field.around(theta)

    counted = Counted(field, 0.0)
    solver = CurvedSolver(counted, Fraction(4), (Fraction(0),) * 10, None)
    _, away = next(iter(solver.descent((Fraction(10),) * 10)))
    assert away < Fraction(1, 2**36)
    assert counts["slopes"] <= 15
    assert counted.asked == 0
