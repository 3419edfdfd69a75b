"""Columns of categories: levels that are declared, and never learned from the data.

sex[Male] = 1 where the cell is the level Male, else 0      for each level but the reference

A cell that is no level is missing, or counts as the level that is declared for all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kng.core.errors import SpecError
from kng.core.exact import exact, show
from kng.core.naming import argument
from kng.data.engine import Column, Floats, Kind
from kng.data.kinds.declared import Asks, Ends, refused

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Category:
    """A column of categories with declared levels.

    Parameters
    ----------
    levels : list of str, or list of numbers
        All levels that count, each once. A cell that is none of them is missing.
    reference : str or number, optional
        The level that the others are compared with; the first one unless given.
    other : str or number, optional
        The level that any other cell counts as: one of the levels, or a further one. Empty cells
        stay missing.
    """

    levels: Any
    reference: Any = None
    other: Any = None
    # What cells are compared with, and what all levels are called, that of other cells included.
    cells: tuple[str, ...] | tuple[float, ...] = field(init=False, repr=False)
    names: tuple[str, ...] = field(init=False, repr=False)
    kind: ClassVar[str] = "category"
    bounds: ClassVar[Ends] = (Fraction(0), Fraction(1))
    step: ClassVar[Fraction] = Fraction(1)

    def __post_init__(self) -> None:
        levels = _listed(self.levels)
        cells = _cells(levels)
        names = [_name(level) for level in levels]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise SpecError(f"levels name {twice[0]!r} twice. Name each level once.")
        if self.other is not None and _name(self.other) not in names:
            names.append(_name(self.other))
        if len(names) < 2:
            raise SpecError(
                f"{argument('levels')} must be two or more, got {len(names)}. Name all levels that "
                f"there could be, as in {argument('levels', ['Female', 'Male'])}."
            )
        if self.reference is not None and _name(self.reference) not in names:
            raise SpecError(
                f"reference {self.reference!r} is not among the levels "
                f"({', '.join(map(repr, names))})."
            )
        for name, value in {"levels": tuple(levels), "cells": cells, "names": tuple(names)}.items():
            object.__setattr__(self, name, value)

    @property
    def text(self) -> bool:
        """Whether levels are text."""
        return isinstance(self.cells[0], str)

    @property
    def base(self) -> int:
        """The position of the reference level."""
        return 0 if self.reference is None else self.names.index(_name(self.reference))

    def asks(self, column: Column, called: str) -> Asks:
        """Ask for text or numbers, as the levels are."""
        if column.kind in (Kind.DATE, Kind.OTHER):
            raise refused(column, called, self.kind, "Choose another column.")
        if self.text and column.kind in (Kind.NUMBER, Kind.BOOLEAN):
            raise refused(column, called, self.kind, "Give the levels as numbers.")
        if not self.text and column.kind is Kind.TEXT:
            raise refused(column, called, self.kind, "Give the levels as text.")
        return Asks(numbers=not self.text, texts=self.text)

    def floats(self, numbers: Floats | None, texts: pa.BinaryArray | None) -> Floats:
        """Return the position of each cell's level, NaN where it is missing."""
        unknown = np.nan if self.other is None else float(self.names.index(_name(self.other)))
        if self.text:
            return self._spelled(texts, unknown)
        assert numbers is not None  # as `asks` says
        found = np.where(np.isnan(numbers), np.nan, unknown)
        for code, level in enumerate(self.cells):
            found[numbers == level] = code
        return found

    def _spelled(self, texts: pa.BinaryArray | None, unknown: float) -> Floats:
        assert texts is not None  # as `asks` says
        # Imported here: Arrow takes longer to load than a median takes to draw.
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array([str(level).encode() for level in self.cells], texts.type)
        codes = pc.index_in(texts, value_set=known).cast(pa.float64())
        found = codes.fill_null(np.nan).to_numpy(zero_copy_only=False)
        there = np.asarray(pc.fill_null(pc.greater(pc.binary_length(texts), 0), False))
        return np.where(np.isnan(found) & there, unknown, found)

    def indicator(self, codes: Floats, level: int) -> Floats:
        """Return 1 for the records of a level, 0 for those of others, NaN for missing ones."""
        return np.where(np.isnan(codes), np.nan, codes == level)

    @property
    def indicators(self) -> tuple[int, ...]:
        """The positions of all levels but the reference."""
        return tuple(level for level in range(len(self.names)) if level != self.base)


def _listed(levels: Any) -> list[Any]:
    if isinstance(levels, str | bytes | Mapping) or not isinstance(levels, Iterable):
        raise SpecError(
            f"{argument('levels')} must be a list, as in {argument('levels', ['Female', 'Male'])}; "
            f"got {levels!r}."
        )
    return [level.item() if isinstance(level, np.generic) else level for level in levels]


def _cells(levels: list[Any]) -> tuple[str, ...] | tuple[float, ...]:
    """Return what cells are compared with: all text, or all numbers."""
    if levels and all(isinstance(level, str) for level in levels):
        for level in levels:
            if not level.strip():
                raise SpecError("levels name an empty text, which is a missing cell. Leave it out.")
            if any("\ud800" <= sign <= "\udfff" for sign in level):
                raise SpecError("levels hold half of a character (a lone surrogate).")
        return tuple(level.strip() for level in levels)
    if not levels or not all(isinstance(v, Real) and not isinstance(v, bool) for v in levels):
        raise SpecError(
            f"{argument('levels')} must all be text or all be numbers, got {levels!r}. A column of "
            "True and False is a Boolean."
        )
    return tuple(float(exact(level, "levels")) for level in levels)


def _name(level: Any) -> str:
    """Return what a level is called."""
    return level.strip() if isinstance(level, str) else show(exact(level, "levels"))
