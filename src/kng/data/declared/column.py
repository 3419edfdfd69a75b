"""What is declared of a column, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KINDS = ("number", "boolean", "date", "category")


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """Public facts about a column, stated by the holder of the table; None is not stated.

    Attributes
    ----------
    kind : {"number", "boolean", "date", "category"}
    bounds : (low, high) or None
        Public range of a cell, for numbers and dates.
    step : number or None
        Public step of the cells, such as 0.01 for cents.
    levels : tuple or None
        The levels of a category; of a boolean the words for false and true.
    reference : level or None
        The level that effects of the others are measured from.
    other : level or None
        The level that any cell counts as that is none of the levels.
    """

    kind: str = "number"
    bounds: tuple[Any, Any] | None = None
    step: Any = None
    levels: tuple[Any, ...] | None = None
    reference: Any = None
    other: Any = None
