"""CSV files beside DuckDB's own reader: all cells of 2 million records, counted and read."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.timing import HEAD, Call, Ratio, line, measure
from kng.data.text.csv_files import CsvFiles

RECORDS = 2_000_000
NUMBERS = ("a", "b", "c", "d", "e", "age")
TEXTS = ("name",)
# Counting and reading together, relative to DuckDB's reading.
BAR = 1.3
_NAMES = ('"Ann, B."', '"Cee Dee"', '"E ""F"" G"', '"Haag"', '"Iota"')
_AT_ONCE = 100_000


def write(path: Path, show: Callable[[float], str]) -> None:
    """Write five columns of floats, an age and a quoted text."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join((*NUMBERS, *TEXTS)) + "\n")
        for _ in range(RECORDS // _AT_ONCE):
            file.writelines(_lines(rng, show))


def _lines(rng: np.random.Generator, show: Callable[[float], str]) -> Iterator[str]:
    floats = rng.normal(0, 50, (_AT_ONCE, 5)).tolist()
    ages, names = rng.integers(0, 100, _AT_ONCE).tolist(), rng.integers(0, 5, _AT_ONCE).tolist()
    for row, age, name in zip(floats, ages, names, strict=True):
        yield f"{','.join(map(show, row))},{age},{_NAMES[name]}\n"


def summed(database: duckdb.DuckDBPyConnection, path: Path) -> Call:
    """Return DuckDB's own reading of the same cells, with types declared and nothing sniffed."""
    kinds = dict.fromkeys(NUMBERS, "DOUBLE") | dict.fromkeys(TEXTS, "VARCHAR")
    sums = [f"sum({name})" for name in NUMBERS] + [f"sum(strlen({name}))" for name in TEXTS]
    query = (
        f"SELECT {', '.join(sums)} FROM read_csv('{path}', columns={kinds}, header=true, "
        "auto_detect=false, delim=',', quote='\"', escape='\"')"
    )
    return lambda: database.sql(query).fetchall()


def read(files: CsvFiles) -> None:
    """Read all cells, and let go of them."""
    for _ in files.blocks(NUMBERS, TEXTS):
        pass


def main() -> int:
    """Print the table and return how many bars are missed."""
    print(f"\nCSV, {RECORDS:,} records of 7 columns, ours / DuckDB, CPU time\n\n{'':<34}{HEAD}")
    missed = 0
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as database:
        for name, show in (("4 decimals", "{:.4f}".format), ("full precision", repr)):
            path = Path(folder) / "table.csv"
            write(path, show)
            files = CsvFiles(path)
            files.prepare(NUMBERS, TEXTS)
            times = measure(
                {
                    "count": files.count,
                    "read": lambda files=files: read(files),
                    "duckdb": summed(database, path),
                }
            )
            both = [a + b for a, b in zip(times["count"], times["read"], strict=True)]
            missed += line(f"count and read, {name}", Ratio(both, times["duckdb"]), BAR)
            line(f"  count, {name}", Ratio(times["count"], times["duckdb"]))
            line(f"  read, {name}", Ratio(times["read"], times["duckdb"]))
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
