"""Logistic regression: answers of scikit-learn, classes that are declared, and silent absences."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression as Reference
from sklearn.linear_model import PoissonRegressor as CountsReference

import kng
from kng.core.errors import IncompatibleParts, SpecError

RNG = np.random.default_rng(4)
X = RNG.uniform([0, -3], [10, 5], (3000, 2))
ODDS = 0.5 + X @ [0.3, -0.4]
Y = (RNG.random(3000) < 1 / (1 + np.exp(-ODDS))).astype(int)
BOUNDS = ([0, -3], [10, 5])


def model(**options):
    known = {"epsilon": 10**5, "classes": (0, 1), "bounds_X": BOUNDS, "random_state": 1}
    return kng.LogisticRegression(**{**known, **options})


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("options", [{}, {"coef_bound": 40}, {"mechanism": "kng"}], ids=str)
def test_much_epsilon_gives_the_answer_of_others(intercept, options):
    found = model(fit_intercept=intercept, **options).fit(X, Y)
    known = sm.Logit(Y, sm.add_constant(X) if intercept else X).fit(disp=0).params
    value = np.append(found.intercept_, found.coef_) if intercept else found.coef_[0]
    assert np.abs(value - known).max() < 0.01
    reference = Reference(C=1e9, fit_intercept=intercept, tol=1e-9).fit(X, Y)
    assert np.abs(found.predict_proba(X) - reference.predict_proba(X)).max() < 0.01
    assert np.mean(found.predict(X) == reference.predict(X)) > 0.99


def test_an_l1_ball_gives_the_constrained_minimiser():
    """Standardised effects of at most 1 in all, against a plain search along the ball."""
    found = model(coef_bound=1).fit(X, Y)
    z = np.column_stack([np.ones(len(X)), (X - [5, 1]) / [5, 4]])
    theta = np.linalg.solve(
        [[1, -5 / 5, -1 / 4], [0, 1 / 5, 0], [0, 0, 1 / 4]],
        np.append(found.intercept_, found.coef_),
    )
    assert np.abs(theta).sum() == pytest.approx(1, abs=1e-6)

    def loss(t):
        return np.logaddexp(0, z @ t.T).sum(axis=0) - (Y @ z) @ t.T

    corners = RNG.exponential(size=(4000, 3)) * RNG.choice([-1, 1], (4000, 3))
    corners /= np.abs(corners).sum(axis=1, keepdims=True)
    near = theta + 1e-3 * (corners - theta)
    assert loss(theta[None])[0] <= min(loss(corners).min(), loss(near).min()) + 1e-3


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (("no", "yes"), np.where(Y, "yes", "no")),
        (["yes", " no "], np.where(Y, "yes", "no").astype(object)),
        ((True, False), Y.astype(bool)),
        ((3.5, -2), np.where(Y, 3.5, -2)),
        ((0, 1), [str(v) for v in Y]),
        (np.array([0, 1]), Y.tolist()),
    ],
    ids=str,
)
def test_labels_of_any_kind(classes, labels):
    found = model(classes=classes).fit(X, labels)
    assert list(found.classes_) == sorted(found.classes_)
    plain = model().fit(X, Y)
    assert (found.coef_ == plain.coef_).all()
    assert set(found.predict(X)) == set(found.classes_)
    assert (found.predict(X) == found.classes_[plain.predict(X)]).all()


def test_what_is_no_class_and_what_lacks_a_cell_is_absent():
    """Bit by bit the fit of the records that are left, and no word about the others."""
    labels, cells = Y.astype(object), X.astype(object)
    labels[:5] = [2, None, "maybe", np.nan, {}]
    cells[5:8, 0] = [None, "text", np.nan]
    messy = model(epsilon=1, mechanism="objective").fit(cells, labels)
    clean = model(epsilon=1, mechanism="objective").fit(X[8:], Y[8:])
    assert (messy.coef_ == clean.coef_).all()
    assert messy.intercept_ == clean.intercept_


def test_no_class_at_all_and_one_class_only_answer():
    nothing = model(epsilon=1).fit(X, np.full(len(X), 7))
    assert np.isfinite(nothing.coef_).all()
    one = model(epsilon=1, random_state=None).fit(X, np.ones(len(X)))
    assert one.release_.guarantee.value == "exact"
    assert one.predict_proba(X)[:, 1].min() > 0.9


def test_three_classes_are_fitted_one_against_the_rest():
    three = np.digitize(ODDS + RNG.logistic(size=len(X)), [0, 1.5])
    found = model(classes=(0, 1, 2), epsilon=3 * 10**5).fit(X, three)
    assert found.coef_.shape == (3, 2)
    assert found.intercept_.shape == (3,)
    for k in range(3):
        known = Reference(C=1e9, tol=1e-9).fit(X, three == k)
        assert np.abs(found.coef_[k] - known.coef_[0]).max() < 0.01
    shares = found.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (found.predict(X) == shares.argmax(axis=1)).all()
    assert found.decision_function(X).shape == (len(X), 3)
    assert "epsilon per class" in str(found.release_)
    assert found.release_.epsilon == 3 * 10**5


def test_it_is_a_classifier_that_predicts_and_is_cloned():
    found = model(epsilon=1, classes=("no", "yes")).fit(X, np.where(Y, "yes", "no"))
    assert is_classifier(found)
    assert clone(found).get_params() == found.get_params()
    gaps = X[:3].copy()
    gaps[0, 0] = np.nan
    assert np.isnan(found.predict_proba(gaps)[0]).all()
    assert found.predict(gaps)[0] == "no"
    assert found.decision_function(X).shape == (len(X),)
    assert np.allclose(np.exp(found.predict_log_proba(X)), found.predict_proba(X))


def test_classes_that_cannot_be_kept_are_refused():
    with pytest.raises(kng.KngError, match="finite numbers"):
        model(classes=(0, 10**400)).fit(X, Y)
    with pytest.raises(kng.KngError, match="list of labels"):
        model(classes=iter((0, 1))).fit(X, Y)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"classes": None}, "classes is missing"),
        ({"classes": "01"}, "list of labels"),
        ({"classes": (1,)}, "two or more"),
        ({"classes": ()}, "two or more"),
        ({"classes": (1, 1.0)}, "twice"),
        ({"classes": (True, 1)}, "twice"),
        ({"classes": ("a", "a ")}, "twice"),
        ({"classes": ("a", 1)}, "all be text"),
        ({"classes": (0, np.nan)}, "finite numbers"),
        ({"classes": (0, 1, 2), "centre": [0, 0, 0]}, "two classes"),
        ({"mechanism": "exponential"}, "mechanism"),
        ({"base": "gaussian"}, "base"),
        ({"mechanism": "kng", "coef_bound": 10**6}, "1/256"),
        ({"coef_bound": 1, "domain": kng.domains.L1Ball(1)}, "both"),
        ({"domain": kng.domains.Box(-1, 1)}, "L1Ball"),
    ],
    ids=str,
)
def test_refused_before_the_charge(options, words, tmp_path):
    ledger = kng.Ledger(tmp_path / "study.ledger", cap=10)
    asked = model(epsilon=1, ledger=ledger, random_state=None, **options)
    with pytest.raises((SpecError, IncompatibleParts), match=words):
        asked.fit(X, Y)
    assert ledger.spent == 0


def test_kng_refuses_what_it_cannot_draw_in_seconds():
    wide = np.zeros((10, 4))
    with pytest.raises(IncompatibleParts, match="up to 4"):
        kng.LogisticRegression(epsilon=1, classes=(0, 1), bounds_X=(-1, 1), mechanism="kng").fit(
            wide, np.zeros(10)
        )


def test_counts_as_scikit_learn_fits_them():
    counts = RNG.poisson(np.exp(0.2 * X[:, 0] - 0.3 * X[:, 1] - 0.5))
    found = kng.PoissonRegressor(
        epsilon=10**6, bounds_X=BOUNDS, bounds_y=(0, 40), random_state=1
    ).fit(X, counts)
    known = CountsReference(alpha=0, tol=1e-9, max_iter=10**4).fit(X, np.minimum(counts, 40))
    assert np.abs(found.coef_ - known.coef_).max() < 0.01
    assert np.abs(found.predict(X) - np.minimum(known.predict(X), 40)).max() < 0.5
    assert found.predict(X).max() <= 40
    for bounds in ((-1, 4), (0, 4.5)):
        with pytest.raises(SpecError, match="whole numbers"):
            kng.PoissonRegressor(epsilon=1, bounds_X=BOUNDS, bounds_y=bounds).fit(X, counts)


def test_expectiles_solve_their_equation():
    y = ODDS + RNG.normal(size=len(X))
    found = kng.ExpectileRegressor(
        expectile=0.8, epsilon=10**5, bounds_X=BOUNDS, bounds_y=(-6, 8), random_state=1
    ).fit(X, y)
    residual = np.clip(y, -6, 8) - found.predict(X)
    weighed = np.where(residual > 0, 0.8, 0.2) * residual
    moments = weighed @ np.column_stack([np.ones(len(X)), X]) / len(X)
    assert np.abs(moments).max() < 0.02
    with pytest.raises(SpecError, match="strictly between"):
        kng.ExpectileRegressor(expectile=1, epsilon=1, bounds_X=BOUNDS, bounds_y=(0, 1)).fit(X, y)
    with pytest.raises(IncompatibleParts, match="up to 4"):
        kng.ExpectileRegressor(epsilon=1, bounds_X=(0, 1), bounds_y=(0, 1)).fit(
            np.zeros((5, 4)), np.zeros(5)
        )
