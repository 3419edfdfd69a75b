"""Records in the order of their groups, as residuals from a pilot; covers of any shear share it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from kng.core.parts import Point
from kng.losses.enclosures.plane_field import PlaneField
from kng.losses.enclosures.record_tree import fill_groups, order_groups
from kng.losses.enclosures.tied_records import merged

Array = NDArray[np.float64]

# Records in a group of the last level, and the most levels there are.
_GROUP = 16
_LEVELS = 13
# Records whose temporaries stay in the processor's cache, and that tell how widely they are spread.
_BLOCK = 2**14
# A residual that no plane reaches, and an allowance for what rounding does to those that are.
FAR = 2.0**70
_SURELY = 1 + 2.0**-40
_SAMPLE = 4096


@dataclass(frozen=True, slots=True)
class SortedRecords:
    """Distinct records x, y - x'pilot, how often each occurs, and levels of groups of them."""

    rows: NDArray[np.float32]
    residual: Array
    copies: NDArray[np.int32]
    levels: int

    @classmethod
    def of(cls, field: PlaneField, pilot: Point, first: Array, last: Array) -> SortedRecords:
        """Put records into groups; arrays that are done with go before the next ones come.

        A record that is decided alike at every point from ``first`` to ``last`` is moved out of
        reach, so that boxes which leave the domain do not count on it. That changes the loss and
        no gradient within the domain, so it is done where gradients are weighed.
        """
        t, residual = np.array(pilot, np.float64), np.empty(len(field.rows))
        for part in _parts(len(residual)):
            x = field.rows[part].astype(np.float64)
            residual[part] = field.response[part] - x @ t
            if field.weighed == "gradient":
                residual[part] = _out_of_reach(x, residual[part], first - t, last - t)
        rows, residual, copies = merged(field.rows, residual)
        n = len(rows)
        levels = min(_LEVELS, max(0, int(log2(max(n / _GROUP, 1)))))
        order = np.arange(n, dtype=np.int32)
        order_groups(rows, residual, _spreads(rows, residual), order, levels)
        residual = residual[order]
        return cls(rows[order], residual, copies[order] if len(copies) else copies, levels)

    def groups(self, shear: Array) -> Array:
        """Return the table of groups (`record_tree`)."""
        table = np.zeros((2 ** (self.levels + 1) - 1, 7 * self.rows.shape[1] + 5))
        fill_groups(self.rows, self.residual, self.copies, shear, self.levels, table)
        return table

    def loss(self, tau: float) -> tuple[float, float]:
        """Return the loss at the pilot, and the sum of absolute residuals."""
        loss, size = 0.0, 0.0
        for part in _parts(len(self.rows)):
            residual = self.residual[part]
            times = self.copies[part] if len(self.copies) else 1
            loss += float((times * np.maximum(tau * residual, (tau - 1) * residual)).sum())
            size += float((times * np.abs(residual)).sum())
        return loss, size


def _out_of_reach(rows: Array, residual: Array, first: Array, last: Array) -> Array:
    """Return residuals; -FAR or FAR where no t between first and last decides otherwise."""
    away = residual - rows @ ((first + last) / 2)
    # Rounding may keep a record that could be moved, and moves none that must stay.
    reach = (np.abs(rows) @ ((last - first) / 2)) * _SURELY + 1
    beyond = np.abs(away) > reach
    if beyond.any():
        residual[beyond] = np.copysign(FAR, away[beyond])
    return residual


def _spreads(rows: NDArray[np.float32], residual: Array) -> Array:
    """Return how widely residuals and covariates are spread, as a few thousand records tell."""
    spaced = slice(None, None, max(1, len(rows) // _SAMPLE))
    columns = np.vstack([residual[spaced], rows[spaced, 1:].T])
    columns = columns[:, np.abs(columns[0]) < FAR]
    spreads = columns.std(axis=1) if columns.size else np.zeros(len(columns))
    return np.asarray(np.where(spreads > 0, spreads, 1.0), np.float64)


def _parts(n: int) -> Iterator[slice]:
    """Cut records into runs whose temporaries stay in the processor's cache."""
    return (slice(at, at + _BLOCK) for at in range(0, n, _BLOCK))
