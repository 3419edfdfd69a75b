"""What DuckDB reads: Parquet files, relations, and what other modules make of it.

DuckDB streams and uses several cores; its tables may be larger than memory. Nothing is written to
disk: it may not spill.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from kng.core.errors import SchemaError
from kng.core.privacy import Assumption
from kng.data.arrow import block_of
from kng.data.arrow_cells import prepare
from kng.data.engine import Asked, Blocks, Column, Kind, LocalEngine
from kng.data.interruptible import called, streamed
from kng.data.resources import Resources
from kng.data.sql.marks import quoted, string
from kng.data.stamp import Stamp
from kng.data.table import Table

# Cells of a batch: few enough for the processor's cache. DuckDB counts its records in vectors.
_CELLS, _VECTOR, _MOST = 2**17, 2**11, 2**16
# Decimals of so many digits are whole numbers below 2**53 over a power of ten that float64 holds,
# so that one division rounds them correctly. Longer ones are read as text.
_EXACT_DIGITS = 15
# What Arrow's ascii_trim_whitespace takes away.
_SPACES = " \t\n\v\f\r"
_PATTERN = re.compile(r"([*?\[])")

_FLOATS = ("float", "double")
_WHOLE = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_KINDS = {
    **dict.fromkeys((*_WHOLE, *(f"u{name}" for name in _WHOLE)), Kind.NUMBER),
    **dict.fromkeys((*_FLOATS, "decimal"), Kind.NUMBER),
    **dict.fromkeys(("date", "timestamp", "timestamp_s", "timestamp_ms"), Kind.DATE),
    **dict.fromkeys(("timestamp_ns", "timestamp with time zone"), Kind.DATE),
    **dict.fromkeys(("varchar", "enum"), Kind.TEXT),
    "boolean": Kind.BOOLEAN,
}


class DuckEngine(LocalEngine):
    """A relation of DuckDB; every pass runs it again."""

    def __init__(
        self,
        relation: duckdb.DuckDBPyRelation,
        name: str,
        room: int,
        *,
        stamp: Stamp | None = None,
        filled: frozenset[str] = frozenset(),
        rows_per_record: int | None = None,
        connection: duckdb.DuckDBPyConnection | None = None,
    ) -> None:
        self.called, self.room = name, room
        self.rows_per_record = rows_per_record
        self.assumptions = () if rows_per_record is None else (Assumption.ROWS_PER_RECORD,)
        self._relation, self._stamp, self._filled = relation, stamp, filled
        self._connection = connection

    def columns(self) -> tuple[Column, ...]:
        """Return names and kinds; floats can be NaN, which is missing too."""
        pairs = zip(self._relation.columns, self._relation.types, strict=True)
        return tuple(
            Column(
                name,
                _KINDS.get(kind.id, Kind.OTHER),
                name not in self._filled or kind.id in _FLOATS,
                str(kind),
            )
            for name, kind in pairs
        )

    def prepare(self, asked: Asked) -> None:
        """Load what reads these columns."""
        if any(_is_read(self._relation.types[at]) for at in asked.numbers):
            prepare(pa.string())
        if any(asked.levels):
            self._projected(asked)  # levels that DuckDB refuses are found before the charge

    def count(self) -> int:
        """Return the number of records; no column is decoded."""
        self._unchanged()
        ((number,),) = called(self._relation.aggregate("count(*)").fetchall, self._stop)
        self._unchanged()
        return int(number)

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in whatever order DuckDB reads them."""
        self._unchanged()
        first, width = len(asked.numbers), len(asked.numbers) + len(asked.texts)
        placed = Asked(tuple(range(first)), tuple(range(first, width)), asked.levels)
        projected, size = self._projected(asked), records_of(width)
        for batch in streamed(lambda: iter(projected.to_arrow_reader(size)), self._stop):
            yield block_of(batch, placed)
        self._unchanged()

    def _projected(self, asked: Asked) -> duckdb.DuckDBPyRelation:
        """Return the columns that are asked for, numbers first; checked, and not yet read."""
        names, kinds = self._relation.columns, self._relation.types
        wanted = [_number(names[at], kinds[at]) for at in asked.numbers]
        wanted += [_text(names[at], levels) for at, levels in asked.texts_with_levels]
        aliased = ", ".join(f"{expression} AS c{k}" for k, expression in enumerate(wanted))
        return self._relation.project(aliased)

    def keep_order(self) -> None:
        """Yield records in the order of their file from now on; for predictions, not releases."""
        if self._connection is not None:
            self._connection.execute("SET preserve_insertion_order = true")

    def _stop(self) -> None:
        """End a query; without its connection it ends by itself."""
        if self._connection is not None:
            self._connection.interrupt()

    def _unchanged(self) -> None:
        if self._stamp is not None:
            self._stamp.check()


