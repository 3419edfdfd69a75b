"""One record, one reading: whatever holds it, clipped to its bounds, their middle if missing."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from data.reading import LAYOUTS
from estimators.fitting import WAYS, model, table

from kng.data import memory, work


@pytest.mark.parametrize("way", WAYS)
def test_a_fit_does_not_depend_on_the_container(way, monkeypatch):
    X, y = table(30, 3)
    X[4, 1], y[7] = np.nan, np.inf
    options = {"bounds_X": ([-1, 0, -0.3], [1, 0.7, 0.5]), "random_state": 3}
    expected = model(way, **options).fit(X, y).release_.integers
    for layout in set(LAYOUTS) - {"mapping"}:
        fitted = model(way, **options).fit(LAYOUTS[layout](X), y)
        assert fitted.release_.integers == expected, layout
    for response in (y.tolist(), y.astype(object), pd.Series(y), y.reshape(-1, 1)[:, 0]):
        assert model(way, **options).fit(X, response).release_.integers == expected
    for module in (memory, work):
        monkeypatch.setattr(module, "BATCH_RECORDS", 7)
    assert model(way, **options).fit(X, y).release_.integers == expected
    assert model(way, **options).fit(X[::-1], y[::-1]).release_.integers == expected


@pytest.mark.parametrize("way", WAYS)
def test_records_outside_are_clipped(way):
    X, y = table(60, 2)
    X, y = 2 * X, 3 * y
    options = {"bounds_X": ([-1, 0], [1, 0.5]), "random_state": 3}
    clipped = np.clip(X, [-1, 0], [1, 0.5])
    expected = model(way, **options).fit(clipped, y).release_
    assert model(way, **options).fit(X, y).release_ == expected
    if way.startswith("linear"):
        assert model(way, **options).fit(X, np.clip(y, -2, 2)).release_ == expected


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_cell_counts_as_what_is_stated(way):
    X, y = table(60, 2)
    X[3, 0], X[5, 1], y[7] = np.nan, np.nan, np.nan
    missing = {"x0": 0, "x1": "0.25", "response": 1}
    bounds = {"bounds_X": ([-1, 0], [1, 0.5]), "bounds_y": (-1, 3)}
    filled = model(way, missing=missing, random_state=3, **bounds)
    expected = filled.fit(
        np.where(np.isnan(X), [0, 0.25], X), np.where(np.isnan(y), 1.0, y)
    ).release_
    assert filled.fit(X, y).release_ == expected
    assert "missing counts as" in expected.details


def test_records_read_in_two_threads_are_as_silent_as_in_one():
    # A table this long is read in two streams; a cast that overflows in either must not warn.
    X = np.zeros((memory.BATCH_RECORDS + 1, 2), np.longdouble)
    X[5, 1] = X[-5, 0] = np.longdouble("1e4000")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = model("linear", bounds_X=([-1, -1], [1, 1])).fit(X, np.zeros(len(X)))
    assert np.all(np.isfinite(fitted.coef_))
