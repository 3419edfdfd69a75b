"""Averages, their Monte Carlo errors on the log scale, slopes; and the table as CSV.

    mean_error        average over replicates of || estimate - theta* ||_2
    log10_mean_error  its logarithm to base 10, as plotted
    log10_se          standard error of that: sd / (sqrt(replicates) mean ln 10)

Replicates are added in their order, so that the table repeats to the last bit.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import log, log10, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from kng.reproduce.experiment import Measured, Task


@dataclass(frozen=True, slots=True)
class Row:
    """One point of one curve; the columns of the CSV, in their order."""

    figure: str
    method: str
    n: int
    replicates: int
    mean_error: float
    log10_mean_error: float
    log10_se: float


@dataclass(frozen=True, slots=True)
class Slope:
    """How a curve falls over a decade: change of log10, and its standard error."""

    method: str
    start: int
    end: int
    slope: float
    se: float


def table(figure: str, found: Mapping[Task, Measured]) -> list[Row]:
    """Return the averages, method by method; replicates are added in their order."""
    methods = list(dict.fromkeys(m for measured in found.values() for m in measured.errors))
    rows = []
    for method in methods:
        for n in sorted({task.n for task in found}):
            values = [
                found[task].errors[method]
                for task in sorted(found)
                if task.n == n and method in found[task].errors
            ]
            if values:
                rows.append(_row(figure, method, n, values))
    return rows


def fact(name: str, found: Mapping[Task, Measured]) -> list[Row]:
    """Return the averages of a fact, such as R, in the same form."""
    return [
        _row("", name, n, [found[t].facts[name] for t in sorted(found) if t.n == n])
        for n in sorted({task.n for task in found})
    ]


def _row(figure: str, method: str, n: int, values: list[float]) -> Row:
    mean = fmean(values)
    if mean == 0:
        return Row(figure, method, n, len(values), 0.0, float("-inf"), float("nan"))
    spread = stdev(values) / sqrt(len(values)) if len(values) > 1 else float("nan")
    return Row(figure, method, n, len(values), mean, log10(mean), spread / mean / log(10))


def last_slopes(rows: list[Row]) -> list[Slope]:
    """Return the slope of every curve between its two largest sizes; none for a single point."""
    slopes = []
    for method in dict.fromkeys(row.method for row in rows):
        points = [row for row in rows if row.method == method]
        if len(points) < 2:
            continue
        a, b = points[-2:]
        decades = log10(b.n / a.n)
        change = (b.log10_mean_error - a.log10_mean_error) / decades
        error = sqrt(a.log10_se**2 + b.log10_se**2) / decades
        slopes.append(Slope(method, a.n, b.n, change, error))
    return slopes


def write_csv(path: Path, rows: Sequence[Any], kind: type | None = None) -> None:
    """Write rows with a heading; floats in full, so that reading gives the same numbers.

    ``kind`` is what rows are, where there may be none.
    """
    names = [field.name for field in fields(kind or rows[0])]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([getattr(row, name) for name in names] for row in rows)
