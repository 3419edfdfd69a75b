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

# For more classes than this a table is quicker than comparing with each; up to this length.
_FEW, _SPAN = 4, 2**16


@dataclass(frozen=True, slots=True)
class Labels:
    """The classes, all of them numbers, or text, or True and False, each once."""

    classes: tuple[float, ...] | tuple[str, ...]

    @property
    def text(self) -> bool:
        """Whether labels are text."""
        return isinstance(self.classes[0], str)

    @property
    def truths(self) -> bool:
        """Whether labels are True and False."""
        return isinstance(self.classes[0], bool)

    @property
    def texts(self) -> tuple[str, ...]:
        """The classes as text."""
        return tuple(map(str, self.classes))

    def load(self) -> None:
        """Load what comparing texts needs, by comparing none; before anything is charged."""
        if self.text:
            import pyarrow as pa

            none = pa.array([], pa.binary())
            self.codes_of_text(none)
            self.codes_of_text(none.dictionary_encode())

    def codes_of_numbers(self, cells: Floats) -> Floats:
        """Return the position of each label; that of what is no class is their number."""
        none = float(len(self.classes))
        if len(self.classes) > _FEW and (table := self._table()) is not None:
            low, codes = table
            # What lies outside, is missing or is no whole number is looked up in the last place.
            with np.errstate(invalid="ignore"):
                at = cells.astype(np.int64)
            known = at == cells
            at -= low
            known &= at.view(np.uint64) < len(codes) - 1
            at[~known] = len(codes) - 1
            return codes[at]
        found = np.full(len(cells), none)
        for code, label in enumerate(self.classes):
            found[cells == label] = code
        return found

    def _table(self) -> tuple[int, Floats] | None:
        """Return the least class and the codes of all whole numbers from there on.

        None where a class is no whole number, or they lie too far apart.
        """
        numbers = [float(label) for label in self.classes]
        low, high = min(numbers), max(numbers)
        if high - low > _SPAN or abs(low) > _SPAN or any(v != int(v) for v in numbers):
            return None
        codes = np.full(int(high - low) + 2, float(len(numbers)))
        for code, number in enumerate(numbers):
            codes[int(number - low)] = code
        return int(low), codes

    def codes_of_text(self, cells: pa.BinaryArray | pa.DictionaryArray) -> Floats:
        """Return the same for text, as bytes without spaces around it."""
        # Imported here: Arrow takes longer to load than a median takes to draw.
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_dictionary(cells.type):
            codes = np.append(self.codes_of_text(cells.dictionary), len(self.classes))
            at = cells.indices.fill_null(len(cells.dictionary)).to_numpy(zero_copy_only=False)
            return np.asarray(codes[at])
        known = pa.array([text.encode() for text in self.texts], cells.type)
        codes = pc.index_in(cells, value_set=known)
        return np.asarray(
            codes.fill_null(len(self.classes)).to_numpy(zero_copy_only=False), np.float64
        )
