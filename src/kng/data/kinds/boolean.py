"""Columns of booleans: 1 for yes, 0 for no."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kng.core.errors import SpecError
from kng.data.engine import Column, Floats, Kind
from kng.data.kinds.declared import Asks, Ends, refused

if TYPE_CHECKING:
    import pyarrow as pa

_YES, _NO = ("true", "True", "TRUE"), ("false", "False", "FALSE")
_DATES = (Kind.DATE, Kind.OTHER)


@dataclass(frozen=True, slots=True)
class Boolean:
    """A column of booleans: True and False, true and false, 1 and 0; or the stated words.

    Parameters
    ----------
    yes, no : str or number, or a list of them, optional
        What stands for yes and for no in place of the usual: ``Boolean(yes="J", no="N")``,
        ``Boolean(yes=["yes", "y"], no=["no", "n"])``, ``Boolean(yes=1, no=2)``. Any other cell is
        missing.
    """

    yes: Any = None
    no: Any = None
    kind: ClassVar[str] = "boolean"
    levels: ClassVar[None] = None
    bounds: ClassVar[Ends] = (Fraction(0), Fraction(1))
    step: ClassVar[Fraction] = Fraction(1)

    def __post_init__(self) -> None:
        if (self.yes is None) != (self.no is None):
            raise SpecError("Give both yes and no, as in Boolean(yes='J', no='N'), or neither.")
        if self.yes is None:
            return
        yes, no = _listed("yes", self.yes), _listed("no", self.no)
        both = [word for word in yes if word in no]
        if both:
            raise SpecError(f"{both[0]!r} stands for yes and for no; it can be one of them.")
        object.__setattr__(self, "yes", yes)
        object.__setattr__(self, "no", no)

    def asks(self, column: Column, called: str) -> Asks:
        """Ask for numbers where the type has numbers, else for both."""
        if column.kind in _DATES:
            raise refused(column, called, self.kind, "Choose another column.")
        typed = column.kind in (Kind.NUMBER, Kind.BOOLEAN)
        if typed and self.yes is not None and not any(isinstance(w, float) for w in self._words):
            raise refused(
                column, called, self.kind, "Its cells are no words: give yes and no as numbers."
            )
        return Asks(numbers=True, texts=not typed)

    def floats(self, numbers: Floats | None, texts: pa.BinaryArray | None) -> Floats:
        """Return 1, 0, or NaN."""
        assert numbers is not None  # as `asks` says
        yes, no = (_YES, _NO) if self.yes is None else (self.yes, self.no)
        ones = [1.0] if self.yes is None else [w for w in yes if isinstance(w, float)]
        zeros = [0.0] if self.yes is None else [w for w in no if isinstance(w, float)]
        found = np.full(len(numbers), np.nan)
        found[np.isin(numbers, zeros)] = 0.0
        found[np.isin(numbers, ones)] = 1.0
        if texts is not None:
            # Imported here: Arrow takes longer to load than a median takes to draw.
            import pyarrow as pa
            import pyarrow.compute as pc

            for value, words in ((0.0, no), (1.0, yes)):
                spelled = [word.encode() for word in words if isinstance(word, str)]
                held = pc.is_in(texts, value_set=pa.array(spelled, texts.type))
                found[np.asarray(held)] = value
        return found

    @property
    def _words(self) -> tuple[str | float, ...]:
        return (*self.yes, *self.no)


def _listed(name: str, value: Any) -> tuple[str | float, ...]:
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes)
    words = list(value) if several else [value]
    found: list[str | float] = []
    for word in words:
        if isinstance(word, str) and word.strip() and word.isprintable():
            found.append(word.strip())
        elif isinstance(word, int | float | np.number) and np.isfinite(word):
            found.append(float(word))
        else:
            raise SpecError(f"{name} must be words or numbers, as in {name}='J'; got {word!r}.")
    if not found:
        raise SpecError(f"{name} names nothing; give at least one word or number.")
    return tuple(found)
