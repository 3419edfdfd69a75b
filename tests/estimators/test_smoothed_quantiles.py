"""QuantileRegressor by a smoothed loss: any number of coefficients, one charge, what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from estimators.outlets import receipt

import kng
from kng.core.perturbed import AdaptivePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.estimators import smoothed_quantiles


def records(n: int, columns: int = 6, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, columns))
    return X, 0.5 + X @ np.linspace(1, -1, columns) + rng.normal(size=n)


def model(**options):
    given = {"epsilon": 4, "bounds_X": (-1, 1), "bounds_y": (-8, 8), "random_state": 3}
    return kng.QuantileRegressor(**{**given, **options})


@pytest.mark.parametrize("options", [{}, {"neighbours": "add-remove"}, {"smoothing": 0.5}])
def test_seven_coefficients_are_smoothed_and_have_their_share_below(options):
    X, y = records(3000)
    fitted = model(quantile=0.8, **options).fit(X, y)
    assert fitted.coef_.shape == (6,)
    assert abs(np.mean(y <= fitted.predict(X)) - 0.8) < 0.04
    assert np.abs(fitted.coef_ - np.linspace(1, -1, 6)).max() < 0.35
    assert 0.01 < fitted.smoothing_ < 2
    assert fitted.release_.mechanism == "objective"


def test_a_release_is_exact_and_one_charge_pays_for_all_stages(tmp_path):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=1)
    X, y = records(600)
    fitted = model(
        quantile=[0.25, 0.5], weights=[2, 1], epsilon="0.9", ledger=ledger, random_state=None
    ).fit(X, y)
    (entry,) = ledger.history()
    release = fitted.release_
    assert (ledger.spent, entry.state) == (Fraction("0.9"), "released")
    assert (release.event.epsilon, release.guarantee) == (Fraction("0.9"), "exact")
    assert (fitted.coef_.shape, fitted.smoothing_.shape) == ((2, 6), (2,))
    assert np.all(np.diff(fitted.predict(X), axis=1) >= 0)
    assert set(release.also) == {"scale of y", "median of y"}
    assert kng.Release.from_json(release.to_json()).to_json() == release.to_json()


def test_stages_share_epsilon_and_the_second_fit_is_around_the_first(monkeypatch):
    """The narrow plan's centre is the wide plane, whatever that is."""
    seen = {}
    made = smoothed_quantiles.SmoothedRequest.fit

    def watched(self, source, response):
        seen["fit"], seen["unit"] = made(self, source, response), self.unit
        return seen["fit"]

    monkeypatch.setattr(smoothed_quantiles.SmoothedRequest, "fit", watched)
    model(quantile=0.3, epsilon=1).fit(*records(1000))
    plans = [plan for stage in seen["fit"].stages for plan in stage.plans]
    assert sum(plan.epsilon for plan in plans) == 1
    assert seen["unit"] == PrivacyUnit(ReplaceOne(1000), 1)
    wide, narrow = plans[-2:]
    assert isinstance(narrow, AdaptivePlan)
    plane = tuple(k + 7 * 2**30 for k in (v // 2 for v in narrow.lattice.last))
    drawn = [(2**23,), (70,), plane]
    first, second = wide.after(drawn[:2]), narrow.after(drawn)
    assert second.centre == second.lattice.units(plane)
    assert first.lattice.last == second.lattice.last
    for step in (first, second):
        paid = (1 - float(step.share)) * float(step.epsilon)
        assert float(step.ridge) >= 7 / 2 / np.expm1(paid) * (1 - 1e-9)
        assert float(step.ridge) <= 7 / 2 / np.expm1(paid) * (1 + 1e-5)
        # replace-one, in the norm of one record's change: Delta = 1
        assert step.rate == step.share * step.epsilon


@pytest.mark.parametrize(
    ("options", "columns", "message"),
    [
        ({"smoothing": 0}, 6, "smoothing"),
        ({"smoothing": "wide"}, 6, "smoothing"),
        ({"smoothing": 1e9}, 6, "smoothing must lie"),
        ({"smoothing": 1, "mechanism": "kng"}, 2, "without smoothing"),
        ({"smoothing": "auto", "mechanism": "exponential"}, 2, "without smoothing"),
        ({"smoothing": 1, "coef_bound": 3}, 2, "L1Ball"),
        ({"smoothing": 1, "base": "student"}, 2, "base"),
        ({"smoothing": 1, "noncrossing": "planes"}, 2, "noncrossing"),
        ({"smoothing": 1, "sampler": "branch-and-bound"}, 2, "sampler"),
        ({"smoothing": 1, "domain": kng.domains.Box(-1, 1)}, 2, "L1Ball"),
        ({"mechanism": kng.ObjectivePerturbation(centre=[0] * 7)}, 6, "no centre"),
        ({"coef_bound": 3}, 6, "up to 5"),
        ({"bounds_y": None}, 6, "bounds_y"),
    ],
)
def test_what_cannot_be_served_is_refused_before_the_charge(tmp_path, options, columns, message):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=1)
    with pytest.raises(kng.KngError, match=message):
        model(epsilon=1, ledger=ledger, random_state=None, **options).fit(*records(50, columns))
    assert ledger.remaining == 1


def test_five_coefficients_are_drawn_unless_smoothing_is_stated():
    X, y = records(300, 1)
    assert model().fit(X, y).release_.mechanism == "kng"
    fitted = model(smoothing="auto").fit(X, y)
    assert fitted.release_.mechanism == "objective"
    fitted.set_params(smoothing=None).fit(X, y)
    assert not hasattr(fitted, "smoothing_")


@pytest.mark.parametrize("cell", [np.nan, np.inf, 1e308])
def test_a_hostile_record_leaves_nothing_but_coefficients(cell):
    X, y = records(80)
    expected = receipt(model(smoothing="auto").fit(X, y).release_)
    for part in (X, y):
        changed = part.copy()
        changed[7] = cell
        pair = (changed, y) if part is X else (X, changed)
        assert receipt(model(smoothing="auto").fit(*pair).release_) == expected


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.full((40, 6), 0.3), np.full(40, 0.2)),
        (np.full((40, 6), np.nan), np.full(40, np.inf)),
        (np.array([[0.3] * 6]), np.array([0.2])),
        (np.column_stack([records(400)[0], np.zeros(400)]), np.round(records(400)[1])),
    ],
    ids=["all equal", "nothing but holes", "one record", "counts and a column of zeros"],
)
def test_odd_data_are_answered(X, y):
    assert np.isfinite(model().fit(X, y).predict(np.zeros((1, X.shape[1])))).all()


def test_through_zero_and_on_a_ball():
    X, y = records(2000)
    fitted = model(fit_intercept=False).fit(X, y - 0.5)
    assert np.abs(fitted.coef_ - np.linspace(1, -1, 6)).max() < 0.4
    inside = model(smoothing=1, domain=kng.domains.L1Ball(2)).fit(X, y)
    assert np.abs(inside.coef_).sum() <= 2 + 1e-9
