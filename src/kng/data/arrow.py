"""Arrow tables, and whatever hands one over: Polars, DuckDB results, Arrow files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from kng.core.encoding import BATCH_RECORDS
from kng.core.errors import SchemaError
from kng.data.arrow_cells import column_of, floats, prepare, texts, words
from kng.data.engine import Asked, Block, Blocks, Column, LocalEngine
from kng.data.files import called, files_of
from kng.data.resources import Resources
from kng.data.stamp import Stamp
from kng.data.table import Table

SUFFIXES = (".arrow", ".feather", ".ipc")


class ArrowEngine(LocalEngine):
    """An Arrow table in memory."""

    called = "the data"
    room = 0

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    @classmethod
    def of(cls, data: Any) -> ArrowEngine:
        """Take a table, or what hands over the same one whenever it is asked."""
        if isinstance(data, pa.RecordBatchReader) or not hasattr(type(data), "__len__"):
            raise SchemaError(
                f"{type(data).__name__} can be read only once, and a release may read several "
                "times. Give a table, as from .read_all(), or a file."
            )
        if isinstance(data, pa.Table):
            return cls(data)
        batch = isinstance(data, pa.RecordBatch)
        return cls(pa.Table.from_batches([data]) if batch else pa.table(data))

    def columns(self) -> tuple[Column, ...]:
        """Return names and kinds from the schema."""
        return tuple(column_of(field) for field in self._table.schema)

    def prepare(self, asked: Asked) -> None:
        """Load what reads these columns."""
        for at in asked.numbers:
            prepare(self._table.schema.types[at])

    def count(self) -> int:
        """Return the number of records."""
        return int(self._table.num_rows)

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in order; nothing is copied but what is no float64 yet."""
        batches = self._table.to_batches(max_chunksize=BATCH_RECORDS)
        return (block_of(batch, asked) for batch in batches)


def block_of(batch: pa.RecordBatch, asked: Asked) -> Block:
    """Return columns of a batch as numbers and as text."""
    columns = batch.columns
    numbers = [floats(columns[at]).reshape(-1, 1) for at in asked.numbers]
    spelled = [
        texts(columns[at]) if levels is None else words(columns[at])
        for at, levels in asked.texts_with_levels
    ]
    return Block(numbers, spelled)


def chosen(asked: Asked) -> tuple[list[int], Asked]:
    """Return the columns to read, each once, and where they stand among them."""
    read = sorted({*asked.numbers, *asked.texts})
    places = {at: k for k, at in enumerate(read)}
    numbers = tuple(places[at] for at in asked.numbers)
    return read, Asked(numbers, tuple(places[at] for at in asked.texts), asked.levels)


class ArrowFiles(LocalEngine):
    """Arrow files of one schema, read in batches as they stand in them."""

    def __init__(self, paths: Sequence[Path], name: str, resources: Resources) -> None:
        self.called, self.room = name, resources.kept
        self._paths, self._stamp = paths, Stamp.of(paths)
        self._threads = resources.threads != 1
        schemas = [_schema(path) for path in paths]
        self._schema = schemas[0]
        for path, schema in zip(paths, schemas, strict=True):
            if not schema.equals(self._schema):
                raise SchemaError(
                    f"{paths[0].name} and {path.name} have different columns or types. Give files "
                    "of one schema, or convert them first."
                )

    def columns(self) -> tuple[Column, ...]:
        """Return names and kinds from the schema."""
        return tuple(column_of(field) for field in self._schema)

    def prepare(self, asked: Asked) -> None:
        """Load what reads these columns."""
        for at in asked.numbers:
            prepare(self._schema.types[at])

    def count(self) -> int:
        """Return the number of records."""
        return sum(batch.num_rows for batch in self._batches([]))

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in order."""
        read, placed = chosen(asked)
        for batch in self._batches(read):
            for at in range(0, batch.num_rows, BATCH_RECORDS):
                yield block_of(batch.slice(at, BATCH_RECORDS), placed)

    def _batches(self, columns: list[int]) -> Iterator[pa.RecordBatch]:
        """Yield batches of some columns; without any they still know how long they are."""
        self._stamp.check()
        # Arrow takes an empty list for all of them.
        options = pa.ipc.IpcReadOptions(included_fields=columns or [0], use_threads=self._threads)
        for path in self._paths:
            with _opened(path, options) as file:
                for k in range(file.num_record_batches):
                    yield file.get_batch(k)
        self._stamp.check()


def _schema(path: Path) -> pa.Schema:
    with _opened(path) as file:
        return file.schema


def _opened(path: Path, options: pa.ipc.IpcReadOptions | None = None) -> Any:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path)), options=options)
    except (OSError, pa.ArrowInvalid):
        raise SchemaError(
            f"cannot read {path.name} as an Arrow file. Check that it is one and is complete."
        ) from None


def open_table(table: Table) -> ArrowEngine | ArrowFiles:
    """Open a table in memory, or files of one schema; reads their schemas."""
    table.refuse("Arrow tables", takes=())
    source = table.source
    if not isinstance(source, str | Path):
        return ArrowEngine.of(source)
    return ArrowFiles(files_of(source, SUFFIXES), called(source), table.resources)
