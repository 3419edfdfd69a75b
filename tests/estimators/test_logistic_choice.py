"""Which mechanism logistic regression takes by itself: predicted errors, from public facts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import kng
from kng.core.bounds import Bounds
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.domains import Box
from kng.estimators.class_plans import ClassPlans, kng_rate
from kng.estimators.odds_prediction import OddsPrediction
from kng.estimators.request import Way
from kng.losses import Linear
from kng.losses.pointwise.odds import Odds

F = Fraction


def asked(d: int = 2, n: int = 20_000, relation=ReplaceOne, **facts) -> ClassPlans:
    """Return the plans of a fit whose records nobody has."""
    covariates = Bounds((F(-1),) * (d - 1), (F(1),) * (d - 1))
    design = Linear(Odds(1, 2)).encode(covariates, (F(0), F(2)))
    unit = PrivacyUnit(relation(n), facts.get("persons", 1), presence="optional")
    way = Way("auto", "auto", None, facts.get("sampler", "auto"), centre=facts.get("centre"))
    return ClassPlans(way, design, unit, facts.get("bound"), [1], 2, lambda: Box(-16, 16))


CHOSEN = {
    # coefficients, records: for epsilon 1/50, 1/5, 1, 5 and 100
    (2, 1): "-----",
    (2, 200): "-----",
    (2, 2_000): "-----",
    (2, 20_000): "-k---",
    (2, 200_000): "k----",
    (3, 2_000): "-----",
    (3, 20_000): "-kk--",
    (3, 200_000): "kk---",
    (4, 200_000): "-----",
}


@pytest.mark.parametrize("size", CHOSEN, ids=str)
def test_auto_takes_kng_where_the_ridge_would_cost_more_than_its_noise(size):
    """With many records and little epsilon; with few records its density would be flat."""
    d, n = size
    epsilons = (F(1, 50), F(1, 5), F(1), F(5), F(100))
    found = ["k" if asked(d, n).mechanism(e) == "kng" else "-" for e in epsilons]
    assert "".join(found) == CHOSEN[size]


def test_what_is_stated_decides():
    for sampler in ("branch-and-bound", "hit-and-run", "push-forward"):
        assert asked(n=10, sampler=sampler).mechanism(F(1)) == "kng"
    quick = F(1, 5)
    assert asked().mechanism(quick) == "kng"
    assert asked(sampler="perturbed").mechanism(quick) == "objective"
    assert asked(centre=[0.1, 0.2]).mechanism(quick) == "objective"
    assert asked(relation=AddRemove).mechanism(quick) == "objective"  # n is private
    assert asked(bound=F(1, 2)).mechanism(quick) == "objective"  # nothing is strong
    assert asked(persons=4).mechanism(4 * quick) == "kng"


def formulas(d: int, n: int, epsilon: float, effects: np.ndarray) -> tuple[float, float]:
    """Return predicted errors of docs/logistic.md in the sup norm, by a sum over random records."""
    z = np.random.default_rng(1).uniform(-1, 1, (400_000, d))
    z[:, 0] = 1
    s = 1 / (1 + np.exp(-z @ effects))
    curved = (z * (s * (1 - s))[:, None]).T @ z * (n / len(z))
    noise = (d + 1) * (d + 2) / 3 * (2 / epsilon) ** 2
    shares = np.arange(20, 100) / 100
    ridges = d / 4 / np.expm1(np.minimum((1 - shares) * epsilon, 10))
    best = int(np.argmin(d * noise / shares**2 + 4 * ridges**2))
    far = 1 / (1 + np.exp(-np.abs(effects).sum()))
    inverse = np.linalg.inv(curved + ridges[best] * np.eye(d))
    pulled = ridges[best] * inverse @ effects
    plain = np.linalg.inv(curved)
    objective = noise / shares[best] ** 2 * (inverse**2).sum() + pulled @ pulled
    return objective, noise * (2 * far) ** 2 * (plain**2).sum()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("size", [1.0, 4.0])
def test_predictions_are_those_of_the_formulas(d, size):
    plans, epsilon = asked(d), F(1, 5)
    guess = OddsPrediction(plans.design, 20_000, size)
    problem = plans._problem(1, "smooth")
    plan = plans._perturbed.plan(problem, epsilon)
    each = (d + 1) * (d + 2) / 3
    smooth, own = guess.added(each / float(plan.rate) ** 2, float(plan.ridge))
    gradient, _ = guess.added(each / kng_rate(problem, guess.effects, epsilon) ** 2, 0.0)
    wanted = formulas(d, 20_000, 0.2, guess.effects)
    assert np.array([smooth, gradient]) == pytest.approx(np.array(wanted), rel=0.03)
    assert own == pytest.approx(np.trace(np.linalg.inv(guess.curvature())))


def test_predictions_are_about_right_for_strong_effects():
    """Median errors of a dozen fits: KNG is about half as far from the truth."""
    truth, n, epsilon = np.array([1.5, 5.0]), 20_000, 0.2
    errors: dict[str, list[float]] = {"objective": [], "kng": []}
    for k in range(12):
        rng = np.random.default_rng(k)
        X = rng.uniform(-1, 1, (n, 1))
        y = (truth[0] + X[:, 0] * truth[1] > rng.logistic(size=n)).astype(int)
        for name, found in errors.items():
            fit = kng.LogisticRegression(
                epsilon=epsilon, classes=(0, 1), bounds_X=(-1, 1), mechanism=name, random_state=k
            ).fit(X, y)
            found.append(float(np.linalg.norm(np.asarray(fit.release_.value) - truth)))
    assert np.median(errors["kng"]) < 0.7 * np.median(errors["objective"])
    auto = kng.LogisticRegression(epsilon=epsilon, classes=(0, 1), bounds_X=(-1, 1), random_state=1)
    assert auto.fit(X, y).release_.mechanism == "kng"
