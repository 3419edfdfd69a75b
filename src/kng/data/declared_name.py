"""What the caller has called the data: for receipts, so without a password and without cells."""

from __future__ import annotations

from pathlib import Path

from kng.core.postgres import server_of
from kng.data.engine import Engine


def declared_name(engine: Engine) -> str | None:
    """Return the path or the server that an engine was opened by; None for data in memory.

    Queries are not quoted: they may hold a password to another database.
    """
    table = getattr(engine, "origin", None)
    if table is None:
        return None
    part = "a query" if table.query is not None else table.table
    source = table.source
    if isinstance(source, str | Path):
        text = str(source)
        called = "standard input" if text == "-" else server_of(text) if "://" in text else text
        return called if part is None else f"{called}, {part}"
    return part if source is None else None
