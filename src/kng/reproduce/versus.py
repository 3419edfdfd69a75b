"""One method's mean error over another's, on the same records: a ratio and its standard error.

    ratio = mean(a) / mean(b),      se = sd(a - ratio b) / (sqrt(replicates) mean(b))

Both see the same samples, so what samples have in common cancels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from kng.reproduce.experiment import Measured, Task


@dataclass(frozen=True, slots=True)
class Versus:
    """A ratio below 1 is a win for the method; ``wins`` is the share of samples that it wins."""

    method: str
    over: str
    n: int
    replicates: int
    ratio: float
    se: float
    wins: float


def versus(found: Mapping[Task, Measured], methods: Sequence[str], over: str) -> list[Versus]:
    """Return the ratios at every size."""
    rows = []
    for method in methods:
        for n in sorted({task.n for task in found}):
            tasks = [task for task in sorted(found) if task.n == n]
            a = np.array([found[task].errors[method] for task in tasks])
            b = np.array([found[task].errors[over] for task in tasks])
            ratio = float(a.mean() / b.mean())
            spread = float((a - ratio * b).std(ddof=1)) if len(a) > 1 else float("nan")
            se = spread / (sqrt(len(a)) * float(b.mean()))
            rows.append(Versus(method, over, n, len(a), ratio, se, float((a < b).mean())))
    return rows
