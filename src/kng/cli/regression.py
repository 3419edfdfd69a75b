"""``kng linear``, ``kng huber``, ``kng quantreg`` and ``kng logistic``."""

from __future__ import annotations

from typing import Any

import click

from kng.cli.options import DATA, EPSILON, PROMISE, SAMPLER, option, with_options

_shared = with_options(
    DATA,
    option("--target", metavar="COLUMN", help="The column to predict. Required."),
    option(
        "--covariates",
        metavar="A,B,C",
        help="The columns to predict it from; those that have bounds unless given.",
    ),
    EPSILON,
    option(
        "--bounds",
        multiple=True,
        metavar="COLUMN=LOW:HIGH",
        help="Public range of a column, never read from the data. Once for each covariate, which "
        "is clipped to it, and once for the target.",
    ),
    option(
        "--coef-bound",
        metavar="NUMBER",
        help="Public bound on the coefficients, in the units of the target.",
    ),
    option(
        "--no-intercept",
        is_flag=True,
        help="Fit without an intercept; bounds are then measured from 0.",
    ),
)


@click.command(
    epilog="\b\nkng linear survey.csv --target income --bounds age=0:120 "
    "--bounds income=0:200000 --epsilon 1"
)
@_shared
@option(
    "--mechanism",
    metavar="NAME",
    help="auto, or by name kng; exponential and objective need --coef-bound.",
)
@option("--norm", metavar="NAME", help="auto, linf, l2 or l1.")
@SAMPLER
@with_options(*PROMISE)
def linear(**options: Any) -> None:
    """Release a private linear regression by least squares.

    DATA is a CSV file. Its first line names the columns and is public. A tenth of epsilon or more
    buys a private scale of the target, and residuals are clipped at a multiple of it. The threshold
    is released with the coefficients.
    """
    _release("LinearRegression", options)


@click.command(
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
@option("--norm", metavar="NAME", help="auto, linf, l2 or l1.")
@SAMPLER
@with_options(*PROMISE)
def huber(**options: Any) -> None:
    """Release a private linear regression by Huber's loss.

    DATA is a CSV file. Its first line names the columns and is public. The noise follows the
    threshold. With a number for it, bounds of the target are optional: only their middle is used,
    as the value that predictions are shrunk towards.
    """
    _release("HuberRegressor", options)


@click.command(
    epilog="\b\nkng quantreg survey.csv --target income --quantile 0.9 --bounds age=0:120 "
    "--bounds income=0:200000 --epsilon 1"
)
@_shared
@option(
    "--quantile",
    multiple=True,
    metavar="NUMBER",
    help="Which quantile, strictly between 0 and 1; repeat for several. The median unless given.",
)
@option(
    "--smoothing",
    metavar="NUMBER",
    help="Bandwidth of a smoothed loss, in the units of the target; or auto, which is taken for "
    "more than five coefficients.",
)
@option("--mechanism", metavar="NAME", help="auto, kng, exponential or objective.")
@option("--norm", metavar="NAME", help="auto or linf.")
@SAMPLER
@with_options(*PROMISE)
def quantreg(quantile: tuple[str, ...], **options: Any) -> None:
    """Release a private quantile regression.

    DATA is a CSV file. Its first line names the columns and is public. Several quantiles share
    epsilon equally.
    """
    _release("QuantileRegressor", options, quantile)


@click.command(
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
@option("--norm", metavar="NAME", help="auto, linf, l2 or l1.")
@SAMPLER
@with_options(*PROMISE)
def logistic(classes: str | None, **options: Any) -> None:
    """Release a private logistic regression.

    DATA is a CSV file. Its first line names the columns and is public. Coefficients are effects on
    the log-odds of the second of two classes, in sorted order; of three or more each is fitted
    against the rest with an equal part of epsilon. The target has classes and no bounds.
    """
    _release("LogisticRegression", options, classes=classes)


def _release(
    estimator: str,
    options: dict[str, Any],
    quantile: tuple[str, ...] = (),
    classes: str | None = None,
) -> None:
    """Read the words and fit the estimator to columns of the file."""
    # Imported here: `kng --help` should not wait for NumPy and scikit-learn.
    import kng
    from kng.cli.arguments import one_or_several, read_classes, read_options, read_regression
    from kng.cli.receipt import hand_over
    from kng.estimators.files import fit_file

    arguments = read_options(options)
    columns, covariates = read_regression(options)
    if quantile:
        arguments["quantile"] = one_or_several(quantile)
    if estimator == "LogisticRegression":
        arguments["classes"] = read_classes(classes, columns.pop("bounds_y"))
    model = getattr(kng, estimator)(**arguments, **columns)

    def compute() -> kng.Release:
        fit_file(model, options["data"], covariates=covariates, target=options["target"])
        release: kng.Release = model.release_
        return release

    hand_over(compute, options, arguments.get("ledger"))
