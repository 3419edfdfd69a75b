"""Files larger than memory: peak memory and processor time of whole fits, each in its own process.

python -m benchmarks.out_of_core             50 million records of 12 columns, about 4 GB on disk
python -m benchmarks.out_of_core 5000000     fewer
python -m benchmarks.out_of_core slopes      how time grows from 10^6 to 5 * 10^7 records

The Parquet files are made by DuckDB in a temporary directory and removed. Peak memory is that of
the whole process, libraries included; processor time is that of all its threads, and starting
Python and loading libraries are part of it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from math import log
from pathlib import Path
from statistics import median

import duckdb

RECORDS, COLUMNS = 50_000_000, 12
SIZES = (1_000_000, 5_000_000, 50_000_000)
ROUNDS = 3
# What a fit may take at most, in megabytes.
LIMIT = 1536


def write(path: Path, records: int, columns: int) -> None:
    """Write covariates in [-1, 1], and a response that leans on the first three."""
    x = ", ".join(f"random() * 2 - 1 AS x{j}" for j in range(1, columns))
    kept = ", ".join(f"x{j}" for j in range(1, columns))
    y = "0.5 * x1 - 0.3 * x2 + 0.2 * sqrt(-2 * ln(1 - u)) * cos(2 * pi() * v)"
    with duckdb.connect(config={"memory_limit": "2GB"}) as connection:
        connection.execute(
            f"COPY (SELECT {kept}, {y} AS y FROM (SELECT {x}, random() AS u, random() AS v "
            f"FROM range({records}))) TO '{path}' (FORMAT parquet)"
        )


def linear(path: str) -> None:
    """Fit all columns."""
    import kng

    names = [f"x{j}" for j in range(1, COLUMNS)]
    model = kng.LinearRegression(epsilon=1, bounds_X=_bounds(names), bounds_y=(-2, 2))
    model.fit(path, target="y", features=names)


def quantile(path: str) -> None:
    """Draw one quantile."""
    import kng

    kng.quantile(path, 0.9, bounds={"y": (-2, 2)}, epsilon=1)


def huber(path: str) -> None:
    """Fit all columns with noise in the objective."""
    import kng

    names = [f"x{j}" for j in range(1, COLUMNS)]
    bounds = {"bounds_X": _bounds(names), "bounds_y": (-2, 2)}
    model = kng.HuberRegressor(epsilon=1, threshold="auto", **bounds)
    model.fit(path, target="y", features=names)


def logistic(path: str) -> None:
    """Fit classes with noise in the objective; the label is whether y is positive."""
    import kng

    names = ["x1", "x2", "x3"]
    relation = duckdb.connect(config={"memory_limit": "512MB", "temp_directory": ""}).sql(
        f"SELECT x1, x2, x3, CAST(y > 0 AS INTEGER) AS label FROM read_parquet('{path}')"
    )
    model = kng.LogisticRegression(epsilon=1, bounds_X=_bounds(names), classes=[0, 1])
    model.fit(relation, target="label", features=names)


def planes2(path: str) -> None:
    """Draw a median line."""
    _planes(path, ["x1"])


def planes3(path: str) -> None:
    """Draw a median plane."""
    _planes(path, ["x1", "x2"])


def mean(path: str) -> None:
    """Release a mean."""
    import kng

    kng.mean(path, bounds={"y": (-2, 2)}, epsilon=1)


def _planes(path: str, names: list[str]) -> None:
    import kng

    model = kng.QuantileRegressor(epsilon=1, bounds_X=_bounds(names), bounds_y=(-2, 2))
    model.fit(path, target="y", features=names)


def _bounds(names: list[str]) -> dict[str, tuple[int, int]]:
    return dict.fromkeys(names, (-1, 1))


FITS: dict[str, Callable[[str], None]] = {
    each.__name__: each for each in (mean, quantile, linear, huber, logistic, planes2, planes3)
}


def measured(name: str, path: Path) -> tuple[float, float]:
    """Run one fit in a process of its own; return peak megabytes and processor seconds."""
    command = [sys.executable, "-m", "benchmarks.out_of_core", "child", name, str(path)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    peak, seconds = json.loads(out.splitlines()[-1])
    return float(peak), float(seconds)


def child(name: str, path: str) -> None:
    """Fit, and print what it took."""
    FITS[name](path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([peak, time.process_time()]))


def sizes(records: int) -> None:
    """Print peak memory and time of every fit, and of a median line on a fifth of the records."""
    with tempfile.TemporaryDirectory() as folder:
        path, fifth = Path(folder) / "wide.parquet", Path(folder) / "narrow.parquet"
        write(path, records, COLUMNS)
        write(fifth, records // 5, 3)
        print(f"{records:,} records, {COLUMNS} columns, {path.stat().st_size / 2**30:.1f} GB")
        for name in FITS:
            _line(name, *measured(name, path))
        print(f"{records // 5:,} records, 3 columns")
        for name in ("planes2", "planes3"):
            _line(name, *measured(name, fifth))


def _line(name: str, peak: float, seconds: float) -> None:
    verdict = "" if peak < LIMIT else "   above the limit"
    print(f"  {name:10} {peak:6.0f} MB {seconds:7.1f} s{verdict}", flush=True)


def slopes() -> None:
    """Print how the processor time of fits grows with the records, start-up left out."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {n: Path(folder) / f"{n}.parquet" for n in (1000, *SIZES)}
        for n, path in paths.items():
            write(path, n, 3)
        for name in ("mean", "quantile", "planes2", "planes3"):
            measured(name, paths[SIZES[0]])  # compiles
            start = median(measured(name, paths[1000])[1] for _ in range(ROUNDS))
            times = {n: median(measured(name, paths[n])[1] for _ in range(ROUNDS)) for n in SIZES}
            shown = ", ".join(f"{n:,}: {t:.1f} s" for n, t in times.items())
            first, last = SIZES[0], SIZES[-1]
            whole = log(times[last] / times[first]) / log(last / first)
            grown = (times[last] - start) / max(times[first] - start, 1e-3)
            print(
                f"  {name:10} {shown}; slope {whole:.2f}, "
                f"{log(grown) / log(last / first):.2f} without the {start:.1f} s of 1,000",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
    elif sys.argv[1:] == ["slopes"]:
        slopes()
    else:
        sizes(int(float(sys.argv[1])) if sys.argv[1:] else RECORDS)