def records_of(width: int) -> int:
    """Return how many records of so many columns a batch holds."""
    return max(min(_CELLS // width // _VECTOR * _VECTOR, _MOST), _VECTOR)


def connected(resources: Resources) -> duckdb.DuckDBPyConnection:
    """Return a connection that writes nothing to disk and looks at no cell unasked."""
    settings: dict[str, Any] = {
        "temp_directory": "",
        "memory_limit": f"{resources.engine}B",
        "preserve_insertion_order": False,
        # Whether a file is Parquet is told by its name, and it may not fetch anything.
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        # Nothing of a file stays in memory when it has been read.
        "enable_external_file_cache": False,
    }
    if resources.threads is not None:
        settings["threads"] = resources.threads
    connection = duckdb.connect(config=settings)
    # Otherwise it holds whole row groups, whose size nobody knows before the charge; 60 columns
    # then take 290 MB and not 18, and no less time.
    connection.execute("SET GLOBAL disable_parquet_prefetching = true")
    return connection


@lru_cache(maxsize=4)
def _opened_once(resources: Resources) -> duckdb.DuckDBPyConnection:
    """Return a connection that stays open: a new one takes as long as a million records."""
    return connected(resources)


# Its threads would be missing in a copy of this process, which would wait for them at its end.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_opened_once.cache_clear)


def parquet(paths: Sequence[Path], name: str, resources: Resources) -> DuckEngine:
    """Open Parquet files of one schema; reads their footers."""
    stamp, connection = Stamp.of(paths), _opened_once(resources).cursor()
    filled = footers(connection, paths, name)
    relation = connection.sql(f"FROM {scan(paths)}")
    return DuckEngine(
        relation, name, resources.kept, stamp=stamp, filled=filled, connection=connection
    )


def scan(paths: Sequence[Path]) -> str:
    """Return the SQL that reads Parquet files; bytes that are no UTF-8 become question marks."""
    listed = ", ".join(string(literal(path)) for path in paths)
    return (
        f"read_parquet([{listed}], hive_partitioning = false, can_have_nan = true, "
        "utf8_validation = 'replace')"
    )


def literal(path: Path) -> str:
    """Return a path in which nothing is a pattern: DuckDB would read other files by it."""
    return _PATTERN.sub(r"[\1]", str(path))


def footers(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], name: str
) -> frozenset[str]:
    """Read the footers of Parquet files, which must agree; return the columns without nulls."""
    names = [str(path) for path in paths]
    try:
        rows = connection.execute(
            "SELECT file_name, name, type, logical_type, repetition_type, num_children "
            "FROM parquet_schema(?)",
            [[literal(path) for path in paths]],
        ).fetchall()
        connection.sql(f"FROM {scan(paths)}")
    except duckdb.Error:
        raise SchemaError(
            f"cannot read {name} as Parquet. Check that every file is complete."
        ) from None
    schemas = {path: [row[1:] for row in rows if row[0] == path] for path in names}
    _refuse_mixed(schemas)
    required = [{row[0] for row in one if row[3] == "REQUIRED"} for one in schemas.values()]
    return frozenset.intersection(*map(frozenset, required))


def _refuse_mixed(schemas: dict[str, list[tuple[Any, ...]]]) -> None:
    """Refuse files whose columns differ by name, order or type; nulls are allowed in some."""
    plain = {path: [(*row[:3], row[4]) for row in rows[1:]] for path, rows in schemas.items()}
    first, *others = plain
    for path in others:
        if plain[path] != plain[first]:
            names = [[str(row[0]) for row in plain[one]] for one in (first, path)]
            both = {*names[0]} & {*names[1]}
            alone = [name for name in (*names[0], *names[1]) if name not in both]
            raise SchemaError(
                f"{Path(first).name} and {Path(path).name} have different columns or types"
                f"{f' ({alone[0]!r} is in one of them)' if alone else ''}. Give files of one "
                "schema, or convert them first."
            )


def _number(name: str, kind: Any) -> str:
    """Return the SQL for a column as float64, NaN where it is null or no number.

    Labels may stand in any column; what DuckDB cannot cast would fail on a record.
    """
    if _is_read(kind):
        return f"CAST({quoted(name)} AS VARCHAR)"
    if _KINDS.get(kind.id) is Kind.DATE:
        return quoted(name)  # read from Arrow's own types
    if _KINDS.get(kind.id) not in (Kind.NUMBER, Kind.BOOLEAN):
        return "'NaN'::DOUBLE"
    return f"COALESCE(CAST({quoted(name)} AS DOUBLE), 'NaN'::DOUBLE)"


def _text(name: str, levels: Sequence[str] | None) -> str:
    """Return the SQL for a column as text; with levels as a dictionary of them.

    DuckDB then looks at each entry of a Parquet dictionary once, and hands over codes.
    """
    text = f"CAST({quoted(name)} AS VARCHAR)"
    if levels is None or not all(map(_can_be_listed, levels)):
        return text
    kind = f"ENUM({', '.join(map(string, dict.fromkeys(levels)))})"
    spaces = " || ".join(f"chr({ord(space)})" for space in _SPACES)
    return f"COALESCE(TRY_CAST({text} AS {kind}), TRY_CAST(trim({text}, {spaces}) AS {kind}))"


def _can_be_listed(level: str) -> bool:
    """Tell a text that can stand in a literal."""
    return level.isprintable()


def _is_read(kind: Any) -> bool:
    """Tell a type whose numbers are read as text."""
    if kind.id == "decimal":
        return bool(dict(kind.children)["precision"] > _EXACT_DIGITS)
    return kind.id in ("varchar", "enum", "blob")


def open_table(table: Table) -> DuckEngine:
    """Open a relation of the caller's."""
    table.refuse("DuckDB relations", takes=())
    if not isinstance(table.source, duckdb.DuckDBPyRelation):
        raise SchemaError(
            f"DuckDB's {type(table.source).__name__} is not a table. Give a relation, as from "
            "connection.sql('SELECT ...'), or a path to the database."
        )
    # A relation keeps its connection to itself; it is asked for only to be interrupted.
    connection = getattr(table.source, "_con", None)
    return DuckEngine(table.source, "the data", table.resources.kept, connection=connection)
