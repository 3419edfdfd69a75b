"""What one record does to a quantile plane: all pairs of records, and the hull of what they do."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.delta import Absolute, delta
from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.regions import Region
from kng.data import open_regression
from kng.losses import Linear, Pinball
from kng.losses.fields.plane_records import ENDS, PlaneRecords, PlaneRows
from kng.losses.linear_encoding import encoded
from kng.norms import L1, InterceptSup, LInf

TAUS = [Fraction(q) for q in ("0.05", "0.3", "0.5", "0.75", "0.95")]
ZERO = Fraction(0)
ONE, ADDED = PrivacyUnit(ReplaceOne(3)), PrivacyUnit(AddRemove())


def design(columns: int, intercept: bool) -> Design:
    covariates = Bounds((Fraction(-1),) * columns, (Fraction(1),) * columns)
    records = encoded(covariates, (Fraction(-1), Fraction(1), Fraction(2, 2**24)))
    return Design(records, intercept)


def largest_value(tau: Fraction, plan: Design, answers: Lattice, jitter: Fraction) -> Fraction:
    """Return how far one record moves the summed loss on a lattice."""
    loss = Linear(Pinball(tau), intercept=plan.intercept).over(plan, answers, jitter)
    region = Region.between(answers.origin, answers.units(answers.last))
    return delta(Absolute(), loss.values(region), ONE)


def gradients(tau: Fraction, columns: int, intercept: bool) -> list[tuple[Fraction, ...]]:
    """Return (w - tau) z for corners, inner points and both sides of a plane."""
    entries = (Fraction(-1), Fraction(1, 3), Fraction(1))
    first = (Fraction(1),) if intercept else ()
    return [
        tuple((w - tau) * v for v in (*first, *z))
        for z in product(entries, repeat=columns)
        for w in (0, 1)
    ]


def differences(tau: Fraction, columns: int, intercept: bool) -> list[tuple[Fraction, ...]]:
    g = gradients(tau, columns, intercept)
    return [tuple(a - b for a, b in zip(x, y, strict=True)) for x, y in product(g, g)]


@pytest.mark.parametrize("tau", TAUS, ids=str)
@pytest.mark.parametrize(("columns", "intercept"), [(1, False), (1, True), (2, False), (2, True)])
def test_the_sensitivity_is_the_largest_change_and_no_more(tau, columns, intercept):
    plan = design(columns, intercept)
    body = Linear(Pinball(tau), intercept=intercept).over(plan).body(Region.everything(plan.dim))
    norms = [L1(), LInf()] + [InterceptSup(1 / (2 * max(tau, 1 - tau)))] * intercept
    for norm in norms:
        one = max(norm.value(g) for g in gradients(tau, columns, intercept))
        assert delta(norm, body, ADDED) == one
        two = max(norm.value(g) for g in differences(tau, columns, intercept))
        assert delta(norm, body, ONE) == two
    if intercept:
        assert two == 1, "the intercept's norm is made for it"


@pytest.mark.parametrize("tau", TAUS, ids=str)
@pytest.mark.parametrize("columns", [1, 2])
def test_the_intercept_s_norm_is_the_hull_of_all_changes(tau, columns):
    """The gauge of the hull is a linear program: the least sum of weights that makes g."""
    norm = InterceptSup(1 / (2 * max(tau, 1 - tau)))
    changes = np.array([[float(v) for v in g] for g in differences(tau, columns, True)]).T
    rng = np.random.default_rng(1)
    for g in [*rng.normal(size=(12, columns + 1)), *np.eye(columns + 1)]:
        gauge = linprog(np.ones(changes.shape[1]), A_eq=changes, b_eq=g).fun
        assert float(norm.value([Fraction(v) for v in g])) == pytest.approx(gauge, rel=1e-8)


@pytest.mark.parametrize("tau", TAUS, ids=str)
def test_no_weight_of_slopes_is_better(tau):
    """A larger weight is not worth 1 any more, a smaller one leaves a corner inside its ball."""
    best = 1 / (2 * max(tau, 1 - tau))
    corner = (ZERO, 2 * max(tau, 1 - tau))
    assert corner in differences(tau, 1, True)
    assert InterceptSup(best).value(corner) == 1
    if best > Fraction(1, 2):
        assert InterceptSup(max(Fraction(1, 2), best / 2)).value(corner) < 1
    if best < 1:
        assert InterceptSup(min(Fraction(1), 2 * best)).value(corner) > 1


@pytest.mark.parametrize("tau", TAUS, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_value_of_one_record_is_bounded_and_the_bound_nearly_attained(tau, intercept):
    plan = design(1, intercept)
    step, d = Fraction(1, 4), plan.dim
    answers = Lattice((-2 * step,) * d, (step,) * d, (4,) * d)
    bound = largest_value(tau, plan, answers, ZERO)
    losses = []
    for x, y in product((-1.0, 0.3, 1.0), (-1.0, 0.1, 1.0)):
        source = open_regression(np.array([[x]]), np.array([y]), plan.records)
        table = source.collect(PlaneRows(plan, answers))
        rows, response = table[:, :-1], table[:, -1]
        for theta in product(range(-2, 3), repeat=d):
            fitted = sum(Fraction(int(v)) * k for v, k in zip(rows[0], theta, strict=True))
            gap = (Fraction(int(response[0])) - fitted) * step / ENDS
            losses.append(max(tau * gap, (tau - 1) * gap))
    assert 0 <= min(losses) <= max(losses) <= bound
    assert bound - max(losses) <= max(tau, 1 - tau) * step / ENDS, "one unit of rounding"


def test_shifts_stay_within_what_the_value_of_one_record_is_charged_for():
    tau, step = Fraction(1, 2), Fraction(1, 4)
    plan = design(1, True)
    answers = Lattice((-2 * step,) * 2, (step,) * 2, (4,) * 2)
    spread = Fraction(1, 2**11)
    charged = largest_value(tau, plan, answers, spread)
    alone = largest_value(tau, plan, answers, ZERO)
    assert charged - alone == tau * spread / 2
    n, unit = 4000, step / ENDS
    lowest = np.full(n, float(-1 / unit))  # y' = -1, against a plane at +1
    held = (n * ENDS, 0, int(lowest.sum()))
    bits = int(spread / unit).bit_length() - 1
    rows = np.tile(np.array([[ENDS, ENDS]], np.float32), (n, 1))
    one = PlaneRecords(rows, lowest, tau, Fraction(1), Fraction(1), "value", held, bits)
    gaps = [
        tau * (Fraction(1) - Fraction(int(y)) * unit) for y in one.shifted(SeededBits(1)).response
    ]
    largest = max(gaps)
    assert largest <= charged
    assert largest > alone - tau * unit, "a shift reaches beyond the record's own bound"
    assert charged - largest <= tau * (4 * unit), "and all but the last steps of it are attained"
