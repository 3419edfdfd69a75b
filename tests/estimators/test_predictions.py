"""predict: the shapes and the cells of fit, errors of ours, and none that a record decides."""

from __future__ import annotations

import pickle
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimators.fitting import EACH, model, table
from scipy import sparse
from sklearn.exceptions import NotFittedError

import kng
from kng.core.errors import SchemaError, SpecError

SECRET = 0.987654321


def fitted(way: str, X: Any = None) -> Any:
    covariates, y = table()
    return model(way, random_state=1).fit(covariates if X is None else X, y)


def secret(*shape: int) -> np.ndarray:
    return np.full(shape, SECRET)


WRONG = {
    "one dimension": (secret(2), "Reshape your data"),
    "no dimension": (np.array(SECRET), "Reshape your data"),
    "three dimensions": (secret(3, 2, 1), "Reshape your data"),
    "too narrow": (secret(3, 1), "X has 1 features, but .* is expecting 2 features"),
    "too wide": (secret(3, 3), "X has 3 features, but .* is expecting 2 features"),
    "sparse": (sparse.csr_array(secret(3, 2)), "Sparse data was passed"),
    "complex": (secret(3, 2) + 1j, "Complex data not supported"),
    "dates": (np.full((3, 2), "2020-01-01", dtype="M8[D]"), "holds date"),
    "none": (None, "X must be an array, a list or a data frame, got NoneType"),
    "a generator": ((row for row in secret(3, 2)), "got generator"),
    "a mapping": ({"a": secret(3), "b": secret(3)}, "got dict"),
    "text": ("0.987654321", "got str"),
    "a frame of one column": (pd.DataFrame(secret(3, 1)), "X has 1 features"),
    "a frame of dates": (
        pd.DataFrame({0: pd.to_datetime(["2020-01-01"]), 1: [SECRET]}),
        "holds date",
    ),
    "a frame with a name twice": (
        pd.DataFrame(secret(3, 2), columns=["a", "a"]),
        "two columns named 'a'",
    ),
}


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_shape_is_told_in_an_error_of_ours_that_shows_no_record(way, wrong):
    X, words = WRONG[wrong]
    with pytest.raises(SchemaError, match=words) as caught:
        fitted(way).predict(X)
    assert isinstance(caught.value, ValueError)
    assert "98765" not in str(caught.value)


@pytest.mark.parametrize("way", EACH)
def test_columns_are_compared_by_scikit_learns_rules_in_errors_of_ours(way):
    frame = pd.DataFrame(table()[0], columns=["a", "b"])
    made = fitted(way, frame)
    for other, words in (
        (frame[["b", "a"]], "must be in the same order"),
        (frame.rename(columns={"a": "z"}), "unseen at fit time"),
        (frame.assign(c=1.0), "unseen at fit time"),
        (frame[["a"]], "yet now missing"),
    ):
        with pytest.raises(SchemaError, match=words):
            made.predict(other)


@pytest.mark.parametrize("way", EACH)
def test_a_model_that_is_not_fitted_says_so_to_both_kinds_of_callers(way):
    X, y = table()
    made = model(way)
    for ask in (lambda: made.predict(X), lambda: made.score(X, y)):
        with pytest.raises(kng.KngError, match="not fitted yet") as caught:
            ask()
        assert isinstance(caught.value, NotFittedError)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), NotFittedError)


NUMBERS = {
    "decimal": Decimal("0.25"),
    "fraction": Fraction(1, 4),
    "text": "0.25",
    "bytes": b"0.25",
    "numpy": np.float32(0.25),
    "a list of one": [0.25],
}
MISSING: dict[str, Any] = {
    "none": None,
    "nan": np.nan,
    "a word": "many",
    "nothing": "",
    "missing": pd.NA,
    "complex": 1j,
    "a list of two": [1, 2],
    "an object": object(),
    "a decimal that is none": Decimal("sNaN"),
}


