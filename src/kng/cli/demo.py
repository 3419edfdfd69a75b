"""``kng demo``: three private answers, from the question to a page that can be forwarded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kng.cli.help import command

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from kng.cli.receipt import ReceiptFile
    from kng.core.release import Release
    from kng.ledger import Ledger

    Records = list[dict[str, str]]

# Public facts, known without looking at a record: no bill is below nothing, we choose to count at
# most 5000 dollars, money comes in cents, and the study followed a person for at most five years.
_SPENDING: dict[str, Any] = {
    "bounds": {"spending": (0, 5000)},
    "granularity": "0.01",
    "records_per_person": 5,
}
_VISITS: dict[str, Any] = {
    "bounds": {"visits": (0, 100)},
    "granularity": 1,
    "records_per_person": 5,
}
# Parts of a bill, in percent, that the plans of the study left to people.
_SHARES = {"coinsurance": [0, 25, 95]}
_DRAWS = 60

# What the lines of this receipt mean; `receipt_words` has those that all receipts share.
_LINES = {
    "median": "The answer, in dollars. It was drawn at random near the middle of the bills. Run "
    "the demo again and it differs a little. That is what protects people.",
    "epsilon": "The promise. Exchange one person's records, all five years of them, for any "
    "others: no answer becomes more than 1.65 times as likely (e to the power 0.5). Someone who "
    "held it 50:50 whether your records are these or those ends at 62:38 at most, whatever else "
    "they know.",
    "method": "The K-norm gradient mechanism: the further an answer is from splitting the bills "
    "in half, the less likely it is. The sampler draws from exactly that law.",
    "bounds": "Stated by us, not read from the data. A bill above 5000 counts as 5000.",
    "step": "The step of the data and of the answer: one cent.",
    "missing cells": "A record without a bill would be left out, and nobody learns how many were.",
    "records": "How many there are. This is public here; with --neighbours add-remove it is not.",
}


@command(epilog="\b\nkng demo --out demo.html")
@click.option("--out", metavar="FILE", help="Write the page of the answers to a new HTML file.")
def demo(out: str | None) -> None:
    """Show how private answers are planned, made and explained.

    Uses data that ship with kng, and takes a few seconds.
    """
    import csv
    from contextlib import nullcontext
    from importlib.resources import as_file, files
    from pathlib import Path

    import kng
    from kng.cli.receipt import page_file

    with (
        as_file(files("kng.cli") / "doctor_visits.csv") as data,
        _temporary_directory() as directory,
        nullcontext() if out is None else page_file(out) as page,
    ):
        with data.open(newline="", encoding="utf-8") as file:
            records = list(csv.DictReader(file))
        _say("Three private answers, from the question to a page. It takes some seconds.", 0)
        _present(records)
        _ask_plainly(records)
        _plan(len(records))
        ledger = kng.Ledger(Path(directory) / "visits.ledger", cap=1)
        answers = [_ask_privately(data, ledger), *_overspend(data, ledger)]
        _tell_history(ledger)
        _forward(answers, ledger, page)
        _vary_epsilon(records)
        _go_on()


def _temporary_directory() -> TemporaryDirectory[str]:
    """Return a place for the ledger of the demo, or say that there is none."""
    from tempfile import TemporaryDirectory

    from kng.core.errors import SpecError

    try:
        return TemporaryDirectory(prefix="kng-demo-")
    except OSError as error:
        raise SpecError(
            f"kng demo keeps a budget in a temporary directory, and none can be written to "
            f"({error.strerror}). Set TMPDIR to one; in a container, mount one: --tmpfs /tmp."
        ) from None


def _present(records: Records) -> None:
    """Say what the data are."""
    people = len({record["person"] for record in records})
    _title("1. The data")
    _say(
        f"{len(records):,} yearly records of {people:,} people in the RAND Health Insurance "
        "Experiment (United States, 1974 to 1982): age, visits to a doctor, medical spending. A "
        "person was followed for up to five years, so up to five records are about one person."
    )
    _say(
        "These data have long been public. So the demo may show you things that a holder of "
        "private data must never show."
    )


def _ask_plainly(records: Records) -> None:
    """Show what a plain median gives away."""
    from statistics import median_low

    bills = _bills(records)
    plain = median_low(bills)
    without = median_low(_bills(record for record in records if record["person"] != "1"))
    _title("2. The question, answered plainly")
    _say(
        "What does a typical person's medical care cost in a year? Line up all the bills and take "
        f"the middle one: ${plain:.2f}. To publish that is risky, for two reasons."
    )
    _say(
        f"- It is somebody's bill, to the cent. Of {len(bills):,} records, {bills.count(plain)} "
        f"says {plain:.2f}.\n"
        f"- It moves as people come and go. Leave out person 1 and it becomes ${without:.2f}. It "
        "went up, so most of person 1's bills lie below it. Enough answers of this kind, put "
        "together, give the records back."
    )


def _plan(n: int) -> None:
    """Tell beforehand what an answer would be worth, from public facts and a guess."""
    import kng

    _title("3. Is a private answer worth its price?")
    _say(
        "That can be known before any record is read, from public facts and a guess: there are "
        f"{n:,} records, and bills may spread by some 100 dollars. At epsilon 0.5:"
    )
    plan = kng.median.plan(n=n, epsilon="0.5", spread=100, **{**_SPENDING, "bounds": (0, 5000)})
    for line in str(plan).splitlines():
        click.echo(f"      {line}".rstrip())
    click.echo()
    _say(
        "Privacy would blur the answer less than chance does, which chose these people and not "
        "others. So we ask."
    )


def _ask_privately(data: Path, ledger: Ledger) -> Release:
    """Make one real release, and explain its receipt line by line."""
    import kng

    _title("4. The same question, answered privately")
    _say(
        "First a budget: all answers from these data together may cost epsilon 1. Then the "
        "question, at epsilon 0.5. As commands, on a copy of the data:"
    )
    _show(
        "kng sample visits.csv",
        "kng budget create visits.ledger --epsilon 1",
        "kng median visits.csv --column spending --bounds 0:5000 \\",
        "    --granularity 0.01 --records-per-person 5 --epsilon 0.5 --ledger visits.ledger",
    )
    _say(
        "The demo now does the same, for real: with random bits from the operating system, and a "
        "ledger in a temporary directory. Here is the receipt, line by line. Only its first line "
        "depends on the records."
    )
    answer = kng.median(data, epsilon="0.5", ledger=ledger, **_SPENDING)
    _explain(answer)
    return answer


def _explain(release: Release) -> None:
    """Print a receipt with a plain sentence under each of its lines."""
    from kng.core.receipt_words import ASSUMED, LINES

    rows = release.rows()
    known = LINES | {assumption.meaning: text for assumption, text in ASSUMED.items()} | _LINES
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        _print(text, indent=width + 5, first=f"   {label:<{width}}  ", bold=True)
        named = text if label == "assumption" else label
        if named in known:
            _print(known[named], indent=6)
    click.echo()


def _overspend(data: Path, ledger: Ledger) -> list[Release]:
    """Let the ledger refuse a question, and then grant it for less, and one more."""
    import kng
    from kng.core.errors import BudgetError
    from kng.ledger.amounts import tell

    _title("5. The budget cannot be overspent")
    _say(
        f"Of epsilon {tell(ledger.cap)}, {tell(ledger.remaining)} is left. The next question: how "
        "many visits to a doctor do nine in ten person-years stay within? At epsilon 0.75:"
    )
    try:
        kng.quantile(data, "0.9", epsilon="0.75", ledger=ledger, **_VISITS)
    except BudgetError as refusal:
        _say(f"Error: {refusal}", indent=6)
    answer = kng.quantile(data, "0.9", epsilon="0.25", ledger=ledger, **_VISITS)
    _say(
        f"At epsilon 0.25 it fits: {answer.value:g} visits. A third question takes the rest. Did "
        "people who paid a part of their bills themselves (coinsurance, in percent) see a doctor "
        "less often than those who paid nothing? The mean, counting 12 visits at most. The groups "
        "are declared, and one epsilon serves all of them:"
    )
    few: Any = {"bounds": {"visits": (0, 12)}, "records_per_person": 5}
    found = kng.mean(data, by=_SHARES, epsilon="0.25", ledger=ledger, **few)
    for line in str(found).split("\n\n")[0].splitlines():
        click.echo(f"      {line}")
    click.echo()
    return [answer, found]


def _tell_history(ledger: Ledger) -> None:
    """Show what the ledger keeps for an auditor."""
    from kng.cli.budget_views import charges_of, verified

    _title("6. What an auditor sees")
    _say(
        "Every charge is an entry of the ledger, written before any record was read, and sealed by "
        "the hash of all entries before it. kng budget history lists them:"
    )
    rows = [[row[2], row[3], row[5], row[6]] for row in charges_of(ledger.history())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo(f"      {'  '.join(cells)}".rstrip())
    click.echo()
    ledger.verify()
    _say(f"{verified(ledger)} The budget is spent: all further questions are refused.")


def _forward(answers: list[Release], ledger: Ledger, page: ReceiptFile | None) -> None:
    """Make the page of the three answers, if a file waits for it."""
    _title("7. A page to forward")
    _say(
        "Receipts become one page: answers with pictures, the promise in words, what is assumed, "
        "how to verify, and the history of the budget. It loads nothing from the network. As a "
        "command:"
    )
    _show(
        "kng report median.json visits.json mean.json \\",
        "    --ledger visits.ledger --out page.html",
    )
    if page is None:
        _say("To see the page of the three answers above, run:  kng demo --out demo.html")
        return
    from kng.cli.report import history_of
    from kng.report import Receipt
    from kng.report import page as made_of

    name = page.path.name  # kng verify takes the page in place of a receipt
    receipts = [Receipt(answer, answer.to_json(indent=2), name) for answer in answers]
    page.write(made_of(receipts, history_of(ledger)))
    _say("The page of the three answers above is written. Open it in a browser:")
    _show(str(page.path))


def _vary_epsilon(records: Records) -> None:
    """Show by simulation what a larger or smaller epsilon gives."""
    import numpy as np

    import kng

    bills = np.array(_bills(records))
    facts = _SPENDING | {"bounds": (0, 5000)}
    _title("8. What epsilon does")
    _say(
        f"A small epsilon protects more and blurs more. Below is a simulation: {_DRAWS} seeded "
        "answers to the first question for each epsilon. It is possible because these data are "
        "public. On private data every single answer would cost its epsilon."
    )
    click.echo(
        f"   {'epsilon':<10}{'five simulated answers, in dollars':<44}nine in ten lie within"
    )
    for epsilon in ("0.01", "0.1", "1"):
        answers = [
            float(kng.median(bills, epsilon=epsilon, random_state=seed, **facts).value)
            for seed in range(1, _DRAWS + 1)
        ]
        low, high = np.quantile(answers, (0.05, 0.95), method="nearest")
        five = "".join(f"{answer:<8.2f}" for answer in answers[:5])
        click.echo(f"   {epsilon:<10}{five:<44}{low:.2f} to {high:.2f}")
    click.echo()
    _say(
        "More people help as much as more epsilon: with ten times the people, a tenth of the "
        "epsilon is about as accurate."
    )


def _go_on() -> None:
    """Leave the reader with something to run."""
    _title("9. Your turn")
    _say("In the shell, on the same data:")
    _show(
        "kng sample visits.csv",
        "kng mean visits.csv --bounds visits=0:12 --records-per-person 5 --epsilon 1",
        "kng plan median --n 20190 --bounds 0:5000 --epsilon 0.5",
        "kng --help",
    )
    _say("In Python, on a list, an array, a data frame or the path of a CSV file:")
    _show("import kng", "kng.median(ages, bounds=(0, 120), granularity=1, epsilon=1)")


def _bills(records: Iterable[dict[str, str]]) -> list[float]:
    return [float(record["spending"]) for record in records]


def _title(text: str) -> None:
    click.echo(click.style(text, bold=True))
    click.echo(click.style("-" * len(text), bold=True))


def _say(text: str, indent: int = 3) -> None:
    _print(text, indent)
    click.echo()


def _print(text: str, indent: int, first: str | None = None, bold: bool = False) -> None:
    """Wrap a text; ``first`` stands in the margin of its first line."""
    from textwrap import fill

    margin = " " * indent
    for line in text.split("\n"):
        hanging = margin + "  " if line.startswith("- ") else margin
        wrapped = fill(line, 88, initial_indent=first or margin, subsequent_indent=hanging)
        click.echo(click.style(wrapped, bold=bold))


def _show(*lines: str) -> None:
    for line in lines:
        click.echo(f"      {line}")
    click.echo()
