"""What the tests here read with, and the rule they compare to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from kng.core.bounds import bounds_of
from kng.core.encoding import Encoding, encoding_of
from kng.data import open_source

# Ways to hold one and the same table of floats.
LAYOUTS = {
    "fortran": np.asfortranarray,
    "transposed": lambda X: np.ascontiguousarray(X.T).T,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "read only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "other byte order": lambda X: X.astype(">f8"),
    "objects": lambda X: X.astype(object),
    "long doubles": lambda X: X.astype(np.longdouble),
    "list": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "list of arrays": list,
    "decimals": lambda X: [[Decimal(repr(x)) for x in row] for row in X.tolist()],
    "frame": pd.DataFrame,
    "frame of objects": lambda X: pd.DataFrame(X.astype(object)),
    "frame of texts": lambda X: pd.DataFrame(
        [[repr(x) for x in row] for row in X.tolist()], dtype=object
    ),
    "mapping": lambda X: {"a": X[:, 0], "b": X[:, 1].tolist(), "c": pd.Series(X[:, 2])},
}


def encoding(bounds: Any = (0, 10), *, granularity: Any = None, missing: Any = None) -> Encoding:
    """Return an encoding with a quantile's default steps; what is missing is in the middle.

    So that no record is absent, and positions stay; tests of absence say ``missing="drop"``.
    """
    box = bounds_of(bounds)
    if missing is None:
        missing = [(low + high) / 2 for low, high in zip(box.low, box.high, strict=True)]
    return encoding_of(box, granularity=granularity, missing=missing, bits=20)


def integers(data: Any, rule: Encoding) -> list[tuple[int, ...]]:
    """Return the records as the library reads them, and check that they are whole and inside."""
    records, source = [], open_source(data, rule)
    for batch in batches(source):
        for row in batch.tolist():
            assert all(k == int(k) for k in row)
            assert all(0 <= k <= last for k, last in zip(row, rule.last, strict=True))
            records.append(tuple(int(k) for k in row))
    assert len(records) == source.count(), "the number that privacy counts on is the number read"
    return records


@dataclass(frozen=True)
class Seen:
    """Batches as they come."""

    def zero(self) -> list[Any]:
        return []

    def partial(self, batch: Any) -> list[Any]:
        return [batch.copy()]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return left + right


def batches(source: Any) -> list[Any]:
    """Return the batches of whole numbers that kernels see."""
    return source.reduce(Seen())


def by_rule(x: float, low: float, step: Fraction, last: int, default: int) -> int:
    """Return what one number must become: exact but for one correctly rounded subtraction."""
    if math.isnan(x):
        return default
    if math.isinf(x):
        return last if x > 0 else 0
    try:
        difference = Fraction(float(Fraction(x) - Fraction(low)))
    except OverflowError:
        return last if x > low else 0
    # Fraction rounds half to even.
    return min(max(round(difference / step), 0), last)
