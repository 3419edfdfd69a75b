"""More records than memory holds: the route is public, and the same for every source."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kng
from kng.core.errors import SpecError
from kng.losses import room


@pytest.fixture
def scarce(monkeypatch):
    """As if every record took a gigabyte."""
    monkeypatch.setattr(room, "_RECORD", 2**30)


def frame(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(n)
    x = rng.uniform(-1, 1, (n, 3))
    y = x @ [0.5, -0.3, 0.1] + 0.2 * rng.normal(size=n)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y})


def fitted(data, columns, estimator=kng.QuantileRegressor, **options):
    bounds = {name: (-1, 1) for name in columns}
    model = estimator(epsilon=2, bounds_X=bounds, bounds_y=(-2, 2), random_state=3, **options)
    return model.fit(data, target="y", features=list(columns))


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize("columns", ["a", "ab"])
def test_the_same_bits_give_the_same_release_from_every_source(columns, tmp_path):
    data = frame(2003)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(data.iloc[::-1]), path, row_group_size=300)
    first = fitted(data, columns)
    assert "spread evenly" in first.release_.details["response"]
    others = [path, data.sample(frac=1, random_state=1), kng.Table(path, memory_limit="4GB")]
    for other in others[: 3 if columns == "a" else 1]:
        assert fitted(other, columns).release_.integers == first.release_.integers
    assert np.abs(first.coef_ - np.array([0.5, -0.3])[: len(columns)]).max() < 0.1


def test_what_fits_is_drawn_as_before():
    model = fitted(frame(2003), "a")
    assert "shifted at random" in model.release_.details["response"]


@pytest.mark.usefixtures("scarce")
def test_several_quantiles_and_huber_stay_where_they_are_too():
    model = fitted(frame(1501), "a", quantile=[0.25, 0.75])
    assert model.intercept_[0] < model.intercept_[1]
    huber = fitted(frame(1501), "a", kng.HuberRegressor, mechanism="kng", threshold=0.3)
    assert abs(huber.coef_[0] - 0.5) < 0.1


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize(
    "options", [{"columns": "abc"}, {"columns": "a", "mechanism": "exponential"}]
)
def test_what_no_pass_can_replace_is_refused_before_the_charge(options, tmp_path):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=10)
    with pytest.raises(SpecError, match=re.escape("1,501 records are looked at together")):
        fitted(frame(1501), ledger=ledger, **options)
    assert ledger.spent == 0


@pytest.mark.usefixtures("scarce")
def test_a_private_number_of_records_decides_nothing():
    model = fitted(frame(301), "a", neighbours="add-remove")
    assert "shifted at random" in model.release_.details["response"]
    stated = fitted(frame(301), "a", neighbours="add-remove", n_max=1000)
    assert "spread evenly" in stated.release_.details["response"]
