"""What DuckDB reads: Parquet files, relations, and what other modules make of it.

DuckDB streams and uses several cores; its tables may be larger than memory. Nothing is written to
disk: it may not spill.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from kng.core.errors import SchemaError
from kng.core.privacy import Assumption
from kng.data.arrow import block_of
from kng.data.arrow_cells import prepare
from kng.data.engine import Asked, Blocks, Column, Kind, LocalEngine
from kng.data.resources import Resources
from kng.data.sql.marks import quoted
from kng.data.stamp import Stamp
from kng.data.table import Table

# Records of a batch: few enough for the processor's cache once they are cut into whole numbers.
_BATCH = 2**16
# Decimals of so many digits are whole numbers below 2**53 over a power of ten that float64 holds,
# so that one division rounds them correctly. Longer ones are read as text.
_EXACT_DIGITS = 15

_WHOLE = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_KINDS = {
    **dict.fromkeys((*_WHOLE, *(f"u{name}" for name in _WHOLE)), Kind.NUMBER),
    **dict.fromkeys(("float", "double", "decimal"), Kind.NUMBER),
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
        called: str,
        room: int,
        stamp: Stamp | None = None,
        filled: frozenset[str] = frozenset(),
        *,
        rows_per_record: int | None = None,
    ) -> None:
        self.called, self.room = called, room
        self.rows_per_record = rows_per_record
        self.assumptions = () if rows_per_record is None else (Assumption.ROWS_PER_RECORD,)
        self._relation, self._stamp, self._filled = relation, stamp, filled

    def columns(self) -> tuple[Column, ...]:
        """Return names and kinds."""
        pairs = zip(self._relation.columns, self._relation.types, strict=True)
        return tuple(
            Column(name, _KINDS.get(kind.id, Kind.OTHER), name not in self._filled, str(kind))
            for name, kind in pairs
        )

    def prepare(self, asked: Asked) -> None:
        """Load what reads these columns."""
        for at in asked.numbers:
            if _number(self._relation.columns[at], self._relation.types[at]).endswith("VARCHAR)"):
                prepare(pa.string())

    def count(self) -> int:
        """Return the number of records; no column is decoded."""
        self._unchanged()
        ((number,),) = self._relation.aggregate("count(*)").fetchall()
        return int(number)

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records in whatever order DuckDB reads them."""
        self._unchanged()
        names, kinds = self._relation.columns, self._relation.types
        wanted = [_number(names[at], kinds[at]) for at in asked.numbers]
        wanted += [f"CAST({quoted(names[at])} AS VARCHAR)" for at in asked.texts]
        aliased = ", ".join(f"{expression} AS c{k}" for k, expression in enumerate(wanted))
        first = len(asked.numbers)
        placed = Asked(tuple(range(first)), tuple(range(first, len(wanted))))
        for batch in self._relation.project(aliased).to_arrow_reader(_BATCH):
            yield block_of(batch, placed)
        self._unchanged()

    def _unchanged(self) -> None:
        if self._stamp is not None:
            self._stamp.check()


def connected(resources: Resources) -> duckdb.DuckDBPyConnection:
    """Return a connection that writes nothing to disk and looks at no cell unasked."""
    settings: dict[str, Any] = {
        "temp_directory": "",
        "memory_limit": f"{resources.engine}B",
        "preserve_insertion_order": False,
        # Whether a file is Parquet is told by its name, and it may not fetch anything.
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if resources.threads is not None:
        settings["threads"] = resources.threads
    return duckdb.connect(config=settings)


def parquet(paths: Sequence[Path], called: str, resources: Resources) -> DuckEngine:
    """Open Parquet files of one schema; reads their footers."""
    stamp, connection = Stamp.of(paths), connected(resources)
    filled = footers(connection, paths, called)
    names = [str(path) for path in paths]
    relation = connection.read_parquet(names, hive_partitioning=False)
    return DuckEngine(relation, called, resources.kept, stamp, filled)


def footers(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], called: str
) -> frozenset[str]:
    """Read the footers of Parquet files, which must agree; return the columns without nulls."""
    names = [str(path) for path in paths]
    try:
        rows = connection.execute(
            "SELECT file_name, name, type, logical_type, repetition_type, num_children "
            "FROM parquet_schema(?)",
            [names],
        ).fetchall()
        connection.read_parquet(names, hive_partitioning=False)
    except duckdb.Error:
        raise SchemaError(
            f"cannot read {called} as Parquet. Check that every file is complete."
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
            differ = {*names[0]} ^ {*names[1]}
            raise SchemaError(
                f"{Path(first).name} and {Path(path).name} have different columns or types"
                f"{f' ({min(differ)!r} is in one of them)' if differ else ''}. Give files of one "
                "schema, or convert them first."
            )


def _number(name: str, kind: Any) -> str:
    """Return the SQL for a column as float64, NaN where it is null."""
    column = quoted(name)
    if kind.id == "decimal" and dict(kind.children)["precision"] > _EXACT_DIGITS:
        return f"CAST({column} AS VARCHAR)"
    return f"COALESCE(CAST({column} AS DOUBLE), 'NaN'::DOUBLE)"


def open_table(table: Table) -> DuckEngine:
    """Open a relation of the caller's."""
    table.refuse("DuckDB relations", takes=())
    if not isinstance(table.source, duckdb.DuckDBPyRelation):
        raise SchemaError(
            f"DuckDB's {type(table.source).__name__} is no table. Give a relation, as from "
            "connection.sql('SELECT ...'), or a path to the database."
        )
    return DuckEngine(table.source, "the data", table.resources.kept)
