"""Columns that nothing declares: whether a cell is there, whatever it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from kng.data.engine import Column, Floats
from kng.data.kinds.declared import Asks, Ends

if TYPE_CHECKING:
    import pyarrow as pa

# What programs write for a missing cell.
_NOTHING = (
    *("", "NA", "na", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN"),
    *("NULL", "null", "Null", "None", "none", "NONE"),
)


@dataclass(frozen=True, slots=True)
class Untyped:
    """A column of numbers or texts: a cell is missing if it is empty, or NA, NaN, NULL or None."""

    kind: ClassVar[str] = "cells"
    levels: ClassVar[None] = None
    bounds: ClassVar[Ends | None] = None
    step: ClassVar[None] = None

    def asks(self, column: Column, called: str) -> Asks:  # noqa: ARG002
        """Ask for both."""
        return Asks(numbers=True, texts=True)

    def floats(self, numbers: Floats | None, texts: pa.BinaryArray | None) -> Floats:
        """Return 0 where a cell is there, else NaN."""
        assert numbers is not None  # as `asks` says
        assert texts is not None
        # Imported here: Arrow takes longer to load than a median takes to draw.
        import pyarrow as pa
        import pyarrow.compute as pc

        nothing = pa.array([word.encode() for word in _NOTHING], texts.type)
        missing = np.asarray(pc.is_in(texts, value_set=nothing)) | np.asarray(texts.is_null())
        return np.where(missing & np.isnan(numbers), np.nan, 0.0)
