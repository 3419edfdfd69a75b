"""``kng count``, ``kng proportion``, ``kng histogram``, ``kng sum`` and ``kng variance``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kng.cli.help import command
from kng.cli.options import BY, EPSILON, MISSING, PROMISE, WHERE, option, with_options
from kng.cli.tables import DATA, READING
from kng.cli.verbosity import VERBOSITY

if TYPE_CHECKING:
    import kng

_shared = with_options(DATA, EPSILON, WHERE, BY, *PROMISE, READING, VERBOSITY)
_numbers = with_options(
    DATA,
    EPSILON,
    option(
        "--bounds",
        multiple=True,
        metavar="[COLUMN=]LOW:HIGH",
        help="Public range of a record, never read from the data. Records outside are clipped. "
        "Required.",
    ),
    option(
        "--column",
        multiple=True,
        metavar="NAME",
        help="The column that --bounds LOW:HIGH is about.",
    ),
    option(
        "--granularity",
        multiple=True,
        metavar="[COLUMN=]STEP",
        help="Public step of the data: 1 for whole years, 0.01 for cents.",
    ),
    MISSING,
    WHERE,
    BY,
    *PROMISE,
    READING,
    VERBOSITY,
)


@command(epilog='\b\nkng count survey.csv --where "age >= 40" --epsilon 0.5')
@_shared
def count(**options: Any) -> None:
    """Release how many records there are, or meet a condition.

    Under --neighbours replace-one the number of all records is public, so a condition is needed.
    """
    _release("count", options, _records)


@command(epilog="\b\nkng proportion survey.csv --of \"smoker = 'yes'\" --epsilon 0.5")
@_shared
@option(
    "--of",
    metavar="CONDITION",
    help="The share is that of the records for which it holds. Records for which it is unknown, "
    "because a cell is empty, are left out. Required.",
)
def proportion(**options: Any) -> None:
    """Release a private share of records that meet a condition."""
    from kng.core.errors import SpecError

    if options["of"] is None:
        raise SpecError("--of is missing; say what the share is of, as in --of \"smoker = 'yes'\".")

    def read(options: dict[str, Any], table: kng.Table) -> dict[str, Any]:
        return {**_records(options, table), "of": options["of"]}

    _release("proportion", options, read)


@command(
    epilog="\b\nkng histogram survey.csv --levels sex=F,M --epsilon 1\n"
    "kng histogram survey.csv --edges age=0,18,65,120 --epsilon 1"
)
@_shared
@option(
    "--edges",
    metavar="[COLUMN=]A,B,C",
    help="Numbers that grow: bins [A, B) and [B, C]. Numbers outside are left out; -inf and inf "
    "may be the first and the last.",
)
@option(
    "--levels",
    metavar="[COLUMN=]A,B,C",
    help="The values to count, texts or numbers. Others are left out; see --other.",
)
@option("--column", metavar="NAME", help="The column that --edges or --levels are about.")
@option("--other", metavar="NAME", help="One more bin, for values that are none of --levels.")
@option(
    "--missing",
    metavar="VALUE",
    help="drop: leave out records with an empty or unreadable cell (default); or a value that has "
    "a bin.",
)
def histogram(**options: Any) -> None:
    """Release private counts of the records in declared bins.

    Bins are public and never learned from the data.
    """
    from kng.cli.arguments import read_bins

    def read(options: dict[str, Any], table: kng.Table) -> dict[str, Any]:
        return {**_records(options, table), **read_bins(options)}

    _release("histogram", options, read)


@command(
    name="sum", epilog="\b\nkng sum claims.csv --bounds paid=0:5000 --granularity 0.01 --epsilon 1"
)
@_numbers
def total(**options: Any) -> None:
    """Release a private sum of a column."""
    from kng.cli.arguments import read_statistic

    _release("sum", options, read_statistic)


@command(epilog="\b\nkng variance survey.csv --bounds age=0:120 --epsilon 1")
@_numbers
@option("--ddof", metavar="COUNT", help="Divide by n minus this (default 1).")
def variance(**options: Any) -> None:
    """Release a private variance of a column."""
    from kng.cli.arguments import read_statistic

    ddof = {} if options["ddof"] is None else {"ddof": options["ddof"]}

    def read(options: dict[str, Any], table: kng.Table) -> dict[str, Any]:
        return {**read_statistic(options, table), **ddof}

    _release("variance", options, read)


def _records(options: dict[str, Any], table: kng.Table) -> dict[str, Any]:
    """Read which records count, and in which groups."""
    from kng.cli.arguments import read_groups

    return {"where": options["where"], "by": read_groups(options["by"], table)}


# Reads the options of a command, beside the table that they are about.
Reading = Callable[[dict[str, Any], "kng.Table"], dict[str, Any]]


def _release(statistic: str, options: dict[str, Any], read: Reading) -> None:
    """Read the words and release a statistic of the file."""
    # Imported here: `kng --help` should not wait for NumPy and FLINT.
    import kng
    from kng.cli.arguments import read_options
    from kng.cli.receipt import hand_over
    from kng.cli.tables import read_table, with_promise

    table = read_table(options)
    options = with_promise(options, table)
    columns = (
        [options["column"]] if isinstance(options.get("column"), str) else options.get("column")
    )
    if table.columns is not None and columns and not options.get("bounds"):
        table = table[columns]
    asked = read(options, table)
    arguments = {**read_options(options), **{k: v for k, v in asked.items() if v is not None}}
    compute = getattr(kng, statistic)
    hand_over(lambda: compute(table, **arguments), options, arguments.get("ledger"))
