"""What X may be: containers with odd columns are read by name, or refused before the charge."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimators.fitting import EACH, WAYS, model, table
from scipy import sparse

import kng
from kng.core.errors import SchemaError


class ArrowArray:
    """Like an array of Arrow, which hands over its memory or raises, unless NumPy asks for it."""

    def __init__(self, cells: Any) -> None:
        self._cells = cells

    def __len__(self) -> int:
        return len(self._cells)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self._cells, dtype=dtype)

    def to_pylist(self) -> list[Any]:
        return list(self._cells)

    def to_numpy(self) -> np.ndarray:
        raise RuntimeError("a null: zero_copy_only was True")


class Batch:
    """Like a record batch of Arrow: named columns of a type that scikit-learn does not know."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self._columns = {name: ArrowArray(cells) for name, cells in columns.items()}

    @property
    def columns(self) -> list[ArrowArray]:
        return list(self._columns.values())

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self._columns)

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, name: str) -> ArrowArray:
        return self._columns[name]


class Lazy:
    """Like a lazy frame of Polars: column names, and no records until it is collected."""

    @property
    def columns(self) -> list[str]:
        return ["a", "b"]


REFUSED = {
    "three dimensions": (np.zeros((40, 2, 2)), "Reshape your data"),
    "sparse": (sparse.csr_array(np.zeros((40, 2))), "Sparse data was passed"),
    "sparse matrix": (sparse.csr_matrix(np.zeros((40, 2))), "Sparse data was passed"),
    "no records": (np.zeros((0, 2)), "number of records|no record"),
    "no columns": (np.zeros((40, 0)), r"0 feature\(s\) \(shape=\(40, 0\)\) while a minimum of 1"),
    "a frame without columns": (pd.DataFrame(index=range(40)), r"0 feature\(s\)"),
    "names of two kinds": (pd.DataFrame(np.zeros((40, 2)), columns=["a", 1]), "some are text"),
    "a name twice": (pd.DataFrame(np.zeros((40, 2)), columns=["a", "a"]), "columns named 'a'"),
    "a number twice": (pd.DataFrame(np.zeros((40, 2)), columns=[1, 1]), "columns named '1'"),
    "lazy": (Lazy(), "got Lazy. Collect it first"),
}


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("X", REFUSED)
def test_odd_covariates_are_refused_by_an_error_of_ours(way, X, ledger):
    given, words = REFUSED[X]
    with pytest.raises(SchemaError, match=words):
        model(way, ledger=ledger).fit(given, np.zeros(40))
    assert (ledger.spent, ledger.history()) == (0, [])


@pytest.mark.parametrize("way", EACH)
def test_no_records_are_refused_where_y_has_none_either(way, ledger):
    with pytest.raises(SchemaError, match="The data are empty"):
        model(way, ledger=ledger).fit(np.zeros((0, 2)), np.zeros(0))
    assert ledger.spent == 0


def test_a_lazy_frame_is_refused_by_the_statistics_too(ledger):
    for statistic in (kng.mean, kng.geometric_median):
        with pytest.raises(SchemaError, match="Collect it first"):
            statistic(Lazy(), bounds={"a": (0, 1), "b": (0, 1)}, epsilon=1, ledger=ledger)
    assert ledger.spent == 0


def containers() -> dict[str, tuple[Any, Any]]:
    """Return containers whose columns scikit-learn has no names for, and bounds by our names."""
    X = table()[0]
    return {
        "numbered": (pd.DataFrame(X), {1: (-4, 4), 0: (-1, 2)}),
        "numbered, by text": (pd.DataFrame(X), {"1": (-4, 4), "0": (-1, 2)}),
        "batch": (Batch({"a": X[:, 0], "b": X[:, 1]}), {"b": (-4, 4), "a": (-1, 2)}),
    }


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("container", containers())
def test_bounds_go_to_columns_by_any_name(way, container):
    y = table()[1]
    X, bounds = containers()[container]
    named = model(way, bounds_X=bounds, random_state=3).fit(X, y)
    plain = model(way, bounds_X=np.array([[-1, -4], [2, 4]]), random_state=3).fit(table()[0], y)
    assert named.release_.integers == plain.release_.integers
    assert np.array_equal(named.predict(X), plain.predict(table()[0]))


