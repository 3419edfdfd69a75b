"""A table as its holder describes it: where it is, and how it is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from kng.core.errors import SpecError
from kng.data.resources import Resources, resources_of

if TYPE_CHECKING:
    from kng.data.kinds import Declared


@dataclass(frozen=True, kw_only=True, repr=False)
class Table:
    """A table, and public facts about how it is read.

    Functions and estimators take the source itself where nothing else has to be said:
    ``kng.median("claims.parquet", ...)``.

    Parameters
    ----------
    source : path, glob, directory, address, data frame, Arrow table, relation, or "-"
        Parquet, CSV and Arrow files by their names, also several by a pattern or a directory;
        ``postgresql://`` addresses; pandas, Polars, Arrow, DuckDB and Spark tables; "-" is CSV on
        standard input.
    table : str, optional
        The table of a database.
    query : str, optional
        A query in the database's own SQL; without a source in DuckDB's. One that can drop or
        multiply rows needs ``rows_per_record`` and neighbours="add-remove".
    rows_per_record : int, optional
        How many rows of the query one record of its tables can change, at most.
    separator, decimal, thousands, symbols, encoding, rows, ending
        For CSV: what separates cells (","), the decimal mark ("."), the mark between thousands
        (none), symbols to ignore around numbers ("$%"), the encoding ("utf-8"), and whether every
        line is a record ("lines") or quoted cells may span lines ("quoted"), and what ends a line.
    columns : mapping from names to declarations of `kng.columns`, optional
        What columns hold: ``{"sex": kng.columns.Category(["F", "M"])}``.
    memory_limit : int or str, optional
        Memory for reading, such as "2GB"; 1 GB unless given.
    threads : int, optional
        Threads for reading; all cores unless given.
    """

    source: Any = None
    table: str | None = None
    query: str | None = None
    rows_per_record: int | None = None
    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    symbols: str | None = None
    encoding: str | None = None
    rows: str | None = None
    ending: str | None = None
    columns: Mapping[str, Declared] | None = None
    memory_limit: int | str | None = None
    threads: int | None = None

    def __init__(self, source: Any = None, **stated: Any) -> None:
        unknown = [name for name in stated if name not in _FACTS]
        if unknown:
            raise SpecError(
                f"Table has no argument {unknown[0]!r}. It takes source and {', '.join(_FACTS)}."
            )
        for name, value in {"source": source, **stated}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        """Show what is stated; an address may hold a password, so only its scheme is shown."""
        stated = {name: getattr(self, name) for name in _FACTS}
        source = self.source
        scheme, mark, _ = str(source).partition("://") if isinstance(source, str) else ("", "", "")
        shown = [f"{scheme}://..." if mark else repr(source)]
        shown += [f"{name}={value!r}" for name, value in stated.items() if value is not None]
        return f"Table({', '.join(shown)})"

    @property
    def resources(self) -> Resources:
        """Memory and threads for reading."""
        return resources_of(self.memory_limit, self.threads)

    def refuse(self, kind: str, *, takes: tuple[str, ...]) -> None:
        """Refuse what is stated and means nothing for this kind of source."""
        usual = ("columns", "memory_limit", "threads", *takes)
        for name in _FACTS:
            if name not in usual and getattr(self, name) is not None:
                raise SpecError(f"{name} means nothing for {kind}. Leave it out.")


# What can be stated beside the source.
_FACTS = tuple(field.name for field in fields(Table) if field.name != "source")


def table_of(data: Any) -> Table:
    """Return a table that says nothing but where it is, unless it says more."""
    return data if isinstance(data, Table) else Table(data)
