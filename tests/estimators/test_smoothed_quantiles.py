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
    assert seen["unit"] == PrivacyUnit(ReplaceOne(1000), 1, "optional")
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


def strong(n: int, columns: int = 6, seed: int = 0):
    """Covariates explain 99 % of the variance of y."""
    rng = np.random.default_rng(seed)
    X, slopes = rng.uniform(-1, 1, (n, columns)), np.linspace(12, -12, columns)
    return X, 0.5 + X @ slopes + rng.normal(size=n), slopes


@pytest.mark.parametrize("bound", [50, 5000])
@pytest.mark.parametrize(("quantile", "truth"), [(0.25, -0.674), (0.9, 1.282)])
def test_the_bandwidth_follows_residuals(bound, quantile, truth):
    """By the scale of y the intercept alone was off by a residual's standard deviation."""
    X, y, slopes = strong(30_000)
    fitted = model(quantile=quantile, epsilon=1, bounds_y=(-bound, bound)).fit(X, y)
    off = np.r_[fitted.intercept_ - 0.5 - truth, fitted.coef_ - slopes]
    assert np.sqrt(off[0] ** 2 + (off[1:] ** 2).sum() / 3) < 0.12
    assert 0.02 < fitted.smoothing_ < 0.6
    assert fitted.smoothing_ == fitted.release_.also["bandwidth"]


@pytest.fixture
def planned_fit(monkeypatch):
    """Return the stages of a fit, planned for data of this size."""
    seen = {}
    made = smoothed_quantiles.SmoothedRequest.fit

    def watched(self, source, response):
        seen["fit"] = made(self, source, response)
        return seen["fit"]

    monkeypatch.setattr(smoothed_quantiles.SmoothedRequest, "fit", watched)

    def plan(n, **options):
        model(**options).fit(*records(n))
        return seen["fit"]

    return plan


@pytest.mark.parametrize(
    ("n", "options", "stages"),
    [
        (1000, {"epsilon": 1}, 2 + 2),  # too few records for a scale of residuals
        (3000, {"epsilon": 2}, 2 + 4),
        (20_000, {"epsilon": 1}, 2 + 7),
        (20_000, {"epsilon": 1, "records_per_person": 3}, 2 + 4),
        (3000, {"epsilon": 2, "quantile": [0.4, 0.6]}, 2 + 8),
        (3000, {"neighbours": "add-remove"}, 2 + 4),
        (20_000, {"epsilon": 1, "smoothing": 1}, 2),
    ],
)
def test_stages_follow_from_public_facts_and_add_up(planned_fit, n, options, stages):
    fit = planned_fit(n, **options)
    assert len(fit.stages) == stages
    plans = [plan for stage in fit.stages for plan in stage.plans]
    assert sum(plan.epsilon for plan in plans) == options.get("epsilon", 4)
    split = [float(part.split("%")[0]) for part in fit.facts["epsilon split"].split(", ")]
    assert sum(split) == pytest.approx(100, abs=2.5)


