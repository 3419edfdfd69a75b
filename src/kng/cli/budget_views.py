"""``kng budget show``, ``history`` and ``verify``: looking needs no write access."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kng.cli.help import command

if TYPE_CHECKING:
    from fractions import Fraction

    from kng.ledger import Entry, Ledger

LEDGER = click.argument("file", metavar="FILE")
ACCOUNT = click.option("--account", metavar="NAME", help="One of several accounts of a ledger.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_DELTA = click.option(
    "--delta",
    metavar="NUMBER",
    help="Show the epsilon that all releases together keep but for this probability.",
)


@command(epilog="\b\nkng budget show survey.ledger")
@LEDGER
@_JSON
@_DELTA
@ACCOUNT
def show(file: str, as_json: bool, delta: str | None, account: str | None) -> None:
    """Show what a budget allows, what is spent, and what it promises."""
    from kng.cli.arguments import open_ledger

    ledger = open_ledger(file, account)
    if not as_json:
        table(ledger, delta)
        return
    facts: dict[str, Any] = {
        "path": ledger.called,
        "account": ledger.account,
        "currency": ledger.currency,
        "cap": str(ledger.cap),
        "spent": str(ledger.spent),
        "remaining": str(ledger.remaining),
        "epsilon": None if ledger.epsilon is None else str(ledger.epsilon),
        "rho": str(ledger.rho),
        "neighbours": ledger.neighbours,
        "records_per_person": ledger.records_per_person,
        "closed": ledger.closed,
        "analysts": {
            name: {"cap": str(share.cap), "spent": str(share.spent)}
            for name, share in ledger.shares.items()
        },
        "charges": len(ledger.history()),
        "head": ledger.head,
    }
    if delta is not None:
        facts["epsilon_at_delta"] = str(ledger.epsilon_at(delta))
    click.echo(json.dumps(facts, indent=2))


@command(epilog="\b\nkng budget history survey.ledger")
@LEDGER
@_JSON
@click.option("--receipt", metavar="NUMBER", help="Print the stored receipt of one charge instead.")
@ACCOUNT
def history(file: str, as_json: bool, receipt: str | None, account: str | None) -> None:
    """List the charges of a budget, oldest first."""
    from kng.cli.arguments import open_ledger

    ledger = open_ledger(file, account)
    if receipt is not None:
        _print_receipt(ledger, receipt)
        return
    entries = ledger.history()
    if as_json:
        click.echo(json.dumps([_plain(entry) for entry in entries], indent=2))
        return
    rows = charges_of(entries)
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def charges_of(entries: Sequence[Entry]) -> list[list[str]]:
    """Return charges as a table for people, its head first."""
    title = ["entry", "time (UTC)", "epsilon", "statistic", "mechanism", "guarantee", "state"]
    # Shown only where there is something to show.
    further: dict[str, Callable[[Entry], str]] = {
        "counts": lambda entry: f"{entry.steps} times" if entry.steps > 1 else "",
        "analyst": lambda entry: entry.analyst or "",
        "request": lambda entry: entry.request or "",
    }
    kept = {name: tell for name, tell in further.items() if any(map(tell, entries))}
    rows = [[*title, *kept]]
    return rows + [[*_row(entry), *(tell(entry) for tell in kept.values())] for entry in entries]


@command(epilog="\b\nkng budget verify survey.ledger")
@LEDGER
@click.option("--head", metavar="HASH", help="A head that you wrote down earlier.")
@ACCOUNT
def verify(file: str, head: str | None, account: str | None) -> None:
    """Check the hash chain and the sums of a ledger.

    Write the head down somewhere else now and then. Given back with --head, it proves that
    nothing was taken away since.
    """
    from kng.cli.arguments import open_ledger

    ledger = open_ledger(file, account)
    ledger.verify(head)
    click.echo(verified(ledger))
    table(ledger)


def verified(ledger: Ledger) -> str:
    """Return what is said of a ledger that `Ledger.verify` found no fault with."""
    charges = len(ledger.history())
    count = f"{charges} charge{'s'[: charges != 1]}"
    return f"Ledger verified: {count}, hash chain intact, total matches."


def table(ledger: Ledger, delta: str | None = None) -> None:
    """Print what there is to know of a budget."""
    rows = facts_of(ledger, delta)
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        click.echo(f"{label:<{width}}  {text}")


def facts_of(ledger: Ledger, delta: str | None = None) -> list[tuple[str, str]]:
    """Return what there is to know of a budget as label and text."""
    named = [] if ledger.account == "default" else [("account", ledger.account)]
    closed = " (closed: nothing more is charged)" if ledger.closed else ""
    unit = ledger.currency
    return [
        ("ledger", ledger.called),
        *named,
        ("cap", left(ledger.cap, unit)),
        ("spent", _gone(ledger.spent, unit)),
        ("remaining", left(ledger.remaining, unit) + closed),
        *_both(ledger, delta),
        ("promise", _promise(ledger)),
        *(
            (f"analyst {name}", f"{_gone(share.spent, unit)} of {left(share.cap, unit)} spent")
            for name, share in ledger.shares.items()
        ),
        ("charges", str(len(ledger.history()))),
        ("head", ledger.head),
    ]


def _both(ledger: Ledger, delta: str | None) -> list[tuple[str, str]]:
    """Return what the charges add up to in the other currency, and with a delta."""
    rows = []
    if ledger.currency == "rho" and ledger.epsilon is not None:
        rows.append(("epsilon", f"{_digits(ledger.epsilon)} (the sum)"))
    elif ledger.currency == "epsilon" and ledger.rho:
        rows.append(("rho", f"{_digits(ledger.rho)} (concentrated privacy)"))
    if delta is None and ledger.currency == "rho":
        delta = "1e-6"
    if delta is not None:
        rows.append(("with delta", f"epsilon {_digits(ledger.epsilon_at(delta))} at delta {delta}"))
    return rows


def left(amount: Fraction, currency: str) -> str:
    """Write what may be spent; rhos, which have many digits, are rounded down."""
    from decimal import ROUND_FLOOR

    from kng.ledger.amounts import tell

    return tell(amount) if currency == "epsilon" else f"{_digits(amount, ROUND_FLOOR)} rho"


def _gone(amount: Fraction, currency: str) -> str:
    """Write what is spent; rhos are rounded up."""
    from kng.ledger.amounts import tell

    return tell(amount) if currency == "epsilon" else f"{_digits(amount)} rho"


def _digits(number: Fraction, rounding: str = "ROUND_CEILING") -> str:
    """Write an amount in six digits, rounded up: a promise is never shown better than it is."""
    from decimal import Context, Decimal

    context = Context(prec=6, rounding=rounding)
    shown = context.divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"{shown.normalize():f}" if shown else "0"


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


def _plain(entry: Entry) -> dict[str, str | int | None]:
    return {
        "sequence": entry.sequence,
        "time": entry.time.isoformat(),
        "epsilon": str(entry.epsilon),
        "loss_range": str(entry.width),
        "rho": str(entry.rho),
        "counts": entry.steps,
        "mechanism": entry.mechanism,
        "guarantee": entry.guarantee.value,
        "state": entry.state.value,
        "analyst": entry.analyst,
        "request": entry.request,
        "parameters": entry.parameters,
        "hash": entry.hash,
    }


def _statistic(parameters: str) -> str:
    """Say what a charge paid for; programs may book other texts than our own JSON."""
    try:
        facts = json.loads(parameters)
        columns = list(facts.get("columns") or [])
        about = f" of {', '.join(columns)}" if columns else ""
        if columns and "coefficients" in facts:
            named = facts.get("target") or facts.get("labels")
            if named is not None:
                columns.append(named.removeprefix("column "))
            *rest, last = columns  # the response stands last, if it has bounds or is named
            known = rest and (named is not None or last not in facts["coefficients"])
            about = f" of {last} on {', '.join(rest)}" if known else f" on {', '.join(columns)}"
        name = facts["statistic"]
        if name == "quantile":
            name = "quantiles" if "quantiles" in facts else f"{facts['quantile']} quantile"
    except (ValueError, KeyError, TypeError, AttributeError):
        return "-"
    return f"{name}{about}"


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
