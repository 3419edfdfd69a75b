"""Errors measured on simulated records: a dry run, in which nothing is private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import simulator
from kng.core.errors import SpecError
from kng.core.exact import whole
from kng.core.naming import argument
from kng.core.payment import BLOCKS
from kng.estimators.planning.expected import WORTH

# Simulated data sets, at most.
_MOST = 10**6

Numbers = Sequence[float] | NDArray[np.float64]
# Simulates one data set and one release: the private, the non-private and the true numbers.
Trial = Callable[[int], tuple[Numbers, Numbers, Numbers]]


@dataclass(frozen=True)
class DryRun:
    """Root mean squared errors over simulated data sets.

    Attributes
    ----------
    names : tuple of str
    total : tuple of float
        Of the private answers.
    sampling : tuple of float
        Of the answers without privacy on the same records.
    noise : tuple of float
        Of the difference of both.
    replicates : int
    """

    names: tuple[str, ...]
    total: tuple[float, ...]
    sampling: tuple[float, ...]
    noise: tuple[float, ...]
    replicates: int

    @property
    def feasible(self) -> bool:
        """Whether each error is at most twice the one without privacy."""
        return all(t <= WORTH * s for t, s in zip(self.total, self.sampling, strict=True))

    def __repr__(self) -> str:
        rows = [("", "error", "privacy noise", "sampling error")]
        for name, *numbers in zip(self.names, self.total, self.noise, self.sampling, strict=True):
            total, noise, sampling = (f"{number:.3g}" for number in numbers)
            rows.append((name, total, noise, sampling))
        wide = [max(len(row[i]) for row in rows) for i in range(4)]
        table = [
            "  ".join(
                [
                    row[0].ljust(wide[0]),
                    *(c.rjust(w) for c, w in zip(row[1:], wide[1:], strict=True)),
                ]
            )
            for row in rows
        ]
        return "\n".join([f"measured on {self.replicates} simulated data sets", "", *table])


def measured(
    trial: Trial,
    names: Sequence[str],
    replicates: int,
    seed: int,
) -> DryRun:
    """Run trials with seeds of their own and compare."""
    count = whole(replicates, "replicates", 1)
    if count > _MOST:
        raise SpecError(
            f"{argument('replicates')} must be at most {_MOST}, got {count}. 1000 are plenty."
        )
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise SpecError(f"{argument('seed')} must be a whole number from 0 on, got {seed!r}.")
    seeds = simulator(int(seed)).integers(2**32, size=count)
    with BLOCKS.left_out():  # simulations cost nothing, and ledgers refuse them
        runs = [trial(int(s)) for s in seeds]
    private, plain, truth = (np.array(part, dtype=float) for part in zip(*runs, strict=True))

    def root(errors: NDArray[np.float64]) -> tuple[float, ...]:
        return tuple(np.sqrt(np.mean(errors**2, axis=0)).tolist())

    return DryRun(
        tuple(names), root(private - truth), root(plain - truth), root(private - plain), count
    )
