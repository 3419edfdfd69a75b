"""CSV files, read by compiled loops on raw bytes: a line is a record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kng.data.engine import Asked, Block, Blocks, Column, LocalEngine
from kng.data.files import files_of
from kng.data.stamp import ChangedFile
from kng.data.table import Table
from kng.data.text.csv_files import CsvFiles
from kng.data.text.csv_format import CsvFormat
from kng.data.text.notation import Notation

SUFFIXES = (".csv", ".tsv", ".txt")
_FORM = ("separator", "encoding", "rows", "ending")
_NOTATION = ("decimal", "thousands", "symbols")


class CsvEngine(LocalEngine):
    """Files of one format and one header; nothing declares what their cells are."""

    def __init__(self, files: CsvFiles, room: int) -> None:
        self.called, self.room = files.name, room
        self._files, self._stamp = files, files.stamp()
        self.assumptions = files.assumptions

    def columns(self) -> tuple[Column, ...]:
        """Return the names in the first line."""
        return tuple(Column(name) for name in self._files.columns())

    def advice(self, wanted: Sequence[str]) -> str:
        """Return a sentence about separators if the header looks like one of another kind."""
        return self._files.advice(wanted)

    def prepare(self, asked: Asked) -> None:
        """Load the loops that read these columns."""
        self._files.prepare(self._names(asked.numbers), self._names(asked.texts))

    def count(self) -> int:
        """Return the number of records, by reading the files once."""
        self._unchanged()
        return self._files.count()

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in order."""
        self._unchanged()
        wanted = self._names(asked.numbers), self._names(asked.texts)
        for numbers, texts in self._files.blocks(*wanted):
            yield Block([column.reshape(-1, 1) for column in numbers], texts)
        self._unchanged()

    def _names(self, positions: tuple[int, ...]) -> list[str]:
        names = self._files.columns()
        return [names[at] for at in positions]

    def _unchanged(self) -> None:
        if self._files.stamp() != self._stamp:
            raise ChangedFile("A file changed while it was read. Copy it, then read the copy.")


def open_table(table: Table) -> CsvEngine:
    """Open CSV files of one header; reads their first lines."""
    table.refuse("CSV files", takes=(*_FORM, *_NOTATION))
    form, notation = _stated(table, _FORM), _stated(table, _NOTATION)
    if isinstance(table.symbols, str):
        notation["symbols"] = tuple(table.symbols)
    if table.separator is None and str(table.source).lower().endswith(".tsv"):
        form["separator"] = "\t"
    source: Any = table.source
    if source != "-":
        source = [Path(file) for file in files_of(source, SUFFIXES)]
    files = CsvFiles(source, CsvFormat(**form, numbers=Notation(**notation)))
    return CsvEngine(files, table.resources.kept)


def _stated(table: Table, names: Sequence[str]) -> dict[str, Any]:
    found = {name: getattr(table, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}
