"""The hull of what one record can change: the gauge of linear programming, and no norm beats it."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import kng
from kng.core.bodies import Ball, Cuboid, Spread, product_set
from kng.core.bodies import Hull as Boxes
from kng.core.delta import changes, delta
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.regions import Region
from kng.losses import Distance, Expectile, Huber, Linear, Location, Logistic, Pinball, Squared
from kng.norms import L1, L2, CoordinateSup, Hull, InterceptSup, LInf, Polytope

F = Fraction
ONE = F(1)
UNITS = {
    "replace-one": PrivacyUnit(ReplaceOne(5)),
    "add-remove": PrivacyUnit(AddRemove()),
    "absent": PrivacyUnit(ReplaceOne(5), presence="optional"),
}


def gauge(points: np.ndarray, g: np.ndarray) -> float:
    """Return the least sum of |weights| with which points make g."""
    m = len(points)
    found = linprog(np.ones(2 * m), A_eq=np.hstack([points.T, -points.T]), b_eq=g, method="highs")
    assert found.status == 0
    return float(found.fun)


def corners(pieces) -> np.ndarray:
    return np.array(
        [[float(v) for v in c] for p in pieces for c in product(*(set(s) for s in p.sides()))]
    )


def random_body(rng, d: int):
    """Return a product set, or some cuboids, with numbers of few digits."""

    def cuboid() -> Cuboid:
        ends = [sorted(F(int(v), 8) for v in rng.integers(-16, 17, 2)) for _ in range(d)]
        return Cuboid(tuple(a for a, _ in ends), tuple(b + F(1, 8) for _, b in ends))

    if rng.uniform() < 0.5:
        low, high = -F(int(rng.integers(1, 9)), 8), F(int(rng.integers(1, 9)), 8)
        return product_set((low, high), cuboid())
    return Boxes(tuple(cuboid() for _ in range(int(rng.integers(1, 3)))))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_it_is_the_gauge_of_linear_programming(d, unit):
    rng = np.random.default_rng(d)
    for _ in range(12):
        pieces = changes(random_body(rng, d), UNITS[unit])
        norm = Hull().at(pieces)
        points = corners(pieces)
        for g in rng.normal(size=(6, d)):
            exact = norm.value([F(v) for v in g.tolist()])
            assert float(exact) == pytest.approx(gauge(points, g), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_no_norm_of_sensitivity_one_is_longer(d, unit):
    rng = np.random.default_rng(10 + d)
    for _ in range(6):
        body = random_body(rng, d)
        pieces = changes(body, UNITS[unit])
        best = Hull().at(pieces)
        assert delta(best, body, UNITS[unit]) == 1
        for norm in (L1(), LInf(), CoordinateSup().at(pieces)):
            most = delta(norm, body, UNITS[unit])
            for g in rng.normal(size=(20, d)):
                vector = [F(v) for v in g.tolist()]
                assert norm.value(vector) <= most * best.value(vector)


@pytest.mark.parametrize("tau", [F(1, 10), F(1, 2), F(3, 4), F(9, 10)])
def test_a_plane_with_an_intercept_has_the_closed_form(tau):
    rows = Cuboid((ONE, -ONE, -ONE), (ONE, ONE, ONE))
    pieces = changes(product_set((-tau, 1 - tau), rows), UNITS["replace-one"])
    norm, closed = Hull().at(pieces), InterceptSup(1 / (2 * max(tau, 1 - tau)))
    for v in product((-2, -1, 0, 1, 3), repeat=3):
        assert norm.value([F(a) for a in v]) == closed.value([F(a) for a in v])


def test_balls_have_round_hulls():
    norm = Hull().at([Ball(F(2), 3), Ball(F(1, 2), 3)])
    assert norm == L2((F(1, 2),) * 3)
    with pytest.raises(IncompatibleParts, match="ball beside others"):
        Hull().at([Ball(F(2), 1), Cuboid((ONE,), (ONE,))])


def test_shares_that_add_up_to_one_span_no_ball():
    """One-hot records under replace-one move on the plane of sum 0."""
    points = tuple(Cuboid(p, p) for p in ((ONE, F(0)), (F(0), ONE)))
    with pytest.raises(IncompatibleParts, match="spans 1 of 2 coordinates"):
        Hull().at(changes(Boxes(points), UNITS["replace-one"]))
    assert Hull().at(changes(Boxes(points), UNITS["add-remove"])).value((ONE, ONE)) == 2


def least_squares(one_sided: bool) -> Linear:
    low = 0 if one_sided else -1
    loss = Linear(Squared(), intercept=False)
    domain = kng.domains.Box(-2, 2)
    plan = kng.KNG(loss, norm=LInf(), domain=domain).plan(
        bounds_X=([low, low], [1, 1]), bounds_y=(low, 1), epsilon=1
    )
    return plan.problem.loss


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize("unit", UNITS)
def test_least_squares_has_sensitivity_one_at_every_theta(one_sided, unit):
    loss, rng = least_squares(one_sided), np.random.default_rng(3)
    ends = [(float(a), float(b)) for a, b in loss.design.ends]
    low, high = np.array(ends).T
    for theta in [(0, 0), (1, 1), (F(1, 2), -1), (3, F(1, 10))]:
        at = tuple(map(F, theta))
        body = loss.body(Region.at(at))
        norm = Hull().at(changes(body, UNITS[unit]))
        assert delta(norm, body, UNITS[unit]) == 1
        records = low + np.clip(rng.uniform(-0.5, 1.5, (600, 3)), 0, 1) * (high - low)
        z, y = records[:, :2], records[:, 2]
        scores = (z @ np.array(at, float) - y)[:, None] * z
        moves = scores[:300] - scores[300:] if unit == "replace-one" else scores
        least, _ = norm.bounds(moves, moves)
        assert least.max() <= 1 + 1e-12
        apart = scores[:, None] - scores[None]
        least, _ = norm.bounds(*(apart.reshape(-1, 2),) * 2)
        reached = max(least.max(), norm.bounds(scores, scores)[0].max())
        assert reached > 0.9


def test_directions_of_the_callers():
    loss = least_squares(True)
    pieces = changes(loss.body(Region.at((ONE, ONE))), UNITS["replace-one"])
    plain = Hull(directions=[[1, 0], [0, 1]]).at(pieces)
    assert plain.value((ONE, ONE)) == CoordinateSup().at(pieces).value((ONE, ONE))
    for v in product((-2, -1, 1, 3), repeat=2):
        vector = [F(a) for a in v]
        assert plain.value(vector) <= Hull().at(pieces).value(vector)


@pytest.mark.parametrize(
    ("directions", "text"),
    [
        ("ab", "list of rows"),
        (3, "list of rows"),
        ([], "one number per coordinate"),
        ([[1, 0], [0]], "one number per coordinate"),
        ([[1, 1], [2, 2]], "span 1 of 2"),
        ([[1, float("nan")]], "directions of Hull"),
    ],
)
def test_bad_directions_are_refused(directions, text):
    with pytest.raises(kng.KngError, match=text):
        Hull(directions=directions)


def test_directions_of_another_dimension_are_refused_before_the_charge():
    with pytest.raises(IncompatibleParts, match="directions of Hull have 3"):
        kng.KNG(
            Linear(Squared(), intercept=False),
            norm=Hull(directions=np.eye(3)),
            domain=kng.domains.Box(-1, 1),
        ).plan(bounds_X=([0, 0], [1, 1]), bounds_y=(0, 1), epsilon=1)


def test_it_has_no_length_before_it_is_fitted():
    for call in (
        lambda: Hull().value((ONE,)),
        lambda: Hull().bounds(np.ones((1, 1)), np.ones((1, 1))),
        lambda: Hull().largest((ONE,), (ONE,)),
        lambda: Hull().largest_in_ball(ONE, 1),
    ):
        with pytest.raises(SpecError, match="fitted to changes"):
            call()


LOSSES = {
    "mean": (Location(Squared()), {"bounds": (0, 1)}),
    "quantile": (Location(Pinball("0.9")), {"bounds": (0, 1)}),
    "expectile": (Location(Expectile("0.9")), {"bounds": (0, 1)}),
    "distance": (Distance(), {"bounds": ([0, 0], [1, 1]), "granularity": "0.001"}),
    "linear": (Linear(Squared()), {"bounds_X": (0, 1), "bounds_y": (0, 1)}),
    "slopes": (Linear(Expectile("0.9")), {"bounds_X": (0, 1), "bounds_y": (0, 1)}),
    "huber": (Linear(Huber(1)), {"bounds_X": (0, 1), "bounds_y": (0, 1)}),
    "plane": (Linear(Pinball("0.9")), {"bounds_X": (0, 1), "bounds_y": (0, 1)}),
    "odds": (Linear(Logistic()), {"bounds_X": (0, 1), "bounds_y": (0, 1)}),
}


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_drawn_in_it(name, neighbours):
    loss, bounds = LOSSES[name]
    mechanism = kng.KNG(loss, norm=Hull(), domain=kng.domains.Box(0, 1))
    plan = mechanism.plan(epsilon=1, neighbours=neighbours, **bounds)
    assert plan.guarantee.value == "exact"
    assert plan.sensitivity() == 1.0
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 1, (300, 2 if name == "distance" else 1))
    y = np.clip(0.5 * X[:, 0] + 0.1 * rng.normal(size=300), 0, 1)
    data = (X, y) if "bounds_X" in bounds else (X,)
    if name == "odds":
        data = (X, (y > 0.3).astype(float))
    answer = mechanism.release(*data, epsilon=2, neighbours=neighbours, random_state=1, **bounds)
    assert np.isfinite(np.atleast_1d(answer.value)).all()


def test_noise_is_drawn_in_it():
    X = np.random.default_rng(5).uniform(0, 1, (500, 2))
    answer = kng.mean(X, bounds=([0, 0], [1, 2]), norm=Hull(), epsilon=5, random_state=1)
    assert answer.guarantee.value == "simulation"
    assert np.abs(answer.value - X.mean(axis=0)).max() < 0.1


@pytest.mark.parametrize("fault", ["a facet dropped", "another relation"])
def test_faults_are_seen(fault):
    """A dropped facet allows for more than there is; another relation for less."""
    rows = Cuboid((ONE, -ONE), (ONE, ONE))
    body = product_set((-F(9, 10), F(1, 10)), rows)
    norm = Hull().at(changes(body, UNITS["replace-one"]))
    points = corners(changes(body, UNITS["replace-one"]))
    assert isinstance(norm, Polytope)
    if fault == "a facet dropped":
        other = Polytope(norm.shape.facets[:-1])
    else:
        other = Hull().at(changes(body, UNITS["add-remove"]))
        assert delta(other, body, UNITS["replace-one"]) > 1
    g = np.random.default_rng(6).normal(size=(200, 2))
    differs = [
        abs(float(other.value([F(v) for v in row.tolist()])) - gauge(points, row)) > 1e-6
        for row in g
    ]
    assert any(differs)


def test_a_norm_fitted_at_another_theta_is_seen():
    loss = least_squares(True)
    here, there = (loss.body(Region.at(at)) for at in ((F(0), F(0)), (F(2), F(2))))
    norm = Hull().at(changes(here, UNITS["replace-one"]))
    assert isinstance(there, Spread)
    assert delta(norm, there, UNITS["replace-one"]) > 1
