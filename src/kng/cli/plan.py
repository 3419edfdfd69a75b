"""``kng plan``: what a release would be worth; no record is read and nothing is charged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kng.cli.help import command
from kng.cli.models import MODELS
from kng.cli.options import NEIGHBOURS, RECORDS_PER_PERSON, option, with_options
from kng.cli.verbosity import VERBOSITY

if TYPE_CHECKING:
    from kng.estimators.planning.report import ReleasePlan

_COLUMN = ("bounds", "spread", "centre", "granularity", "missing", "present")
_MODEL = (
    *("bounds", "target", "spread", "centre", "coef", "intercept"),
    *("coef_bound", "no_intercept", "missing", "present", "norm", "mechanism"),
)
# What each statistic takes beside n, epsilon and the error asked for.
_TAKES = {
    "mean": (*_COLUMN, "norm"),
    "quantile": (*_COLUMN, "q"),
    "median": _COLUMN,
    "count": ("share", "present"),
    "proportion": ("share", "present"),
    "histogram": ("bins", "shares", "present"),
    "sum": _COLUMN,
    "variance": (*_COLUMN, "ddof"),
    "linear": (*_MODEL, "residual"),
    "huber": (*_MODEL, "residual", "threshold"),
    "quantreg": (*_MODEL, "residual", "q"),
    "expectile": (*_MODEL, "residual", "expectile"),
    "logistic": tuple(name for name in _MODEL if name != "target"),
    "poisson": _MODEL,
}
_GUESSES = ("spread", "centre", "coef", "shares")
_FLAGS = {"q": "--quantile"}


@command(
    epilog="\b\nkng plan median --n 3000 --epsilon 0.1 --bounds 0:120 --spread 20 --error 0.5\n"
    "kng plan linear --n 3000 --epsilon 1 --target income --bounds age=0:120 \\\n"
    "    --bounds income=0:200000 --svg plan.svg"
)
@click.argument("statistic", metavar="STATISTIC", type=click.Choice(list(_TAKES)))
@with_options(
    option("--n", metavar="COUNT", help="How many records there are. Required."),
    option("--epsilon", metavar="NUMBER", help="What the release may cost. Required."),
    option(
        "--error",
        metavar="NUMBER",
        help="Error that is asked for; the plan says which n or epsilon it needs.",
    ),
    option(
        "--bounds",
        multiple=True,
        metavar="[COLUMN=]LOW:HIGH",
        help="Public range of a record. Regressions: once for each covariate and for the target.",
    ),
    option("--target", metavar="COLUMN", help="Regressions: the column to predict."),
    option("--spread", metavar="A,B,C", help="Guess of the standard deviation of each column."),
    option("--centre", metavar="A,B,C", help="Guess of the mean of each column."),
    option("--residual", metavar="NUMBER", help="Guess of the standard deviation of residuals."),
    option("--coef", metavar="A,B,C", help="Guesses of the coefficients."),
    option("--intercept", metavar="NUMBER", help="Guess of the intercept."),
    option("--share", metavar="NUMBER", help="Guess of the share of records that are counted."),
    option(
        "--present",
        metavar="NUMBER",
        help="Guess of the share of records that count: not missing, where a condition holds, or "
        "of one group. All unless given.",
    ),
    option("--bins", metavar="COUNT|A,B,C", help="histogram: how many bins, or their names."),
    option("--shares", metavar="A,B,C", help="histogram: guesses of the share in each bin."),
    option(
        "--quantile",
        "--q",
        "q",
        multiple=True,
        metavar="NUMBER",
        help="quantile and quantreg: which quantile; repeat for several, or 0.1,0.5,0.9.",
    ),
    option("--expectile", metavar="NUMBER", help="expectile: which one; 0.5 unless given."),
    option("--threshold", metavar="NUMBER", help="huber: residuals beyond it get less weight."),
    option("--ddof", metavar="COUNT", help="variance: divide by n minus this (default 1)."),
    option("--granularity", metavar="STEP", help="Public step of the data."),
    option(
        "--missing",
        metavar="VALUE",
        help="What a missing cell counts as. Without it records that lack one are left out, which "
        "costs some accuracy.",
    ),
    option("--coef-bound", metavar="NUMBER", help="Regressions: as for the release."),
    option("--no-intercept", is_flag=True, help="Regressions: fit without an intercept."),
    option("--norm", metavar="NAME", help="As for the release."),
    option("--mechanism", metavar="NAME", help="Regressions: as for the release."),
    NEIGHBOURS,
    RECORDS_PER_PERSON,
    option(
        "--simulate",
        metavar="COUNT",
        help="Measure errors on so many data sets that are simulated as the plan describes.",
    ),
    option("--json", "as_json", is_flag=True, help="Print the plan as JSON."),
    option("--out", metavar="FILE", help="Write the plan as JSON to a new file."),
    option(
        "--svg", metavar="FILE", help="Draw the error against epsilon and n into a new SVG file."
    ),
    VERBOSITY,
)
def plan(statistic: str, **options: Any) -> None:
    """Predict the error of a release before anything is spent.

    STATISTIC is mean, quantile, median, count, proportion, histogram, sum, variance, linear, huber,
    quantreg, expectile, logistic or poisson. The plan is made from public facts and your guesses
    alone: no record is read and nothing is charged.
    """
    import numpy as np

    from kng.core.errors import KngError, SpecError
    from kng.core.exact import whole

    _refuse(statistic, options)
    replicates = options["simulate"]
    count = None if replicates is None else whole(replicates, "--simulate", 1)
    try:
        with np.errstate(all="ignore"):
            _told(statistic, options, count)
    except KngError:
        raise
    except (ArithmeticError, ValueError):  # no record was read, so it can be said
        raise SpecError(
            "The plan cannot be computed in floats: epsilon, a bound or a guess is too large or "
            "too small. Give numbers of ordinary size."
        ) from None


def _told(statistic: str, options: Mapping[str, Any], count: int | None) -> None:
    """Show a plan, and store what is asked for."""
    found = _model(statistic, options) if statistic in MODELS else _statistic(statistic, options)
    picture = None if options["svg"] is None else found.to_svg()
    text = found.to_json(indent=2)
    run = None if count is None else found.simulate(count)
    for name, content in (("out", text), ("svg", picture)):
        if options[name] is not None and content is not None:
            _write(f"--{name}", options[name], content)
    click.echo(text if options["as_json"] else repr(_by_commands(found, statistic)))
    if run is not None:
        click.echo(f"\n{run!r}", err=options["as_json"])
    for name in ("out", "svg"):
        if options[name] is not None:
            click.echo(f"Plan written to {options[name]}", err=True)


def _refuse(statistic: str, options: Mapping[str, Any]) -> None:
    """Refuse what is missing, and what this statistic does not take."""
    from kng.core.errors import SpecError

    for name, example in (("n", "3000"), ("epsilon", "1")):
        if options[name] is None:
            raise SpecError(f"--{name} is missing; state it, as in --{name} {example}.")
    takes = _TAKES[statistic]
    for name in {name for names in _TAKES.values() for name in names} - set(takes):
        if options[name] not in (None, (), False):
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            raise SpecError(f"{flag} is not for kng plan {statistic}. Leave it out.")
    needed = [
        ("bounds", statistic, "0:100"),
        ("q", "quantile", "0.9"),
        ("bins", "histogram", "5"),
        ("threshold", "huber", "5000"),
    ]
    for name, whose, example in needed:
        if whose == statistic and name in takes and not options[name]:
            flag = _FLAGS.get(name, f"--{name}")
            shown = f"age={example}" if statistic in MODELS and name == "bounds" else example
            lacks = "are missing; state them" if name[-1] == "s" else "is missing; state it"
            raise SpecError(f"{flag} {lacks}, as in {flag} {shown}.")


def _shared(statistic: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the words alone can tell, under the names of the library."""
    from kng.cli.arguments import listed, one_or_several
    from kng.core.errors import SpecError

    names = ("n", "epsilon", "error", "neighbours", "records_per_person", *_TAKES[statistic])
    given = {name: options[name] for name in names if options[name] not in (None, (), False)}
    for name in _GUESSES:
        if name in given:
            cells = [cell for cell in listed(given[name]) if cell]
            if not cells:
                raise SpecError(f"--{name} must be a number, got {given[name]!r}.")
            given[name] = cells if len(cells) > 1 or name in ("coef", "shares") else cells[0]
    if "q" in given:
        given["q"] = one_or_several(given["q"])
    if "bins" in given and "," in given["bins"]:
        given["bins"] = listed(given["bins"])
    return given


