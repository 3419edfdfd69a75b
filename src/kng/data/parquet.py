"""Parquet files, through DuckDB."""

from __future__ import annotations

from kng.data.duck import DuckEngine, parquet
from kng.data.files import called, files_of
from kng.data.table import Table

SUFFIXES = (".parquet", ".pq")


def open_table(table: Table) -> DuckEngine:
    """Open Parquet files of one schema; reads their footers."""
    table.refuse("Parquet files", takes=())
    source = table.source
    return parquet(files_of(source, SUFFIXES), called(source), table.resources)
