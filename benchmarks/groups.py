"""Fifty groups beside one statistic of the same million records.

`python -m benchmarks.groups` prints CPU time: one statistic of all records, the same of the records
for which a condition on the column of groups holds, and that of fifty groups. The bar is three
times the single statistic, from a Parquet file.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import kng
from benchmarks.timing import HEAD, Ratio, line, measure

RECORDS, GROUPS, BAR = 10**6, 50, 3.0
BOUNDS = {"pay": (0, 100)}
STATISTICS: dict[str, Callable[..., kng.Release]] = {
    "mean": kng.mean,
    "median": kng.median,
    "quantile 0.9": lambda data, **o: kng.quantile(data, 0.9, **o),
}


def table() -> pd.DataFrame:
    """Return records in groups of equal size, by number and by text."""
    rng = np.random.default_rng(0)
    site = rng.integers(0, GROUPS, RECORDS)
    return pd.DataFrame(
        {
            "pay": rng.normal(50, 10, RECORDS),
            "site": site,
            "name": np.array([f"site {k}" for k in range(GROUPS)], dtype=object)[site],
        }
    )


DECLARED: dict[str, tuple[dict[str, list[Any]], str]] = {
    "numbers": ({"site": list(range(GROUPS))}, "site >= 0"),
    "texts": ({"name": [f"site {k}" for k in range(GROUPS)]}, "name != 'none'"),
}


def main() -> int:
    """Print the table, and return how many rows miss their bar."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        frame, path = table(), Path(folder) / "records.parquet"
        frame.to_parquet(path)
        places = {"Parquet": path, "data frame": frame}
        for place, data in places.items():
            print(f"\n{RECORDS:,} records in {GROUPS} groups, {place}\n{'':<34}{HEAD}")
            for name, ask in STATISTICS.items():
                for kind, (by, where) in DECLARED.items():
                    options = {"bounds": BOUNDS, "epsilon": 1}
                    calls = {
                        "one": lambda a=ask, d=data, o=options: a(d, **o),
                        "where": lambda a=ask, d=data, o=options, w=where: a(d, where=w, **o),
                        "by": lambda a=ask, d=data, o=options, b=by: a(d, by=b, **o),
                    }
                    found = measure(calls)
                    bar = BAR if place == "Parquet" else None
                    missed += line(
                        f"{name} by {kind}, to one", Ratio(found["by"], found["one"]), bar
                    )
                    line(f"{name} by {kind}, to where=", Ratio(found["by"], found["where"]))
    return missed


if __name__ == "__main__":
    sys.exit(main() > 0)
