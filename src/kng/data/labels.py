"""Labels in place of a response: which declared class each is, or none of them.

    k = position of the label among the classes,     classes -> a label that is none of them

Classes are public. A label is looked at by itself, so neighbouring data stay neighbouring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kng.data.engine import Floats

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Labels:
    """The classes, all of them numbers or all of them text, each once."""

    classes: tuple[float, ...] | tuple[str, ...]

    @property
    def text(self) -> bool:
        """Whether labels are text."""
        return isinstance(self.classes[0], str)

    def codes_of_numbers(self, cells: Floats) -> Floats:
        """Return the position of each label; that of what is no class is their number."""
        found = np.full(len(cells), float(len(self.classes)))
        for code, label in enumerate(self.classes):
            found[cells == label] = code
        return found

    def codes_of_text(self, cells: pa.BinaryArray) -> Floats:
        """Return the same for text, as bytes without spaces around it."""
        # Imported here: Arrow takes longer to load than a median takes to draw.
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array([str(label).encode() for label in self.classes], cells.type)
        codes = pc.index_in(cells, value_set=known)
        return np.asarray(
            codes.fill_null(len(self.classes)).to_numpy(zero_copy_only=False), np.float64
        )
