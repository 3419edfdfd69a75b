"""``kng report`` and ``kng verify``: receipts for people, and whether a ledger holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kng.cli.help import command

if TYPE_CHECKING:
    from kng.ledger import Ledger
    from kng.report import History, Receipt

_LEDGER = "The ledger that paid: a file, or the postgresql:// address of a database."
_ACCOUNT = click.option("--account", metavar="NAME", help="With --ledger: one of several accounts.")


@command(epilog="\b\nkng report median.json mean.json --ledger visits.ledger --out page.html")
@click.argument("receipts", metavar="RECEIPT...", nargs=-1, required=True)
@click.option(
    "--out",
    metavar="FILE",
    help="The new page; named like the first receipt, with .html, unless given.",
)
@click.option("--ledger", metavar="FILE|ADDRESS", help=f"{_LEDGER} Its history is shown too.")
@_ACCOUNT
def report(
    receipts: tuple[str, ...], out: str | None, ledger: str | None, account: str | None
) -> None:
    """Make an HTML page of receipts, to read, print or forward.

    RECEIPT is a file that --out has written: JSON or a page. The page loads nothing from the
    network. It reads no data and costs no epsilon.
    """
    from pathlib import Path

    from kng.cli.arguments import open_ledger
    from kng.cli.receipt import page_file
    from kng.core.errors import SpecError
    from kng.report import page, read_receipts

    if account is not None and ledger is None:
        raise SpecError("--account is about a ledger; name it by --ledger.")
    found = [receipt for path in receipts for receipt in read_receipts(path)]
    history = None if ledger is None else history_of(open_ledger(ledger, account))
    made = page(found, history)
    target = str(Path(receipts[0]).with_suffix(".html")) if out is None else out
    with page_file(target) as file:
        try:
            file.write(made)
        except OSError as error:
            raise SpecError(f"--out {target} cannot be written ({error.strerror}).") from None
    click.echo(f"Wrote {target}")


@command(epilog="\b\nkng verify median.json --ledger visits.ledger")
@click.argument("receipt")
@click.option("--ledger", metavar="FILE|ADDRESS", required=True, help=_LEDGER)
@_ACCOUNT
def verify(receipt: str, ledger: str, account: str | None) -> None:
    """Check a receipt against the ledger that paid for it.

    RECEIPT must be the one that the ledger has stored, word for word. The whole ledger is checked
    too: its hash chain and its sums. Needs no write access. Of a page the receipts in it are
    checked, not what stands around them.
    """
    from shlex import quote

    from kng.cli.arguments import open_ledger
    from kng.cli.budget_views import verified
    from kng.report import read_receipts

    found = read_receipts(receipt)
    account_of = {r.release.provenance.account for r in found if r.release.provenance is not None}
    if account is None and len(account_of) == 1:
        account = account_of.pop()
    book = open_ledger(ledger, account)
    book.verify()
    for one in found:
        entry = _entry(one, book)
        click.echo(
            f"Verified: {one.called} is the receipt stored in entry {entry} of {book.called}."
        )
    if found[0].in_page:
        click.echo(
            f"Only the receipts inside {found[0].called} were checked, not the text and pictures "
            f"around them. To be sure of these, make the page anew: kng report {quote(receipt)} "
            "--out new.html"
        )
    click.echo(verified(book))


def _entry(receipt: Receipt, ledger: Ledger) -> int:
    """Return the entry that holds a receipt, or say that it is not the stored one."""
    import json

    from kng.core.errors import LedgerError
    from kng.estimators.batch import stored_receipts

    origin = receipt.release.provenance
    history = {entry.sequence: entry for entry in ledger.history()}
    # Receipts of version 0.1 name no entry, so all of them are looked at.
    named = None if origin is None else origin.entry
    if origin is not None and named is None:
        raise LedgerError(
            f"{receipt.called} names no ledger: its release was charged to none. Nothing can be "
            "verified."
        )
    looked = list(history) if named is None else [named] if named in history else []
    for number in looked:
        stored = ledger.release_of(number)
        if stored is None:
            continue
        bodies = [json.loads(each) for each in stored_receipts(stored)]
        if any(map(receipt.is_stored_as, bodies)):
            return number
        if named is not None:
            differing = min((_differing(body, receipt.body) for body in bodies), key=len)
            raise LedgerError(
                f"{receipt.called} is not the receipt stored in entry {number} of "
                f"{ledger.called}: they differ in {', '.join(differing)}. It was changed, or "
                "belongs to another ledger."
            )
    where = "any entry" if named is None else f"entry {named}"
    raise LedgerError(
        f"{receipt.called} is not stored in {where} of {ledger.called}. It belongs to another "
        "ledger or account, or was changed."
    )


def _differing(stored: dict[str, Any], given: dict[str, Any]) -> list[str]:
    names = [name for name in {**stored, **given} if stored.get(name) != given.get(name)]
    return names or ["how numbers are written"]


def history_of(ledger: Ledger) -> History:
    """Return what a page shows of an account; it is verified first."""
    from dataclasses import replace
    from pathlib import Path

    from kng.cli.budget_views import charges_of, facts_of, verified
    from kng.report import History

    ledger.verify()
    # A page is forwarded, and the second of the next charge tells how long a draw took.
    minutes = [replace(entry, time=entry.time.replace(second=0)) for entry in ledger.history()]
    head, *rows = charges_of(minutes)
    return History(
        [
            (label, Path(text).name if label == "ledger" else text)
            for label, text in facts_of(ledger)
        ],
        [head, *([row[0], row[1].removesuffix(":00"), *row[2:]] for row in rows)],
        verified(ledger),
    )
