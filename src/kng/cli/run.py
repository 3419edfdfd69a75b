"""``kng run``: a batch of questions under one total epsilon."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kng.cli.help import command
from kng.cli.options import option
from kng.cli.verbosity import VERBOSITY, is_quiet

if TYPE_CHECKING:
    import kng
    from kng.cli.questions import Batch
    from kng.cli.receipt import ReceiptFile
    from kng.estimators.batch import Cost


@command(
    epilog='\b\ntable = "visits"              # of kng.toml, or a file\n'
    "epsilon = 1                   # of all questions together\n"
    "[[question]]\n"
    'name = "typical"\n'
    'statistic = "median"\n'
    'column = "spending"\n'
    "share = 2                     # 1 unless given\n"
    'where = "age >= 18"'
)
@click.argument("questions", metavar="QUESTIONS.toml")
@option("--ledger", metavar="FILE", help="Budget to charge, unless the file or kng.toml names it.")
@option("--out", metavar="DIR", help="Write each receipt to DIR/NAME.json; makes DIR.")
@option("--json", "as_json", is_flag=True, help="Print a line of JSON for each answer.")
@option("--check", is_flag=True, help="Plan all questions and show what they cost; charge nothing.")
@option(
    "--seed",
    metavar="NUMBER",
    help="Make the answers repeatable: a simulation. Do not publish it; ledgers reject it.",
)
@VERBOSITY
def run(questions: str, **options: Any) -> None:
    """Answer the questions of a file under one total epsilon.

    Shares split epsilon. All questions are planned before anything is charged, and all faults are
    listed at once. The total is one entry of the ledger. Once it is charged it stays charged,
    whatever happens to a question.
    """
    from kng.cli.progress import progress_shown
    from kng.cli.questions import read_questions
    from kng.core.exact import whole
    from kng.estimators.batch import answers, rehearse

    seed = None if options["seed"] is None else whole(options["seed"], "seed", 0)
    payer = partial(_ledger, options=options, seed=seed)
    batch = read_questions(questions, seed, payer)
    ledger = payer(batch.ledger)
    costs = rehearse(batch.questions, ledger)
    if options["check"]:
        _show_costs(batch, costs)
        return
    with ExitStack() as opened:
        files = _files(batch, options["out"], opened)
        with progress_shown(quiet=is_quiet() or options["as_json"]):
            found, troubles = [], []
            # Closed at once if it is interrupted, so that what was answered is stored.
            with closing(answers(batch.questions, costs, ledger)) as released:
                for question, release in zip(batch.questions, released, strict=True):
                    found.append((question.name, release))
                    if files is not None:
                        troubles += _store(files[question.name], release)
        troubles += _deliver(found, options["as_json"])
    _complain(troubles)
    if options["out"] is not None:
        click.echo(f"{len(found)} receipts written to {options['out']}", err=True)


def _ledger(stated: str | None, options: dict[str, Any], seed: int | None) -> kng.Ledger | None:
    """Open the ledger that pays: of the command, or the one stated by the file or its table."""
    from kng.cli.arguments import open_ledger
    from kng.core.errors import SpecError

    named = options["ledger"] or stated
    if named is None:
        return None
    if seed is not None:
        raise SpecError(
            "--seed makes the answers repeatable, and ledgers reject that. Leave out --seed for a "
            "release, or the ledger for a simulation."
        )
    return open_ledger(str(named))


def _files(batch: Batch, out: str | None, opened: ExitStack) -> dict[str, ReceiptFile] | None:
    """Make a file for each receipt before the charge; those of no answer are taken away again."""
    from pathlib import Path

    from kng.cli.receipt import ReceiptFile
    from kng.core.errors import SpecError

    if out is None:
        return None
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"--out {out} cannot be made ({error.strerror}).") from None
    return {
        question.name: opened.enter_context(ReceiptFile(str(folder / f"{question.name}.json")))
        for question in batch.questions
    }


def _store(file: ReceiptFile, release: kng.Release) -> list[str]:
    """Store a receipt; return what went wrong, which may stop no other answer that is paid for."""
    try:
        file.write(release.to_json(indent=2))
    except OSError as error:
        return [f"{file.path} could not be written ({error.strerror})"]
    return []


def _deliver(found: list[tuple[str, kng.Release]], as_json: bool) -> list[str]:
    """Print the answers; return what went wrong."""
    try:
        for name, release in found:
            if as_json:
                click.echo(json.dumps({"name": name, "receipt": json.loads(release.to_json())}))
            else:
                click.echo(f"{name}\n{release!r}\n")
    except OSError as error:
        return [f"standard output could not be written ({error.strerror})"]
    return []


def _complain(troubles: list[str]) -> None:
    from kng.core.errors import PrivateZoneError

    if troubles:
        raise PrivateZoneError(
            f"The answers were drawn and their charge stays, but {' and '.join(troubles)}. With a "
            "ledger, kng budget history LEDGER --receipt N shows them."
        )


def _show_costs(batch: Batch, costs: list[Cost]) -> None:
    from kng.core.exact import show
    from kng.estimators.batch import together

    width = max(len(question.name) for question in batch.questions)
    for question, cost in zip(batch.questions, costs, strict=True):
        event = cost.event
        click.echo(f"{question.name:<{width}}  epsilon {show(event.epsilon)}  {event.mechanism}")
    click.echo(f"{'total':<{width}}  epsilon {show(together(costs).epsilon)}; nothing was charged")
