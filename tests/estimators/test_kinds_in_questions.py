"""Booleans, dates and missing cells in where=, by=, of= and bins, declared or not.

What is asked must never be answered by "no record" because cells were read as another kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kng
from kng.core.errors import KngError, SchemaError
from kng.data.engine import Column, Kind
from kng.data.where.filter import Filter

SURE: dict[str, Any] = {"epsilon": 10**6, "random_state": 1}
TEXT = """x,b,yn,d,na
1,True,yes,2024-01-01,3
2,False,no,2024-02-01,NA
3,True,yes,2024-01-01,
4,TRUE,no,x,n/a
5,false,,,-1
"""
KINDS = {
    "x": kng.columns.Number(bounds=(0, 10)),
    "b": kng.columns.Boolean(),
    "yn": kng.columns.Boolean(yes="yes", no="no"),
    "d": kng.columns.Date(bounds=("2024-01-01", "2024-12-31")),
    "na": {"levels": [3, -1]},
}


@pytest.fixture
def path(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT)
    return tmp_path / "t.csv"


@pytest.fixture
def table(path):
    return kng.Table(path, columns=KINDS)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("b = true", 3),
        ("b = FALSE", 2),
        ("b != true and x > 2", 1),
        ("false = b or x = 1", 3),
        ("yn is missing", 1),
        ("yn is not missing", 4),
        ("yn is missing or yn = 'no'", 3),
        ("na is missing", 3),
        ("na > 0 or na is missing", 4),
        ("d is missing", 1),
    ],
)
def test_cells_that_nothing_declares_are_what_they_are_compared_with(where, expected, path):
    assert float(kng.count(path, where=where, **SURE)) == expected
    frame = pd.read_csv(path, dtype=object, keep_default_na=False)
    assert float(kng.count(frame, where=where, **SURE)) == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("b = true", 3),
        ("yn = true", 2),
        ("yn = 'yes'", 2),
        ("yn + b = 2", 2),
        ("yn is missing", 1),
        ("d = '2024-01-01'", 2),
        ("d > '2024-01-15'", 1),
        ("'2024-01-15' > d", 2),
        ("d between '2024-01-01' and '2024-01-31'", 2),
        ("d in ('2024-02-01', '2024-03-01')", 1),
        ("not (d < '2024-01-15')", 1),
        ("d is missing", 2),
        ("na is missing", 3),
        ("na = 3", 1),
        ("na > 2 or na is missing", 4),
    ],
)
def test_declared_columns_are_read_as_declared(where, expected, table):
    assert float(kng.count(table, where=where, **SURE)) == expected
    shared = kng.proportion(table, of=f"x > 0 and ({where})", **SURE)
    assert 0 <= shared.value <= 1


def test_types_of_dates_are_compared_with_dates():
    days = pa.array(["2024-01-01", "2024-02-01", None]).cast(pa.date32())
    table = pa.table({"d": days, "x": [1.0, 2.0, 3.0]})
    for where, expected in {
        "d >= '2024-01-15'": 1,
        "d is missing": 1,
        "d < '2024-03-01'": 2,
    }.items():
        assert float(kng.count(table, where=where, **SURE)) == expected
    with pytest.raises(KngError, match="is no date"):
        kng.count(table, where="d > 'x'", **SURE)
    with pytest.raises(KngError, match="holds date"):
        kng.count(table, where="d + 1 > 3", **SURE)


def test_groups_of_booleans_in_text(path, table):
    by = {"b": [True, False]}
    assert kng.count(path, by=by, **SURE).to_dict() == {"True": 3, "False": 2}
    assert kng.count(table, by=by, **SURE).to_dict() == {"True": 3, "False": 2}
    assert kng.count(table, by={"yn": [False, True]}, **SURE).to_dict() == {"False": 2, "True": 2}
    means = kng.mean(table["x"], by={"yn": [True, False], "b": [True, False]}, **SURE).to_dict()
    assert means["True, True"] == pytest.approx(2, abs=0.01)
    text = pd.DataFrame({"b": pd.Series(["j", "n", "j"], dtype="string"), "x": [1.0, 2.0, 3.0]})
    stated = kng.Table(text, columns={"b": kng.columns.Boolean(yes="j", no="n")})
    assert kng.count(stated, by=by, **SURE).to_dict() == {"True": 2, "False": 1}


def test_shares_and_bins_of_booleans_in_text(tmp_path, table):
    (tmp_path / "b.csv").write_text("b\nTrue\nfalse\nTRUE\ntrue\nn/a\n")
    alone = tmp_path / "b.csv"
    assert float(kng.proportion(alone, **SURE)) == pytest.approx(0.75, abs=1e-3)
    assert kng.histogram(alone, levels=[False, True], **SURE).to_dict() == {"False": 1, "True": 3}
    assert float(kng.proportion(table["yn"], **SURE)) == pytest.approx(0.5, abs=1e-3)
    assert float(kng.proportion(table["b"], **SURE)) == pytest.approx(0.6, abs=1e-3)
    found = kng.histogram(table["yn"], levels=[True, False], **SURE)
    assert found.to_dict() == {"True": 2, "False": 2}


def test_a_column_of_a_declared_table_can_be_counted(table):
    assert kng.histogram(table["x"], edges=[0, 3, 9], **SURE).to_dict() == {
        "[0, 3)": 2,
        "[3, 9]": 3,
    }
    days = kng.histogram(table["d"], edges=[19723, 19724, 20000], **SURE)
    assert list(days.to_dict().values()) == [2, 1]
    with pytest.raises(KngError, match="one column is needed"):
        kng.histogram(table[["x", "b"]], edges=[0, 3, 9], **SURE)


def test_a_condition_of_odd_cells_can_be_unknown():
    """A boolean in whole numbers can be 2, which is neither yes nor no: the record is absent."""
    columns = (Column("a", Kind.NUMBER, optional=False),)
    assert not Filter.of("a = 1", columns, "the data").optional(columns)
    stated = {"a": kng.columns.Boolean(yes=1, no=0)}
    assert Filter.of("a = true", columns, "the data", stated).optional(columns)
    frame = kng.Table(pd.DataFrame({"a": np.array([0, 1, 1, 2])}), columns=stated)
    assert float(kng.proportion(frame, of="a = true", **SURE)) == pytest.approx(2 / 3, abs=1e-3)


@pytest.mark.parametrize(
    "kind", ["date32[day][pyarrow]", "timestamp[us][pyarrow]", "timestamp[ns]"]
)
@pytest.mark.parametrize("cells", [["2024-01-01", "2024-01-03"], ["2024-01-01", None]])
def test_dates_of_arrow_in_pandas_are_dates(kind, cells):
    column = pd.Series([*cells, *["2024-01-03"] * 3]).astype(
        "datetime64[ns]" if kind == "timestamp[ns]" else kind
    )
    bounds = ("2024-01-01", "2024-12-31")
    frame = kng.median(pd.DataFrame({"d": column}), bounds={"d": bounds}, **SURE)
    assert float(frame) == float(kng.median(column, bounds=bounds, **SURE)) == 19725


def answers(words=("False", "True")) -> dict[str, list]:
    """Records whose answer goes with x; the third of each ten lacks it."""
    x = [k / 400 for k in range(400)]
    said = [words[(7 * k) % 400 < k] for k in range(400)]
    return {"x": x, "y": [None if k % 10 == 2 else said[k] for k in range(400)]}


def coefficients(data, classes=(False, True)):
    model = kng.LogisticRegression(
        epsilon=5, classes=classes, bounds_X={"x": (0, 1)}, random_state=1
    )
    return model.fit(data, target="y", features=["x"]).release_.integers


@pytest.mark.parametrize("words", [("False", "True"), ("false", "true"), ("0", "1"), (0, 1)])
def test_classes_that_are_true_and_false_are_read_in_any_container(words, tmp_path):
    wanted = coefficients(kng.Table(answers(), columns={"y": kng.columns.Boolean()}), (False, True))
    path = tmp_path / "answers.csv"
    frame = pd.DataFrame(answers(words), dtype=object)
    frame.to_csv(path, index=False)
    assert coefficients(path) == coefficients(frame) == wanted


def test_classes_follow_a_declared_boolean(tmp_path):
    path = tmp_path / "answers.csv"
    pd.DataFrame(answers(("N", "J"))).to_csv(path, index=False)
    table = kng.Table(path, columns={"y": kng.columns.Boolean(yes="J", no="N")})
    assert coefficients(table) == coefficients(table, None) == coefficients(answers())


@pytest.mark.parametrize(
    ("labels", "classes", "says"),
    [
        (pa.array([True, False]), ("False", "True"), "holds booleans, and the classes are texts"),
        (pa.array([1, 0]), ("0", "1"), "holds numbers, and the classes are texts"),
        (pa.array(["True", "x"]), (False, True), "holds text, and the classes are True and False"),
    ],
)
def test_classes_of_another_kind_are_refused_before_the_charge(labels, classes, says, tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=9)
    model = kng.LogisticRegression(
        epsilon=1, classes=classes, bounds_X={"x": (0, 1)}, ledger=ledger
    )
    table = pa.table({"x": [0.5, 0.25], "y": labels})
    with pytest.raises(SchemaError, match=says):
        model.fit(table, target="y", features=["x"])
    assert ledger.spent == 0
