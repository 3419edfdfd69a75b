"""Fits at a private scale: stages, what they cost, every scale there is, records of all kinds."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import kng
from kng.core.bounds import Bounds
from kng.core.design import Design, across, from_zero
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.scale import RadiusGrid
from kng.data import open_response
from kng.domains import L1Ball
from kng.estimators.fit import Fit
from kng.estimators.scale_stages import LEVELS, SCALED_RESPONSE_STEPS, ScaledFit, scaled_problem
from kng.losses.fields.ranked_line import RankField
from kng.losses.kernels.ranks import Wanted, read_ranks
from kng.losses.linear_encoding import encoded
from kng.losses.mapped import MappedRecords
from kng.losses.radius import Distances
from kng.mechanisms.objective import Perturbation
from kng.mechanisms.scaled import Bent, Clipped
from kng.norms import LInf

MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "linear": (kng.LinearRegression, {}),
    "huber": (kng.HuberRegressor, {"threshold": "auto"}),
}
UNITS = {
    "few": PrivacyUnit(ReplaceOne(30), 1),
    "public": PrivacyUnit(ReplaceOne(5000), 1),
    "people": PrivacyUnit(ReplaceOne(5000), 3),
    "private": PrivacyUnit(AddRemove(), 1),
}


def planned(
    unit: PrivacyUnit,
    *,
    intercept: bool = True,
    radius: Fraction | None = None,
    name: str = "linear",
) -> Fit:
    """Return the stages for three covariates and a response between -10 and 30."""
    low, high = Fraction(-10), Fraction(30)
    cut = across if intercept else from_zero
    covariates = Bounds((Fraction(-1),) * 3, (Fraction(1),) * 3)
    design = Design(encoded(covariates, cut(low, high, SCALED_RESPONSE_STEPS), cut), intercept)
    problem = scaled_problem(design, LInf(), None if radius is None else L1Ball(radius), unit)

    def rule(epsilon: Fraction) -> Clipped | Bent:
        return Clipped.of(epsilon, design.dim, unit) if name == "linear" else Bent()

    fit = ScaledFit(problem, design, (low, high), Fraction(2), rule, tuple(LEVELS), None, "auto")
    return fit.stages(lambda encoding: open_response(np.zeros((5, 1)), np.zeros(5), 1, encoding))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_stages_cost_epsilon_together(name: str, unit: str, intercept: bool) -> None:
    fit = planned(UNITS[unit], intercept=intercept, name=name)
    spent = [plan.epsilon for stage in fit.before for plan in stage.plans]
    assert len(spent) == (0 if unit == "few" else 1 + intercept)
    assert sum(spent) + fit.plan.epsilon == 2
    assert all(share > 0 for share in spent)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("unit", ["public", "people", "private"])
@pytest.mark.parametrize(
    ("intercept", "radius"), [(True, None), (False, None), (True, Fraction(50))]
)
def test_no_scale_that_can_be_drawn_makes_anything_fail(
    name: str, unit: str, intercept: bool, radius: Fraction | None
) -> None:
    """Every radius of the grid, with centres at both ends and within: a private plan for each."""
    fit = planned(UNITS[unit], intercept=intercept, radius=radius, name=name)
    last = fit.before[-1].plans[-1].problem.answers.last[0]
    people = UNITS[unit].records_per_person
    slope = 1 if unit == "private" else 2
    for radius_at in range(last + 1):
        for centre in (0, 2**23 + 7, 2**24) if intercept else (None,):
            drawn = [(radius_at,)] if centre is None else [(centre,), (radius_at,)]
            plan = fit.plan.after(drawn)
            assert plan.epsilon == fit.plan.epsilon
            assert plan.rate == plan.share * plan.epsilon / (people * slope)
            posed = Perturbation.of(plan.problem)
            assert plan.rate == plan.share * plan.epsilon / posed.sensitivity
            assert plan.ridge >= posed.ridge(plan.epsilon, plan.share)
            assert plan.lattice.last == fit.plan.lattice.last
            threshold = plan.problem.loss.design.half_y
            assert 0 < threshold <= 40
            assert (
                plan.lattice.step[0] * threshold == fit.plan.lattice.step[0] * 20 or not intercept
            )
            assert fit.also is not None
            shown = fit.also.lattice.units(fit.also.of(drawn))
            assert shown[0] == threshold
            if radius is not None:
                assert plan.problem.domain.radius * threshold == radius


def test_the_threshold_follows_the_scale_and_no_more_than_the_farthest_response() -> None:
    fit = planned(UNITS["public"])
    drawn = [[(2**23,), (at,)] for at in range(1, 85)]
    sizes = [float(fit.plan.after(each).problem.loss.design.half_y) for each in drawn]
    assert sizes == sorted(sizes)
    assert sizes[0] < 1e-3
    assert sizes[-1] == 20  # from the middle of the bounds
    heaped = fit.plan.after([(2**23,), (0,)]).problem.loss.design.half_y
    assert heaped == 20  # the spread of a heap says nothing about the others
    bent = planned(UNITS["public"], name="huber").plan.after([(2**23,), (0,)])
    assert bent.problem.loss.design.half_y < Fraction(1, 1000)


def test_positions_count_the_radii_below() -> None:
    grid = RadiusGrid(2**24)
    assert grid.radii[0] == 8
    assert grid.radii[-1] >= 2**24 > grid.radii[-5]
    assert max(b / a for a, b in zip(grid.radii, grid.radii[1:], strict=False)) == 1.25
    rng = np.random.default_rng(1)
    records = np.concatenate([rng.integers(0, 2**24, 500), 1000 + np.arange(-40, 40)]).astype(float)
    found = Distances(1000, grid.radii)(records[:, None])[:, 0]
    for y, at in zip(records, found, strict=True):
        assert at == sum(radius < abs(y - 1000) for radius in grid.radii)


class Column:
    """Records that are given as they are."""

    def __init__(self, records: tuple[int, ...]) -> None:
        self._batch = np.array(records, dtype=float)[:, None]

    def reduce(self, kernel: Any) -> Any:
        return kernel.merge(kernel.zero(), kernel.partial(self._batch))

    def collect(self, selection: Any) -> Any:
        return selection.select(self._batch)


@pytest.mark.parametrize(("tau", "tight"), [(Fraction(1, 2), 0.8), (Fraction(7, 8), 0.48)])
def test_a_radius_loses_no_more_than_epsilon(tau: Fraction, tight: float) -> None:
    """All neighbours of three records, for a centre that is public by then."""
    radii, epsilon = RadiusGrid(64).radii, 1.0
    last = len(radii) - 1

    def law(records: tuple[int, ...]) -> np.ndarray:
        source = MappedRecords(Column(records), Distances(20, radii))
        ranks = read_ranks(source, ReplaceOne(3), 0, last, [Wanted(tau, Fraction(99))])[0]
        scores = [float(RankField(tau, ranks).score((k,))) for k in range(last + 1)]
        weights = np.exp(-epsilon / 2 * np.array(scores))
        return weights / weights.sum()

    values = (0, 12, 20, 29, 45, 84)
    laws = {r: law(r) for r in combinations_with_replacement(values, 3)}
    worst = 0.0
    for records, mine in laws.items():
        for at in range(3):
            for other in values:
                near = tuple(sorted((*records[:at], *records[at + 1 :], other)))
                worst = max(worst, float(np.log(mine / laws[near]).max()))
    assert tight * epsilon < worst <= epsilon + 1e-9


# --- whole fits ----------------------------------------------------------------------------------


def plane(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, d, seed])
    truth = np.r_[0, -1 + 2 * np.arange(d - 1) / max(1, d - 1)]
    X = rng.uniform(-1, 1, (n, d - 1))
    return X, X @ truth[1:] + rng.normal(size=n), truth


@pytest.mark.parametrize("name", MODELS)
def test_the_threshold_is_released_and_shown(name: str) -> None:
    kind, options = MODELS[name]
    X, y, _ = plane(2000, 4)
    model = kind(epsilon=1, bounds_X=(-1, 1), bounds_y=(-50, 50), **options).fit(X, y)
    release = model.release_
    assert release.guarantee == "exact"
    assert set(release.also) == {"threshold", "median of y"}
    assert release.also["threshold"] == model.threshold_
    assert 0.3 < model.threshold_ < 50
    assert abs(release.also["median of y"]) < 1
    assert f"threshold {model.threshold_:.6g}" in repr(release)
    assert len(release.value) == 4
    again = kng.Release.from_json(release.to_json())
    assert again == release
    assert again.also == release.also


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    "response",
    ["equal", "at a bound", "mostly zeros", "missing", "infinite", "two values", "far out"],
)
def test_records_of_all_kinds_are_answered(name: str, intercept: bool, response: str) -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.uniform(-1, 1, 500), np.ones(500), np.zeros(500)])
    y = {
        "equal": np.full(500, 3.0),
        "at a bound": np.full(500, 100.0),
        "mostly zeros": np.where(rng.uniform(size=500) < 0.95, 0, rng.normal(size=500)),
        "missing": np.full(500, np.nan),
        "infinite": np.where(rng.uniform(size=500) < 0.5, np.inf, -np.inf),
        "two values": rng.choice([-1.0, 1.0], 500),
        "far out": rng.normal(size=500) * 1e9,
    }[response]
    kind, options = MODELS[name]
    given = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-100, 100), **options}
    model = kind(fit_intercept=intercept, random_state=1, **given).fit(X, y)
    assert np.all(np.isfinite([model.intercept_, *model.coef_]))
    if response == "equal" and intercept and name == "huber":
        assert abs(model.predict(X).mean() - 3) < 4  # bounds are two hundred wide


@pytest.mark.parametrize("name", MODELS)
def test_a_bound_on_coefficients_is_kept(name: str) -> None:
    kind, options = MODELS[name]
    X, y, _ = plane(3000, 3)
    given = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-8, 8), "coef_bound": "1/3"}
    for seed in range(5):
        model = kind(**given, **options, random_state=seed).fit(X, y)
        value = model.release_.exact_value
        effects = [value[0], *value[1:]]  # at the middle of the covariates the intercept itself
        assert sum(map(abs, effects)) <= Fraction(1, 3) + Fraction(1, 2**20)


ACCURACY = {
    # name, bounds of y, n: the largest mean distance
    ("linear", 8, 1000): 1.2,
    ("linear", 8, 10_000): 0.13,
    ("linear", 800, 10_000): 1.3 * 0.13,
    ("huber", 8, 1000): 0.55,
    ("huber", 8, 10_000): 0.085,
    ("huber", 800, 10_000): 1.3 * 0.085,
}


@pytest.mark.parametrize(("name", "bound", "n"), ACCURACY)
def test_defaults_are_as_accurate_as_promised(name: str, bound: int, n: int) -> None:
    """The paper's plane in twelve coefficients; the whole table is docs/tables/defaults.py."""
    kind, options = MODELS[name]
    distances = []
    for seed in range(50 if n == 1000 else 15):
        X, y, truth = plane(n, 12, seed)
        given = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-bound, bound), **options}
        model = kind(**given, random_state=seed).fit(X, y)
        distances.append(np.linalg.norm(np.r_[model.intercept_, model.coef_] - truth))
    assert np.mean(distances) <= ACCURACY[name, bound, n]


