"""``kng mean``, ``kng quantile``, ``kng median`` and ``kng geometric-median``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., None]

# Every option is text: the library reads numbers exactly and says what is wrong with them.
_SHARED = (
    click.argument("data", metavar="DATA"),
    click.option(
        "--epsilon", metavar="NUMBER", help="What the release may cost: 1, 0.5 or 1/3. Required."
    ),
    click.option(
        "--bounds",
        multiple=True,
        metavar="[COLUMN=]LOW:HIGH",
        help="Public range of a record, never read from the data. Records outside are clipped. "
        "Required.",
    ),
    click.option("--column", metavar="NAME", help="The column that --bounds LOW:HIGH is about."),
    click.option(
        "--granularity",
        multiple=True,
        metavar="[COLUMN=]STEP",
        help="Public step of the data and of the answer: 1 for whole years, 0.01 for cents.",
    ),
    click.option(
        "--missing",
        multiple=True,
        metavar="[COLUMN=]VALUE",
        help="What an empty or unreadable cell counts as; the middle of the bounds unless given.",
    ),
    click.option(
        "--mechanism", metavar="NAME", help="auto, kng or exponential; mean: also k-norm."
    ),
    click.option(
        "--neighbours",
        metavar="NAME",
        help="replace-one: the number of records is public (default). add-remove: it is private.",
    ),
    click.option(
        "--n-max", metavar="COUNT", help="With add-remove: a public bound on the number of records."
    ),
    click.option(
        "--records-per-person",
        metavar="COUNT",
        help="How many records one person may have; the promise is then per person (default 1).",
    ),
    click.option(
        "--ledger",
        metavar="FILE",
        help="Budget to charge before the data are read; see kng budget create.",
    ),
    click.option(
        "--seed",
        metavar="NUMBER",
        help="Make the answer repeatable: a simulation, not to be published, that no ledger books.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the receipt as JSON."),
    click.option("--out", metavar="FILE", help="Write the receipt as JSON to a new file."),
)


def _shared(command: Command) -> Command:
    for decorate in reversed(_SHARED):
        command = decorate(command)
    return command


@click.command(
    epilog="\b\nkng mean survey.csv --bounds age=0:120 --bounds income=0:200000 --epsilon 1"
)
@_shared
@click.option("--norm", metavar="NAME", help="With k-norm: auto, weighted-sup, l1 or linf.")
def mean(**options: Any) -> None:
    """Release a private mean of one or several columns.

    DATA is a CSV file. Its first line names the columns and is public.
    """
    _release("mean", options)


@click.command(
    epilog="\b\nkng quantile survey.csv --column age --bounds 0:120 --q 0.1 --q 0.9 --epsilon 1"
)
@_shared
@click.option(
    "--q",
    multiple=True,
    metavar="NUMBER",
    help="Which quantile, strictly between 0 and 1; repeat for several. Required.",
)
def quantile(q: tuple[str, ...], **options: Any) -> None:
    """Release one or several private quantiles of a column.

    DATA is a CSV file. Its first line names the columns and is public. Several quantiles share
    epsilon equally and come back in order.
    """
    _release("quantile", options, q=q)


@click.command(
    epilog="\b\nkng median survey.csv --column age --bounds 0:120 --granularity 1 --epsilon 0.5"
)
@_shared
def median(**options: Any) -> None:
    """Release a private median of a column.

    DATA is a CSV file. Its first line names the columns and is public.
    """
    _release("median", options)


@click.command(
    "geometric-median",
    epilog="\b\nkng geometric-median homes.csv --bounds x=0:50 --bounds y=0:50 --epsilon 1",
)
@_shared
@click.option(
    "--scale",
    multiple=True,
    metavar="[COLUMN=]NUMBER",
    help="What counts as one unit of distance in each column, or the word bounds: the range of "
    "each. Without it all columns are in one unit.",
)
def geometric_median(scale: tuple[str, ...], **options: Any) -> None:
    """Release a private geometric median of two to five columns.

    DATA is a CSV file. Its first line names the columns and is public.
    """
    _release("geometric_median", options, scale=scale)


def _release(
    statistic: str,
    options: dict[str, Any],
    q: tuple[str, ...] | None = None,
    scale: tuple[str, ...] = (),
) -> None:
    """Read the words, reserve the receipt's file, release, hand over."""
    # Imported here: `kng --help` should not wait for NumPy and FLINT.
    from contextlib import nullcontext

    import kng
    from kng.cli.arguments import read_options, read_quantiles, read_setting
    from kng.cli.receipt import ReceiptFile, deliver

    arguments = read_options(options)
    if q is not None:
        arguments["q"] = read_quantiles(q)
    if scale:
        arguments["scale"] = read_setting("scale", scale)
    compute: Callable[..., kng.Release] = getattr(kng, statistic)
    out = options["out"]
    with nullcontext() if out is None else ReceiptFile(out) as file:
        release = compute(options["data"], **arguments)
        deliver(release, as_json=options["as_json"], file=file, ledger=arguments.get("ledger"))
