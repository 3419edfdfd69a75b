"""Polars: data frames through Arrow, and lazy frames as a stream of batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kng.core.encoding import BATCH_RECORDS
from kng.core.errors import SchemaError
from kng.data.arrow import ArrowEngine, block_of, chosen
from kng.data.arrow_cells import column_of, prepare
from kng.data.engine import Asked, Blocks, Column, LocalEngine
from kng.data.table import Table


class LazyEngine(LocalEngine):
    """A lazy frame; every pass collects it again, batch by batch."""

    called = "the data"

    def __init__(self, frame: Any, room: int) -> None:
        self._frame, self.room = frame, room

    def columns(self) -> tuple[Column, ...]:
        """Return names and kinds from the schema, which is resolved without reading a record."""
        empty = self._frame.collect_schema().to_frame(eager=True)
        return tuple(column_of(field) for field in empty.to_arrow().schema)

    def prepare(self, asked: Asked) -> None:
        """Load what reads these columns."""
        types = self._frame.collect_schema().to_frame(eager=True).to_arrow().schema.types
        for at in asked.numbers:
            prepare(types[at])

    def count(self) -> int:
        """Return the number of records."""
        import polars

        return int(self._frame.select(polars.len()).collect(engine="streaming").item())

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in whatever order Polars reads them."""
        read, placed = chosen(asked)
        names = self._frame.collect_schema().names()
        wanted = self._frame.select([names[at] for at in read])
        for frame in wanted.collect_batches(chunk_size=BATCH_RECORDS, maintain_order=False):
            for batch in frame.to_arrow().to_batches(max_chunksize=BATCH_RECORDS):
                yield block_of(batch, placed)


def _refuse_unknown(frame: Any) -> None:
    """Refuse types that Arrow does not have, such as whole numbers of 128 bits."""
    for name, kind in frame.collect_schema().items():
        try:
            type(frame)(schema={name: kind}).lazy().collect().to_arrow()
        except (pa.ArrowException, TypeError, ValueError):
            raise SchemaError(
                f"column {name!r} of the data is of type {kind}, which Arrow does not have. Cast "
                "it, or select other columns."
            ) from None


def open_table(table: Table) -> ArrowEngine | LazyEngine:
    """Open a data frame, a lazy frame or a series, which is a table of one column."""
    table.refuse("Polars frames", takes=())
    frame = table.source
    if type(frame).__name__ == "Series":
        frame = frame.to_frame()
    _refuse_unknown(frame)
    if type(frame).__name__ == "LazyFrame":
        return LazyEngine(frame, table.resources.kept)
    return ArrowEngine(frame.to_arrow())
