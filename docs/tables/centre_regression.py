"""Print what an earlier release is worth as a centre, for docs/regression.md.

    python docs/tables/centre_regression.py

Four coefficients (0, 2, -1, 1), covariates uniform in [-1, 1], errors of 0.3, epsilon 1/2 for each
of two waves; the first has 20,000 records. Shown is the mean distance of the second to the truth
over 100 seeded replicates, with and without the first as its centre.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import kng

Array = NDArray[np.float64]

TRUTH = np.array([0.0, 2.0, -1.0, 1.0])
FIRST, SIZES, REPLICATES = 20_000, (100, 300, 1000, 3000), 100


def wave(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Return covariates and responses."""
    X = rng.uniform(-1, 1, (n, 3))
    return X, X @ TRUTH[1:] + 0.3 * rng.normal(size=n)


def errors(n: int, seed: int) -> tuple[float, float]:
    """Return the distance of the second wave to the truth, drawn to 0 and to the first."""
    rng = np.random.default_rng(seed)
    given = {"epsilon": 0.5, "threshold": 0.5, "bounds_X": (-1, 1), "random_state": seed}
    first, later = kng.HuberRegressor(**given).fit(*wave(rng, FIRST)), wave(rng, n)
    found = [
        kng.HuberRegressor(**given, centre=centre).fit(*later).release_.value
        for centre in (None, first.release_.value)
    ]
    plain, centred = (float(np.linalg.norm(np.array(value) - TRUTH)) for value in found)
    return plain, centred


def main() -> None:
    """Print one table."""
    rows = np.array([np.mean([errors(n, s) for s in range(REPLICATES)], axis=0) for n in SIZES]).T
    print(f"| records in the second wave | {' | '.join(f'{n:,}' for n in SIZES)} |")
    print(f"| --- |{' --- |' * len(SIZES)}")
    for name, row in zip(("drawn to 0", "drawn to the first wave"), rows, strict=True):
        print(f"| {name} | {' | '.join(f'{error:.3f}' for error in row)} |")


if __name__ == "__main__":
    main()
