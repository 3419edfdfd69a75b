"""Reading where records are: beside DuckDB's and NumPy's own reading, and how time grows with n.

`python -m benchmarks.sources` takes all four tables, or those that are named: parquet, csv, memory,
growth. Files are written to a temporary directory, 3 GB at most, and are read from the system's
cache: what is compared is processor time, not disks.

A release of a sum or of least squares reads the records once. Where their number is public, it is
counted before, which a Parquet file answers from its footer and a CSV file by reading its lines. A
quantile and the default fit read several times, so they are put beside the number of their passes.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from math import log
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

import kng
from benchmarks.timing import HEAD, Call, Ratio, line, measure, spent
from kng.core.bounds import bounds_of
from kng.data.duck import DuckEngine, connected, records_of
from kng.data.opening import open_regression
from kng.data.resources import Resources
from kng.losses.kernels.gram import Gram, load_products
from kng.losses.linear_encoding import linear_design
from kng.losses.pointwise.squared import Squared

Array = NDArray[np.float64]

# Bars: relative to decoding alone, to DuckDB's reading of CSV, to float64 normal equations; and the
# slope of log time in log n.
DECODING, READING, PRODUCTS, SLOPE = 1.4, 1.5, 1.3, 1.05
_RECORDS, _CSV_RECORDS, _FEW, _MANY = 10**7, 2 * 10**6, 10**6, 5 * 10**7
_COVARIATES = tuple(f"x{j}" for j in range(12))
_SPAN = 5
_AT_ONCE = 500_000
# Rows of a block that NumPy multiplies from the cache.
_BLOCK = 2**13


def _tables(records: int, covariates: Sequence[str]) -> Iterator[pa.Table]:
    """Yield tables of covariates and a response with six decimals."""
    rng = np.random.default_rng(0)
    for _ in range(0, records, _AT_ONCE):
        X, y = _plane(rng, _AT_ONCE, len(covariates))
        columns = {name: X[:, j] for j, name in enumerate(covariates)} | {"y": y}
        yield pa.table({name: np.round(column, 6) for name, column in columns.items()})


def _plane(rng: np.random.Generator, records: int, width: int) -> tuple[Array, Array]:
    X = rng.uniform(-1, 1, (records, width))
    return X, X @ np.linspace(-1, 1, width) / 2 + rng.normal(0, 0.5, records)


@contextmanager
def _parquet_file(records: int, covariates: Sequence[str] = _COVARIATES) -> Iterator[Path]:
    """Write a Parquet file as pyarrow does by default, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        first, *_ = _tables(1, covariates)
        with pyarrow.parquet.ParquetWriter(path, first.schema) as writer:
            for table in _tables(records, covariates):
                writer.write_table(table)
        yield path


def _decoding(database: duckdb.DuckDBPyConnection, table: str, names: Sequence[str]) -> Call:
    """Return DuckDB's own reading of columns, handed over and let go."""
    query = f"SELECT {', '.join(names)} FROM {table}"

    def call() -> None:
        for _ in database.sql(query).to_arrow_reader():
            pass

    return call


def _decoding_alike(path: Path, names: Sequence[str]) -> Call:
    """Return the same with our settings and sizes of batches, which read faster."""
    database, records = connected(Resources()), records_of(len(names))
    query = f"SELECT {', '.join(names)} FROM read_parquet('{path}')"

    def call() -> None:
        for _ in database.sql(query).to_arrow_reader(records):
            pass

    return call


def _mean(path: Path, names: Sequence[str]) -> Call:
    return lambda: kng.mean(path, bounds=dict.fromkeys(names, (-_SPAN, _SPAN)), epsilon=1)


def _quantile(path: Path) -> Call:
    return lambda: kng.quantile(path, 0.5, bounds={"y": (-_SPAN, _SPAN)}, epsilon=1)


def _fit(mechanism: str) -> kng.LinearRegression:
    return kng.LinearRegression(
        epsilon=1, bounds_X=(-1, 1), bounds_y=(-_SPAN, _SPAN), mechanism=mechanism
    )


def _least_squares(path: Path, covariates: Sequence[str], mechanism: str) -> Call:
    return lambda: _fit(mechanism).fit(path, target="y", features=list(covariates))


def _passes(call: Call) -> int:
    """Return how often a call reads the records of a file."""
    read, passes = DuckEngine.blocks, 0

    def counted(self: DuckEngine, *asked: Any) -> Any:
        nonlocal passes
        passes += 1
        return read(self, *asked)

    DuckEngine.blocks = counted  # type: ignore[method-assign]
    try:
        call()
    finally:
        DuckEngine.blocks = read  # type: ignore[method-assign]
    return passes


