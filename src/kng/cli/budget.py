"""``kng budget``: create a ledger, and look at one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kng.ledger import Entry, Ledger

_FILE = click.argument("file", metavar="FILE")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def budget() -> None:
    """Create a budget of epsilon for one dataset, and look at it."""


@budget.command(epilog="\b\nkng budget create survey.ledger --epsilon 2")
@_FILE
@click.option(
    "--epsilon",
    metavar="CAP",
    help="The largest total epsilon of all releases: 1, 0.5 or 1/3. It never changes. Required.",
)
@click.option(
    "--neighbours",
    "--neighbors",
    metavar="NAME",
    help="replace-one or add-remove; fixed by the first charge unless given.",
)
@click.option(
    "--records-per-person",
    metavar="COUNT",
    help="How many records one person may have; fixed by the first charge unless given.",
)
def create(
    file: str, epsilon: str | None, neighbours: str | None, records_per_person: str | None
) -> None:
    """Create a budget in a new FILE, on a local disk.

    Keep FILE.head beside it: together they show if an older copy is put back.
    """
    from pathlib import Path

    from kng.core.errors import SpecError
    from kng.core.privacy import read_records
    from kng.ledger import Ledger

    if epsilon is None:
        raise SpecError("epsilon is missing; state the cap of the budget, as in --epsilon 2.")
    if Path(file).exists():
        raise SpecError(
            f"{file} exists already. A cap never changes; use kng budget show to look at it, or "
            "choose another name."
        )
    records = None
    if records_per_person is not None:
        records = read_records(records_per_person)
    ledger = Ledger(file, cap=epsilon, neighbours=neighbours, records_per_person=records)
    _table(_facts(ledger))


@budget.command()
@_FILE
@_JSON
def show(file: str, as_json: bool) -> None:
    """Show what the budget in FILE holds, what is spent, and what it promises."""
    from kng.cli.arguments import open_ledger

    ledger = open_ledger(file)
    if not as_json:
        _table(_facts(ledger))
        return
    facts = {
        "path": str(ledger.path),
        "cap": str(ledger.cap),
        "spent": str(ledger.spent),
        "remaining": str(ledger.remaining),
        "neighbours": ledger.neighbours,
        "records_per_person": ledger.records_per_person,
        "charges": len(ledger.history()),
        "head": ledger.head,
    }
    click.echo(json.dumps(facts, indent=2))


@budget.command()
@_FILE
@_JSON
@click.option("--receipt", metavar="NUMBER", help="Print the stored receipt of one charge instead.")
def history(file: str, as_json: bool, receipt: str | None) -> None:
    """List the charges in FILE, oldest first."""
    from kng.cli.arguments import open_ledger

    ledger = open_ledger(file)
    if receipt is not None:
        _print_receipt(ledger, receipt)
        return
    entries = ledger.history()
    if as_json:
        click.echo(json.dumps([_plain(entry) for entry in entries], indent=2))
        return
    title = ("number", "time (UTC)", "epsilon", "statistic", "mechanism", "guarantee", "state")
    rows = [title, *(_row(entry) for entry in entries)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


@budget.command()
@_FILE
@click.option("--head", metavar="HASH", help="A head that you wrote down earlier.")
def verify(file: str, head: str | None) -> None:
    """Check the whole history of FILE: its chain of hashes and its sums.

    Write the head down somewhere else now and then. Given back with --head, it proves that
    nothing was taken away since.
    """
    from kng.cli.arguments import open_ledger

    ledger = open_ledger(file)
    ledger.verify(head)
    click.echo("The history is whole and adds up.")
    _table(_facts(ledger))


def _facts(ledger: Ledger) -> list[tuple[str, str]]:
    from kng.ledger.amounts import tell

    return [
        ("ledger", str(ledger.path)),
        ("cap", tell(ledger.cap)),
        ("spent", tell(ledger.spent)),
        ("remaining", tell(ledger.remaining)),
        ("promise", _promise(ledger)),
        ("charges", str(len(ledger.history()))),
        ("head", ledger.head),
    ]


def _promise(ledger: Ledger) -> str:
    """Say whom an epsilon of this account protects."""
    neighbours, records = ledger.neighbours, ledger.records_per_person
    if neighbours is None and records is None:
        return "fixed by the first charge"
    unit = {None: "fixed by the first charge", 1: "one record"}.get(
        records, f"one person with up to {records} records"
    )
    return f"{unit}, {neighbours or 'neighbours fixed by the first charge'}"


def _row(entry: Entry) -> tuple[str, ...]:
    from kng.ledger.amounts import tell

    return (
        str(entry.sequence),
        f"{entry.time:%Y-%m-%d %H:%M:%S}",
        tell(entry.epsilon),
        _statistic(entry.parameters),
        entry.mechanism,
        entry.guarantee.value,
        entry.state.value,
    )


def _plain(entry: Entry) -> dict[str, str | int]:
    return {
        "sequence": entry.sequence,
        "time": entry.time.isoformat(),
        "epsilon": str(entry.epsilon),
        "loss_range": str(entry.width),
        "mechanism": entry.mechanism,
        "guarantee": entry.guarantee.value,
        "state": entry.state.value,
        "parameters": entry.parameters,
        "hash": entry.hash,
    }


def _statistic(parameters: str) -> str:
    """Say what a charge paid for; programs may book other texts than our own JSON."""
    try:
        facts = json.loads(parameters)
        columns = ", ".join(facts.get("columns") or [])
        return f"{facts['statistic']} of {columns}" if columns else str(facts["statistic"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return "-"


def _print_receipt(ledger: Ledger, number: str) -> None:
    from kng.core.errors import SpecError
    from kng.core.exact import whole

    stored = ledger.release_of(whole(number, "receipt", 1))
    if stored is None:
        raise SpecError(
            f"charge {number} has no receipt: its release was cut short, or is under way. The "
            "charge stays."
        )
    click.echo(stored)


def _table(rows: list[tuple[str, str]]) -> None:
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        click.echo(f"{label:<{width}}  {text}")
