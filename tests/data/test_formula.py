"""Formulas: what they say, the bounds of what they make, and that no record leaves them."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

import formulaic
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kng
from kng.core.design import design_of
from kng.data.engine import Block
from kng.data.formula.binding import bound_formula, read_covariates
from kng.data.formula.calculation import cells_of, range_of
from kng.data.formula.covariates import Covariates
from kng.data.formula.derived import Derived
from kng.data.formula.opening import open_formula
from kng.data.formula.reading import read_formula
from kng.data.formula.tree import Computed
from kng.data.present import ALL
from kng.data.registry import open_table
from kng.losses.linear_encoding import encoded

SEX = "C(sex, levels=['F', 'M'])"
BOUNDS = {"a": (-3, 5), "b": (1, 4), "c": (0.1, 0.7)}


def made(formula: str, data: Any, bounds: Mapping[str, Any] = BOUNDS) -> Covariates:
    """Bind a formula to a table."""
    engine = open_table(data)
    assert engine is not None
    said = read_formula(formula)
    ends = {name: (Fraction(str(low)), Fraction(str(high))) for name, (low, high) in bounds.items()}
    return bound_formula(engine, said, ends, (), said.intercept)


FRAME = pd.DataFrame(
    {
        "a": [-3.0, 0.0, 5.0, 1.0] * 6,
        "b": [1.0, 4.0, 2.0] * 8,
        "c": [0.1, 0.7] * 12,
        "sex": ["F", "F", "M"] * 8,
        "area": ["N", "S", "W", "S", "N", "W", "W"] * 3 + ["N", "S", "W"],
        "y": np.arange(24.0),
    }
)
AREA = "C(area, levels=['N', 'S', 'W'])"


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ a + b",
        f"y ~ a + {SEX}",
        f"y ~ a * {SEX}",
        f"y ~ 0 + {SEX}",
        f"y ~ a:{SEX}",
        f"y ~ {SEX} - 1 + {AREA}",
        f"y ~ {SEX} * {AREA}",
        f"y ~ {SEX}:{AREA}",
        f"y ~ 0 + {SEX}:{AREA}",
        f"y ~ 0 + a:{SEX} + {AREA}",
        f"y ~ (a + b):{SEX}",
        f"y ~ a * b * {SEX} - a:b",
        "y ~ I(a ** 2) + log(b) + exp(c)",
        "y ~ a + I((a - 2 * b) / 4) + a:log(b)",
    ],
)
def test_the_same_columns_as_formulaic(formula: str) -> None:
    """Their span is the same, and so is their number: none follows from the others."""
    ours = made(formula, FRAME)
    engine = open_table(FRAME)
    assert engine is not None
    recipe = Derived(read_covariates(engine, ours), ours, clipped=True)
    engine.prepare(recipe.asked)
    (tables,) = engine.run(recipe.asked, lambda blocks: [recipe.tables(b) for b in blocks])
    columns = np.hstack(tables[0])
    plain = formula.replace(SEX, "C(sex)").replace(AREA, "C(area)")
    theirs = np.asarray(formulaic.model_matrix(plain, FRAME).rhs, dtype=float)
    if read_formula(formula).intercept:
        columns = np.column_stack([np.ones(len(FRAME)), columns])
    assert columns.shape == theirs.shape
    rank = np.linalg.matrix_rank(theirs)
    assert np.linalg.matrix_rank(columns) == rank
    assert np.linalg.matrix_rank(np.hstack([columns, theirs])) == rank


def test_names_and_bounds() -> None:
    formula = f"y ~ a*{SEX} + I(a**2) + np.log(b) + I(-(a - 2*b)/4) + minimum(a, b, 2)"
    found = made(formula, FRAME)
    bounds = dict(
        zip(found.names, zip(found.bounds.low, found.bounds.high, strict=True), strict=True)
    )
    assert bounds == {
        "a": (-3, 5),
        "sex[M]": (0, 1),
        "I(a ** 2)": (0, 25),
        "log(b)": (0, Fraction("1.38629436112")),
        "I(-(a - 2 * b) / 4)": (Fraction(-3, 4), Fraction(11, 4)),
        "minimum(a, b, 2)": (-3, 2),
        "a:sex[M]": (-3, 5),
    }
    assert found.columns == ("a", "sex", "b")
    assert pickle.loads(pickle.dumps(found)) == found


def values() -> st.SearchStrategy[str]:
    """Write expressions of three columns at random."""
    leaf = st.sampled_from(["a", "b", "c", "0.1", "3", "1e-3"])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from("+-*"), inner).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            st.tuples(inner, st.integers(1, 4)).map(lambda t: f"({t[0]}) ** {t[1]}"),
            inner.map(lambda v: f"({v} / 7)"),
            inner.map(lambda v: f"abs({v})"),
            inner.map(lambda v: f"sqrt(abs({v}))"),
            inner.map(lambda v: f"log(1 + abs({v}))"),
            inner.map(lambda v: f"log1p(abs({v}))"),
            inner.map(lambda v: f"exp(minimum({v}, 2))"),
            st.tuples(inner, inner).map(lambda t: f"maximum({t[0]}, {t[1]})"),
        ),
        max_leaves=6,
    )


@given(values(), st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=1, max_size=20))
def test_derived_bounds_hold_for_every_record(
    expression: str, places: list[tuple[float, ...]]
) -> None:
    """At random records and at all corners, in float64, without any allowance."""
    (factor,) = read_formula(f"y ~ a + I({expression} + 0 * a)").terms[-1]
    assert isinstance(factor, Computed)
    ends = {name: (float(low), float(high)) for name, (low, high) in BOUNDS.items()}
    corners = itertools.product(*[(0.0, 0.5, 1.0)] * 3)
    rows = np.array([*places, *corners])
    cells = {
        name: np.clip(low + (high - low) * rows[:, k], low, high)
        for k, (name, (low, high)) in enumerate(ends.items())
    }
    low, high = range_of(factor.value, ends)
    found = cells_of(factor.value, cells, len(rows))
    assert np.all((low <= found) & (found <= high)), (low, high, found.min(), found.max())


def test_functions_reach_their_ends() -> None:
    """Bounds of one column are attained: no more noise than need be."""
    ends = {"b": (1.0, 4.0), "a": (-3.0, 5.0)}
    for value, (low, high) in {
        "log(b)": (0, math.log(4)),
        "exp(b)": (math.e, math.exp(4)),
        "sqrt(b)": (1, 2),
        "abs(a)": (0, 5),
        "I(a ** 2)": (0, 25),
        "I(a ** 3)": (-27, 125),
        "log1p(b)": (math.log(2), math.log(5)),
        "log2(b)": (0, 2),
        "log10(b)": (0, math.log10(4)),
    }.items():
        (factor,) = read_formula(f"y ~ {value}").terms[0]
        assert isinstance(factor, Computed)
        assert range_of(factor.value, ends) == pytest.approx((low, high), rel=1e-11)


HOSTILE = [
    np.nan,
    np.inf,
    -np.inf,
    None,
    "text",
    "",
    "1e400",
    1e308,
    -1e308,
    [1],
    object(),
    0,
    b"\xff",
]


def test_encoded_records_never_leave_the_derived_bounds() -> None:
    cells = [*HOSTILE, *["F", "M", 2.5] * 3]
    table = {name: pd.Series(cells, dtype=object) for name in ("a", "b", "sex", "y")}
    engine = open_table(table)
    assert engine is not None
    found = made(f"y ~ a*{SEX} + I(a**3) + log(b) + exp(b):a + a:b", table)
    design = design_of(encoded(found.bounds, (Fraction(0), Fraction(1), Fraction(1, 64))), True)
    source = open_formula(engine, found, ("y", False), design.records, ALL)
    recipe = Derived(read_covariates(engine, found), found, clipped=True)
    engine.prepare(recipe.asked)
    (tables,) = engine.run(recipe.asked, lambda blocks: [recipe.tables(b) for b in blocks])
    for column, low, high in zip(tables[0], found.bounds.low, found.bounds.high, strict=True):
        there = column[~np.isnan(column)]
        assert np.all((float(low) <= there) & (there <= float(high)))
    rows = source.collect(_All())
    assert np.all((rows >= 0) & (rows <= np.array(design.records.last)))
    assert np.all(rows == np.floor(rows))


class _All:
    """Every record, as it is."""

    def select(self, batch: Any) -> Any:
        return batch


def test_a_record_is_the_same_wherever_it_stands() -> None:
    rng = np.random.default_rng(5)
    cells = rng.uniform(1, 4, 1001)
    found = made("y ~ log(b) + exp(b) + sqrt(b) + I(b ** 3)", {"b": cells, "y": cells})
    engine = open_table({"b": cells})
    assert engine is not None
    recipe = Derived(read_covariates(engine, found), found, clipped=True)
    whole = np.hstack(recipe.tables(Block([cells.reshape(-1, 1)])))
    alone = [np.hstack(recipe.tables(Block([cells[i : i + 1].reshape(1, 1)]))) for i in range(1001)]
    assert np.array_equal(whole, np.vstack(alone))


BAD = {
    "": "must begin with the column to predict",
    "y": "must begin with the column to predict",
    "~ a": "must begin with the column to predict",
    "log(y) ~ a": "must begin with the column to predict",
    "y ~": "it ends where a column is expected",
    "y ~ 1": "has no term",
    "y ~ a +": "it ends where a column is expected",
    "y ~ a b": "'b' stands where a sign .* or the end is expected",
    "y ~ (a": "it ends",
    "y ~ a $ b": "cannot be read from '\\$ b'",
    "y ~ y + a": "is the target",
    "y ~ 2 * a": "2 is not a term",
    "y ~ a ** 2": "inside I",
    "y ~ a / b": "inside I",
    "y ~ I(a / b)": "divides by what may be 0",
    "y ~ I(a / 0)": "divides by what may be 0",
    "y ~ I(a ** 0.5)": "whole power",
    "y ~ I(a ** 99)": "whole power",
    "y ~ I(1e999 * a)": "more than float64",
    "y ~ scale(a)": "learns from all records",
    "y ~ a + center(b)": "learns from all records",
    "y ~ poly(a, 2)": "learns from all records",
    "y ~ bs(a)": "learns from all records",
    "y ~ standardize(a)": "learns from all records",
    "y ~ sin(a)": "sin is not one of the functions of formulas",
    "y ~ log(a)": "log needs a value above 0, and its bounds begin at -3",
    "y ~ sqrt(a)": "sqrt needs a value at or above 0",
    "y ~ log1p(I(a))": "cannot stand inside a value",
    "y ~ log(b, c)": "takes one value",
    "y ~ minimum(b)": "two values or more",
    "y ~ I(b - b * 0 - b) + d": "no column named 'd'",
    "y ~ I(0 * b)": "is constant",
    "y ~ sex": "holds text.*C\\(sex, levels",
    "y ~ C(sex)": "needs the levels",
    "y ~ C(sex, levels=['F', 'F'])": "'F' twice",
    "y ~ C(sex, levels=['F'])": "two or more",
    "y ~ C(sex, levels=['F', 'M'], reference='X')": "not among the levels",
    "y ~ C(sex, levels=['F', 'M'], levels=['F', 'M'])": "twice",
    "y ~ C(sex, levels=['F', 'M'], order=1)": "where one of levels=, reference= and other= is",
    "y ~ C(sex, levels=F)": "expected",
    "y ~ C(sex, levels=[1, 2])": "levels as text",
    "y ~ C(a, levels=['x', 'z'])": "levels as numbers",
    "y ~ a + C(a, levels=[1, 2])": "as a number and as a category",
    f"y ~ {SEX} + C(sex, levels=['M', 'F']):a": "in two ways",
    f"y ~ {SEX} + I(sex * 2)": "calculates with 'sex'",
    "y ~ I(exp(exp(exp(a))))": "1e290|exp",
    "y ~ " + "(" * 60 + "a" + ")" * 60: "nested too deeply",
    "y ~ " + " + ".join(["a"] * 300): "operators",
    "y ~ (a" + " + b" * 10_000 + ")": "characters",
    "y ~ `a\ud800`": "surrogate",
}


@pytest.mark.parametrize(("formula", "words"), BAD.items(), ids=[text[:40] for text in BAD])
def test_a_bad_formula_is_refused(formula: str, words: str) -> None:
    with pytest.raises(kng.KngError, match=words):
        made(formula, FRAME)


@given(st.text(st.sampled_from("yab~+-*:()C I0 1log,=[]'.`/^"), max_size=30))
def test_no_text_is_more_than_refused(text: str) -> None:
    with suppress(kng.KngError):
        read_formula(text)
