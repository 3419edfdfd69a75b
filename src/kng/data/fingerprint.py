"""A dataset by its declaration: where it is, and what its columns are called and hold.

Never by what is in it, how much, or since when: a fingerprint of those would tell of records.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from kng.data.engine import Column, Engine
from kng.data.table import Table

# What an address says of the database beside its host, and nothing of who reads it.
_ADDRESS = ("host", "hostaddr", "port", "dbname", "service")


def dataset_of(engine: Engine) -> str | None:
    """Return the mark of what an engine was opened by; a caller's own says nothing."""
    return fingerprint(getattr(engine, "origin", None), engine.columns())


def fingerprint(table: Table | None, columns: Sequence[Column]) -> str | None:
    """Return a mark of a declared dataset; None for data that were made and have no place."""
    address = None if table is None else _address(table)
    if address is None:
        return None
    described = [address, [(column.name, column.kind.value) for column in columns]]
    return sha256(json.dumps(described).encode("ascii")).hexdigest()


def _address(table: Table) -> list[str | None] | None:
    source = table.source
    if source is None and table.query is not None:
        return ["query", table.query]
    if not isinstance(source, str | Path) or str(source) == "-":
        return None
    text = str(source)
    if "://" not in text:
        return ["file", os.path.realpath(text), table.table, table.query]
    server = _server(text)
    return None if server is None else ["server", server, table.table, table.query]


def _server(address: str) -> str | None:
    """Return the server and the database of an address, without user and password."""
    try:
        parts = urlsplit(address)
        port = parts.port or 5432
    except ValueError:
        return None
    if "@" in parts.path + parts.query + parts.fragment:  # perhaps of a password
        return None
    stated = {name: text for name, text in parse_qs(parts.query).items() if name in _ADDRESS}
    return json.dumps([parts.hostname, port, parts.path, stated], sort_keys=True)
