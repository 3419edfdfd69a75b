"""Which engine opens what: by the suffix of a file, the scheme of an address, or a type.

Every module that is named here has a function ``open_table``. It is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kng.core.errors import SchemaError
from kng.core.naming import in_python
from kng.data.engine import Engine
from kng.data.files import suffix_of
from kng.data.table import Table, table_of

SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), "kng.data.csv"),
    **dict.fromkeys((".parquet", ".pq"), "kng.data.parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "kng.data.arrow"),
    **dict.fromkeys((".duckdb", ".ddb", ".db"), "kng.data.duck_query"),
}
SCHEMES = dict.fromkeys(("postgresql", "postgres"), "kng.data.postgres")
# By the package that a type comes from.
TYPES = {
    "duckdb": "kng.data.duck",
    "polars": "kng.data.polars",
    "pyarrow": "kng.data.arrow",
    "pyspark": "kng.data.spark",
}


def open_table(data: Any) -> Engine | None:
    """Return the engine of a table whose columns have names; None for arrays and lists.

    Reads headers, footers and schemas, and no record.
    """
    if type(data) in (np.ndarray, list):  # soon told, for small releases
        return None
    table = table_of(data)
    source = table.source
    if source is None and (table.query is not None or table.table is not None):
        return _by("kng.data.duck_query", table)
    if source is None:
        raise SchemaError("data are missing; give an array, a data frame or a path.")
    if isinstance(source, str | Path):
        return _by(_module_of(source), table)
    if _is_engine(source):
        engine: Engine = source
        return engine
    package = type(source).__module__.split(".")[0]
    if package in TYPES:
        return _by(TYPES[package], table)
    if isinstance(source, Mapping) or hasattr(type(source), "columns"):
        return _by("kng.data.frame", table)
    if hasattr(type(source), "__arrow_c_stream__") and not hasattr(type(source), "dtype"):
        return _by("kng.data.arrow", table)
    table.refuse("data without column names", takes=())
    table.refuse_declared("data without column names")
    return None


def _by(module: str, table: Table) -> Engine:
    engine: Engine = import_module(module).open_table(table)
    engine.memory = table.resources.memory
    engine.origin = table
    engine.promise = table.promise
    engine.stated = table.columns or {}
    return engine


def _module_of(source: str | Path) -> str:
    text = str(source)
    scheme, mark, _ = text.partition("://")
    if mark and scheme.lower() in SCHEMES:
        return SCHEMES[scheme.lower()]
    if mark:
        known = ", ".join(f"{name}://" for name in SCHEMES)
        raise SchemaError(
            f"cannot read {scheme[:20]}:// addresses, only {known}. Give a "
            f"file{in_python(' or a data frame')}."
        )
    if text == "-":
        return SUFFIXES[".csv"]
    suffix = suffix_of(text, tuple(SUFFIXES))
    if suffix not in SUFFIXES:
        raise SchemaError(
            f"cannot tell what {Path(text).name!r} is; file names must end in one of "
            f"{', '.join(SUFFIXES)}. Convert other formats to Parquet or CSV "
            f"first{in_python(', or give a data frame')}."
        )
    return SUFFIXES[suffix]


def _is_engine(source: Any) -> bool:
    """Tell an engine of the caller's, by its methods."""
    return all(callable(getattr(type(source), name, None)) for name in ("columns", "count", "run"))
