"""What absent records cost, beside a table in which a missing cell counts as a number.

`python -m benchmarks.absent` prints CPU time at a million records: `missing="drop"`, the default,
over `missing=` a number, on cells that are all there and with a tenth of them missing. `where=`
with a condition that every tenth record fails stands beside a release of all records, which reads
a column less, and beside records cut out by pandas. The bar is 1.3.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import kng
from benchmarks.timing import HEAD, Ratio, line, measure

RECORDS, BAR = 10**6, 1.3
COLUMNS = ("education", "age", "hours")
CONDITION = ("hours", "<", 0.8)


def table(missing: float) -> pd.DataFrame:
    """Return records of a linear model; this share of them lacks the response."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.uniform(-1, 1, RECORDS) for name in COLUMNS})
    frame["pay"] = frame["education"] - 0.5 * frame["age"] + rng.normal(0, 0.5, RECORDS)
    frame.loc[rng.random(RECORDS) < missing, "pay"] = np.nan
    return frame


def cut(data: pd.DataFrame | Path) -> pd.DataFrame:
    """Return the records for which the condition holds, as pandas cuts them out."""
    if isinstance(data, Path):
        return pd.read_parquet(data, filters=[CONDITION])
    return data[data[CONDITION[0]] < CONDITION[2]]


def of_pay(ask: Callable[..., kng.Release]) -> Callable[..., object]:
    """Return a statistic of pay, by data and options."""
    return lambda data, **options: ask(data, bounds={"pay": (-4, 4)}, epsilon=1, **options)


def fitted(kind: Any, columns: Sequence[str]) -> Callable[..., object]:
    """Return a regression of pay, by data and options."""
    bounds = dict.fromkeys(columns, (-1, 1))

    def fit(data: object, **options: Any) -> object:
        model = kind(epsilon=1, bounds_X=bounds, bounds_y=(-4, 4), **options)
        return model.fit(data, target="pay", features=list(columns))

    return fit


CALLS: dict[str, Callable[..., object]] = {
    "mean": of_pay(kng.mean),
    "median": of_pay(kng.median),
    "quantile 0.9": of_pay(lambda data, **o: kng.quantile(data, 0.9, **o)),
    "linear": fitted(kng.LinearRegression, COLUMNS),
    "quantile reg.": fitted(kng.QuantileRegressor, COLUMNS[:2]),
}
# What is compared, with what, and whether there is a bar.
ROWS = (
    ("none missing", "drop", "number", BAR),
    ("a tenth missing", "drop, holes", "number, holes", BAR),
    ("where=, to all", "where", "number", None),
    ("where=, to cut out", "where", "cut out", BAR),
)


def main() -> int:
    """Print the tables, and return how many rows miss their bar."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        frames = table(0), table(0.1)
        paths = Path(folder) / "whole.parquet", Path(folder) / "holes.parquet"
        for frame, path in zip(frames, paths, strict=True):
            frame.to_parquet(path)
        for place, (whole, holes) in {"data frame": frames, "Parquet": paths}.items():
            print(f"\nabsent records, {RECORDS:,} records, {place}\n\n{'':<34}{HEAD}")
            for name, call in CALLS.items():
                found = measure(
                    {
                        "number": lambda c=call, d=whole: c(d, missing=0.0),
                        "drop": lambda c=call, d=whole: c(d),
                        "number, holes": lambda c=call, d=holes: c(d, missing=0.0),
                        "drop, holes": lambda c=call, d=holes: c(d),
                        "where": lambda c=call, d=whole: c(d, where=" ".join(map(str, CONDITION))),
                        "cut out": lambda c=call, d=whole: c(cut(d), missing=0.0),
                    }
                )
                for row, ours, theirs, bar in ROWS:
                    missed += line(f"{name}, {row}", Ratio(found[ours], found[theirs]), bar)
    return missed


if __name__ == "__main__":
    sys.exit(main() > 0)
