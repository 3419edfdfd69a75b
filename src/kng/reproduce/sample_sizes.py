"""How many times as many records a method needs to be as accurate as another.

At each n of the reference, its mean error is looked up on the method's own curve of log10 error
against log10 n, between two sizes on the line through them:

    ratio = n' / n,     error of the method at n' = error of the reference at n

Asymptotically 1 for KNG beside the non-private fit, and a constant above 1 for the exponential
mechanism (Section 3.1). Standard errors are those of 200 bootstraps: replicates are drawn again,
the same ones for all methods, because they share their records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, log10, nan

import numpy as np

from kng.core.bits import simulator
from kng.core.quadratic import Vector
from kng.reproduce.experiment import Measured, Task

_BOOTSTRAPS = 200


@dataclass(frozen=True, slots=True)
class Need:
    """What one method needs to reach a reference at n; nan where its curve does not get there."""

    method: str
    reference: str
    n: int
    records: float
    ratio: float
    se: float


def needs(
    found: Mapping[Task, Measured], references: Sequence[str], methods: Sequence[str]
) -> list[Need]:
    """Return what each method needs to reach each reference at every size."""
    errors = _errors(found)
    sizes = sorted({task.n for task in found})
    plain = {method: errors[method].mean(axis=1) for method in errors}
    generator = simulator(len(sizes))
    again = []
    for _ in range(_BOOTSTRAPS):
        chosen = [generator.integers(row.shape[0], size=row.shape[0]) for row in errors[methods[0]]]
        again.append(
            {
                m: np.array([e[i].mean() for e, i in zip(errors[m], chosen, strict=True)])
                for m in errors
            }
        )
    rows = []
    for reference in references:
        for method in methods:
            if method == reference:
                continue
            for at, n in enumerate(sizes):
                reached = _reached(sizes, plain[method], plain[reference][at])
                logs = np.array(
                    [_reached(sizes, each[method], each[reference][at]) for each in again]
                )
                alone = errors[method].shape[1] == 1
                se = nan if alone or isnan(reached) else _spread(logs)
                records = 10**reached
                rows.append(Need(method, reference, n, records, records / n, records / n * se))
    return rows


def _errors(found: Mapping[Task, Measured]) -> dict[str, Vector]:
    """Return, by method, a row of errors for every size; all sizes have as many replicates."""
    sizes = sorted({task.n for task in found})
    tasks = [sorted(task for task in found if task.n == n) for n in sizes]
    methods = found[tasks[0][0]].errors
    return {m: np.array([[found[t].errors[m] for t in row] for row in tasks]) for m in methods}


def _reached(sizes: Sequence[int], curve: Vector, target: float) -> float:
    """Return log10 of the size at which a curve comes down to a target; nan if it does not."""
    if curve[0] < target:
        return nan  # with fewer records than were tried
    for (a, high), (b, low) in zip(
        zip(sizes, curve, strict=True), zip(sizes[1:], curve[1:], strict=True), strict=False
    ):
        if low <= target <= high:
            share = log10(high / target) / log10(high / low) if high > low else 0.0
            return log10(a) + share * log10(b / a)
    return nan


def _spread(logs: Vector) -> float:
    """Return the standard error of a ratio, relative to it; nan where most bootstraps miss."""
    kept = logs[~np.isnan(logs)]
    return float(np.std(kept, ddof=1) * np.log(10)) if len(kept) > len(logs) / 2 else nan
