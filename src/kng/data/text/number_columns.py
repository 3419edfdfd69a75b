"""Columns of text as numbers: cells in a buffer, or an Arrow array of text, read where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kng.data.text.notation import PLAIN, Notation

if TYPE_CHECKING:
    import pyarrow as pa

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NumberColumns:
    """Reads numbers of one notation; what is no number is missing, NaN."""

    notation: Notation = PLAIN

    def prepare(self) -> None:
        """Load the compiled loops; called before anything is charged."""
        from kng.core.compiled import load

        load(*(loop for loop, _ in self._loops()))
        self.notation.read(b"")  # what is left undecided is read by a pattern

    def _loops(self) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """Yield the loops of this notation, and what they are told of it."""
        from kng.data.text.text_numbers import numbers_in

        point = np.uint8(self.notation.point)
        yield numbers_in, (point,)
        if not self.notation.plain:
            from kng.data.text.written_numbers import written_in

            yield written_in, (point, *_texts(self.notation.marks), *_texts(self.notation.around))

    def cells(self, data: Bytes, starts: Places, ends: Places) -> Floats:
        """Return the numbers in ``data[starts[i]:ends[i]]``; a cell of no length is missing."""
        (first, facts), *others = self._loops()
        found = self._read(first, facts, data, starts, ends)
        # What is no plain number may be one with marks and symbols.
        for loop, more in others:
            again = np.flatnonzero(np.isnan(found))
            found[again] = self._read(loop, more, data, starts[again], ends[again])
        return found

    def _read(
        self, loop: Any, facts: tuple[Any, ...], data: Bytes, starts: Places, ends: Places
    ) -> Floats:
        """Run a loop, and read what it leaves undecided."""
        found = np.empty(len(starts))
        undecided = np.empty(len(starts), dtype=np.int64)
        many = loop(data, starts, ends, *facts, found, undecided)
        for i in undecided[:many].tolist():
            found[i] = self.notation.read(data[starts[i] : ends[i]].tobytes())
        return found

    def array(self, texts: pa.Array) -> Floats:
        """Return the numbers of an Arrow array of strings or bytes; null is missing."""
        import pyarrow as pa

        wide = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
        _, offsets, data = texts.buffers()
        kind: Any = np.int64 if wide else np.int32
        window = slice(texts.offset, texts.offset + len(texts) + 1)
        places = np.frombuffer(offsets or bytes(8), dtype=kind)[window].astype(np.int64)
        held = np.frombuffer(data or b"", dtype=np.uint8)
        out = self.cells(held, places[:-1], places[1:])
        if texts.null_count:
            out[texts.is_null().to_numpy(zero_copy_only=False)] = np.nan
        return out


def _texts(texts: Sequence[str]) -> tuple[Bytes, Places]:
    """Return texts one after the other, and where each begins."""
    coded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, coded)], dtype=np.int64)
    return np.frombuffer(b"".join(coded), dtype=np.uint8), offsets
