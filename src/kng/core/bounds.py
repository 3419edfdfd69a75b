"""The public box that every record is clipped into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.errors import SpecError, SpecTypeError
from kng.core.exact import exact, show


@dataclass(frozen=True, slots=True)
class Bounds:
    """One ``low < high`` per column, stated by the caller and never read from the data."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check(self.low, self.high, "bounds")

    @property
    def width(self) -> tuple[Fraction, ...]:
        """Length of each side."""
        return tuple(high - low for low, high in zip(self.low, self.high, strict=True))

    def __len__(self) -> int:
        return len(self.low)


def bounds_of(value: Any, name: str = "bounds") -> Bounds:
    """Read bounds as a pair of numbers, a pair of arrays, or ``{column: (low, high)}``.

    ``name`` is the argument's name, for the messages.
    """
    if value is None:
        raise SpecError(
            f"{name} are missing. They are public facts about a record and are never read from "
            f"the data; state them, as in {name}=(0, 100)."
        )
    if isinstance(value, Bounds):
        return value
    if isinstance(value, Mapping):
        if not value:
            raise SpecError(f"{name} name no column; give {{column: (low, high)}}.")
        pairs = [_pair(pair, f"{name}[{column!r}]") for column, pair in value.items()]
        lows = tuple(exact(pair[0], f"{name} low") for pair in pairs)
        highs = tuple(exact(pair[1], f"{name} high") for pair in pairs)
        _check(lows, highs, name)
        return Bounds(lows, highs, tuple(str(column) for column in value))
    low, high = _pair(value, name)
    lows, highs = _ends(low, f"{name} low"), _ends(high, f"{name} high")
    _check(lows, highs, name)
    return Bounds(lows, highs)


def _check(lows: tuple[Fraction, ...], highs: tuple[Fraction, ...], name: str) -> None:
    if not lows or len(lows) != len(highs):
        raise SpecError(
            f"{name} need one low and one high end per column, got {len(lows)} and {len(highs)}."
        )
    for low, high in zip(lows, highs, strict=True):
        if low >= high:
            raise SpecError(
                f"{name} must satisfy low < high, got ({show(low)}, {show(high)}). State the "
                f"public range of a record, as in {name}=(0, 100)."
            )


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        raise SpecTypeError(
            f"{name} must be a pair (low, high), got {type(value).__name__}. For example (0, 100)."
        )
    if len(value) != 2:
        raise SpecError(f"{name} must be a pair (low, high), got {len(value)} values.")
    return value[0], value[1]


def _ends(value: Any, name: str) -> tuple[Fraction, ...]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return tuple(exact(item, name) for item in value)
    return (exact(value, name),)