def tables(cell: Any) -> dict[str, Any]:
    """Return two records, of which the first has the cell, in every container there is."""
    array = np.empty((2, 2), dtype=object)
    for at, x in zip(np.ndindex(2, 2), (cell, 0.5, 0.25, 0.5), strict=True):
        array[at] = x
    rows = [[cell, 0.5], [0.25, 0.5]]
    columns = [pd.Series([x, 0.25], dtype=object) for x in (cell,)]
    return {
        "objects": array,
        "rows": rows,
        "tuples": [tuple(row) for row in rows],
        "frame": pd.DataFrame({0: columns[0], 1: [0.5, 0.5]}),
    }


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("container", tables(0))
@pytest.mark.parametrize("kind", [*NUMBERS, *MISSING])
def test_cells_are_read_as_fit_reads_them_and_what_is_missing_has_no_prediction(
    way, container, kind
):
    made, expected = fitted(way), fitted(way).predict(np.array([[0.25, 0.5]]))
    cell = NUMBERS.get(kind, MISSING.get(kind))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = made.predict(tables(cell)[container])
    assert second == pytest.approx(expected[0])
    assert np.isnan(first) if kind in MISSING else first == pytest.approx(expected[0])


@pytest.mark.parametrize("way", EACH)
def test_infinities_and_overflows_raise_nothing(way):
    made = fitted(way)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = made.predict(np.array([[np.inf, -np.inf], [1e308, 1e308], [0.1, 0.2]]))
        assert np.isnan(made.predict([[0.1, 0.2, 0.3], 5, [0.1]])).all()
    assert np.isfinite(answers[2])


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize(
    "nobody", [np.empty((0, 2)), [], pd.DataFrame({0: [], 1: []})], ids=["array", "list", "frame"]
)
def test_nobody_has_no_prediction(way, nobody):
    assert fitted(way).predict(nobody).shape == (0,)


def test_text_and_masked_arrays_are_read_cell_by_cell():
    made = fitted("linear")
    expected = made.predict(np.array([[0.25, 0.5]]))[0]
    assert made.predict(np.array([["0.25", "0.5"]]))[0] == pytest.approx(expected)
    masked = np.ma.array([[0.25, 0.5], [0.25, 0.5]], mask=[[False, False], [True, False]])
    first, second = made.predict(masked)
    assert first == pytest.approx(expected)
    assert np.isnan(second)


def test_the_safe_way_to_a_score_has_an_answer_whatever_a_record_holds(ledger):
    X, y = table()
    hostile = X.astype(object)
    hostile[3] = [Decimal("0.1"), "many"]
    hostile[4] = [None, 0.1]
    made = fitted("linear", hostile)
    answer = kng.mean(abs(y - made.predict(hostile)), bounds=(0, 5), epsilon=1, ledger=ledger)
    assert 0 <= answer.value <= 5
    assert ledger.spent == 1


def test_predictions_leave_the_model_as_it_was():
    made = fitted("linear")
    before = dict(vars(made))
    made.predict(table()[0])
    assert vars(made) == before


class TestScore:
    def test_one_number_for_one_prediction(self):
        X, y = table(400)
        assert model("linear", epsilon=500).fit(X, y).score(X, y) > 0.5

    def test_several_quantiles_have_several(self):
        X, y = table()
        made = model("quantile", quantile=[0.25, 0.75]).fit(X, y)
        with pytest.raises(SpecError, match=r"predicts 2 quantiles\. Score the columns"):
            made.score(X, y)

    @pytest.mark.parametrize("y", [None, np.full(40, np.nan), np.zeros(39), ["many"] * 40])
    def test_responses_that_cannot_be_compared(self, y):
        with pytest.raises(SchemaError, match=r"^score needs"):
            fitted("linear").score(table()[0], y)

    def test_records_without_a_prediction(self):
        X, y = table()
        X[3, 0] = np.nan
        with pytest.raises(SchemaError, match=r"^score needs"):
            fitted("linear").score(X, y)