def _statistic(statistic: str, options: Mapping[str, Any]) -> ReleasePlan:
    import kng
    from kng.cli.arguments import read_bounds

    given = _shared(statistic, options)
    if "bounds" in given:
        given["bounds"] = read_bounds(given["bounds"], ())
    made: ReleasePlan = getattr(kng, statistic).plan(**given)
    return made


def _model(statistic: str, options: Mapping[str, Any]) -> ReleasePlan:
    import kng
    from kng.cli.arguments import named_bounds
    from kng.core.errors import SpecError

    given = _shared(statistic, options)
    bounds, target = named_bounds(given.pop("bounds")), given.pop("target", None)
    if target is None and statistic in ("linear", "quantreg", "expectile", "poisson"):
        raise SpecError("--target is missing; name the column to predict, as in --target income.")
    if target is not None and target not in bounds:
        raise SpecError(f"{target!r} has no bounds; state them, as in --bounds {target}=0:100.")
    if not bounds.keys() - {target}:
        raise SpecError("covariates are missing; state their bounds, as in --bounds age=0:120.")
    ends = bounds.pop(target, None)
    told = {"bounds_X": bounds, "fit_intercept": not given.pop("no_intercept", False)}
    told |= {"classes": (0, 1)} if statistic == "logistic" else {"bounds_y": ends}
    if "q" in given:
        told["quantile"] = given.pop("q")
    guesses = ("n", "error", "residual", "spread", "centre", "coef", "intercept", "present")
    told |= {name: value for name, value in given.items() if name not in guesses}
    made: ReleasePlan = getattr(kng, MODELS[statistic])(**told).plan(
        **{name: value for name, value in given.items() if name in guesses}
    )
    return made


def _by_commands(plan: ReleasePlan, statistic: str) -> ReleasePlan:
    """Return a plan with the names of commands where the library has those of estimators."""
    names = {estimator: command for command, estimator in MODELS.items()}
    choices = tuple(
        replace(each, times={names.get(value, value): times for value, times in each.times.items()})
        for each in plan.choices
    )
    return replace(plan, statistic=statistic, choices=choices)


def _write(name: str, path: str, text: str) -> None:
    """Write a new file."""
    from pathlib import Path

    from kng.core.errors import SpecError

    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(text + "\n")
    except FileExistsError:
        raise SpecError(f"{name} {path} exists already. Choose another name.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a file name"
        raise SpecError(
            f"{name} {path} cannot be written ({reason}). Choose a directory that exists and may "
            "be written to."
        ) from None
