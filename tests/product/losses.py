"""The privacy loss of a cell: every pair of neighbours, every lattice point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from product.axes import BASES
from product.cells import Cell, Dataset, N
from product.plain import F

# Exponents are exact; a logarithm of a sum of exponentials in float64 is off by far less.
MARGIN = 1e-9


@dataclass(frozen=True)
class Worst:
    """What neighbours do at most: to the log of the law, in parts of epsilon, and to the exponent.

    The latter is in parts of epsilon / 2: it is 1 where Delta is attained, and the former is no
    larger than 1 for a private law.
    """

    loss: float
    move: float
    pair: tuple[Dataset, Dataset] | None


def worst_of(cell: Cell, n: int = N, plan: Any = None) -> Worst:
    """Return the largest privacy loss over all neighbours with up to n records."""
    return _worst(cell, n, plan or cell.plan(n), [np.zeros(len(cell.points))])


def worst_with_bases(cell: Cell, n: int = N) -> Worst:
    """Return the largest privacy loss with any base measure, as records are read beside one."""
    plans = [cell.plan(n, base=base) for base in BASES]
    weights = [np.array([float(p.exponent(k, F(0))) for k in cell.points]) for p in plans]
    return _worst(cell, n, plans[0], weights)


def _worst(cell: Cell, n: int, plan: Any, bases: list[np.ndarray[Any, Any]]) -> Worst:
    # exponent = score times a public factor at each point; it is asked for once
    rates = [plan.exponent(k, F(1)) - plan.exponent(k, F(0)) for k in cell.points]
    exponents: dict[Dataset, np.ndarray[Any, Any]] = {}
    log_z: dict[Dataset, np.ndarray[Any, Any]] = {}
    for dataset in cell.datasets(n):
        field = cell.read(plan, dataset)
        gamma = np.array(
            [float(c * field.score(k)) for c, k in zip(rates, cell.points, strict=True)]
        )
        exponents[dataset] = gamma
        log_z[dataset] = np.array([np.logaddexp.reduce(-gamma - base) for base in bases])
    largest, move, pair = 0.0, 0.0, None
    for a, b in cell.neighbours(n):
        change = exponents[a] - exponents[b]
        shift = log_z[a] - log_z[b]
        loss = float(np.abs(change[:, None] + shift).max())
        move = max(move, float(np.abs(change).max()))
        if loss > largest:
            largest, pair = loss, (a, b)
    epsilon = float(plan.epsilon)
    return Worst(largest / epsilon, 2 * move / epsilon, pair)
