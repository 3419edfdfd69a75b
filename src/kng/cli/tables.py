"""Where the data of a command are, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from kng.cli.options import Decorator, option, with_options

if TYPE_CHECKING:
    import kng


def _or_query(context: click.Context, parameter: click.Parameter, data: str | None) -> str | None:
    """Ask for DATA as click does, unless a query names its files itself."""
    if data is None and context.params.get("query") is None and not context.resilient_parsing:
        raise click.MissingParameter(
            "Give a file such as visits.csv, a table of kng.toml, or a --query.",
            ctx=context,
            param_hint="'DATA'",
            param=parameter,
        )
    return data


DATA: Decorator = click.argument("data", metavar="[DATA]", required=False, callback=_or_query)
_OPTIONS = (
    option("--table", metavar="NAME", help="The table of a database."),
    option(
        "--query",
        metavar="SQL",
        is_eager=True,  # whether DATA may be left out depends on it
        help="A query in the database's own SQL; without DATA in DuckDB's, over Parquet files.",
    ),
    option(
        "--rows-per-record",
        metavar="COUNT",
        help="With a query that can drop or multiply rows: how many of its rows one record can "
        "change, at most. Needs --neighbours add-remove.",
    ),
    option("--separator", metavar="CHARACTER", help="CSV: what separates cells (default ,)."),
    option("--decimal", metavar="CHARACTER", help="CSV: the decimal mark, . or , (default .)."),
    option("--thousands", metavar="CHARACTER", help="CSV: the mark between thousands, if any."),
    option("--symbols", metavar="CHARACTERS", help="CSV: signs to ignore around numbers: '$%'."),
    option("--encoding", metavar="NAME", help="CSV: the encoding of the file (default utf-8)."),
    option(
        "--rows",
        metavar="NAME",
        help="CSV: lines, if every line is a record (default); quoted, if quoted cells span lines.",
    ),
    option(
        "--ending", metavar="CHARACTER", help="CSV: what ends a line, \\n or \\r (default \\n)."
    ),
    option("--memory-limit", metavar="SIZE", help="Memory for reading, as in 4GB (default 1GB)."),
    option(
        "--threads", metavar="COUNT", help="Threads for reading and summing (default: all cores)."
    ),
)
# What every command about a table takes beside DATA.
READING = with_options(*_OPTIONS)
_NAMES = (
    *("table", "query", "rows_per_record", "separator", "decimal", "thousands", "symbols"),
    *("encoding", "rows", "ending", "memory_limit", "threads"),
)
# Written so that a shell need not know how to type it.
_WRITTEN = {"\\t": "\t", "tab": "\t", "\\n": "\n", "\\r": "\r"}


@contextmanager
def threads_limited(options: Mapping[str, Any]) -> Iterator[None]:
    """Keep sums of products inside to the threads that the words allow."""
    from threadpoolctl import threadpool_limits

    from kng.data.resources import resources_of

    with threadpool_limits(resources_of(None, options["threads"]).threads):
        yield


def read_table(options: Mapping[str, Any]) -> kng.Table:
    """Return the table that the words describe; nothing is opened yet.

    A bare word is a table of kng.toml. What is said beside it replaces how it is read, but not
    which records are meant.
    """
    from kng.core.errors import SpecError
    from kng.data import Table
    from kng.data.declared.toml_file import FILE, declared_table

    data, stated = options["data"], stated_reading(options)
    if data is None or not is_word(data):
        return Table(data, **stated)
    declared = declared_table(data)
    for name in ("table", "query", "rows_per_record"):
        if name in stated and stated[name] != str(declared.get(name)):
            raise SpecError(
                f"{FILE} declares what the table {data!r} is, and --{name.replace('_', '-')} says "
                "otherwise. Leave it out, or change the declaration."
            )
    return Table(**{**declared, **stated})


def read_source(options: Mapping[str, Any]) -> kng.Table:
    """Return a table that is not declared yet."""
    from kng.core.errors import SpecError
    from kng.data import Table

    data = options["data"]
    if data == "-" or (data is not None and is_word(data)):
        raise SpecError(
            f"DATA must be a file with its suffix, a directory with a slash, or an address; got "
            f"{data!r}."
        )
    return Table(data, **stated_reading(options))


def stated_reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return how DATA are read, as far as it is said."""
    stated = {name: options[name] for name in _NAMES if options.get(name) is not None}
    for name in ("separator", "ending"):
        if name in stated:
            stated[name] = _WRITTEN.get(stated[name], stated[name])
    return stated


def with_promise(options: Mapping[str, Any], table: kng.Table) -> dict[str, Any]:
    """Return the options with the relation and the ledger of the table where they say nothing."""
    declared = {"neighbours": table.relation, "ledger": table.ledger}
    return {**options, **{k: v for k, v in declared.items() if options.get(k) is None}}


def is_word(data: str) -> bool:
    """Tell a table of kng.toml from a source: a suffix, a slash, a scheme or a pattern."""
    return bool(data.strip()) and data != "-" and not set(data) & set("./\\:*?[")
