"""How a record becomes whole numbers: public, and the same for every record.

    k = clamp( round_half_even( (x - low) / step ), 0, last )
    missing -> the record is absent, or a public default

All operations are correctly rounded float64 ones, so every engine that follows this line gets the
same integers. Privacy needs no more than that: the map acts on one record at a time, so
neighbouring data stay neighbouring (`docs/proofs/lemmas/ingestion.md`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.bounds import Bounds
from kng.core.errors import SpecError
from kng.core.exact import exact, positive, show
from kng.core.lattice import Lattice, power_of_two_below
from kng.core.naming import argument

# With at most 2**44 steps, 2**17 records sum to at most 2**61: one batch never overflows an int64,
# and batches are added as Python integers. This is the whole overflow argument, and it is checked
# before the charge.
MOST_STEPS = 2**44
BATCH_RECORDS = 2**17
# What ``missing=`` says of records that are left out.
DROP = "drop"
_NOT_FINITE = ("nan", "inf", "infinity")


@dataclass(frozen=True, slots=True)
class Encoding:
    """Bounds and step of each column, what a missing cell counts as, and the integers they give.

    ``missing`` is None for a column without which a record is absent.
    """

    bounds: Bounds
    step: tuple[Fraction, ...]
    missing: tuple[int | None, ...]
    last: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        # The largest integer of each column: whole steps between the bounds.
        steps = zip(self.bounds.width, self.step, strict=True)
        object.__setattr__(self, "last", tuple(int(width // step) for width, step in steps))

    @property
    def lattice(self) -> Lattice:
        """The lattice that records live on."""
        return Lattice(self.bounds.low, self.step, self.last)

    def __len__(self) -> int:
        return len(self.step)

    def always(self, column: int) -> Encoding:
        """Return the encoding for a column in which no cell can be missing.

        Whatever is not a number there all the same counts as the middle.
        """
        if self.missing[column] is not None:
            return self
        middle = (*self.missing[:column], self.last[column] // 2, *self.missing[column + 1 :])
        return replace(self, missing=middle)

    @property
    def complete(self) -> tuple[int, ...]:
        """The columns without which a record is absent."""
        return tuple(j for j, value in enumerate(self.missing) if value is None)


def encoding_of(bounds: Bounds, *, granularity: Any, missing: Any, bits: int) -> Encoding:
    """Fix the steps and the default of each column from public facts.

    Without a granularity the step is the power of two that cuts a column's range into at least
    2**bits and fewer than 2**(bits + 1) steps; dates have steps of a day. A missing cell makes its
    record absent ("drop"), unless there is a number to take instead.
    """
    if granularity is None:
        step = tuple(
            Fraction(1) if j in bounds.dates else power_of_two_below(width) / 2**bits
            for j, width in enumerate(bounds.width)
        )
    else:
        step = tuple(
            positive(item, "granularity")
            for item in each_column(granularity, "granularity", bounds)
        )
    for size, width in zip(step, bounds.width, strict=True):
        if size > width:
            raise SpecError(
                f"{argument('granularity')} must not exceed the range of the bounds, got "
                f"{show(size)} for a range of {show(width)}."
            )
        if width // size > MOST_STEPS:
            raise SpecError(
                f"{argument('granularity')} {show(size)} cuts the range {show(width)} into more "
                "than 2**44 steps; give a larger granularity."
            )
    instead = each_column(DROP if missing is None else missing, "missing", bounds)
    default = [_instead(item) for item in instead]
    whole: list[int | None] = []
    for value, low, high, size in zip(default, bounds.low, bounds.high, step, strict=True):
        if value is None:
            whole.append(None)
            continue
        if not low <= value <= high:
            raise SpecError(
                f"{argument('missing')} must lie inside the bounds ({show(low)}, {show(high)}), "
                f"got {show(value)}."
            )
        whole.append(min(round((value - low) / size), int((high - low) // size)))
    return Encoding(bounds, step, tuple(whole))


def _instead(item: Any) -> Fraction | None:
    """Read what a missing cell counts as; None if its record is absent."""
    if isinstance(item, str) and item == DROP:
        return None
    if isinstance(item, str) and item.isalpha() and item.lower() not in _NOT_FINITE:
        raise SpecError(
            f"{argument('missing')} must be {DROP!r}, which leaves records out, or a number inside "
            f"the bounds; got {item!r}."
        )
    return exact(item, "missing")


def each_column(value: Any, name: str, bounds: Bounds) -> list[Any]:
    """Spread one number over the columns, or check that there is one per column."""
    columns = len(bounds)
    if isinstance(value, dict):
        named = {str(column): item for column, item in value.items()}
        if bounds.columns is None or set(named) != set(bounds.columns):
            raise SpecError(
                f"{argument(name)} must name the same columns as the bounds, got "
                f"{', '.join(map(repr, value))}."
            )
        return [named[column] for column in bounds.columns]
    if isinstance(value, np.ndarray) and value.ndim:
        value = value.tolist()
    if isinstance(value, list | tuple):
        if len(value) != columns:
            raise SpecError(
                f"{argument(name)} must be one number or one per column ({columns}), got "
                f"{len(value)}."
            )
        return list(value)
    return [value] * columns
