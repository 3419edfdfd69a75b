"""More records than memory holds: the route is public, and the same for every source."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kng
from kng.core.bounds import Bounds
from kng.core.errors import SpecError
from kng.data import open_regression
from kng.losses import Logistic, room
from kng.losses.fields.curved_field import CurvedSums
from kng.losses.fields.curved_passes import CurvedPasses
from kng.losses.kernels.curved_rows import CurvedRows
from kng.losses.kernels.held import Everything
from kng.losses.linear_encoding import linear_design


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
    bounds = dict.fromkeys(columns, (-1, 1))
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
    for other in others[: 3 if columns == "a" else 0]:
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


def test_logistic_passes_release_what_records_at_hand_do(monkeypatch):
    data = frame(901)
    data["label"] = (data["y"] > 0).astype(int)

    def drawn():
        bounds = dict.fromkeys("abc", (-1, 1))
        model = kng.LogisticRegression(
            epsilon=2, bounds_X=bounds, classes=[0, 1], mechanism="objective", random_state=3
        )
        return model.fit(data, target="label", features=list("abc")).release_.integers

    kept, asked = drawn(), []
    monkeypatch.setattr(room, "_FOUR", 2**20)
    around = CurvedPasses.around
    monkeypatch.setattr(CurvedPasses, "around", lambda *args: asked.append(1) or around(*args))
    assert drawn() == kept
    assert asked


def test_sums_of_enclosures_enclose_the_sum():
    rng, n = np.random.default_rng(3), 5000
    design = linear_design(Logistic(), True, Bounds((-1,) * 2, (1,) * 2), (0, 1))
    x = rng.uniform(-1, 1, (n, 2))
    source = open_regression(x, (rng.random(n) < 0.3).astype(float), design.records)
    home = CurvedSums(source.reduce(CurvedRows(design)), design, Logistic(), Fraction(1))
    passed = CurvedPasses(
        Held(source.collect(Everything()), 700), n, design, Logistic(), home.scale
    )
    theta = (Fraction(1, 3), Fraction(-2), Fraction(5, 7))
    true, off = home.gradient(theta, 60)
    assert passed.gradient(theta, 60) == (true, off)
    one, other = home.around(theta), passed.around(theta)
    assert np.linalg.norm(one.least - other.least, 2) <= one.fuzz + other.fuzz
    assert one.fuzz + other.fuzz < 1e-9 * np.abs(one.least).max()
    for found in (one, other):
        away = [Fraction(a) - b for a, b in zip(found.gradient.tolist(), true, strict=True)]
        assert float(sum(v * v for v in away)) ** 0.5 <= float(found.off + off)
    wrong = other.gradient + 1e-6
    away = [Fraction(a) - b for a, b in zip(wrong.tolist(), true, strict=True)]
    assert float(sum(v * v for v in away)) ** 0.5 > float(other.off + off)
    assert len(passed) == len(home)
    assert passed.steepest() == home.steepest()


class Held:
    """Records in batches of a size."""

    def __init__(self, rows, size):
        self.batches = [rows[at : at + size] for at in range(0, len(rows), size)]

    def reduce(self, kernel):
        state = kernel.zero()
        for batch in self.batches:
            state = kernel.merge(state, kernel.partial(batch))
        return state
