"""The ``kng`` command: its group, and what every failure becomes.

A failure is one message on stderr and a stable exit code, never a traceback: a traceback can show
a record.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from kng.cli.audit import audit
from kng.cli.budget import budget
from kng.cli.completion import completion
from kng.cli.counts import count, histogram, proportion, total, variance
from kng.cli.demo import demo
from kng.cli.help import Commands
from kng.cli.init import init
from kng.cli.interrupts import ChargeWatch
from kng.cli.plan import plan
from kng.cli.predict import predict
from kng.cli.regression import expectile, huber, linear, logistic, poisson, quantreg
from kng.cli.report import report, verify
from kng.cli.reproduce import reproduce
from kng.cli.run import run
from kng.cli.sample import sample
from kng.cli.statistics import geomedian, mean, median, quantile
from kng.cli.verbosity import VERBOSITY
from kng.cli.wording import at_the_shell
from kng.core.events import watched_by
from kng.core.version import __version__

OK, UNFORESEEN, ARGUMENT, BUDGET, DATA, EXTRA, LEDGER = 0, 1, 2, 3, 4, 5, 6
CHARGED, INTERRUPTED = 70, 130

_EPILOG = """\b
Exit codes:
    0  done
    1  an unforeseen failure; no detail is shown, because it could depend on the records
    2  an argument is wrong or missing; nothing was charged
    3  the budget does not cover the request; nothing was charged
    4  the data file or a column of it is missing or unusable; nothing was charged
    5  a library that is not installed is needed; the message names it
    6  the ledger is missing, unusable or was tampered with
    7  kng audit: a row came out otherwise than it must
   70  failed after the charge, which stays
  130  interrupted by Ctrl-C; the message says whether a charge had been made

\b
Example:
  kng median ages.csv --column age --bounds 0:120 --granularity 1 --epsilon 0.5
"""


_GROUPS = {
    "Start here": ("demo", "sample", "init"),
    "Statistics": (
        *("mean", "median", "quantile", "geomedian", "count", "proportion", "histogram"),
        *("sum", "variance"),
    ),
    "Regressions": ("linear", "huber", "quantreg", "expectile", "logistic", "poisson", "predict"),
    "Plans, budgets and receipts": ("plan", "run", "budget", "report", "verify"),
    "Checks": ("audit", "reproduce", "completion"),
}


@click.group(
    name="kng",
    cls=Commands,
    groups=_GROUPS,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 90},
)
@VERBOSITY
@click.version_option(__version__, prog_name="kng", message="%(prog)s %(version)s")
def commands() -> None:
    """Publish statistics of sensitive records under pure differential privacy.

    Every answer comes with a receipt: what it cost, what it promises and what it assumes. With a
    ledger, a budget cannot be overspent.
    """


for _command in (
    *(mean, quantile, median, geomedian),
    *(count, proportion, histogram, total, variance),
    *(linear, huber, quantreg, expectile, logistic, poisson),
    *(plan, run, predict, report, verify),
    *(init, budget, demo, sample, reproduce, audit, completion),
):
    commands.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after ``kng``; those of this process unless given.
    """
    for stream in (sys.stdout, sys.stderr):
        # A column name that the terminal cannot show must not fail a release that is paid for.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    charge = ChargeWatch()
    try:
        with watched_by(charge):
            code = commands.main(args=arguments, prog_name="kng", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _say(charge.tell())
        return INTERRUPTED
    except Exception as error:
        return _explain(error, _asked(sys.argv[1:] if arguments is None else arguments))
    return code if isinstance(code, int) else OK


def _asked(words: Sequence[str]) -> click.Command:
    """Return the command that the words ask for."""
    command: click.Command = commands
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands.get(word, command)
    return command


def _explain(error: Exception, command: click.Command) -> int:
    """Tell a failure in one message and return its exit code."""
    # Imported here because it loads NumPy, which a run that goes well may not need.
    from kng.core.errors import (
        BudgetError,
        KngError,
        LedgerError,
        MissingExtra,
        PrivateZoneError,
        SchemaError,
    )

    _abandon_output()
    for kind, code in (
        (BudgetError, BUDGET),
        (SchemaError, DATA),
        (MissingExtra, EXTRA),
        (LedgerError, LEDGER),
        (PrivateZoneError, CHARGED),
        (KngError, ARGUMENT),
    ):
        if isinstance(error, kind):
            _say(at_the_shell(error.message, command))
            return code
    _say(
        "Sorry, kng stopped for a reason that it did not foresee. No detail is shown, because it "
        "could depend on the records; kng budget history shows whether a charge was made."
    )
    return UNFORESEEN


def _say(message: str) -> None:
    click.echo(f"Error: {message}", err=True)


def _abandon_output() -> None:
    """Drop what a full disk or a closed pipe did not take, so that Python's exit stays silent."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
