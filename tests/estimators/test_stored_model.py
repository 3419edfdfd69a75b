"""Predictions from a receipt are those of the model that was fitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kng
from kng.core.errors import SpecError
from kng.estimators.planes import planes_at
from kng.estimators.stored_model import StoredModel

RNG = np.random.default_rng(7)
X = RNG.uniform(-1, 1, (200, 2))
Y = X @ [1.0, -0.5] + RNG.normal(0, 0.1, 200)
TABLE = {"a": X[:, 0], "a at": X[:, 1], "y": Y, "n": RNG.poisson(2, 200), "c": (Y * 2).round() % 3}
COMMON = {"epsilon": 4, "bounds_X": {"a": (-1, 1), "a at": (-1, 1)}, "random_state": 1}

MODELS = {
    "linear": (kng.LinearRegression(bounds_y=(-2, 2), **COMMON), "y"),
    "through 0": (kng.LinearRegression(bounds_y=(-2, 2), fit_intercept=False, **COMMON), "y"),
    "no bounds of y": (kng.HuberRegressor(threshold=0.3, **COMMON), "y"),
    "median": (kng.QuantileRegressor(bounds_y=(-2, 2), **COMMON), "y"),
    "quantiles": (kng.QuantileRegressor(quantile=[0.25, 0.9], bounds_y=(-2, 2), **COMMON), "y"),
    "counts": (kng.PoissonRegressor(bounds_y=(0, 5), **COMMON), "n"),
    "two classes": (kng.LogisticRegression(classes=[0, 1], **COMMON), "c"),
    "three classes": (kng.LogisticRegression(classes=[0, 1, 2], **COMMON), "c"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_receipt_predicts_as_its_model_does(name):
    model, target = MODELS[name]
    model.fit(TABLE, target=target, features=["a", "a at"])
    stored = StoredModel.of(kng.Release.from_json(model.release_.to_json()))
    assert stored.covariates == ("a", "a at")
    cells = np.vstack([X, [np.nan, 0.0], [5.0, -5.0]])
    expected = (model.predict_proba if target == "c" else model.predict)(
        pd.DataFrame({"a": cells[:, 0], "a at": cells[:, 1]})
    )
    found = stored.predict(cells)
    assert found.shape == (len(cells), len(stored.outputs))
    assert np.isnan(found[len(X)]).all()
    there = ~np.isnan(cells).any(axis=1)
    expected = expected.reshape(len(cells), -1)
    np.testing.assert_allclose(found[there], expected[there], rtol=1e-12)


def test_what_the_columns_are_called():
    called = {}
    for name, (model, target) in MODELS.items():
        model.fit(TABLE, target=target, features=["a", "a at"])
        called[name] = StoredModel.of(model.release_).outputs
    assert called["linear"] == called["counts"] == ("prediction",)
    assert called["quantiles"] == ("prediction at 0.25", "prediction at 0.9")
    assert called["two classes"] == ("probability of 0", "probability of 1")


def test_a_receipt_of_something_else_is_refused():
    median = kng.median([1, 2, 3], bounds=(0, 5), epsilon=1)
    with pytest.raises(SpecError, match="this one is of a median"):
        StoredModel.of(median)


@pytest.mark.parametrize("planes", [1, 3])
def test_a_prediction_depends_on_its_record_alone(planes):
    rng = np.random.default_rng(1)
    cells = rng.normal(size=(1003, 7))
    cells[5, 3] = np.nan
    coef, intercept = rng.normal(size=(planes, 7)), rng.normal(size=planes)
    if planes == 1:
        coef, intercept = coef[0], intercept[0]
    together = planes_at(cells, coef, intercept)
    assert np.allclose(together, cells @ coef.T + intercept, rtol=1e-13, equal_nan=True)
    for other in (np.asfortranarray(cells), np.repeat(cells, 2, axis=1)[:, ::2], cells[::-1][::-1]):
        assert np.array_equal(planes_at(other, coef, intercept), together, equal_nan=True)
    alone = [planes_at(row.reshape(1, -1), coef, intercept)[0] for row in cells]
    assert np.array_equal(alone, together, equal_nan=True)
