"""Columns of CSV files, read in blocks: the same records on every pass, and as many as counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from kng.core.encoding import BATCH_RECORDS
from kng.core.errors import SchemaError
from kng.core.privacy import Assumption
from kng.data.text.csv_format import CsvFormat
from kng.data.text.csv_header import header_names, separator_advice
from kng.data.text.number_columns import Bytes, Floats, NumberColumns, Places
from kng.data.text.text_files import BROKEN, Address, Stamp, TextFile, files_of, unreadable
from kng.data.text.text_lines import count_lines, first_line, whole_lines, without_first_line
from kng.data.text.transcoding import transcoder

if TYPE_CHECKING:
    import pyarrow as pa

# Bytes of text that are read at a time.
BLOCK = 2**20
# A text that is longer is missing: together with one block of others it fits into 32-bit offsets.
LONGEST_TEXT = 2**30

Blocks = Iterator[tuple[list[Floats], list["pa.BinaryArray"]]]


class CsvFiles:
    """Files of one format and one header, read as one table.

    Opening reads the first lines only. A pipe and standard input are read to their end then, and
    kept in memory.

    Parameters
    ----------
    address : str, Path or a list of them
        A path, a pattern such as "claims/*.csv", or "-" for standard input. What ends in .gz, .zst
        or .bz2 is decompressed.
    form : CsvFormat
        How the files are written.
    block : int
        Bytes of text to read at a time. Results do not depend on it.
    """

    def __init__(
        self, address: Address, form: CsvFormat | None = None, *, block: int = BLOCK
    ) -> None:
        self._form = CsvFormat() if form is None else form
        self._block = block
        self._decoded = transcoder(self._form.encoding, self._form.end)
        self._numbers = NumberColumns(self._form.numbers)
        self._files = files_of(address)
        self._whole = not any(file.compressed for file in self._files)
        self._line, *others = (self._first_line(file) for file in self._files)
        self._columns = header_names(self._line, self.name, self._form)
        for file, line in zip(self._files[1:], others, strict=True):
            names = header_names(line, file.name, self._form)
            if names != self._columns:
                raise SchemaError(
                    f"{file.name} has other columns ({', '.join(names)}) than {self.name} "
                    f"({', '.join(self._columns)}). Files that are read together must have the "
                    "same first line."
                )

    @property
    def name(self) -> str:
        """What messages call the first file."""
        return self._files[0].name

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What a release from these files takes for granted."""
        return self._form.assumptions

    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns, in their order."""
        return self._columns

    def advice(self, wanted: Sequence[str] = ()) -> str:
        """Return a sentence about separators if the header looks like one of another kind."""
        return separator_advice(self._line, wanted, self._columns, self._form.separator)

    def stamp(self) -> tuple[Stamp, ...]:
        """Return what tells whether the files are still the same."""
        return tuple(file.stamp() for file in self._files)

    def prepare(self, numbers: Sequence[str], texts: Sequence[str]) -> None:
        """Check that the columns are there, and load what reads them, before the charge."""
        wanted = [*numbers, *texts]
        absent = [name for name in wanted if name not in self._columns]
        if absent:
            raise SchemaError(
                f"{self.name} has no column named {absent[0]!r}; it has "
                f"{', '.join(map(repr, self._columns))}.{self.advice(wanted)}"
            )
        if any(self._columns.count(name) > 1 for name in wanted):
            raise SchemaError(f"{self.name} has two columns of the same name; rename one of them.")
        from kng.core.compiled import load
        from kng.data.text.csv_cells import copy_texts, locate

        load(locate, copy_texts)
        self._numbers.prepare()
        if self._form.rows == "quoted":
            from kng.data.text.csv_quotes import join_lines

            load(join_lines)
        if texts:
            import pyarrow  # noqa: F401
        self._require_whole()

    def count(self) -> int:
        """Return the number of records, by reading the files once."""
        if self._form.rows == "quoted":
            self.prepare((), ())
        try:
            return sum(count_lines(text, self._form.end) for text in self._texts())
        except OSError as error:
            reason = error.strerror or BROKEN
            raise SchemaError(
                f"{self.name} cannot be read to its end: {reason}. Check the files."
            ) from None

    def blocks(self, numbers: Sequence[str], texts: Sequence[str]) -> Blocks:
        """Yield the columns of some records after the other, at most 2^17 at a time.

        Parameters
        ----------
        numbers : sequence of str
            Columns to read as float64; what is no number, and a cell that is not there, is NaN.
        texts : sequence of str
            Columns to return as Arrow arrays of bytes, in UTF-8 if the encoding is known: the text
            of a cell without quotes and without white space around it, null if it is not there.
        """
        self.prepare(numbers, texts)
        return self._read(list(numbers), list(texts))

    def _read(self, numbers: list[str], texts: list[str]) -> Blocks:
        from kng.data.text.csv_cells import locate

        wanted = list(dict.fromkeys([*numbers, *texts]))
        at = [self._columns.index(name) for name in wanted]
        places = np.full(max(at, default=-1) + 1, -1, dtype=np.int64)
        places[at] = np.arange(len(at))
        starts = np.empty((len(wanted), BATCH_RECORDS), dtype=np.int64)
        ends = np.empty_like(starts)
        end, separator = np.uint8(self._form.end[0]), np.uint8(ord(self._form.separator))
        for text in self._texts():
            data = np.frombuffer(text, dtype=np.uint8)
            first = 0
            while first < len(data):
                # Lines that begin within a block's length: then only the last one may be longer.
                stop = min(first + self._block, len(data))
                records, first = locate(data, first, stop, end, separator, places, starts, ends)
                if not records:
                    continue
                cells = {
                    name: (data, starts[row, :records], ends[row, :records])
                    for row, name in enumerate(wanted)
                }
                yield (
                    [self._floats(*cells[name]) for name in numbers],
                    [_array(*cells[name]) for name in texts],
                )

    def _floats(self, data: Bytes, starts: Places, ends: Places) -> Floats:
        """Return the numbers in cells; those with quotes in them are copied without them first."""
        from kng.data.text.csv_cells import LACKING

        found = self._numbers.cells(data, starts, ends)
        quotes = np.flatnonzero(ends < LACKING)
        if len(quotes):
            text, offsets, _ = _copied(data, starts[quotes], ends[quotes])
            places = offsets.astype(np.int64)
            found[quotes] = self._numbers.cells(text, places[:-1], places[1:])
        return found

    def _texts(self) -> Iterator[bytes]:
        """Yield what follows the first lines, in blocks of whole lines."""
        return chain.from_iterable(map(self._text, self._files))

    def _text(self, file: TextFile) -> Iterator[bytes]:
        end = self._form.end
        pieces = without_first_line(self._decoded(file.pieces(self._block)), end)
        if self._form.rows == "quoted":
            from kng.data.text.csv_quotes import joined

            pieces = joined(pieces, end, self._form.separator)
        return whole_lines(pieces, end)

    def _require_whole(self) -> None:
        """Decompress what is compressed, once: only that tells whether it is cut or broken.

        Nothing is kept of it, and no record can break a file.
        """
        for file in () if self._whole else self._files:
            try:
                for _ in file.pieces(self._block) if file.compressed else ():
                    pass
            except OSError as error:
                raise unreadable(file.path, error) from None
        self._whole = True

    def _first_line(self, file: TextFile) -> bytes:
        try:
            return first_line(self._decoded(file.pieces(self._block)), self._form.end)
        except (OSError, ValueError) as error:
            raise unreadable(file.path, error) from None


def _copied(data: Bytes, starts: Places, ends: Places) -> tuple[Bytes, Any, Any]:
    """Return the texts of cells one after the other, where each begins, and whether it is there."""
    from kng.data.text.csv_cells import LACKING, copy_texts

    lengths = np.where(ends < LACKING, ~ends, ends) - starts
    out = np.empty(int(lengths.sum()), dtype=np.uint8)
    offsets = np.empty(len(starts) + 1, dtype=np.int32)
    there = np.empty(len(starts), dtype=np.bool_)
    return out[: copy_texts(data, starts, ends, LONGEST_TEXT, out, offsets, there)], offsets, there


def _array(data: Bytes, starts: Places, ends: Places) -> pa.BinaryArray:
    """Return the texts of cells as an Arrow array."""
    import pyarrow as pa

    out, offsets, there = _copied(data, starts, ends)
    bits = None if there.all() else pa.py_buffer(np.packbits(there, bitorder="little"))
    buffers = [bits, pa.py_buffer(offsets), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.binary(), len(starts), buffers)