@pytest.mark.parametrize("name", MODELS)
def test_few_records_stay_near_the_zero_vector(name: str) -> None:
    kind, options = MODELS[name]
    for n in (1, 2, 30, 100):
        distances = []
        for seed in range(12):
            X, y, truth = plane(n, 12, seed)
            given = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-8, 8), **options}
            model = kind(**given, random_state=seed).fit(X, y)
            distances.append(np.linalg.norm(np.r_[model.intercept_, model.coef_] - truth))
        assert np.mean(distances) <= 1.5 * np.linalg.norm(truth)


def test_skewed_errors_do_not_bias_the_intercept() -> None:
    """Exponential errors: the bias stays below 1.5 standard errors of a fit that is not private."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng([7, seed])
        X, _, truth = plane(10_000, 12, seed)
        y = X @ truth[1:] + rng.exponential(size=10_000) - 1
        given = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-8, 8)}
        found.append(kng.LinearRegression(**given, random_state=seed).fit(X, y).intercept_)
    assert abs(np.mean(found)) <= 1.5 * 0.01  # sd 1, n = 10^4


def test_threshold_auto_needs_bounds_of_y_and_objective_perturbation() -> None:
    X, y, _ = plane(50, 3)
    given = {"epsilon": 1, "bounds_X": (-1, 1), "threshold": "auto"}
    with pytest.raises(kng.KngError, match="bounds_y is missing"):
        kng.HuberRegressor(**given).fit(X, y)
    for mechanism in ("kng", "exponential"):
        with pytest.raises(kng.KngError, match="needs a number"):
            kng.HuberRegressor(**given, bounds_y=(-5, 5), mechanism=mechanism).fit(X, y)
    with pytest.raises(kng.KngError, match="threshold"):
        kng.HuberRegressor(**{**given, "threshold": "wide"}, bounds_y=(-5, 5)).fit(X, y)
