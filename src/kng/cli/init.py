"""``kng init``: writes kng.toml from the names and types of columns, by asking."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kng.cli.help import command
from kng.cli.options import option
from kng.cli.tables import DATA, READING

if TYPE_CHECKING:
    from kng.data import Column, Table

_KINDS = ("number", "boolean", "date", "category", "skip")
# What the type of a column in its container suggests; in CSV nothing does.
_USUAL = {"boolean": "boolean", "date": "date", "text": "category", "other": "skip"}


@command(epilog="\b\nkng init visits.csv")
@DATA
@option("--out", metavar="FILE", default="kng.toml", help="The file to write (default kng.toml).")
@option("--name", metavar="NAME", help="What the table is called; the file's name unless given.")
@option("--yes", is_flag=True, help="Ask nothing: leave blanks to fill in.")
@READING
def init(out: str, name: str | None, yes: bool, **options: Any) -> None:
    """Write kng.toml: what is public of a table, stated once.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, or a postgresql://
    address. Only the names of columns and their declared types are looked at, never a cell: bounds
    and levels are what you know without the data. An existing file is never changed.
    """
    from kng.cli.tables import read_source
    from kng.core.errors import SpecError
    from kng.data.declared.toml_text import table_text

    if os.path.exists(out):  # False for names that are too long
        raise SpecError(
            f"{out} exists already and is not changed. Choose another name with --out, or add the "
            "table by hand."
        )
    table = read_source(options)
    columns, called = _columns(table), name or _name(table)
    ask = _blank if yes else _asked
    try:
        stated = {str(column.name): ask(column) for column in columns}
        promise = {"relation": "replace-one"} if yes else _promise()
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise SpecError(
            "kng init asks questions, and its input has ended. Use --yes to ask nothing and leave "
            "blanks."
        ) from None
    kept = {column: facts for column, facts in stated.items() if facts}
    text = table_text(called, {**_facts(table, options, Path(out)), **promise}, kept)
    _write(Path(out), text)
    click.echo(f"Wrote {out}: table {called!r} with {_number(len(kept))}.")
    if yes:
        click.echo("Fill in the blanks; a command that uses the table names those that are left.")
    ledger = promise.get("ledger")
    if ledger and not os.path.exists(Path(out).parent / ledger):
        click.echo(f"Make its ledger:  kng budget create {ledger} --epsilon CAP")
    numbers = [column for column, facts in kept.items() if facts["kind"] == "number"]
    if numbers and not yes:
        click.echo(f"Try:  kng median {called} --column {numbers[0]} --epsilon 0.5")


def _columns(table: Table) -> list[Column]:
    """Return the columns of a table; opens headers and schemas, and no record."""
    from kng.core.errors import SchemaError
    from kng.data import open_table

    engine = open_table(table)
    assert engine is not None  # a path or an address has names
    try:
        columns = [column for column in engine.columns() if column.name]
    finally:
        engine.close()
    names = [column.name for column in columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SchemaError(f"two columns are named {twice[0]!r}; rename one of them.")
    return columns


def _usual(column: Column) -> str:
    return _USUAL.get(column.kind.value, "number")


def _blank(column: Column) -> dict[str, Any]:
    """Return what is to be filled in."""
    kind = _usual(column)
    if kind == "skip":
        return {}
    blanks: dict[str, Any] = {"category": {"levels": []}, "boolean": {}}
    return {"kind": kind, **blanks.get(kind, {"bounds": []})}


def _asked(column: Column) -> dict[str, Any]:
    """Ask for what is public of a column; empty if it is left out."""
    from kng.data.declared.facts import bounds_in, levels_in, reference_in, step_in

    declared = f" ({column.declared})" if column.declared else ""
    click.echo(f"\nColumn {column.name!r}{declared}")
    kind = click.prompt("  kind", type=click.Choice(_KINDS), default=_usual(column))
    if kind == "skip":
        return {}
    facts: dict[str, Any] = {"kind": kind}
    if kind in ("number", "date"):
        facts["bounds"] = _until_right(
            lambda: [_prompt("  lowest possible value"), _prompt("  highest possible value")],
            lambda ends: bounds_in(ends, kind),
        )
    if kind == "number":
        step = _until_right(
            lambda: _prompt("  step of the values, such as 1 or 0.01 (empty: none)", empty=True),
            lambda text: text and step_in(text, kind, bounds_in(facts["bounds"], kind)),
        )
        facts |= {"step": step} if step else {}
    if kind == "boolean":
        words = _until_right(
            lambda: _listed(
                _prompt("  words for no and yes, as in N,J (empty: false,true)", empty=True)
            ),
            lambda found: found and levels_in(found, kind),
        )
        facts |= {"levels": words} if words else {}
    if kind == "category":
        levels = _until_right(
            lambda: _listed(_prompt("  levels, as in F,M")),
            lambda found: levels_in(found, kind),
        )
        facts["levels"] = levels
        facts["reference"] = _until_right(
            lambda: _prompt("  reference level", default=levels[0]),
            lambda text: reference_in(text, levels, None),
        )
    return facts


def _prompt(text: str, *, default: str | None = None, empty: bool = False) -> str:
    answer: str = click.prompt(text, default="" if empty else default, show_default=not empty)
    return answer.strip()


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text else []


def _until_right(ask: Callable[[], Any], check: Callable[[Any], Any]) -> Any:
    """Ask until the answer can be used; say what is wrong with one that cannot."""
    while True:
        answer = ask()
        try:
            check(answer)
        except ValueError as error:
            click.echo(f"  {error}. Please answer again.")
        else:
            return answer


def _promise() -> dict[str, str]:
    """Ask for what holds for every release."""
    click.echo("\nreplace-one: the number of records is public. add-remove: it is private.")
    relation = click.prompt(
        "relation", type=click.Choice(("replace-one", "add-remove")), default="replace-one"
    )
    ledger = _prompt("ledger that pays for every release (empty: none)", empty=True)
    return {"relation": relation, **({"ledger": ledger} if ledger else {})}


def _facts(table: Table, options: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Return where the table is, seen from the file, and how it is read; without a password."""
    from kng.cli.tables import stated_reading

    stated = {name: str(value) for name, value in stated_reading(options).items()}
    if table.source is None:
        return stated
    source = str(table.source)
    if "://" in source:
        return {"source": _without_password(source), **stated}
    if not os.path.isabs(source) and out.parent != Path():
        source = os.path.relpath(source, out.parent)
    return {"source": source, **stated}


def _without_password(address: str) -> str:
    scheme, _, rest = address.partition("://")
    user, mark, place = rest.rpartition("@")
    if ":" not in user:
        return address
    click.echo("The password is not written. Put it into ~/.pgpass or PGPASSWORD.", err=True)
    return f"{scheme}://{user.partition(':')[0]}{mark}{place}"


def _name(table: Table) -> str:
    """Return what a table is called: as in its database, or as its file without a suffix."""
    from kng.cli.tables import is_word

    path = Path(str(table.source or ""))
    name = table.table or path.name.split(".")[0] or path.parent.name
    return name if name and is_word(name) else "data"


def _write(out: Path, text: str) -> None:
    from kng.core.errors import SpecError

    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise SpecError(f"{out} exists already and is not changed.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not text that UTF-8 can hold"
        raise SpecError(f"cannot write {out}: {reason}. Choose another place.") from None


def _number(columns: int) -> str:
    return "one column" if columns == 1 else f"{columns} columns"
