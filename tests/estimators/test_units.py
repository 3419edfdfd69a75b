"""Coefficients are in the caller's units, whatever units the records are drawn in."""

from __future__ import annotations

import numpy as np
import pytest
from estimators.fitting import WAYS, model, table

BALLS = [way for way, (_, options) in WAYS.items() if "coef_bound" in options]


def whole_table() -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers between 0 and 2**16, which every change of units below keeps exact."""
    draw = np.random.default_rng(3)
    X = draw.integers(0, 2**16 + 1, (60, 2)).astype(float)
    y = np.rint(draw.integers(0, 2**14, 60) + X @ [0.25, 0.125])
    return X, y


def whole_model(way: str, *, scale_y=1, shift_y=0, **options):
    """Return a model for whole_table(), its response scaled and shifted by public amounts."""
    units = {}
    if "threshold" in WAYS[way][1]:
        units["threshold"] = 2**12 * scale_y
    if way in BALLS:
        units["coef_bound"] = 2**16 * scale_y
    return model(
        way,
        bounds_y=(shift_y, 2**16 * scale_y + shift_y),
        random_state=11,
        **{**units, **options},
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("scale", "shift"), [(1, 7), (0.5, -(2**15)), (3, 0), (10, 2**20), (2.0**-8, 1), (2.0**30, 0)]
)
def test_moving_a_covariate_moves_its_coefficient(way, scale, shift):
    X, y = whole_table()
    moved = X * [scale, 1] + [shift, 0]
    plain = whole_model(way, bounds_X=([0, 0], [2**16, 2**16])).fit(X, y)
    bounds = ([shift, 0], [2**16 * scale + shift, 2**16])
    other = whole_model(way, bounds_X=bounds).fit(moved, y)
    assert other.release_.integers == plain.release_.integers, "the standardised draw is the same"
    assert other.coef_[0] * scale == pytest.approx(plain.coef_[0], rel=1e-12)
    assert other.coef_[1] == plain.coef_[1]
    assert np.allclose(other.predict(moved), plain.predict(X), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("scale", "shift"), [(1, 7), (0.5, -(2**15)), (3, 0), (10, 2**20), (2.0**-8, 1)]
)
def test_moving_the_response_moves_every_coefficient(way, scale, shift):
    X, y = whole_table()
    bounds = ([0, 0], [2**16, 2**16])
    plain = whole_model(way, bounds_X=bounds).fit(X, y)
    other = whole_model(way, bounds_X=bounds, scale_y=scale, shift_y=shift).fit(
        X, scale * y + shift
    )
    assert other.release_.integers == plain.release_.integers
    assert np.allclose(other.coef_, scale * plain.coef_, rtol=1e-12)
    assert other.intercept_ == pytest.approx(scale * plain.intercept_ + shift, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_the_middle_of_the_covariates_predicts_the_drawn_intercept(way):
    X, y = whole_table()
    fitted = whole_model(way, bounds_X=([0, 0], [2**16, 2**16])).fit(X, y)
    at = fitted.release_.lattice.units(fitted.release_.integers)
    half_y = 2**12 if "huber" in way else 2**15
    middle = fitted.predict([[2.0**15, 2.0**15]])[0]
    assert middle == pytest.approx(2**15 + half_y * float(at[0]), rel=1e-12)
    assert np.allclose(fitted.coef_, [half_y / 2**15 * float(t) for t in at[1:]], rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_the_value_of_the_receipt_is_the_intercept_then_the_coefficients(way):
    fitted = model(way).fit(*table())
    assert isinstance(fitted.intercept_, float)
    assert fitted.coef_.dtype == np.float64
    assert np.array_equal(fitted.release_.value, [fitted.intercept_, *fitted.coef_])


@pytest.mark.parametrize("way", WAYS)
def test_without_an_intercept_there_is_none(way):
    X, y = table(columns=3)
    fitted = model(way, fit_intercept=False).fit(X, y)
    assert fitted.intercept_ == 0.0
    assert fitted.coef_.shape == (3,)
    assert np.array_equal(fitted.release_.value, fitted.coef_)
    assert fitted.release_.details["coefficients"] == ("x0", "x1", "x2")
    assert fitted.predict(np.zeros((2, 3))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "bounds",
    [
        {"bounds_X": (0, 1)},
        {"bounds_X": ([-1, -1], [1, 1.5])},
        {"bounds_y": (0, 2)},
    ],
    ids=["one pair", "one column", "response"],
)
def test_without_an_intercept_bounds_need_not_be_symmetric(way, bounds, ledger):
    fitted = model(way, fit_intercept=False, ledger=ledger, **bounds).fit(*table())
    assert fitted.intercept_ == 0.0
    assert fitted.predict(np.zeros((1, 2))).tolist() == [0.0]
    assert ledger.spent == 1


@pytest.mark.parametrize("way", BALLS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("bound", [0.01, 0.6, 5])
def test_coefficients_stay_within_the_bound_as_it_is_documented(way, intercept, bound):
    # sum_j |coef_j| half_j + |prediction at the middle - middle of bounds_y| <= coef_bound
    X, y = table(80, 3, seed=2)
    shift = 5.0 if intercept else 0.0
    low, high = np.array([-1, -2, -4]) + shift, np.array([1, 2, 4]) + shift
    for seed in range(5):
        fitted = model(
            way,
            bounds_X=(low, high),
            bounds_y=(-2 + shift, 2 + shift),
            coef_bound=bound,
            fit_intercept=intercept,
            random_state=seed,
        ).fit(X + shift, y + shift)
        middle = fitted.predict([(low + high) / 2])[0] - shift
        size = np.abs(fitted.coef_) @ (high - low) / 2 + abs(middle)
        assert size <= bound + 1e-8, "up to the lattice that coefficients live on"


@pytest.mark.parametrize("way", WAYS)
def test_predictions_are_the_linear_model(way):
    X, y = table(columns=3)
    fitted = model(way).fit(X, y)
    for given in (X, X.tolist(), np.asfortranarray(X), X.astype(np.float32)):
        expected = np.asarray(given, dtype=float) @ fitted.coef_ + fitted.intercept_
        assert np.allclose(fitted.predict(given), expected, rtol=1e-6)
        assert fitted.predict(given).shape == (len(X),)
    assert np.isnan(fitted.predict([[np.nan, 0, 0]])).all()
