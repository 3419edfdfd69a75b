"""Columns of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kng.core.errors import SpecError
from kng.core.exact import show
from kng.data.engine import Column, Floats, Kind
from kng.data.kinds.declared import Asks, refused, stated_bounds, stated_step

if TYPE_CHECKING:
    import pyarrow as pa

_REMEDIES = {
    Kind.TEXT: "Declare it as a category with its levels, or as a boolean or a date.",
    Kind.DATE: "Declare it as a date.",
    Kind.OTHER: "Choose a column of numbers.",
}


@dataclass(frozen=True, slots=True)
class Number:
    """A column of numbers; cells that are not numbers are missing.

    Parameters
    ----------
    bounds : (low, high), optional
        Public range. Numbers outside are clipped.
    step : number, optional
        Public step of the data, such as 1 for whole years.
    """

    bounds: Any = None
    step: Any = None
    kind: ClassVar[str] = "number"
    levels: ClassVar[None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", stated_bounds(self.bounds))
        object.__setattr__(self, "step", stated_step(self.step))
        if self.bounds and self.step and self.step > self.bounds[1] - self.bounds[0]:
            raise SpecError(f"step {show(self.step)} is larger than the range of the bounds.")

    def asks(self, column: Column, called: str) -> Asks:
        """Ask for numbers; refuse text and dates."""
        if column.kind in _REMEDIES:
            raise refused(column, called, self.kind, _REMEDIES[column.kind])
        return Asks(numbers=True)

    def floats(self, numbers: Floats | None, texts: pa.BinaryArray | None) -> Floats:  # noqa: ARG002
        """Return the numbers."""
        assert numbers is not None  # as `asks` says
        return numbers
