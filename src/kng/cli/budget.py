"""``kng budget``: create a ledger, share it, look at it, and end or mend it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kng.cli.budget_views import ACCOUNT, LEDGER, history, show, table, verify
from kng.cli.help import Commands

if TYPE_CHECKING:
    from fractions import Fraction


@click.group(cls=Commands, epilog="\b\nkng budget create survey.ledger --epsilon 2")
def budget() -> None:
    """Create a budget for one dataset, share it, and look at it."""


for _view in (show, history, verify):
    budget.add_command(_view)


@budget.command(epilog="\b\nkng budget create survey.ledger --epsilon 2")
@LEDGER
@click.option(
    "--epsilon",
    metavar="CAP",
    help="The largest total epsilon of all releases: 1, 0.5 or 1/3. It never changes. Required, "
    "unless --rho is given.",
)
@click.option(
    "--delta",
    metavar="NUMBER",
    help="Keep --epsilon but for this probability, as in 1e-6: many small releases then cost less.",
)
@click.option("--rho", metavar="CAP", help="The largest total rho (concentrated privacy) instead.")
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
@ACCOUNT
def create(  # noqa: PLR0917 - one for each option
    file: str,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    neighbours: str | None,
    records_per_person: str | None,
    account: str | None,
) -> None:
    """Create a budget in a new file or a database.

    FILE is on a local disk, or the postgresql:// address of a database. Keep FILE.head beside
    it: together they show if an older copy is put back.
    """
    from kng.core.privacy import read_records
    from kng.ledger import Ledger

    cap, currency = _cap(epsilon, delta, rho)
    _require_new(file, account)
    ledger = Ledger(
        file,
        cap=cap,
        currency=currency,
        account=account or "default",
        neighbours=neighbours,
        records_per_person=None if records_per_person is None else read_records(records_per_person),
    )
    table(ledger)


@budget.command(epilog="\b\nkng budget share survey.ledger --analyst ann --cap 0.5")
@LEDGER
@click.option("--analyst", metavar="NAME", required=True, help="Who may spend it.")
@click.option("--cap", metavar="CAP", required=True, help="The largest total. It never changes.")
@ACCOUNT
def share(file: str, analyst: str, cap: str, account: str | None) -> None:
    """Let an analyst spend a part of a budget, and no more.

    Shares may add up to more than the budget: it is never overspent. Releases are charged to a
    share by --analyst.
    """
    from kng.cli.arguments import open_ledger
    from kng.ledger import Ledger

    open_ledger(file, account)
    Ledger(file, account=account or "default", analyst=analyst, cap=cap)
    table(open_ledger(file, account))


@budget.command(epilog="\b\nkng budget close survey.ledger")
@LEDGER
@ACCOUNT
def close(file: str, account: str | None) -> None:
    """Close a budget: it takes no more charges.

    What is left of the budget in FILE is given up. This cannot be undone.
    """
    from kng.cli.arguments import open_ledger

    ledger = open_ledger(file, account)
    ledger.close_account()
    table(ledger)


@budget.command(epilog="\b\nkng budget adopt survey.ledger")
@LEDGER
@ACCOUNT
def adopt(file: str, account: str | None) -> None:
    """Accept a moved ledger as the newest copy.

    Also one that has lost its .head file. The whole history is verified first. Do this only if
    nothing was charged since the copy was made, and no other copy or name of it is in use;
    otherwise see kng budget restore.
    """
    from kng.ledger import Ledger

    table(Ledger.adopt(file, account=account or "default"))


@budget.command(epilog="\b\nkng budget restore survey.ledger --spent 0.3")
@LEDGER
@click.option(
    "--spent",
    multiple=True,
    metavar="[ACCOUNT=]AMOUNT",
    help="What was charged since the copy was made; all that is left unless given.",
)
@ACCOUNT
def restore(file: str, spent: tuple[str, ...], account: str | None) -> None:
    """Continue with an older copy of a ledger.

    What was charged since the copy was made cannot be read from it. State it, from the receipts
    say; otherwise all that is left counts as spent.
    """
    from kng.cli.arguments import read_setting
    from kng.ledger import Ledger

    amounts = read_setting("spent", spent)
    table(Ledger.restore(file, spent=amounts, account=account or "default"))


def _cap(
    epsilon: str | None, delta: str | None, rho: str | None
) -> tuple[str | Fraction, str | None]:
    """Read the cap and what it is counted in."""
    from kng.core.composition import read_delta, rho_at
    from kng.core.errors import SpecError
    from kng.ledger.amounts import read_cap

    if rho is not None:
        if epsilon is not None or delta is not None:
            raise SpecError("--rho is a cap of its own. Leave out --epsilon and --delta.")
        return rho, "rho"
    if epsilon is None:
        raise SpecError("--epsilon is missing; state the cap of the budget, as in --epsilon 2.")
    if delta is None:
        return epsilon, None
    return rho_at(read_cap(epsilon), read_delta(delta)), "rho"


def _require_new(file: str, account: str | None) -> None:
    """Refuse a file or an account that is there."""
    import os

    from kng.core.errors import SpecError
    from kng.ledger import Ledger

    # False for names that are too long, which the ledger tells.
    there = account is None and "://" not in file and os.path.exists(file)
    if not there and (account is not None or "://" in file):
        try:
            Ledger(file, account=account or "default")
        except SpecError:  # no such account yet
            return
        there = True
    if there:
        what = file if account is None else f"account {account!r} of {file}"
        raise SpecError(
            f"{what} exists already. A cap never changes; use kng budget show to look at it, or "
            "choose another name."
        )