def test_nulls_of_arrow_are_missing_and_raise_nothing(ledger):
    batch = Batch({"a": [None, 0.5] * 20, "b": [0.5, 0.25] * 20})
    bounds = {"a": (-1, 1), "b": (-1, 1)}
    kng.mean(batch, bounds=bounds, epsilon=1, ledger=ledger)
    kng.median(ArrowArray([None, 0.5, 0.25]), bounds=(0, 1), epsilon=1, ledger=ledger)
    made = model("linear", bounds_X=bounds, ledger=ledger).fit(batch, np.zeros(40))
    assert np.isnan(made.predict(batch)[::2]).all()
    assert ledger.spent == 3


def test_numbered_columns_are_the_same_for_means_and_regressions():
    frame = pd.DataFrame(table()[0])
    for bounds in ({0: (-1, 1), 1: (-1, 1)}, {1: (-1, 1), 0: (-1, 1)}):
        kng.mean(frame, bounds=bounds, epsilon=1, granularity={0: "0.01", 1: "0.1"})
        model("linear", bounds_X=bounds).fit(frame, table()[1])


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("bounds", [[(-1, 1), (2, 3)], ([-1, 1], [2, 3])])
def test_pairs_that_could_be_ends_cost_nothing(way, bounds, ledger):
    with pytest.raises(kng.KngError, match="bounds_X"):
        model(way, bounds_X=bounds, ledger=ledger).fit(*table())
    assert ledger.spent == 0


def test_a_list_of_one_covariate_has_a_width_if_its_bounds_are_arrays():
    X, y = table(columns=1)
    array = model("linear", bounds_X=([-1], [1]), random_state=2).fit(X, y)
    rows = model("linear", bounds_X=([-1], [1]), random_state=2).fit(X.tolist(), y)
    assert array.release_ == rows.release_
    with pytest.raises(kng.KngError, match="bounds_X are for 1 covariate, X has 2"):
        model("linear", bounds_X=([-1], [1])).fit(*table())


class Raising:
    """A cell that raises whatever NumPy asks it."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("a record")

    def __len__(self) -> int:
        raise RuntimeError("a record")

    def __float__(self) -> float:
        raise RuntimeError("a record")


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("row", [[Raising(), 0.5], (Raising(), Raising()), Raising()])
def test_a_cell_in_a_list_cannot_raise(way, row, ledger):
    X, y = table()
    options = {"bounds_X": ([-1, -1], [1, 1])}
    rows = X.tolist()
    rows[3] = row
    made = model(way, ledger=ledger, **options).fit(rows, y)
    assert ledger.spent == 1
    assert np.isnan(made.predict(rows)[3])


class TestNames:
    def test_commas(self):
        X, y = table()
        release = model("linear").fit(pd.DataFrame(X, columns=["a, b", "c"]), y).release_
        assert release.details["coefficients"] == ("intercept", "a, b", "c")
        assert ", 'a, b': " in release.rows()[0][1]

    @pytest.mark.parametrize("way", WAYS)
    def test_our_own_names_are_put_into_brackets_where_a_column_has_them(self, way):
        X, y = table(columns=3)
        names = ["response", "intercept", "(intercept)"]
        release = model(way).fit(pd.DataFrame(X, columns=names), y).release_
        assert release.details["coefficients"] == ("((intercept))", *names)
        assert release.bounds.columns == (*names, "(response)")
        assert len(set(release.bounds.columns)) == 4

    def test_several_quantiles(self):
        X, y = table()
        frame = pd.DataFrame(X, columns=["a, b", "c"])
        release = model("quantile", quantile=[0.25, 0.75]).fit(frame, y).release_
        written = json.loads(release.to_json())["details"]["coefficients"]
        assert written[:3] == ["intercept at 0.25", "a, b at 0.25", "c at 0.25"]
        assert len(written) == 6
