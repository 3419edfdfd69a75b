"""Missing cells: a record that lacks one is absent, or has a public number in its place."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kng
from kng.core.errors import SchemaError, SpecError

N = 600
NAMES = ["age", "visits"]
MODELS: dict[str, Any] = {
    "linear": lambda **o: kng.LinearRegression(bounds_X=(0, 1), bounds_y=(-5, 5), **o),
    "linear kng": lambda **o: kng.LinearRegression(
        bounds_X=(0, 1), bounds_y=(-5, 5), mechanism="kng", coef_bound=8, **o
    ),
    "huber": lambda **o: kng.HuberRegressor(bounds_X=(0, 1), threshold=1, **o),
    "huber auto": lambda **o: kng.HuberRegressor(
        bounds_X=(0, 1), bounds_y=(-5, 5), threshold="auto", **o
    ),
    "quantile": lambda **o: kng.QuantileRegressor(bounds_X=(0, 1), bounds_y=(-5, 5), **o),
    "smoothed": lambda **o: kng.QuantileRegressor(
        bounds_X=(0, 1), bounds_y=(-5, 5), smoothing="auto", **o
    ),
    "expectile": lambda **o: kng.ExpectileRegressor(bounds_X=(0, 1), bounds_y=(-5, 5), **o),
    "poisson": lambda **o: kng.PoissonRegressor(bounds_X=(0, 1), bounds_y=(0, 5), **o),
    "logistic": lambda **o: kng.LogisticRegression(bounds_X=(0, 1), classes=[0, 1], **o),
}
STATISTICS: dict[str, Any] = {
    "mean": lambda data, **o: kng.mean(data, bounds={"age": (0, 1), "visits": (0, 1)}, **o),
    "median": lambda data, **o: kng.median(data, bounds={"age": (0, 1)}, **o),
    "quartiles": lambda data, **o: kng.quantile(data, [0.25, 0.75], bounds={"age": (0, 1)}, **o),
    "geometric median": lambda data, **o: kng.geometric_median(
        data, bounds={"age": (0, 1), "visits": (0, 1)}, **o
    ),
}


def complete(n: int = N, response: str = "linear") -> pd.DataFrame:
    rng = np.random.default_rng(8)
    table = pd.DataFrame({name: rng.uniform(0, 1, n) for name in NAMES})
    y = 2 * table["age"] - table["visits"] + rng.normal(0, 0.3, n)
    if response == "poisson":
        y = rng.poisson(np.exp(table["age"])).astype(float)
    if response == "logistic":
        y = (y > y.median()).astype(float)
    return table.assign(y=y)


def with_gaps(table: pd.DataFrame, more: int = 300) -> pd.DataFrame:
    """Put records between the others whose missing cell would move the answer if it counted."""
    gaps = pd.DataFrame({name: np.full(more, 1.0) for name in table})
    for row, column in zip(range(more), [*table.columns] * more, strict=False):
        gaps.loc[row, column] = np.nan
    both = pd.concat([table, gaps], ignore_index=True)
    return both.sample(frac=1, random_state=3).reset_index(drop=True)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_that_of_the_complete_records(name, relation):
    whole = complete(response=name)
    table = with_gaps(whole)
    options = {"epsilon": 2000, "neighbours": relation, "random_state": 4}
    model = MODELS[name](**options).fit(table[NAMES], table["y"])
    other = MODELS[name](**options).fit(whole[NAMES], whole["y"])
    assert np.allclose(model.release_.value, other.release_.value, atol=0.15)


@pytest.mark.parametrize("name", MODELS)
def test_what_an_incomplete_record_holds_beside_changes_no_bit(name):
    """Its score is 0 whatever its other cells are, under the same plan."""
    table = with_gaps(complete(response=name))
    other = table.copy()
    gaps = other.isna().any(axis=1)
    other.loc[gaps, ["age", "visits"]] = [np.nan, -7.0]
    options = {"epsilon": 1, "random_state": 4}
    found = MODELS[name](**options).fit(table[NAMES], table["y"]).release_
    again = MODELS[name](**options).fit(other, target="y", features=NAMES).release_
    # A missing response alone is seen by the stages that measure its spread.
    if name not in {"linear", "huber auto", "smoothed"}:
        assert found.integers == again.integers
    assert found.event == again.event


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", STATISTICS)
def test_a_statistic_is_that_of_the_complete_records(name, relation, tmp_path):
    whole = complete()
    table, ask = with_gaps(whole), STATISTICS[name]
    options = {"epsilon": 2000, "neighbours": relation, "random_state": 4}
    columns = ["age", "visits"] if name in {"mean", "geometric median"} else ["age"]
    found = ask(table, **options)
    expected = ask(table.dropna(subset=columns), **options)
    assert np.allclose(found.value, expected.value, atol=0.02)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    places = [dict(table), pl.DataFrame(table), pa.table(table), table.convert_dtypes()]
    for data in (*places, tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert ask(data, **options).integers == found.integers


@pytest.mark.parametrize("name", [*MODELS, *STATISTICS])
def test_no_complete_record_at_all_is_answered(name, tmp_path):
    table = complete(40, response=name)
    table["age"] = np.nan
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=1)
    if name in STATISTICS:
        found = STATISTICS[name](table, epsilon=1, ledger=ledger)
    else:
        found = MODELS[name](epsilon=1, ledger=ledger).fit(table[NAMES], table["y"]).release_
    assert np.isfinite(found.value).all()
    assert ledger.spent == 1


@pytest.mark.parametrize("name", MODELS)
def test_a_number_takes_the_place_of_a_missing_cell(name):
    if name == "logistic":
        table, number = with_gaps(complete(response=name)), {"age": 0.25, "visits": 0.25}
        table["y"] = table["y"].fillna(1)
    else:
        table, number = with_gaps(complete(response=name)), 0.25
    options = {"epsilon": 1, "random_state": 4}
    found = MODELS[name](missing=number, **options).fit(table[NAMES], table["y"]).release_
    full = table.fillna(0.25)
    same = MODELS[name](missing=number, **options).fit(full[NAMES], full["y"]).release_
    assert found.integers == same.integers
    assert "counts as" in " ".join(found.details)


def test_columns_that_cannot_be_missing_keep_their_law():
    whole = np.arange(100)
    law = kng.mean(whole, bounds=(0, 100), epsilon=1).law
    assert law == kng.mean(whole, bounds=(0, 100), epsilon=1, missing=50).law
    assert law == kng.mean(whole.astype(float), bounds=(0, 100), epsilon=1, missing=50).law
    assert law != kng.mean(whole.astype(float), bounds=(0, 100), epsilon=1).law
    assert (
        law
        == kng.mean(pa.table({"a": whole}, schema=REQUIRED), bounds={"a": (0, 100)}, epsilon=1).law
    )
    flags = whole % 2 == 0
    assert "missing cells" not in kng.mean(flags, bounds=(0, 1), epsilon=1).details


REQUIRED = pa.schema([pa.field("a", pa.int64(), nullable=False)])


def test_floats_that_are_not_null_can_be_missing_still():
    schema = pa.schema([pa.field("a", pa.float64(), nullable=False)])
    table = pa.table({"a": [1.0, math.nan, 3.0] * 30}, schema=schema)
    found = kng.mean(table, bounds={"a": (0, 100)}, epsilon=1)
    assert "left out" in found.details["missing cells"]


def test_a_null_that_a_schema_rules_out_counts_as_the_middle_and_is_never_dropped():
    """The plan counts on every record, so every record must be there."""
    column = pa.array([0] * 50 + [None] * 50, pa.int64())
    table = pa.Table.from_arrays([column], schema=REQUIRED)
    found = kng.mean(table, bounds={"a": (0, 100)}, epsilon=10_000, random_state=1)
    assert abs(float(found) - 25) < 1


@pytest.mark.parametrize("ask", ["mean", "median", "linear"])
def test_neighbours_that_differ_in_a_missing_cell_leave_the_same_receipt(ask, tmp_path):
    """Everything but the value: receipt, ledger, law."""

    def seen(cell: Any, at: int) -> Any:
        table = complete(50)
        table.loc[7, "age"] = cell
        ledger = kng.Ledger(tmp_path / f"{at}.ledger", cap=1)
        if ask == "linear":
            model = kng.LinearRegression(
                epsilon=1, bounds_X=(0, 1), bounds_y=(-5, 5), ledger=ledger
            )
            release = model.fit(table[NAMES], table["y"]).release_
        else:
            release = STATISTICS[ask](table, epsilon=1, ledger=ledger)
        receipt = json.loads(release.to_json())
        for private in ("value", "integers", "also", "noise", "provenance"):
            receipt.pop(private, None)
        (entry,) = ledger.history()
        return receipt, entry.parameters, entry.epsilon, release.law

    first, *others = [seen(cell, at) for at, cell in enumerate([0.5, np.nan, np.inf, -1e300])]
    assert all(other == first for other in others)


def datasets(n: int) -> list[tuple[Any, ...]]:
    return list(product([0.0, 1.0, 2.0, 3.0, math.nan], repeat=n))


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_the_exact_privacy_loss_with_missing_cells(q):
    """Every pair of datasets that differ in one record, by the draws' own law."""
    epsilon, n = 3.0, 2
    plan = kng.KNG(kng.losses.Location(kng.losses.Pinball(q)), domain=kng.domains.Box(0, 3, dim=1))

    def logs(dataset: tuple[float, ...]) -> Any:
        density = plan.density(
            np.array(dataset), bounds=(0, 3), granularity=1, epsilon=epsilon,
            grid=[0, 1, 2, 3], public=True,
        )  # fmt: skip
        weight = np.asarray(density.log_density)
        return weight - np.log(np.exp(weight).sum())

    found = {dataset: logs(dataset) for dataset in datasets(n)}
    losses = [
        np.abs(found[a] - found[b]).max()
        for a in found
        for b in found
        if sum(repr(x) != repr(y) for x, y in zip(a, b, strict=True)) == 1
    ]
    assert max(losses) <= epsilon * (1 + 1e-12)
    assert max(losses) > 0.4 * epsilon


