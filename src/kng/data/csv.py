"""Records in a CSV file, read as a stream."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from threading import Lock

import numpy as np

from kng.core.encoding import BATCH_RECORDS, Encoding
from kng.core.errors import SchemaError
from kng.data.ingest import Floats, Ingest, number, numbers, prepare
from kng.data.source import Batches, BatchSource

_LONGEST_HEADER = 2**16
# Held while the module's one limit on the length of a cell is lifted.
_LIMIT = Lock()


class CsvSource(BatchSource):
    """One record a row, columns named by the first row.

    ``columns`` are those of the encoding, in its order; its bounds may name them instead. Opening
    reads the header only. Blank lines are not records; a row that ends early is missing what it
    lacks; bytes that are not UTF-8 are not numbers. A quote that is not closed takes the rows after
    it into its own record, which no epsilon covers (docs/threat-model.md, "Data sources").
    """

    def __init__(
        self, path: str | Path, encoding: Encoding, columns: Sequence[str] | None = None
    ) -> None:
        self._path, self._encoding = Path(path), encoding
        header = header_of(self._path)
        names = encoding.bounds.columns if columns is None else tuple(columns)
        if names is None:
            if len(header) != len(encoding.step):
                raise SchemaError(
                    f"{self._path.name} has {len(header)} columns ({', '.join(header)}), the "
                    f"bounds describe {len(encoding.step)}. Name the columns to use, as in "
                    f"bounds={{{header[0]!r}: (0, 100)}}."
                )
            names = tuple(header)
        absent = [name for name in names if name not in header]
        if absent:
            raise SchemaError(
                f"{self._path.name} has no column named {absent[0]!r}; it has "
                f"{', '.join(map(repr, header))}."
            )
        if any(header.count(name) > 1 for name in names):
            raise SchemaError(
                f"{self._path.name} has two columns of the same name; rename one of them."
            )
        self._positions = [header.index(name) for name in names]
        prepare(encoding)

    def count(self) -> int:
        """Return the number of records, by reading the file once."""
        return sum(len(rows) for rows in self._parts())

    def batches(self) -> Batches:
        """Yield the records as integers."""
        ingest = Ingest(self._encoding)
        for part in self._parts():
            yield ingest(self._table(part, self._positions))

    @staticmethod
    def _table(part: list[list[str]], positions: Sequence[int]) -> Floats:
        """Return columns of some rows as numbers."""
        return np.column_stack(
            [numbers(row[at] if at < len(row) else None for row in part) for at in positions]
        )

    def _parts(self) -> Iterator[list[list[str]]]:
        """Yield the rows in batches."""
        with self._path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            file.readline()
            rows = (row for row in csv.reader(file) if row)
            while part := _whole(rows):
                yield part


def _whole(rows: Iterator[list[str]]) -> list[list[str]]:
    """Take one batch of rows, however long their cells are.

    The default limit on a cell's length raises on content. There is one for all readers of the
    process, so it is put back before anyone else reads.
    """
    with _LIMIT:
        former = csv.field_size_limit(sys.maxsize)
        try:
            return list(islice(rows, BATCH_RECORDS))
        finally:
            csv.field_size_limit(former)


def header_of(path: Path) -> list[str]:
    """Read the column names: the first line of the file, and never more than that.

    A first line that holds a number, or a quote that is not closed, is not a header. It is then
    not repeated in the message, because it may be a record.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            line = file.readline(_LONGEST_HEADER)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise SchemaError(f"cannot read {str(path)!r}: {reason}. Check the path.") from None
    try:
        names = [name.strip() for name in next(csv.reader([line], strict=True), [])]
    except csv.Error:
        names = []
    if not any(names) or any(np.isfinite(number(name)) for name in names):
        raise SchemaError(
            f"the first line of {path.name} does not name columns. Put the column names there, "
            "separated by commas."
        )
    return names
