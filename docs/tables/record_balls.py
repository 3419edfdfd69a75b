"""Print how accurate means of records in an l2 ball are, beside those in the box around it.

    python docs/tables/record_balls.py [replicates]

Records of length 1 in random directions, n = 1,000, epsilon = 1; the root mean squared distance
from the mean of the records, for a public and for a private number of records.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import kng


def error(X: Any, bounds: Any, neighbours: str, replicates: int) -> float:
    """Return the root mean squared distance of seeded draws from the mean of the records."""
    ask: dict[str, Any] = {"bounds": bounds, "epsilon": 1, "neighbours": neighbours}
    drawn = [kng.mean(X, random_state=k, **ask).value for k in range(replicates)]
    return float(np.sqrt(np.square(np.array(drawn) - X.mean(axis=0)).sum(axis=1).mean()))


def main() -> None:
    """Print the table of docs/records-in-a-ball.md."""
    replicates = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for d in (2, 5, 10, 20, 50):
        X = np.random.default_rng(d).normal(size=(1000, d))
        X /= np.sqrt((X * X).sum(axis=1, keepdims=True))
        box, ball = (np.full(d, -1), np.full(d, 1)), kng.domains.L2Ball(1)
        cells = [
            error(X, bounds, neighbours, replicates)
            for neighbours in ("replace-one", "add-remove")
            for bounds in (box, ball)
        ]
        numbers = [f"{v:.4f}" for v in cells]
        numbers.insert(2, f"{cells[0] / cells[1]:.2f}")
        print(f"| {d} | {' | '.join(numbers)} |")


if __name__ == "__main__":
    main()
