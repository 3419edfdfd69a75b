"""A table as its holder describes it: where it is, and how it is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from kng.core.errors import SpecError, UnknownName
from kng.core.naming import argument
from kng.core.promise import Promise
from kng.data.declared.toml_file import FILE, declared_table
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
    memory_limit : int or str, optional
        Memory for reading, such as "2GB"; 1 GB unless given.
    threads : int, optional
        Threads for reading; all cores unless given.
    columns : {name: declaration of `kng.columns`, or its facts as a mapping}, optional
        What columns hold, stated once: ``kng.columns.Number(bounds=(0, 500))``, or as in kng.toml
        ``{"kind": "number", "bounds": (0, 500)}`` with kind, bounds, step, levels, reference and
        other. Functions and estimators take from here what they are not given.
        A release is about ``table["spending"]``, ``table[["a", "b"]]``, or all of them.
    relation : {"replace-one", "add-remove"}, optional
        The neighbours of every release from the table; asking for others is refused.
    ledger : Ledger or path, optional
        The account that pays for every release from the table; naming another is refused.
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
    memory_limit: int | str | None = None
    threads: int | None = None
    columns: Mapping[str, Declared] | None = None
    relation: str | None = None
    ledger: Any = None
    chosen: tuple[str, ...] | None = None

    def __init__(self, source: Any = None, **stated: Any) -> None:
        unknown = [name for name in stated if name not in _FACTS]
        if unknown:
            raise SpecError(
                f"Table has no argument {unknown[0]!r}. It takes source and {', '.join(_FACTS)}."
            )
        if stated.get("columns") is not None or stated.get("relation") is not None:
            # Imported here: only declarations need it, and a plain release should not wait for it.
            from kng.data.declared.checks import columns_in

            stated["columns"] = columns_in(stated.get("columns"), stated.get("relation"))
        self._state({"source": source, **stated})

    def _state(self, checked: Mapping[str, Any]) -> Self:
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        return self

    @classmethod
    def declared(cls, name: str, path: str | Path = FILE) -> Self:
        """Return a table as it is declared in ``kng.toml``, all of whose faults are named at once.

        Parameters
        ----------
        name : str
            The table's name in the file.
        path : str or Path
            The file; ``kng.toml`` in the current directory unless given. Paths of sources and
            ledgers in it are relative to its directory.
        """
        return cls.__new__(cls)._state(declared_table(name, path))

    def __getitem__(self, names: str | list[str]) -> Self:
        """Choose what a release is about: one of the declared columns, or some in this order."""
        if self.columns is None:
            raise SpecError(
                "This table declares no columns to choose from. Declare them, as in "
                "kng.Table(source, columns={'age': {'bounds': (0, 120)}}), or give bounds by name."
            )
        chosen = list(names) if isinstance(names, list | tuple) else [names]
        unknown = [name for name in chosen if name not in self.columns]
        if unknown or not chosen:
            which = f"no column {unknown[0]!r}" if unknown else "columns, and none is chosen"
            raise UnknownName(
                f"The table declares {which}; it has {', '.join(map(repr, self.columns))}."
            )
        return type(self).__new__(type(self))._state({**vars(self), "chosen": tuple(chosen)})

    @property
    def asked(self) -> dict[str, Declared]:
        """The declared columns that a release is about: those that are chosen, or all."""
        columns = self.columns or {}
        return {name: columns[name] for name in (columns if self.chosen is None else self.chosen)}

    @property
    def promise(self) -> Promise | None:
        """What holds for every release from the table; None if nothing is declared."""
        if self.relation is None and self.ledger is None:
            return None
        return Promise(self.relation, self.ledger)

    def __repr__(self) -> str:
        """Show what is stated; an address may hold a password, so only its scheme is shown."""
        stated = {name: getattr(self, name) for name in _FACTS}
        stated["columns"] = None if self.columns is None else list(self.columns)
        source = self.source
        scheme, mark, _ = str(source).partition("://") if isinstance(source, str) else ("", "", "")
        shown = [f"{scheme}://..." if mark else repr(source)]
        shown += [f"{name}={value!r}" for name, value in stated.items() if value is not None]
        chosen = "" if self.chosen is None else repr(list(self.chosen))
        return f"Table({', '.join(shown)}){chosen}"

    @property
    def resources(self) -> Resources:
        """Memory and threads for reading."""
        return resources_of(self.memory_limit, self.threads)

    def refuse(self, kind: str, *, takes: tuple[str, ...]) -> None:
        """Refuse what is stated and means nothing for this kind of source."""
        usual = ("memory_limit", "threads", *_DECLARED, *takes)
        for name in _FACTS:
            if name not in usual and getattr(self, name) is not None:
                raise SpecError(f"{argument(name)} means nothing for {kind}. Leave it out.")

    def refuse_declared(self, kind: str) -> None:
        """Refuse declarations where nothing could hold a release to them."""
        for name in _DECLARED:
            if getattr(self, name) is not None:
                raise SpecError(
                    f"{argument(name)} means nothing for {kind}. Give a data frame or a file."
                )


# What is declared for every release, of whatever kind the source is.
_DECLARED = ("columns", "relation", "ledger")
# What can be stated beside the source.
_FACTS = tuple(field.name for field in fields(Table) if field.name not in ("source", "chosen"))


def table_of(data: Any) -> Table:
    """Return a table that says nothing but where it is, unless it says more."""
    return data if isinstance(data, Table) else Table(data)
