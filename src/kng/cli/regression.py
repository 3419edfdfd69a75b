"""Regressions: ``kng linear``, ``kng huber``, ``kng quantreg`` and others, one for each model."""

from __future__ import annotations

from typing import Any

from kng.cli.help import command
from kng.cli.options import (
    BASE,
    CENTRE,
    EPSILON,
    MISSING,
    PROMISE,
    QUANTILE,
    WHERE,
    option,
    sampler,
    with_options,
)
from kng.cli.tables import DATA, READING
from kng.cli.verbosity import VERBOSITY

_shared = with_options(
    DATA,
    option("--target", metavar="COLUMN", help="The column to predict. Required."),
    option(
        "--covariates",
        metavar="A,B,C",
        help="The columns to predict it from; those that have bounds unless given.",
    ),
    option(
        "--formula",
        metavar="FORMULA",
        help="In place of both: \"wages ~ age + C(sex, levels=['F', 'M'])\", with --bounds for the "
        "columns of numbers that it uses.",
    ),
    EPSILON,
    option(
        "--bounds",
        multiple=True,
        metavar="COLUMN=LOW:HIGH",
        help="Public range of a column, never read from the data. Once for each covariate, which "
        "is clipped to it, and once for the target, unless kng.toml declares them.",
    ),
    option(
        "--coef-bound",
        metavar="NUMBER",
        help="Public bound on the effects of covariates, each times half the range of its column; "
        "in the units of the target (logistic: of log-odds, poisson: of the logarithm).",
    ),
    option(
        "--no-intercept",
        is_flag=True,
        help="Fit without an intercept; bounds are then measured from 0.",
    ),
    MISSING,
    WHERE,
)
_NORM = option("--norm", metavar="NAME", help="auto, linf, l2 or l1.")


@command(
    epilog="\b\nkng linear survey.csv --target income --bounds age=0:120 "
    "--bounds income=0:200000 --epsilon 1"
)
@_shared
@option(
    "--mechanism",
    metavar="NAME",
    help="auto, or by name kng; exponential and objective need --coef-bound.",
)
@_NORM
@sampler("perturbed", "affine", "gaussian", chains=("hit-and-run", "metropolis"))
@BASE
@CENTRE
@with_options(*PROMISE, READING, VERBOSITY)
def linear(**options: Any) -> None:
    """Release a private linear regression by least squares.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public. A tenth of
    epsilon or more buys a private scale of the target, and residuals are clipped at a multiple of
    it. The threshold is released with the coefficients.
    """
    _release("LinearRegression", options)


@command(
    epilog="\b\nkng huber survey.csv --target income --threshold 5000 --bounds age=0:120 "
    "--epsilon 1"
)
@_shared
@option(
    "--threshold",
    metavar="NUMBER",
    help="Residuals larger than this get less weight. Use about the typical size of a residual, in "
    "the units of the target; or auto, which needs bounds of the target. Required.",
)
@option("--mechanism", metavar="NAME", help="auto, objective, kng or exponential.")
@_NORM
@sampler("perturbed", "branch-and-bound", "push-forward")
@BASE
@CENTRE
@with_options(*PROMISE, READING, VERBOSITY)
def huber(**options: Any) -> None:
    """Release a private linear regression by Huber's loss.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public. The noise
    follows the threshold. With a number for it, bounds of the target are optional: only their
    middle is used, as the value that predictions are shrunk towards.
    """
    _release("HuberRegressor", options)


