"""Spark beside the embedded path: least squares from one Parquet file, and growth with partitions.

Spark runs on this machine, local[2], where it cannot win: the table says what its detour through
a JVM and Python workers costs. Time is CPU of the whole process tree, JVM and workers included.
Starting the session is left out.

    python -m benchmarks.spark [rounds] [records]
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import duckdb

import kng
from benchmarks.timing import HEAD, ROUNDS, Call, Ratio, line
from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.data import open_source
from kng.data import spark as engine
from kng.data.sums import Sums
from kng.losses.kernels.gram import Gram, load_products
from kng.losses.kernels.ranks import CellCounts

RECORDS = 10_000_000
COVARIATES = tuple(f"x{i}" for i in range(12))
# Least squares through Spark, relative to DuckDB.
BAR = 6.0
PARTITIONS = (8, 64, 512)
_TICKS = os.sysconf("SC_CLK_TCK")


def write(path: Path, records: int) -> None:
    """Write 13 columns of floats with six decimals."""
    columns = ", ".join(f"round(2 * random() - 1, 6)::DOUBLE AS {name}" for name in COVARIATES)
    with duckdb.connect() as database:
        database.execute("SELECT setseed(0.5)")
        database.execute(
            f"COPY (SELECT {columns}, round(2 * random() - 1, 6)::DOUBLE AS y FROM "
            f"range({records})) TO '{path}' (COMPRESSION zstd)"
        )


def tree_seconds() -> float:
    """Return the CPU time of this process and of all below it, finished ones included."""
    below: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            below.setdefault(int(fields[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    total, left = 0, [os.getpid()]
    while left:
        process = left.pop()
        total += ticks.get(process, 0)
        left += below.get(process, [])
    return total / _TICKS


def spent(call: Call) -> float:
    start = tree_seconds()
    call()
    return tree_seconds() - start


def session() -> Any:
    """Start Spark with two cores, and with this Python in the workers."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
    from pyspark.sql import SparkSession

    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master("local[2]")
    here = dict.fromkeys(("spark.driver.host", "spark.driver.bindAddress"), "127.0.0.1")
    for name, value in {**quiet, **here, "spark.driver.memory": "6g"}.items():
        builder = builder.config(name, value)
    started = builder.getOrCreate()
    started.sparkContext.setLogLevel("ERROR")
    return started


def fitted(table: Any) -> Any:
    model = kng.LinearRegression(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=0)
    return model.fit(table, target="y", features=list(COVARIATES)).release_.integers


def sent(call: Call) -> int:
    """Return how many bytes of results the driver received."""
    original, found = engine.answers_of, []

    def watched(batches: Any) -> Any:
        batches = list(batches)
        found.append(sum(batch.nbytes for batch in batches))
        return original(batches)

    engine.answers_of = watched
    try:
        call()
    finally:
        engine.answers_of = original
    return sum(found)


def main(rounds: int = ROUNDS, records: int = RECORDS) -> int:
    """Print the tables and return how many bars are missed."""
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write(path, records)
        frame = spark.read.parquet(str(path))
        calls = {"spark": lambda: fitted(frame), "duckdb": lambda: fitted(path)}
        answers = [call() for call in calls.values()]  # the first calls load and compile
        assert answers[0] == answers[1], "the same bits, the same release"
        for call in calls.values():
            call()
        found: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(rounds):
            for name in list(calls)[:: -1 if turn % 2 else 1]:
                found[name].append(spent(calls[name]))
        print(f"\nSpark local[2] / Parquet through DuckDB, {records:,} records, {rounds} rounds")
        print(f"CPU time of the process tree\n\n{'':<34}{HEAD}")
        ratio = Ratio(found["spark"], found["duckdb"])
        missed = line("LinearRegression, 12 covariates", ratio, BAR)
        write(path, records // 10)
        growth(spark.read.parquet(str(path)), fitted(path), rounds)
        stages(spark.read.parquet(str(path)), rounds)
    spark.stop()
    return int(missed)


def growth(frame: Any, answer: Any, rounds: int) -> None:
    """Print what more partitions cost, a tenth of the records; shuffled before it is measured."""
    print(f"\n{frame.count():,} records")
    print(f"{'partitions':>10}{'CPU s':>9}{'wall s':>9}{'bytes to the driver':>22}")
    tables = {k: frame.repartition(k).localCheckpoint() for k in PARTITIONS}
    times: dict[int, list[tuple[float, float]]] = {k: [] for k in PARTITIONS}
    for _ in range(rounds):
        for k, table in tables.items():
            start, cpu = perf_counter(), tree_seconds()
            assert fitted(table) == answer, "partitions never change a release"
            times[k].append((tree_seconds() - cpu, perf_counter() - start))
    for k, table in tables.items():
        cpu, wall = (median(each) for each in zip(*times[k], strict=True))
        print(f"{k:>10}{cpu:>9.1f}{wall:>9.1f}{sent(lambda table=table: fitted(table)):>22,}")


def stages(frame: Any, rounds: int) -> None:
    """Print what each part of a release costs a record, and the size of a state."""
    bounds = bounds_of(dict.fromkeys((*COVARIATES, "y"), (-1, 1)))
    rule = encoding_of(bounds, granularity="1/32768", missing=None, bits=16)
    kernels: dict[str, Any] = {
        "sums of 13 columns": Sums(rule.last),
        "counts in 4,096 cells": CellCounts(0, rule.last[0], 4),
        "products of 13 columns": Gram(rule.last),
    }
    records, found = frame.count(), {name: [] for name in ("store 13 columns", *kernels)}
    load_products()
    for _ in range(rounds):
        source = open_source(frame, rule)
        found["store 13 columns"].append(spent(source.count))
        for name, kernel in kernels.items():
            found[name].append(spent(lambda source=source, kernel=kernel: source.reduce(kernel)))
        source.close()
    print(f"\n{'':<26}{'CPU microseconds a record':>28}{'bytes of a state':>20}")
    for name, seconds in found.items():
        kernel = kernels.get(name)
        size = len(pickle.dumps(kernel.zero(), 5)) if kernel else 0
        print(f"{name:<26}{1e6 * median(seconds) / records:>28.2f}{size or '':>20}")


if __name__ == "__main__":
    sys.exit(min(main(*map(int, sys.argv[1:3])), 1))
