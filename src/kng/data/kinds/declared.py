"""What every declaration of a column answers, and what is refused before the charge."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from kng.core.bounds import bounds_of
from kng.core.errors import SchemaError, SpecError
from kng.core.exact import positive
from kng.data.engine import Column, Floats

if TYPE_CHECKING:
    import pyarrow as pa

Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Asks:
    """How an engine is asked for a column: as numbers, as text, or as both."""

    numbers: bool
    texts: bool = False


class Declared(Protocol):
    """A declared column."""

    kind: ClassVar[str]  # what it is called

    @property
    def bounds(self) -> Ends | None:
        """Between which public ends its numbers lie; None if nobody has stated them."""
        ...

    @property
    def step(self) -> Fraction | None:
        """The public step of its numbers; None if nobody has stated it."""
        ...

    def asks(self, column: Column, called: str) -> Asks:
        """Return how a column is asked for; refuse one that its container declares otherwise.

        ``called`` is what messages call the table. Reads no record.
        """
        ...

    def floats(self, numbers: Floats | None, texts: pa.BinaryArray | None) -> Floats:
        """Return cells as numbers, NaN where they are missing; given what was asked for."""
        ...


def stated_bounds(value: Any, name: str = "bounds") -> Ends | None:
    """Read the bounds of one column."""
    if value is None:
        return None
    found = bounds_of(value, name)
    if len(found) != 1 or found.columns is not None:
        raise SpecError(f"{name} of a column must be one pair (low, high), as in (0, 100).")
    return found.low[0], found.high[0]


def stated_step(value: Any) -> Fraction | None:
    """Read the step of one column."""
    return None if value is None else positive(value, "step")


def refused(column: Column, called: str, kind: str, remedy: str) -> SchemaError:
    """Return the error about a column whose container declares another kind."""
    name = "a column" if column.name is None else f"column {column.name!r}"
    declared = f" ({column.declared})" if column.declared else ""
    return SchemaError(
        f"{name} of {called} is declared as a {kind}, but its type is {column.kind.value}"
        f"{declared}. {remedy}"
    )
