"""What every source of records must keep: the same integers as records in memory, come what may."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kng.core.bounds import bounds_of
from kng.core.encoding import BATCH_RECORDS, Encoding, encoding_of
from kng.data import open_source

Rows = list[tuple[Any, ...]]
# Two columns, with steps that are a power of two and that are not.
RULE = encoding_of(
    bounds_of({"a": (0, 120), "b": (-3, 4)}),
    granularity=["1/4", "1/10"],
    missing=[60, "1/2"],
    bits=20,
)
# Numbers, and what counts as missing or is clipped, in forms that most stores can hold.
CELLS: tuple[Any, ...] = (
    *(None, float("inf"), -float("inf"), 1e308, 5e-324, -0.0, 2**62, -(2**62), 119.999, -2.95),
    *("", "text", "12abc", "7.5", " 7.5 ", "nan", "1e999", "9" * 400, "\N{DEGREE SIGN}C"),
    *(b"\xff\x00", b"2.5", b""),
)


@dataclass(frozen=True)
class Everything:
    """All rows as they are."""

    def select(self, batch: Any) -> Any:
        return batch


@dataclass(frozen=True)
class Large:
    """Rows above the middle of the first column."""

    def select(self, batch: Any) -> Any:
        return batch[batch[:, 0] > 240]


@dataclass(frozen=True)
class Total:
    """Sums of the first column times the second, in whole numbers of any length."""

    def zero(self) -> int:
        return 0

    def partial(self, batch: Any) -> int:
        return sum(int(a) * int(b) for a, b in batch.tolist())

    def merge(self, left: int, right: int) -> int:
        return left + right


@dataclass(frozen=True)
class Longest:
    """How many records a batch has, at most."""

    def zero(self) -> int:
        return 0

    def partial(self, batch: Any) -> int:
        return len(batch)

    def merge(self, left: int, right: int) -> int:
        return max(left, right)


def conforms(make: Callable[[Rows, Encoding], Any], cells: Sequence[Any] = CELLS) -> None:
    """Attack a source: ``make`` stores rows of two columns, a and b, and opens them.

    ``cells`` are what a column of it can hold.
    """
    rng = np.random.default_rng(0)
    plain: Rows = [tuple(row) for row in rng.normal([60, 0], [50, 3], (500, 2)).tolist()]
    hostile: Rows = [(cell, 1.5) for cell in cells] + [(30.0, cell) for cell in cells]
    long: Rows = [tuple(row) for row in rng.uniform(-3, 4, (BATCH_RECORDS + 3, 2)).tolist()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning that a record provokes is an output
        for rows in ([], plain, plain + hostile, hostile[::-1]):
            _alike(make(rows, RULE), rows)
            if rows:
                _alike(make(rows[-1:], RULE), rows[-1:])
        many = make(long, RULE)
        assert many.count() == len(long)
        assert many.reduce(Longest()) <= BATCH_RECORDS
        assert many.sums() == open_source(long, _unnamed()).sums()


def _alike(source: Any, rows: Rows) -> None:
    """The same whole numbers, as often as one asks."""
    expected = open_source(rows, _unnamed())
    all_rows = expected.collect(Everything())
    for _ in range(2):
        assert source.count() == len(rows)
        found = source.collect(Everything())
        assert found.dtype == np.float64
        assert found.shape == (len(rows), 2)
        assert (found == all_rows).all()
        assert ((found >= 0) & (found <= RULE.last) & (found == np.floor(found))).all()
        assert source.reduce(Total()) == expected.reduce(Total())
        assert source.sums() == expected.sums()
        assert (source.collect(Large()) == expected.collect(Large())).all()
    source.prepare_sums(len(rows))
    assert source.sums() == expected.sums()


def _unnamed() -> Encoding:
    """The same rule for rows without names."""
    bounds = bounds_of(([0, -3], [120, 4]))
    return encoding_of(bounds, granularity=["1/4", "1/10"], missing=[60, "1/2"], bits=20)