@pytest.mark.parametrize("bad", ["dropped", "", {"height": 1}, [1, 2, 3], math.nan, 100])
def test_what_missing_cannot_be_is_refused(bad, tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=1)
    table = complete(30)
    with pytest.raises(SpecError, match="missing"):
        STATISTICS["mean"](table, missing=bad, epsilon=1, ledger=ledger)
    model = MODELS["linear"](missing=bad, epsilon=1, ledger=ledger)
    with pytest.raises(SpecError, match="missing"):
        model.fit(table[NAMES], table["y"])
    assert ledger.spent == 0


def test_estimators_take_a_condition():
    table = complete(4000)
    table.loc[table["visits"] > 0.5, "y"] = -4.0
    model = MODELS["linear"](where="visits <= 0.5", epsilon=500)
    by_name = model.fit(
        table,
        target="y",
        features=["age"],
    )
    assert abs(by_name.coef_[0] - 2) < 0.3
    assert by_name.release_.details["where"].startswith("visits <= 0.5")
    beside = MODELS["quantile"](where="visits <= 0.5", epsilon=500).fit(table[NAMES], table["y"])
    assert abs(beside.coef_[0] - 2) < 0.4
    with pytest.raises(SchemaError, match="not a column"):
        MODELS["linear"](where="height > 1", epsilon=1).fit(table[NAMES], table["y"])
