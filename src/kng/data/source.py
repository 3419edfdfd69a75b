"""Open whatever the caller has as a source of records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kng.core.encoding import Encoding
from kng.core.errors import SchemaError
from kng.core.records import Source
from kng.data.csv import CsvSource
from kng.data.memory import MemorySource


def open_source(data: Any, encoding: Encoding) -> Source:
    """Return a source over the data; checks its columns and reads no record.

    Parameters
    ----------
    data : array, sequence, series, data frame, mapping of columns, or path of a CSV file
    encoding : Encoding
        How a record becomes integers.
    """
    path = file_of(data)
    return MemorySource.of(data, encoding) if path is None else CsvSource(path, encoding)


def open_regression(X: Any, y: Any, encoding: Encoding) -> Source:
    """Return a source over covariates and a response; checks shapes and reads no record."""
    return MemorySource.regression(X, y, encoding)


def open_response(y: Any, encoding: Encoding) -> Source:
    """Return a source over a response alone; checks its shape and reads no record."""
    return MemorySource.of(y, encoding)


def open_columns(path: str | Path, columns: Sequence[str], encoding: Encoding) -> Source:
    """Return a source over named columns of a CSV file, in the order of the encoding.

    For a regression these are the covariates and, last, the response. Reads the header only.
    """
    return CsvSource(_csv(path), encoding, columns)


def file_of(data: Any) -> Path | None:
    """Return the path of a CSV file, or None for data in memory; opens nothing."""
    if data is None:
        raise SchemaError("data are missing; give an array, a data frame or a path.")
    if not isinstance(data, str | Path):
        return None
    return _csv(data)


def _csv(data: str | Path) -> Path:
    path = Path(data)
    if path.suffix.lower() not in {".csv", ".txt"}:
        raise SchemaError(
            f"cannot tell what {path.name!r} is; files must end in .csv. Load other formats "
            "yourself and give the data frame."
        )
    return path