@command(
    epilog="\b\nkng quantreg survey.csv --target income --quantile 0.9 --bounds age=0:120 "
    "--bounds income=0:200000 --epsilon 1"
)
@_shared
@QUANTILE
@option(
    "--weights",
    metavar="A,B,C",
    help="One positive number for each quantile: its part of epsilon is in proportion to it. Equal "
    "parts unless given.",
)
@option(
    "--noncrossing",
    metavar="NAME",
    help="How several quantiles are kept in order. predictions: each plane is fitted by itself, "
    "and predictions are sorted. planes: no plane crosses another within the bounds, which helps "
    "where records are few. auto chooses from the number of records and epsilon.",
)
@option(
    "--smoothing",
    metavar="NUMBER",
    help="Bandwidth of a smoothed loss, in the units of the target; or auto, which is taken for "
    "more than five coefficients.",
)
@option("--mechanism", metavar="NAME", help="auto, kng, exponential or objective.")
@_NORM
@sampler("branch-and-bound", "perturbed")
@BASE
@with_options(*PROMISE, READING, VERBOSITY)
def quantreg(**options: Any) -> None:
    """Release a private quantile regression.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public. Several
    quantiles share epsilon, equally unless --weights says otherwise. The median unless --quantile
    is given.
    """
    _release("QuantileRegressor", options)


@command(
    epilog="\b\nkng expectile survey.csv --target income --expectile 0.9 --bounds age=0:120 "
    "--bounds income=0:200000 --epsilon 1"
)
@_shared
@option(
    "--expectile",
    metavar="NUMBER",
    help="Which expectile, strictly between 0 and 1. Least squares, 0.5, unless given.",
)
@option("--mechanism", metavar="NAME", help="auto or kng.")
@_NORM
@sampler("branch-and-bound")
@BASE
@with_options(*PROMISE, READING, VERBOSITY)
def expectile(**options: Any) -> None:
    """Release a private expectile regression.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public. Squared
    residuals above the plane count with the weight of the expectile, those below with one minus it.
    """
    _release("ExpectileRegressor", options)


@command(
    epilog="\b\nkng logistic survey.csv --target insured --classes no,yes --bounds age=0:120 "
    "--epsilon 1"
)
@_shared
@option(
    "--classes",
    metavar="A,B",
    help="The labels that the target may have, never read from the data: two or more. A record "
    "with any other label is absent. Required.",
)
@option("--mechanism", metavar="NAME", help="auto, objective, or kng for up to 4 coefficients.")
@_NORM
@sampler("perturbed", "branch-and-bound")
@BASE
@CENTRE
@with_options(*PROMISE, READING, VERBOSITY)
def logistic(**options: Any) -> None:
    """Release a private logistic regression.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public. Coefficients are
    effects on the log-odds of the second of two classes, in sorted order; of three or more each is
    fitted against the rest with an equal part of epsilon. The target has classes and no bounds.
    """
    _release("LogisticRegression", options)


@command(
    epilog="\b\nkng poisson survey.csv --target visits --bounds age=0:120 --bounds visits=0:50 "
    "--epsilon 1"
)
@_shared
@option("--mechanism", metavar="NAME", help="auto or objective.")
@_NORM
@sampler("perturbed", chains=())
@CENTRE
@with_options(*PROMISE, READING, VERBOSITY)
def poisson(**options: Any) -> None:
    """Release a private Poisson regression of counts.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public. Coefficients are
    effects on the logarithm of the mean. The noise follows the upper bound of the target: cutting
    off a few large counts costs less than noise for them.
    """
    _release("PoissonRegressor", options)


def _release(estimator: str, options: dict[str, Any]) -> None:
    """Read the words and fit the estimator to columns of the file."""
    # Imported here: `kng --help` should not wait for NumPy and scikit-learn.
    import kng
    from kng.cli.arguments import read_classes, read_options, read_regression
    from kng.cli.receipt import hand_over
    from kng.cli.tables import read_table, with_promise

    table = read_table(options)
    options = with_promise(options, table)
    arguments = read_options(options)
    columns, covariates = read_regression(options, table)
    if "classes" in options:
        del columns["bounds_y"]
        arguments["classes"] = read_classes(options, table)
    model = getattr(kng, estimator)(**arguments, **columns)

    def compute() -> kng.Release:
        if options["formula"] is not None:
            model.fit(table, formula=options["formula"])
        else:
            model.fit(table, target=options["target"], features=list(covariates))
        release: kng.Release = model.release_
        return release

    hand_over(compute, options, arguments.get("ledger"))