def test_every_step_has_its_ridge_and_its_centre_whatever_was_drawn(planned_fit):
    """All radii, centres and planes at the ends of their lattices: each step is planned."""
    fit = planned_fit(20_000, epsilon=1, quantile=0.97)
    plans = [stage.plans[0] for stage in fit.stages]
    adaptive = [i for i, plan in enumerate(plans) if isinstance(plan, AdaptivePlan)]
    assert adaptive == [2, 5, 8]
    ends = plans[2].lattice.last
    radii = plans[4].problem.answers.last[0]
    last = plans[3].problem.answers.last[0]
    planes = [(0,) * 7, ends, tuple(v // 2 for v in ends)]
    for i, radius in enumerate(range(0, radii + 1, 7)):
        plane, centre = planes[i % 3], (0, last // 2, last)[i % 3]
        drawn = [(2**23,), (i % 90,), plane, (centre,), (radius,), plane, (centre,), (radii,)]
        for at in adaptive:
            step = plans[at].after(drawn[:at])
            paid = (1 - float(step.share)) * float(step.epsilon)
            assert float(step.ridge) >= 7 / 2 / np.expm1(paid) * (1 - 1e-9)
            assert step.rate == step.share * step.epsilon / step.problem.unit.records_per_person
            assert step.lattice.last == plans[at].lattice.last
        assert fit.also.of([*drawn, plane])[0] >= 0
        # The ridge is around the plane before, moved by the quantile of its residuals.
        low, high = (plans[5].after([*drawn[:3], (k,), (radius,)]) for k in (0, last))
        assert low.centre[1:] == high.centre[1:] == low.lattice.units(plane)[1:]
        bandwidths = low.lattice.step[0] / plans[5].lattice.step[0]  # in half a range of y
        assert high.centre[0] - low.centre[0] == 4 * bandwidths


@pytest.mark.parametrize("intercept", [True, False])
def test_planes_and_records_far_apart_are_answered(intercept):
    """A heap, one far record, and nothing to see: residuals of 0 and beyond what is kept."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 6))
    for y in (np.zeros(3000), np.where(np.arange(3000) % 2, 8.0, -8.0), 1e9 * X[:, 0], X[:, 0]):
        fitted = model(quantile=[0.1, 0.9], fit_intercept=intercept, epsilon=3).fit(X, y)
        assert np.isfinite(fitted.predict(X)).all()
        assert (fitted.smoothing_ > 0).all()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_the_push_forward_of_a_smoothed_loss_is_the_one_of_its_parts(intercept, neighbours):
    """KNG of parts put together by hand gives the same integers from the same bits."""
    X, y = records(20_000, columns=2)
    loss = kng.losses.Linear(kng.losses.SmoothedPinball(0.3, 1), intercept=intercept)
    hand = kng.KNG(loss, domain=kng.domains.Box(-4, 4), sampler="push-forward")
    shared = {"bounds_X": (-1, 1), "bounds_y": (-8, 8), "epsilon": 4, "random_state": 9}
    fitted = kng.QuantileRegressor(
        quantile=0.3, smoothing=1, coef_bound=4, sampler="push-forward", fit_intercept=intercept,
        neighbours=neighbours, **shared,
    ).fit(X, y)  # fmt: skip
    found = hand.release(X, y, neighbours=neighbours, **shared)
    assert fitted.release_.integers == found.integers
    assert fitted.release_.law == found.law
    assert fitted.smoothing_ == 1
    assert "up to 1" in fitted.release_.details["smoothing"]


def test_the_push_forward_of_two_quantiles_shares_epsilon():
    X, y = records(20_000, columns=3)
    options = {"sampler": "push-forward", "smoothing": 1, "coef_bound": 4}
    fitted = model(quantile=[0.25, 0.75], **options).fit(X, y)
    assert np.abs(fitted.coef_ - np.linspace(1, -1, 3)).max() < 0.1
    assert np.all(np.diff(fitted.predict(X), axis=1) >= 0)
    assert fitted.smoothing_.tolist() == [1, 1]
    assert fitted.release_.event.epsilon == 4


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "give it in units of y"),
        ({"smoothing": "auto"}, "give it in units of y"),
        ({"smoothing": 1, "mechanism": "exponential"}, "draws"),
        ({"smoothing": 1, "mechanism": "objective"}, "does not serve objective perturbation"),
        ({"smoothing": 1e-9}, "smoothing must lie between"),
        ({"smoothing": 0.01, "coef_bound": 80}, "coef_bound must lie between 1/256 and 4096"),
    ],
)
def test_a_push_forward_that_cannot_be_is_refused_before_the_charge(options, says, tmp_path):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=9)
    with pytest.raises(kng.KngError, match=says):
        model(sampler="push-forward", ledger=ledger, random_state=None, **options).fit(*records(50))
    assert ledger.spent == 0
