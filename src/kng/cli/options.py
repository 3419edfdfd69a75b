"""Options that the commands of several statistics share.

Every option is text: the library reads numbers exactly and says what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., None]
Decorator = Callable[[Command], Command]


def option(*names: str, **settings: Any) -> Decorator:
    """Return one option; its words reach the library under its own name."""
    return click.option(*names, **settings)


EPSILON = option(
    "--epsilon", metavar="NUMBER", help="What the release may cost: 1, 0.5 or 1/3. Required."
)
BASE = option(
    "--base",
    metavar="NAME|RECEIPT",
    help="How likely answers are before the data are read: uniform, heavy-tailed, gaussian or "
    "student; or the receipt of an earlier release, as --out has written it, to start from.",
)
BY = option(
    "--by",
    multiple=True,
    metavar="COLUMN=LEVEL,LEVEL",
    help="Declared groups, such as sex=F,M: an answer for each, together for epsilon. Given "
    "several times: all combinations. How many records a group has stays private.",
)
CENTRE = option(
    "--centre",
    "--center",
    metavar="A,B,C",
    help="A public guess of the intercept, if there is one, and the coefficients. Estimates are "
    "shrunk towards it.",
)
WHERE = option(
    "--where",
    metavar="CONDITION",
    help="Only records for which it holds, such as \"age >= 40 and sex = 'F'\"; how many there "
    "are stays private.",
)
MISSING = option(
    "--missing",
    multiple=True,
    metavar="[COLUMN=]VALUE",
    help="What a missing cell counts as: one that is empty or is not a number. Without it, or with "
    "the word drop, records that lack a cell are left out; how many stays private.",
)
NEIGHBOURS = option(
    "--neighbours",
    "--neighbors",
    metavar="NAME",
    help="replace-one: the number of records is public (default). add-remove: it is private.",
)
N_MAX = option(
    "--n-max", metavar="COUNT", help="With add-remove: a public bound on the number of records."
)
RECORDS_PER_PERSON = option(
    "--records-per-person",
    metavar="COUNT",
    help="How many records one person may have; the promise is then per person (default 1).",
)
PERSON = option(
    "--person",
    metavar="COLUMN",
    help="The column that says whose a record is; the promise is then for people. With "
    "--max-records.",
)
MAX_RECORDS = option(
    "--max-records",
    metavar="COUNT",
    help="With --person: how many records of each person are used at most; the others are left "
    "out.",
)
QUANTILE = option(
    "--quantile",
    "--q",
    multiple=True,
    metavar="A,B,C",
    help="Which quantile, strictly between 0 and 1; several with commas, or the option repeated.",
)
LEDGER = option(
    "--ledger",
    metavar="FILE|ADDRESS",
    help="Budget to charge before the data are read: a file, or the postgresql:// address of a "
    "database. See kng budget create.",
)
ACCOUNT = option("--account", metavar="NAME", help="With --ledger: one of several accounts.")
ANALYST = option("--analyst", metavar="NAME", help="With --ledger: whose share to charge as well.")
REQUEST_KEY = option(
    "--request-key",
    metavar="KEY",
    help="With --ledger: charge this request once. Made again under the same key, it returns the "
    "stored answer.",
)
SEED = option(
    "--seed",
    metavar="NUMBER",
    help="Make the answer repeatable: a simulation. Do not publish it; ledgers reject it.",
)
JSON = option("--json", "as_json", is_flag=True, help="Print the receipt as JSON.")
OUT = option(
    "--out",
    metavar="FILE",
    help="Write the receipt to a new file: as JSON, or as a page if it ends in .html.",
)


def sampler(*exact: str, chains: tuple[str, ...] = ("hit-and-run",)) -> Decorator:
    """Return the option that names a sampler: one that keeps its law, or a Markov chain."""
    *names, last = ("auto", *exact, *chains)
    text = f"{', '.join(names)} or {last}."
    if chains:
        are = "is a Markov chain" if len(chains) == 1 else "are Markov chains"
        text += f" {' and '.join(chains)} {are}, which auto never takes and ledgers reject."
    return option("--sampler", metavar="NAME", help=text)


# What every release says about its promise, its account and its receipt.
PROMISE = (
    *(NEIGHBOURS, N_MAX, RECORDS_PER_PERSON, PERSON, MAX_RECORDS),
    *(LEDGER, ACCOUNT, ANALYST, REQUEST_KEY),
    *(SEED, JSON, OUT),
)


def with_options(*options: Decorator) -> Decorator:
    """Return a decorator that adds options, the first of them first in the help."""

    def decorate(command: Command) -> Command:
        for add in reversed(options):
            command = add(command)
        return command

    return decorate
