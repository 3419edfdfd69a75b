"""Conditions on records: what they mean, cell by cell, and what is refused."""

from __future__ import annotations

import math
import pickle
import re
import sqlite3

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kng.core.errors import KngError
from kng.data.engine import Column, Kind
from kng.data.where.filter import Filter

COLUMNS = (
    Column("age", Kind.NUMBER),
    Column("sex", Kind.TEXT),
    Column("pay", Kind.CELLS),
    Column("born", Kind.DATE),
    Column("in work", Kind.BOOLEAN),
)
AGE = [18.0, 40.0, 65.0, math.nan, -1.5, 40.0]
SEX = [b"F", b"M", None, b"F", b"", b"M"]
PAY = [0.0, math.nan, 3.5, 1e308, -math.inf, 7.0]
PAID = [b"0", b"none", b"3.5", b"1e308", b"-inf", b"7"]
WORK = [1.0, 0.0, 1.0, 1.0, math.nan, 0.0]
NUMBERS = {"age": AGE, "pay": PAY, "in work": WORK}
TEXTS = {"sex": SEX, "pay": PAID}


def held(stated: str) -> list[int]:
    """Return the positions of the records that a condition holds for."""
    made = pickle.loads(pickle.dumps(Filter.of(stated, COLUMNS, "the data")))
    numbers = [np.array(NUMBERS[name]) for name in made.numbers]
    texts = [pa.array(TEXTS[name], pa.binary()) for name in made.texts]
    assert all(COLUMNS[at].name == name for name, at in {**made.numbers, **made.texts}.items())
    return np.flatnonzero(made.holds(numbers, texts)).tolist()


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ("age >= 40", [1, 2, 5]),
        ("40 <= age", [1, 2, 5]),
        ("18 <= age < 65", [0, 1, 5]),
        ("age between 18 and 40", [0, 1, 5]),
        ("age not between 18 and 40", [2, 4]),
        ("not age >= 40", [0, 4]),
        ("not not age >= 40", [1, 2, 5]),
        ("age in (18, -1.5)", [0, 4]),
        ("age not in (18, -1.5)", [1, 2, 5]),
        ("age is missing", [3]),
        ("age is not missing", [0, 1, 2, 4, 5]),
        ("sex = 'F'", [0, 3]),
        ("'F' = sex", [0, 3]),
        ("sex = ' F '", [0, 3]),
        ('sex != "F"', [1, 5]),
        ("sex <> 'F'", [1, 5]),
        ("sex in ('F', 'X')", [0, 3]),
        ("sex is missing", [2, 4]),
        ("not sex = 'F'", [1, 5]),
        ("age >= 40 and sex = 'M'", [1, 5]),
        ("age >= 40 or sex = 'F'", [0, 1, 2, 3, 5]),
        ("age < 40 or age >= 40", [0, 1, 2, 4, 5]),
        ("age >= 40 and sex = 'M' or age = 18", [0, 1, 5]),
        ("age >= 40 and (sex = 'M' or age = 18)", [1, 5]),
        ("AGE >= 40 AND Sex = 'M'".replace("AGE", "age").replace("Sex", "sex"), [1, 5]),
        ("age - 2 * 20 = 0", [1, 5]),
        ("(age - 40) * (age - 18) = 0", [0, 1, 5]),
        ("-age > 0", [4]),
        ("age + pay > 50", [2, 3][:1]),
        ("pay > 1e300", [3]),
        ("pay < 0", [4]),
        ("pay = 'none'", [1]),
        ("pay is missing", [1]),
        ("`in work` = true", [0, 2, 3]),
        ("`in work` = FALSE", [1, 5]),
        ("`in work` != 1", [1, 5]),
        ("pay * pay > 1", [2, 3, 4, 5]),
        ("pay - pay = 0", [0, 2, 3, 5]),
    ],
)
def test_a_condition_holds_for_some_records(stated, expected):
    assert held(stated) == expected


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ("", "empty"),
        (" ", "empty"),
        (3, "must be a text"),
        (None, "must be a text"),
        ("age", "'age' is a column where a condition is needed"),
        ("age >=", "ends where"),
        ("age >= 40 and", "ends where"),
        ("age >= 40 sex = 'F'", "'sex' stands where"),
        ("age => 40", "stands where"),
        ("age / 2 > 3", "no division"),
        ("mean(age) > 3", "no functions such as 'mean'"),
        ("age > (3", "closing bracket"),
        ("age > 3)", "stands where"),
        ("age in 3", "a list"),
        ("age in (sex)", "holds numbers and texts"),
        ("age in ()", "stands where"),
        ("age between 3", "ends where"),
        ("(age > 3) + 1 = 2", "a condition stands where a value is needed"),
        ("wage > 3", "'wage', which is not a column of the data"),
        ("sex > 3", "holds text; compare it with a text"),
        ("sex < 'F'", "by =, != and in only"),
        ("age = 'F'", "holds numbers; compare it with a number"),
        ("born = 3", "holds date"),
        ("'a' + 1 = 2", "not with texts"),
        ("age = 'a' + 'b'", "with texts|not with a number"),
        ("3 is missing", "only a column"),
        ("1 = 1", "names no column"),
        ("age ; drop", "cannot be read"),
        ("age = 'F", "cannot be read"),
        ("(" * 60 + "age" + ")" * 60 + " > 1", "too deeply"),
        ("age > 1 or " * 2000 + "age > 1", "characters"),
    ],
)
def test_what_is_no_condition_is_refused_in_a_sentence(stated, says):
    with pytest.raises(KngError, match=says) as refused:
        Filter.of(stated, COLUMNS, "the data")
    assert str(refused.value).rstrip().endswith(".")


# Conditions without columns that SQLite would read otherwise: texts and missing cells are its own.
VALUES = st.sampled_from(["age", "pay", "2", "0.5", "-3", "age + 1", "2 * pay", "(age - pay)"])
TESTS = st.one_of(
    st.tuples(VALUES, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), VALUES).map(" ".join),
    st.tuples(VALUES, VALUES, VALUES).map(lambda v: f"{v[0]} between {v[1]} and {v[2]}"),
    st.sampled_from(["age is null", "pay is not null", "age in (18, 40)", "sex = 'F'"]),
    st.sampled_from(["sex in ('F', 'M')", "sex != 'M'", "not sex = 'M'"]),
)
CONDITIONS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda c: f"({c[0]}) and ({c[1]})"),
        st.tuples(inner, inner).map(lambda c: f"{c[0]} or {c[1]}"),
        inner.map(lambda c: f"not ({c})"),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=200)
@given(CONDITIONS.filter(lambda stated: re.search("age|pay|sex", stated)))
def test_sqlite_holds_the_same_records(stated):
    """Three-valued logic, precedence and arithmetic are those of SQL."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (k INTEGER, age REAL, pay REAL, sex TEXT)")
    for k, (age, pay, sex) in enumerate(zip(AGE, PAY, SEX, strict=True)):
        known = [None if isinstance(v, float) and math.isnan(v) else v for v in (age, pay)]
        text = sex.decode() if sex else None
        database.execute("INSERT INTO t VALUES (?, ?, ?, ?)", (k, *known, text))
    rows = database.execute(f"SELECT k FROM t WHERE {stated} ORDER BY k").fetchall()
    database.close()
    assert held(stated) == [row[0] for row in rows]


def test_a_name_of_two_columns_is_refused():
    with pytest.raises(KngError, match="two columns named 'age'"):
        Filter.of("age > 3", (*COLUMNS, Column("age", Kind.NUMBER)), "the data")