def parquet() -> int:
    """Put releases from a Parquet file beside decoding the columns that they use."""
    print(f"\nParquet, {_RECORDS:,} records, ours / DuckDB decoding alone, CPU time\n")
    print(f"{'':<34}{HEAD}")
    missed, every = 0, (*_COVARIATES, "y")
    with _parquet_file(_RECORDS) as path, duckdb.connect() as database:
        decoding = partial(_decoding, database, f"read_parquet('{path}')")
        for name, ours, columns, bar in (
            ("mean, 1 column", _mean(path, _COVARIATES[:1]), _COVARIATES[:1], DECODING),
            ("mean, 4 columns", _mean(path, _COVARIATES[:4]), _COVARIATES[:4], DECODING),
            ("least squares, 12 and y", _least_squares(path, _COVARIATES, "kng"), every, DECODING),
            ("median", _quantile(path), ("y",), None),
            ("LinearRegression", _least_squares(path, _COVARIATES, "auto"), every, None),
        ):
            passes = _passes(ours)
            alike = _decoding_alike(path, columns)
            times = measure({"ours": ours, "duckdb": decoding(columns), "alike": alike})
            label = name if passes == 1 else f"{name}, {passes} passes"
            missed += line(label, Ratio(times["ours"], times["duckdb"]), bar)
            line("  beside our settings", Ratio(times["ours"], times["alike"]))
    return missed


def csv() -> int:
    """Put means of all columns of a CSV file beside DuckDB's reading of it."""
    print(f"\nCSV, {_CSV_RECORDS:,} records of 7 numbers, ours / DuckDB's reading, CPU time\n")
    print(f"{'':<34}{HEAD}")
    missed, names = 0, (*_COVARIATES[:6], "y")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        path = Path(folder) / "table.csv"
        table = pa.concat_tables(_tables(_CSV_RECORDS, names[:-1]))
        pyarrow.csv.write_csv(table, path)
        kinds = dict.fromkeys(names, "DOUBLE")
        read = f"read_csv('{path}', columns={kinds}, header=true, auto_detect=false, delim=',')"
        for name, columns in (("mean, 7 columns", names), ("mean, 1 column", names[:1])):
            calls = {"ours": _mean(path, columns), "duckdb": _decoding(database, read, columns)}
            times = measure(calls)
            missed += line(name, Ratio(times["ours"], times["duckdb"]), READING)
    return missed


def memory() -> int:
    """Put sums of products of 12 columns and a response beside NumPy's normal equations."""
    print(f"\nIn memory, {_RECORDS:,} records, d = 12, ours / NumPy, CPU time\n")
    X, y = _plane(np.random.default_rng(0), _RECORDS, 12)
    load_products()
    bounds = bounds_of(([-1] * 12, [1] * 12))
    records = linear_design(Squared(), True, bounds, (Fraction(-_SPAN), Fraction(_SPAN))).records

    def products() -> None:
        open_regression(X, y, records).reduce(Gram(records.last))

    def blocked() -> None:
        matrix, vector = np.zeros((12, 12)), np.zeros(12)
        for at in range(0, _RECORDS, _BLOCK):
            rows = X[at : at + _BLOCK]
            matrix += rows.T @ rows
            vector += rows.T @ y[at : at + _BLOCK]

    peers: dict[str, Call] = {
        "whole arrays": lambda: (X.T @ X, X.T @ y),
        f"blocks of {_BLOCK}": blocked,
    }
    better = min(peers, key=lambda name: min(spent(peers[name]) for _ in range(3)))
    print(f"NumPy multiplies {better}\n\n{'':<34}{HEAD}")
    calls = {
        "numpy": peers[better],
        "sums of products": products,
        "fit, mechanism='kng'": lambda: _fit("kng").fit(X, y),
        "fit, default": lambda: _fit("auto").fit(X, y),
    }
    times = measure(calls)
    missed = 0
    for name, bar in zip(list(calls)[1:], (PRODUCTS, None, None), strict=True):
        missed += line(name, Ratio(times[name], times["numpy"]), bar)
    return missed


class Slope(Ratio):
    """By which power time grows with the number of records, round by round."""

    @property
    def rounds(self) -> list[float]:
        """The slope of each round."""
        ratios = zip(self.ours, self.theirs, strict=True)
        return [log(many / few) / log(_MANY / _FEW) for many, few in ratios]


def growth() -> int:
    """Print how CPU time grows from one Parquet file to another that is larger."""
    print(f"\nParquet, slope of log CPU time from {_FEW:,} to {_MANY:,} records\n")
    print(f"{'':<34}{'few':>12}{'many':>12}{'slope':>9}   quartiles      range")
    missed, covariates = 0, _COVARIATES[:3]
    fit = partial(_least_squares, covariates=covariates)
    with _parquet_file(_FEW, covariates) as few, _parquet_file(_MANY, covariates) as many:
        for name, call in (
            ("mean", partial(_mean, names=("y",))),
            ("median", _quantile),
            ("least squares, 3 and y", partial(fit, mechanism="kng")),
            ("LinearRegression, 3 and y", partial(fit, mechanism="auto")),
        ):
            times = measure({"few": call(few), "many": call(many)})
            missed += line(name, Slope(times["many"], times["few"]), SLOPE)
    return missed


TABLES = {"parquet": parquet, "csv": csv, "memory": memory, "growth": growth}


def main(names: Sequence[str] = tuple(TABLES)) -> int:
    """Print the tables and return how many bars are missed."""
    return sum(TABLES[name]() for name in names)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:] or tuple(TABLES)), 1))
