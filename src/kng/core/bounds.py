"""The public box that every record is clipped into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.dates import DAY, stated_seconds
from kng.core.errors import SpecError, SpecTypeError
from kng.core.exact import exact, show
from kng.core.naming import argument


@dataclass(frozen=True, slots=True)
class Bounds:
    """One ``low < high`` per column, stated by the caller and never read from the data.

    ``dates`` are the positions of columns whose bounds are stated as dates: days since 1970.
    """

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    columns: tuple[str, ...] | None = None
    dates: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check(self.low, self.high, "bounds")

    @property
    def width(self) -> tuple[Fraction, ...]:
        """Length of each side."""
        return tuple(high - low for low, high in zip(self.low, self.high, strict=True))

    def __len__(self) -> int:
        return len(self.low)


def bounds_of(value: Any, name: str = "bounds") -> Bounds:
    """Read bounds as (low, high), numbers or one array per end, or ``{column: (low, high)}``.

    A list of pairs, one (low, high) per column, is read as such where it cannot be two ends;
    clipping to the wrong box would be paid for. ``name`` is the argument's name, for the messages.
    """
    if value is None:
        raise SpecError(
            f"{argument(name)} are missing. They are public facts about a record and are never "
            f"read from the data; state them, as in {argument(name, (0, 100))}."
        )
    if isinstance(value, Bounds):
        return value
    if isinstance(value, Mapping):
        if not value:
            raise SpecError(f"{argument(name)} name no column; give {{column: (low, high)}}.")
        pairs = [_pair(pair, f"{name}[{column!r}]") for column, pair in value.items()]
        days = [_days(pair) for pair in pairs]
        known = [pair if found is None else found for pair, found in zip(pairs, days, strict=True)]
        lows = tuple(exact(pair[0], f"{name} low") for pair in known)
        highs = tuple(exact(pair[1], f"{name} high") for pair in known)
        _check(lows, highs, name)
        dates = tuple(at for at, found in enumerate(days) if found is not None)
        return Bounds(lows, highs, _named(value, name), dates)
    low, high = _pair(_turned(value, name), name)
    if (found := _days((low, high))) is not None:
        _check((found[0],), (found[1],), name)
        return Bounds((found[0],), (found[1],), None, (0,))
    lows, highs = _ends(low, f"{name} low"), _ends(high, f"{name} high")
    _check(lows, highs, name)
    return Bounds(lows, highs)


def _days(pair: tuple[Any, Any]) -> tuple[Fraction, Fraction] | None:
    """Return two dates as whole days since the beginning of 1970; None if they are no dates."""
    if not all(isinstance(end, str | date | np.datetime64) for end in pair):
        return None
    low, high = (stated_seconds(end) for end in pair)
    return None if low is None or high is None else (Fraction(low // DAY), Fraction(high // DAY))


def _named(value: Mapping[Any, Any], name: str) -> tuple[str, ...]:
    """Return the columns as text, which is how the data are asked for them."""
    columns = tuple(str(column) for column in value)
    if len(set(columns)) < len(columns):
        raise SpecError(
            f"{argument(name)} name a column twice, once as text and once not; name it once."
        )
    return columns


def _turned(value: Any, name: str) -> Any:
    """Return (lows, highs) for one (low, high) per column; anything else as it is.

    Two lists of two numbers may be either. They are refused where both readings have low < high
    and differ; and a tuple, as (lows, highs) are written, is not read as pairs: one end of it may
    be mistyped. NumPy arrays are always read as (lows, highs).
    """
    if not _plain(value) or not value or not all(_plain(item) and len(item) == 2 for item in value):
        return value
    numbers = [[exact(end, name) for end in item] for item in value]
    if any(low >= high for low, high in numbers):
        return value
    turned = [list(ends) for ends in zip(*numbers, strict=True)]
    if len(numbers) == 2 and turned != numbers and all(a < b for a, b in turned):
        raise SpecError(
            f"{argument(name)} may be (lows, highs) or one (low, high) per column, and both would "
            f"fit. Write {_array(numbers)} if these are lows, then highs, and {_array(turned)} if "
            "they are pairs; or name columns, as in {'age': (0, 120)}."
        )
    if len(numbers) == 2 and turned != numbers and isinstance(value, tuple):
        raise SpecError(
            f"{argument(name)} must be (lows, highs), one array per end and low < high; these fit "
            f"only as one pair per column. Write {_array(turned)}, a list of pairs, or name "
            "columns, as in {'age': (0, 120)}."
        )
    return turned


def _plain(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


def _array(rows: list[list[Fraction]]) -> str:
    """Write lows and highs as they are to be given; the first columns are enough to see how."""
    some = [", ".join([*map(show, row[:3]), *["..."][: len(row) > 3]]) for row in rows]
    return f"np.array([[{'], ['.join(some)}]])"


def _check(lows: tuple[Fraction, ...], highs: tuple[Fraction, ...], name: str) -> None:
    if not lows or len(lows) != len(highs):
        raise SpecError(
            f"{argument(name)} need one low and one high end per column, got {len(lows)} and "
            f"{len(highs)}."
        )
    for low, high in zip(lows, highs, strict=True):
        if low >= high:
            raise SpecError(
                f"{argument(name)} must satisfy low < high, got ({show(low)}, {show(high)}). State "
                f"the public range of a record, as in {argument(name, (0, 100))}."
            )


def _pair(value: Any, name: str) -> tuple[Any, Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
        raise SpecTypeError(
            f"{argument(name)} must be a pair (low, high), got {type(value).__name__}. For example "
            "(0, 100)."
        )
    if isinstance(value, np.ndarray) and value.ndim == 2 and len(value) != 2:
        raise SpecError(
            f"{argument(name)} must be a pair (low, high), numbers or one array per end; got an "
            f"array of shape {value.shape}. Lows come first, then highs: give its transpose, "
            f"{name}.T."
        )
    if len(value) != 2:
        raise SpecError(f"{argument(name)} must be a pair (low, high), got {len(value)} values.")
    return value[0], value[1]


def _ends(value: Any, name: str) -> tuple[Fraction, ...]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if _plain(value):
        return tuple(exact(item, name) for item in value)
    return (exact(value, name),)
