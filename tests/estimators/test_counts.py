"""Counts, proportions, histograms, sums and variances: answers, receipts and refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kng

LARGE = {"epsilon": 2000, "random_state": 1}


def frame(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(18, 90, n), "sex": rng.choice(["F", "M", "X"], n)})
    table["pay"] = rng.normal(30, 5, n)
    table.loc[::7, "pay"] = np.nan
    table.loc[3::11, "sex"] = None
    table["paid"] = rng.random(n) < 0.3
    return table


TABLE = frame()
OLD = TABLE[TABLE["age"] >= 40]
PAY = TABLE["pay"].clip(20, 35)
STATISTICS: dict[str, Any] = {
    "count": lambda d, **o: kng.count(d, **{"where": "sex = 'F'", **o}),
    "proportion": lambda d, **o: kng.proportion(d, of="sex = 'F'", **o),
    "levels": lambda d, **o: kng.histogram(d, levels={"sex": ["M", "F"]}, **o),
    "other": lambda d, **o: kng.histogram(d, levels={"sex": ["M"]}, other="rest", **o),
    "edges": lambda d, **o: kng.histogram(d, edges={"age": [18, 30, 60, 80]}, **o),
    "sum": lambda d, **o: kng.sum(d, bounds={"pay": (20, 35)}, **o),
    "variance": lambda d, **o: kng.variance(d, bounds={"pay": (20, 35)}, **o),
}


def truth(name: str, table: pd.DataFrame) -> Any:
    """The same by pandas."""
    sexes, pay, ages = table["sex"], table["pay"].clip(20, 35), table["age"]
    return {
        "count": (sexes == "F").sum(),
        "proportion": (sexes == "F").sum() / sexes.notna().sum(),
        "levels": [(sexes == "M").sum(), (sexes == "F").sum()],
        "other": [(sexes == "M").sum(), (sexes.notna() & (sexes != "M")).sum()],
        "edges": np.histogram(ages, [18, 30, 60, 80])[0],
        "sum": pay.sum(),
        "variance": pay.var(),
    }[name]


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", STATISTICS)
def test_answers_at_a_large_epsilon_are_those_of_pandas(name, neighbours, tmp_path):
    """From every container, and from the same bits the same integers."""
    ask = STATISTICS[name]
    found = ask(TABLE, neighbours=neighbours, **LARGE)
    assert np.allclose(found.value, truth(name, TABLE), rtol=1e-4)
    assert found.guarantee == "simulation"
    TABLE.to_parquet(tmp_path / "t.parquet")
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    places = [dict(TABLE), pl.DataFrame(TABLE), pl.LazyFrame(TABLE), pa.table(TABLE)]
    for data in (*places, tmp_path / "t.parquet", tmp_path / "t.csv"):
        same = ask(data, neighbours=neighbours, **LARGE)
        # A file of text may lack a cell where a column of whole numbers cannot.
        assert np.allclose(same.value, found.value, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "count"])
def test_a_condition_leaves_records_out(name):
    found = STATISTICS[name](TABLE, where="age >= 40", **LARGE)
    assert np.allclose(found.value, truth(name, OLD), rtol=1e-4)
    assert found.details["where"].startswith("age >= 40")


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", STATISTICS)
def test_groups_are_answered_together(name, neighbours):
    """A row for each, empty ones included; from the records of that group alone."""
    nobody = STATISTICS[name](TABLE, by={"age": [1000, 1001]}, neighbours=neighbours, epsilon=1)
    assert len(nobody.to_frame()) == 2
    plain = STATISTICS[name](TABLE, by={"paid": [True]}, neighbours=neighbours, **LARGE)
    paid = truth(name, TABLE[TABLE["paid"]])
    assert np.allclose(np.ravel(plain.value), np.ravel(paid), rtol=1e-3)
    assert plain.to_frame()["paid"].tolist() == [True]


def test_groups_are_counted_without_a_condition():
    found = kng.count(TABLE, by={"sex": ["F", "M"]}, **LARGE)
    assert found["F"] == (TABLE["sex"] == "F").sum()
    bins = kng.histogram(TABLE, edges={"age": [0, 40, 90]}, by={"sex": ["F", "M"]}, **LARGE)
    women = TABLE["age"][TABLE["sex"] == "F"]
    assert bins.to_frame()["[0, 40)"].tolist()[0] == (women < 40).sum()


def test_no_record_at_all_is_answered():
    for ask in STATISTICS.values():
        assert np.isfinite(ask(TABLE, where="age > 1000", epsilon=1).value).all()


def test_all_records_are_counted_where_their_number_is_private():
    options = {"neighbours": "add-remove", **LARGE}
    for data, n in ((TABLE, 400), ([1, None, "x"], 3), (np.zeros((3, 2)), 3), (dict(TABLE), 400)):
        assert kng.count(data, **options) == n
    assert kng.count(TABLE, where="age >= 40", **options) == len(OLD)
    assert kng.count(TABLE, neighbours="add-remove", n_max=7, epsilon=1000) == 7


def test_counts_are_whole_numbers_that_can_be():
    for seed in range(30):
        found = kng.histogram([1, 2], levels=[1, 2, 3], epsilon=0.1, random_state=seed)
        assert all(0 <= k <= 2 and k == int(k) for k in found.value)
        few = kng.count({"x": [1, 2]}, where="x > 1", epsilon=0.1, random_state=seed)
        assert few.value in (0, 1, 2)
        share = kng.proportion([True, False], epsilon=0.1, random_state=seed)
        assert share.value in (0, 0.5, 1)


def test_bins_that_hold_everybody_add_up_to_the_public_number():
    """The last count is what is left over; only what is moved to 0 or n breaks the sum."""
    ages = TABLE["age"]
    found = kng.histogram(ages, edges=["-inf", 40, 60, "inf"], epsilon=1, random_state=4)
    assert sum(found.value) == len(TABLE)
    assert found.law.norm == "Exchange()"
    assert "in no bin" not in found.details
    assert "in no bin" in kng.histogram(ages, edges=[0, 40], epsilon=1).details


def test_a_histogram_has_names():
    found = kng.histogram(TABLE, levels={"sex": ["F", "M"]}, other="others", **LARGE)
    assert found.names == ("F", "M", "others")
    assert found["F"] == (TABLE["sex"] == "F").sum()
    assert list(found.to_frame()["name"]) == ["F", "M", "others"]
    again = kng.Release.from_json(found.to_json())
    assert again == found
    assert again["others"] == found["others"]
    shown = [line.split()[:2] for line in repr(found).splitlines()]
    assert ["F", f"{found['F']:.0f}"] in shown
    assert "bounds" not in repr(found)
    edges = kng.histogram(TABLE["age"], edges=[0, 0.5, 90], **LARGE)
    assert edges.names == ("[0, 0.5)", "[0.5, 90]")
    assert json.loads(edges.to_json())["details"]["bins"] == list(edges.names)


def test_the_edges_of_bins():
    """Half open, the last one closed; infinite numbers are in bins without an end."""
    numbers = [0, 1, 1.5, 2, 3, -0.1, 3.1, float("inf"), float("nan"), None]
    found = kng.histogram(numbers, edges=[0, 1, 2, 3], **LARGE)
    assert list(found.value) == [1, 2, 2]
    wide = kng.histogram(numbers, edges=["-inf", 0, 2, "inf"], **LARGE)
    assert list(wide.value) == [1, 3, 4]
    filled = kng.histogram(numbers, edges=[0, 1, 2, 3], missing=1, **LARGE)
    assert list(filled.value) == [1, 4, 2]


def test_levels_are_texts_or_numbers():
    assert list(kng.histogram([" F", "M", "f", "", None], levels=["M", "F"], **LARGE).value) == [
        1,
        1,
    ]
    assert list(kng.histogram([2, 1.0, 3, 2], levels=[2, 1], **LARGE).value) == [2, 1]
    assert list(kng.histogram([True, False, True], levels=[True, False], **LARGE).value) == [2, 1]
    gaps = kng.histogram(["F", "", None], levels=["M", "F"], missing="M", **LARGE)
    assert list(gaps.value) == [2, 1]


def test_a_thousand_bins():
    numbers = np.arange(5000) % 1000
    for neighbours in ("replace-one", "add-remove"):
        found = kng.histogram(numbers, levels=range(1000), epsilon=1, neighbours=neighbours)
        assert found.guarantee == "exact"
        assert abs(found.value - 5).mean() < 4


def test_a_boolean_column_has_no_absent_records():
    found = kng.proportion(TABLE["paid"].to_numpy(), **LARGE)
    assert found.value == pytest.approx(TABLE["paid"].mean())
    assert found.lattice.step[0].denominator == len(TABLE)
    assert "in no bin" not in found.details
    with_gaps = kng.proportion([True, None, False, True], missing=0, **LARGE)
    assert with_gaps.value == pytest.approx(0.5)
    assert kng.proportion([1, 0, 7, None], **LARGE).value == pytest.approx(0.5, abs=1e-3)


def test_a_sum_has_the_step_that_is_stated():
    cents = kng.sum([0.1, 0.25, None], bounds=(0, 1), granularity="0.05", **LARGE)
    assert cents.exact_value[0] == pytest.approx(0.35, abs=1e-9)
    below = kng.sum([-3, -5, 2], bounds=(-4, 4), granularity=1, neighbours="add-remove", **LARGE)
    assert below == -5


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_a_variance_is_divided_as_asked(ddof):
    found = kng.variance(TABLE, bounds={"pay": (20, 35)}, ddof=ddof, epsilon=10**5)
    assert found.value == pytest.approx(PAY.var(ddof=ddof), rel=1e-4)
    assert found.details["divided by"] == ("n" if ddof == 0 else f"n - {ddof}")


def test_a_variance_is_not_negative():
    values = [kng.variance([1, 1, 1], bounds=(0, 2), epsilon=0.1).value for _ in range(20)]
    assert all(0 <= v <= 2 for v in values)


def test_a_variance_is_closer_than_that_of_a_split_budget():
    """Two sums with half of epsilon each, Laplace noise, at the same records."""
    rng, n = np.random.default_rng(5), 1000
    y = np.clip(rng.normal(0.4, 0.2, n), -1, 1)
    whole = (y * 2**20).round() / 2**20
    ours = [
        kng.variance(whole, bounds=(-1, 1), missing=0, ddof=0, epsilon=1, random_state=k).value
        for k in range(150)
    ]
    first = (y.sum() + rng.laplace(0, 4, 10_000)) / n
    split = (y * y).sum() / n + rng.laplace(0, 2 / n, 10_000) - first**2
    error = np.sqrt(np.mean((np.array(ours) - y.var()) ** 2))
    assert error < 0.8 * np.sqrt(np.mean((split - y.var()) ** 2))


BAD: dict[str, tuple[Any, str]] = {
    "level twice": (lambda **o: kng.histogram(TABLE, levels={"sex": ["F", "F "]}, **o), "twice"),
    "number twice": (lambda **o: kng.histogram([1], levels=[1, 1.0], **o), "twice"),
    "no levels": (lambda **o: kng.histogram([1], levels=[], **o), "empty"),
    "mixed levels": (lambda **o: kng.histogram([1], levels=[1, "a"], **o), "all be text"),
    "one text": (lambda **o: kng.histogram([1], levels="FM", **o), "must be a list"),
    "empty text": (lambda **o: kng.histogram(["a"], levels=["a", " "], **o), "empty text"),
    "two columns": (
        lambda **o: kng.histogram(TABLE, levels={"a": [1], "b": [1]}, **o),
        "one column",
    ),
    "unsorted edges": (lambda **o: kng.histogram([1], edges=[0, 5, 3], **o), "grow"),
    "edge twice": (lambda **o: kng.histogram([1], edges=[0, 5, 5, 9], **o), "grow"),
    "one edge": (lambda **o: kng.histogram([1], edges=[0], **o), "two or more"),
    "no number": (lambda **o: kng.histogram([1], edges=[0, "x"], **o), "edges"),
    "one bin of all": (lambda **o: kng.histogram([1], edges=["-inf", "inf"], **o), "one bin"),
    "one bin of all booleans": (
        lambda **o: kng.histogram(np.array([True, False]), edges=[0, 1], **o),
        "holds all records",
    ),
    "both": (lambda **o: kng.histogram([1], edges=[0, 1], levels=[1], **o), "got both"),
    "neither": (lambda **o: kng.histogram([1], **o), "got neither"),
    "other of edges": (lambda **o: kng.histogram([1], edges=[0, 1], other="x", **o), "levels"),
    "other is a level": (lambda **o: kng.histogram(["a"], levels=["a"], other="a", **o), "another"),
    "missing in no bin": (lambda **o: kng.histogram([1], levels=[1], missing=5, **o), "missing"),
    "which column": (lambda **o: kng.histogram(TABLE, levels=["F"], **o), "Name it"),
    "no column": (lambda **o: kng.histogram(TABLE, levels={"sexes": ["F"]}, **o), "sexes"),
    "no names": (lambda **o: kng.histogram([1], levels={"sex": [1]}, **o), "no column names"),
    "text of numbers": (
        lambda **o: kng.histogram(np.array(["a"]), edges=[0, 1], **o),
        "number is needed",
    ),
    "texts for numbers": (lambda **o: kng.histogram(np.arange(3), levels=["a"], **o), "numbers"),
    "text sum": (lambda **o: kng.sum(np.array(["a"]), bounds=(0, 1), **o), "number is needed"),
    "two sums": (lambda **o: kng.sum(np.ones((2, 2)), bounds=([0, 0], [1, 1]), **o), "one column"),
    "no bounds": (lambda **o: kng.sum([1], **o), "bounds are missing"),
    "nameless groups": (
        lambda **o: kng.histogram([1], levels=[1], by={"sex": ["F"]}, **o),
        "^by names columns",
    ),
    "public count": (lambda **o: kng.count(TABLE, **o), "public"),
    "nameless condition": (lambda **o: kng.count([1, 2], where="x > 1", **o), "no column names"),
    "unread of": (lambda **o: kng.proportion(TABLE, of="sex >", **o), "^of="),
    "unknown of": (lambda **o: kng.proportion(TABLE, of="sexes = 'F'", **o), "^of="),
    "nameless of": (lambda **o: kng.proportion([1], of="x > 1", **o), "^of names"),
    "filled of": (lambda **o: kng.proportion(TABLE, of="age > 1", missing=0, **o), "drop"),
    "share of what": (lambda **o: kng.proportion(TABLE, **o), "what the share is of"),
    "few records": (lambda **o: kng.variance([1], bounds=(0, 1), **o), "at least 2"),
    "negative ddof": (lambda **o: kng.variance([1, 2], bounds=(0, 1), ddof=-1, **o), "ddof"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_asked_is_refused_before_the_charge(name, tmp_path):
    ask, says = BAD[name]
    ledger = kng.Ledger(tmp_path / "budget.db", cap=1)
    with pytest.raises(kng.KngError, match=says):
        ask(epsilon=1, ledger=ledger)
    assert ledger.spent == 0
