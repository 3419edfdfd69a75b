"""Columns of dates: days or seconds since the beginning of 1970."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kng.core.dates import DAY, seconds_of, stated_seconds
from kng.core.errors import SpecError, SpecTypeError
from kng.core.exact import show
from kng.data.engine import Column, Floats, Kind
from kng.data.kinds.declared import Asks, refused, stated_bounds, stated_step

if TYPE_CHECKING:
    import pyarrow as pa

_UNITS = ("days", "seconds")


@dataclass(frozen=True, slots=True)
class Date:
    """A column of dates, as whole days or as seconds since the beginning of 1970 (UTC).

    Types of dates and times are read as they are, text in ISO 8601: ``2024-01-31`` or
    ``2024-01-31T12:30:00``. In days the time of day is left out. Any other cell is missing.

    Parameters
    ----------
    unit : {"days", "seconds"}
    bounds : (low, high), optional
        Public range: dates, text in ISO 8601, or numbers in the unit.
    step : number, optional
        Public step in the unit; 1 unless given.
    """

    unit: str = "days"
    bounds: Any = None
    step: Any = 1
    kind: ClassVar[str] = "date"
    levels: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.unit not in _UNITS:
            raise SpecError(f"unit of a date must be 'days' or 'seconds', got {self.unit!r}.")
        object.__setattr__(self, "bounds", stated_bounds(self._numbers(self.bounds)))
        object.__setattr__(self, "step", stated_step(1 if self.step is None else self.step))
        if self.bounds and self.step > self.bounds[1] - self.bounds[0]:
            raise SpecError(f"step {show(self.step)} is larger than the range of the bounds.")

    def _numbers(self, pair: Any) -> Any:
        """Return bounds with dates replaced by numbers in the unit."""
        if not isinstance(pair, tuple | list | np.ndarray):
            return pair
        return tuple(self.number(end) for end in pair)

    def number(self, stated: Any) -> Any:
        """Return a public date in the unit; a number stays as it is."""
        seconds = stated_seconds(stated)
        if seconds is None:
            if isinstance(stated, str) and "-" in stated.strip()[1:]:
                raise SpecTypeError(
                    f"{stated!r} is not a date. Write it as in '2024-01-31', or "
                    "'2024-01-31T12:30:00'."
                )
            return stated
        return seconds if self.unit == "seconds" else Fraction(seconds // DAY)

    def asks(self, column: Column, called: str) -> Asks:
        """Ask for numbers where the type is a date, for text where it is text or nothing."""
        if column.kind in (Kind.NUMBER, Kind.BOOLEAN, Kind.OTHER):
            remedy = "Declare it as a number." if column.kind is Kind.NUMBER else "Choose another."
            raise refused(column, called, self.kind, remedy)
        return Asks(numbers=column.kind is Kind.DATE, texts=column.kind is not Kind.DATE)

    def floats(self, numbers: Floats | None, texts: pa.BinaryArray | None) -> Floats:
        """Return days or seconds; engines give dates as seconds."""
        seconds = numbers if numbers is not None else _read(texts)
        return np.floor(seconds / DAY) if self.unit == "days" else seconds


def _read(texts: pa.BinaryArray | None) -> Floats:
    """Read texts as seconds, each different one once."""
    assert texts is not None  # as `asks` says
    coded = texts.dictionary_encode()
    known = [_seconds(text) for text in coded.dictionary.to_pylist()]
    codes = coded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    return np.asarray(np.array([*known, np.nan])[codes], np.float64)


def _seconds(text: bytes) -> float:
    """Return one date as the nearest float64, NaN if it is none."""
    if not text.isascii():
        return np.nan
    seconds = seconds_of(text.decode())
    return np.nan if seconds is None else float(seconds)
