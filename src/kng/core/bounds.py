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
        if not self.low or len(self.low) != len(self.high):
            raise SpecError(
                f"bounds need one low and one high end per column, got {len(self.low)} and "
                f"{len(self.high)}."
            )
        for low, high in zip(self.low, self.high, strict=True):
            if low >= high:
                raise SpecError(
                    f"bounds must satisfy low < high, got ({show(low)}, {show(high)}). "
                    "State the public range of a record, as in bounds=(0, 100)."
                )

    @property
    def width(self) -> tuple[Fraction, ...]:
        """Length of each side."""
        return tuple(high - low for low, high in zip(self.low, self.high, strict=True))

    def __len__(self) -> int:
        return len(self.low)


def bounds_of(value: Any) -> Bounds:
    """Read bounds as a pair of numbers, a pair of arrays, or ``{column: (low, high)}``."""
    if value is None:
        raise SpecError(
            "bounds are missing. They are public facts about a record and are never read from "
            "the data; state them, as in bounds=(0, 100)."
        )
    if isinstance(value, Bounds):
        return value
    if isinstance(value, Mapping):
        if not value:
            raise SpecError("bounds name no column; give {column: (low, high)}.")
        pairs = [_pair(pair, f"bounds[{name!r}]") for name, pair in value.items()]
        ends = [(exact(a, "bounds low"), exact(b, "bounds high")) for a, b in pairs]
        names = tuple(str(name) for name in value)
        return Bounds(tuple(a for a, _ in ends), tuple(b for _, b in ends), names)
    low, high = _pair(value, "bounds")
    return Bounds(_ends(low, "bounds low"), _ends(high, "bounds high"))


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        raise SpecTypeError(
            f"{name} must be a pair (low, high), got {type(value).__name__}. "
            "For example bounds=(0, 100)."
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
