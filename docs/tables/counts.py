"""Print how accurate histograms and variances are, beside simpler ways to release them.

    python docs/tables/counts.py [replicates]

Noise of histograms by draws of the library and by its predicted error, variances by releases from
1,000 records at epsilon = 1; simpler ways in floating point.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kng

Array = NDArray[np.float64]
N = 1000


def root(errors: Any) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.square(np.asarray(errors)).mean()))


def histograms(replicates: int) -> None:
    """Print the error of one bin, and of the sum of all bins."""
    for bins in (2, 10, 100):
        records, cells = [1] * 5000, []
        for neighbours in ("replace-one", "add-remove"):
            drawn = [
                kng.histogram(
                    np.repeat(np.arange(bins), len(records) // bins),
                    levels=range(bins),
                    epsilon=1,
                    neighbours=neighbours,
                    random_state=k,
                ).value
                for k in range(replicates)
            ]
            off = np.array(drawn) - len(records) // bins
            cells += [root(off), root(off.sum(axis=1))]
        laplace = np.random.default_rng(1).laplace(0, 2, (10**5 // bins, bins))
        cells += [root(laplace), root(laplace.sum(axis=1))]
        print(f"| {bins} | {' | '.join(f'{v:.2f}' for v in cells)} |")


def split(y: Array, sizes: tuple[float, ...], rng: np.random.Generator) -> Array:
    """Return variances by Laplace noise on each sum, with an equal share of epsilon for each."""
    sums = np.array([y.sum(), (y * y).sum(), len(y)])[: len(sizes)]
    noise = rng.laplace(0, 1, (20_000, len(sizes))) * np.array(sizes) * len(sizes)
    first, second, *rest = (sums + noise).T
    n = np.maximum(rest[0], 1) if rest else len(y)
    mean = np.clip(first / n, -1, 1)
    return np.asarray(np.clip(second / n, mean**2, 1) - mean**2)


def variances(replicates: int) -> None:
    """Print the error of a variance, by where the mean lies between the bounds -1 and 1."""
    ways: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
        "replace-one": ({"missing": 0}, (2, 1)),
        "with absent records": ({}, (2, 1, 1)),
        "add-remove": ({"neighbours": "add-remove"}, (1, 1, 1)),
    }
    rng = np.random.default_rng(2)
    for name, (options, sizes) in ways.items():
        cells = []
        for centre in (0.0, 0.5):
            y = np.clip(rng.normal(centre, 0.2, N), -1, 1)
            ask = {"bounds": (-1, 1), "ddof": 0, "epsilon": 1, **options}
            drawn = [kng.variance(y, random_state=k, **ask).value for k in range(replicates)]
            cells += [root(np.array(drawn) - y.var()), root(split(y, sizes, rng) - y.var())]
        print(f"| {name} | {' | '.join(f'{v:.4f}' for v in cells)} |")


def main() -> None:
    """Print both tables of docs/counts.md."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    histograms(replicates)
    variances(replicates)


if __name__ == "__main__":
    main()
