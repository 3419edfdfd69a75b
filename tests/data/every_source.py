"""One body for every source: the same integers, and from the same bits the same releases.

A store is a function of a data frame and an empty folder. It puts the records somewhere and returns
what is given to kng: data whose columns have names, or `Unnamed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

import kng
from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.data import open_source
from kng.data.sums import Sums
from kng.losses.kernels.gram import Gram
from kng.losses.kernels.ranks import CellCounts, Within

BOUNDS = {"age": (0, 120), "visits": (0, 12), "pay": (-500, 5000)}
# A power of two, a whole step and one that is no power of two.
STEPS = {"age": "1/1024", "visits": "1/2", "pay": "1/10"}


def frame(n: int = 240, seed: int = 0) -> pd.DataFrame:
    """Return records with gaps, infinities, numbers out of bounds, decimals and labels."""
    draw = np.random.default_rng(seed)
    age = draw.normal(50, 30, n)
    age[::17], age[5::40], age[6::50] = np.nan, np.inf, -np.inf
    visits = draw.poisson(3, n)
    pay = (draw.normal(1500, 900, n) + 40 * visits).round(2)
    notes, labels = ["text, with a comma", None, ""], ["yes", "no", " yes ", "other", None]
    return pd.DataFrame(
        {
            "note": pd.Series((notes * n)[:n], dtype=object),
            "pay": pay,
            "age": age,
            "visits": visits,
            "paid": pd.Series([labels[k] for k in draw.integers(0, 5, n)], dtype=object),
        }
    )


@dataclass(frozen=True)
class Unnamed:
    """Records without names: a function that returns some columns of them."""

    take: Callable[[list[str]], Any]


Store = Callable[[pd.DataFrame, Path], Any]


def _array(table: pd.DataFrame, names: list[str]) -> np.ndarray:
    return table[names].to_numpy(dtype=object if names == ["paid"] else float)


def _rows(table: pd.DataFrame, names: list[str]) -> list[list[Any]]:
    return [list(row) for row in zip(*(table[name] for name in names), strict=True)]


def _files(table: pd.DataFrame, folder: Path, write: Callable[[pd.DataFrame, Path], Any]) -> Path:
    """Write three parts, one of them empty."""
    cuts = [0, 0, len(table) // 3, len(table)]
    for k, (first, end) in enumerate(pairwise(cuts)):
        write(table.iloc[first:end], folder / f"part-{k}")
    return folder


def _parquet(table: pd.DataFrame, path: Path, group: int = 50) -> Path:
    pq.write_table(arrow_of(table), path.with_suffix(".parquet"), row_group_size=group)
    return path.with_suffix(".parquet")


def arrow_of(table: pd.DataFrame) -> pa.Table:
    text = {name: pa.string() for name in ("note", "paid")}
    numbers = {"pay": pa.decimal128(12, 2), "age": pa.float64(), "visits": pa.int32()}
    columns = {name: table[name].tolist() for name in table}
    columns["age"] = table["age"].to_numpy()
    columns["pay"] = pa.array(table["pay"].map("{:.2f}".format).tolist()).cast(numbers["pay"])
    kinds = {**text, **numbers}
    return pa.table({name: pa.array(columns[name], kinds[name]) for name in table})


def _csv(table: pd.DataFrame, path: Path, ending: str = "", **options: Any) -> Path:
    path = path.with_suffix(f".csv{ending}")
    table.to_csv(path, index=False, **options)
    return path


def _arrow_file(table: pd.DataFrame, folder: Path) -> Path:
    path = folder / "records.arrow"
    whole = arrow_of(table)
    with pa.ipc.new_file(path, whole.schema) as file:
        for batch in whole.to_batches(max_chunksize=70):
            file.write_batch(batch)
    return path


def _arrow_part(table: pd.DataFrame, path: Path) -> None:
    whole = arrow_of(table)
    with pa.ipc.new_file(path.with_suffix(".arrow"), whole.schema) as file:
        file.write_table(whole)


def _database(table: pd.DataFrame, folder: Path) -> Path:
    path, held = folder / "records.duckdb", arrow_of(table)
    with duckdb.connect(str(path)) as connection:
        connection.register("held", held)
        connection.execute("CREATE SCHEMA h; CREATE TABLE h.visits AS FROM held")
    return path


def _relation(table: pd.DataFrame, folder: Path) -> Any:
    return duckdb.connect().from_arrow(arrow_of(table))


def _query(table: pd.DataFrame, folder: Path) -> kng.Table:
    _parquet(table, folder / "records")
    columns = "pay, age, cast(visits * 2 AS DOUBLE) / 2 AS visits, lower(paid) AS paid"
    return kng.Table(query=f"SELECT {columns} FROM '{folder}/*.parquet'")


LOCAL: dict[str, Store] = {
    "numpy": lambda t, f: Unnamed(lambda names: _array(t, names)),
    "list": lambda t, f: Unnamed(lambda names: _rows(t, names)),
    "pandas": lambda t, f: t,
    "pandas of objects": lambda t, f: t.astype(object),
    "mapping": lambda t, f: {name: t[name].tolist() for name in t},
    "polars": lambda t, f: pl.from_arrow(arrow_of(t)),
    "polars, lazy": lambda t, f: pl.from_arrow(arrow_of(t)).lazy(),
    "arrow": lambda t, f: arrow_of(t),
    "arrow, chunked": lambda t, f: pa.concat_tables([arrow_of(t[:80]), arrow_of(t[80:])]),
    "arrow file": _arrow_file,
    "arrow files": lambda t, f: _files(t, f, _arrow_part),
    "duckdb relation": _relation,
    "duckdb database": lambda t, f: kng.Table(_database(t, f), table="h.visits"),
    "duckdb database, query": lambda t, f: kng.Table(
        _database(t, f), query="SELECT v.* FROM (SELECT * FROM h.visits) v"
    ),
    "duckdb query": _query,
    "parquet": lambda t, f: _parquet(t, f / "records"),
    "parquet, several": lambda t, f: _files(t, f, _parquet),
    "csv": lambda t, f: _csv(t, f / "records"),
    "csv, gzip": lambda t, f: _csv(t, f / "records", ".gz"),
    "csv, zstd": lambda t, f: _csv_zstd(t, f),
    "csv, several": lambda t, f: _files(t, f, _csv),
    "csv, other notation": lambda t, f: kng.Table(
        _csv(t, f / "records", sep=";", decimal=","), separator=";", decimal=","
    ),
}


def _csv_zstd(table: pd.DataFrame, folder: Path) -> Path:
    plain, path = _csv(table, folder / "plain"), folder / "records.csv.zst"
    path.write_bytes(pa.Codec("zstd").compress(plain.read_bytes(), asbytes=True))
    plain.unlink()
    return path


def opened(data: Any, names: list[str]) -> Any:
    """Open columns as whole numbers."""
    ends = [[BOUNDS[name][k] for name in names] for k in (0, 1)]
    bounds = bounds_of({name: BOUNDS[name] for name in names})
    if isinstance(data, Unnamed):
        data, bounds = data.take(names), bounds_of(tuple(ends))
    steps = [STEPS[name] for name in names]
    return open_source(data, encoding_of(bounds, granularity=steps, missing=None, bits=20))


@dataclass(frozen=True)
class Everything:
    """All rows."""

    def select(self, batch: Any) -> Any:
        return batch


NAMES = ["age", "visits", "pay"]
LAST = encoding_of(
    bounds_of(BOUNDS), granularity=[STEPS[name] for name in NAMES], missing=None, bits=20
).last


def statistics(data: Any) -> dict[str, Any]:
    """Return exact integers of some columns; every source must give the same."""
    table, one = opened(data, NAMES), opened(data, ["pay"])
    gram = table.reduce(Gram(LAST))
    return {
        "count": table.count(),
        "sums": table.sums(),
        "sums by a kernel": table.reduce(Sums(LAST)),
        "gram": (gram.n, gram.sums.tolist(), gram.products.tolist()),
        "cells": one.reduce(CellCounts(0, LAST[-1], 9)).tolist(),
        "inside": one.collect(Within(((9000, 21000),))).tolist(),
        "all": table.collect(Everything()).tolist(),
        "all again": table.collect(Everything()).tolist(),
    }


def _asked(function: str, names: list[str], **options: Any) -> Callable[[Any], kng.Release]:
    """Return a call of a function on some columns."""

    def ask(data: Any) -> kng.Release:
        bounds: Any = {name: BOUNDS[name] for name in names}
        if isinstance(data, Unnamed):
            data = data.take(names)
            bounds = tuple([BOUNDS[name][k] for name in names] for k in (0, 1))
        found: kng.Release = getattr(kng, function)(
            data, bounds=bounds, epsilon=1, random_state=3, **options
        )
        return found

    return ask


def _fitted(
    kind: str, target: str, features: list[str], **options: Any
) -> Callable[[Any], kng.Release]:
    """Return a fit to some columns."""

    def fit(data: Any) -> kng.Release:
        bounds: Any = {name: BOUNDS[name] for name in features}
        given = {"epsilon": 1, "random_state": 3, **options}
        if not isinstance(data, Unnamed):
            model = getattr(kng, kind)(bounds_X=bounds, **given)
            return model.fit(data, target=target, features=features).release_
        bounds = tuple([BOUNDS[name][k] for name in features] for k in (0, 1))
        y = [row[0] for row in data.take([target])]
        return getattr(kng, kind)(bounds_X=bounds, **given).fit(data.take(features), y).release_

    return fit


def _counted(function: str, name: str, **options: Any) -> Callable[[Any], kng.Release]:
    """Return a count of a column, by its name where it has one."""

    def ask(data: Any) -> kng.Release:
        given = {key: {name: bins} for key, bins in options.items()}
        if isinstance(data, Unnamed):
            data, given = [row[0] for row in data.take([name])], options
        found: kng.Release = getattr(kng, function)(data, epsilon=1, random_state=3, **given)
        return found

    return ask


PAY = {"bounds_y": BOUNDS["pay"]}
RELEASES: dict[str, Callable[[Any], kng.Release]] = {
    "mean": _asked("mean", ["pay"]),
    "mean of two": _asked("mean", ["age", "pay"]),
    "mean, add-remove": _asked("mean", ["age"], neighbours="add-remove"),
    "median": _asked("median", ["age"]),
    "quantile": _asked("quantile", ["pay"], q=0.9, neighbours="add-remove"),
    "quantiles": _asked("quantile", ["pay"], q=[0.25, 0.5, 0.9]),
    "sum": _asked("sum", ["pay"]),
    "variance": _asked("variance", ["age"]),
    "edges": _counted("histogram", "age", edges=[0, 40, 60, "inf"]),
    "levels": _counted("histogram", "paid", levels=["no", "yes"]),
    "geometric median": _asked("geometric_median", ["age", "pay"], scale="bounds"),
    "linear": _fitted("LinearRegression", "pay", ["age", "visits"], **PAY),
    "linear, kng": _fitted(
        "LinearRegression", "pay", ["age"], mechanism="kng", coef_bound=2000, **PAY
    ),
    "huber": _fitted("HuberRegressor", "pay", ["age", "visits"], threshold=200, **PAY),
    "huber, threshold drawn": _fitted("HuberRegressor", "pay", ["visits"], threshold="auto", **PAY),
    "quantile regression": _fitted("QuantileRegressor", "pay", ["visits"], **PAY),
    "expectile": _fitted(
        "ExpectileRegressor", "pay", ["age"], expectile=0.7, fit_intercept=False, **PAY
    ),
    "poisson": _fitted("PoissonRegressor", "visits", ["age"], bounds_y=(0, 12)),
    "logistic": _fitted("LogisticRegression", "paid", ["age", "pay"], classes=("no", "yes")),
}


@cache
def expected() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the integers and the releases of records in memory."""
    table = frame()
    releases = {name: ask(table).integers for name, ask in RELEASES.items()}
    return statistics(table), releases


def same(store: Store, folder: Path) -> None:
    """Check one store: the same integers, and from the same bits the same releases."""
    data = store(frame(), folder)
    integers, releases = expected()
    found = statistics(data)
    for name, value in integers.items():
        assert found[name] == value, name
    for name, ask in RELEASES.items():
        assert ask(data).integers == releases[name], name
