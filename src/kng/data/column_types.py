"""What the type of a column in memory says: what its cells are, and whether one can be missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kng.data.engine import Kind

_TEXT = ("str", "string")
# By NumPy's letter.
KINDS = {
    **dict.fromkeys("fiu", Kind.NUMBER),
    **dict.fromkeys("UST", Kind.TEXT),
    "b": Kind.BOOLEAN,
    "M": Kind.DATE,
    "m": Kind.OTHER,
}


@dataclass(frozen=True, slots=True)
class Typed:
    """A type that is not NumPy's, such as those of pandas; cells of it can be missing.

    It is asked before its cells become an array: whether that holds whole numbers or objects
    depends on whether a cell is missing.
    """

    kind: Kind
    name: str

    @classmethod
    def of(cls, data: Any) -> Typed | None:
        """Return what the type of a column says; None for NumPy's types and where it has none."""
        if hasattr(data, "to_pylist") and hasattr(data, "type"):  # Arrow's own
            dtype, kind = data.type, _kind_of_arrow(data.type)
        else:
            dtype = getattr(data, "dtype", None)
            if dtype is None or isinstance(dtype, np.dtype):
                return None
            kind = kind_of(dtype)
        return cls(kind, "" if kind is Kind.CELLS else str(dtype))


def kind_of(dtype: Any) -> Kind:
    """Return what a type declares its cells to be; objects and categories declare nothing."""
    if str(dtype) in _TEXT:
        return Kind.TEXT
    arrow = getattr(dtype, "pyarrow_dtype", None)
    if arrow is not None:
        return _kind_of_arrow(arrow)
    return KINDS.get(getattr(dtype, "kind", "O"), Kind.CELLS)


def _kind_of_arrow(arrow: Any) -> Kind:
    # Imported here: it needs Arrow, which a type of its own has loaded.
    from kng.data.arrow_cells import kind_of as kind_of_type

    return kind_of_type(arrow)
