"""``kng mean``, ``kng quantile``, ``kng median`` and ``kng geomedian``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kng.cli.help import command
from kng.cli.options import (
    BASE,
    BY,
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

if TYPE_CHECKING:
    import kng

_shared = with_options(
    DATA,
    EPSILON,
    option(
        "--bounds",
        multiple=True,
        metavar="[COLUMN=]LOW:HIGH",
        help="Public range of a record, never read from the data. Records outside are clipped. "
        "Required, unless kng.toml declares them.",
    ),
    option(
        "--column",
        multiple=True,
        metavar="NAME",
        help="The column that --bounds LOW:HIGH is about. Repeat for several: one --bounds for "
        "all, or one for each in the same order.",
    ),
    option(
        "--granularity",
        multiple=True,
        metavar="[COLUMN=]STEP",
        help="Public step of the data and of the answer: 1 for whole years, 0.01 for cents.",
    ),
    MISSING,
    WHERE,
    BY,
    option("--mechanism", metavar="NAME", help="auto, kng or exponential; mean: also k-norm."),
    BASE,
    *PROMISE,
    READING,
    VERBOSITY,
)


@command(epilog="\b\nkng mean survey.csv --bounds age=0:120 --bounds income=0:200000 --epsilon 1")
@_shared
@option("--norm", metavar="NAME", help="With k-norm: auto, weighted-sup, l1, l2 or linf.")
@sampler("noise", "order", "branch-and-bound")
def mean(**options: Any) -> None:
    """Release a private mean of one or several columns.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public.
    """
    _release("mean", options)


@command(
    epilog="\b\nkng quantile survey.csv --column age --bounds 0:120 --quantile 0.1,0.9 --epsilon 1"
)
@_shared
@sampler("together", "order", "branch-and-bound")
@QUANTILE
def quantile(quantile: tuple[str, ...], **options: Any) -> None:
    """Release one or several private quantiles of a column.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public. Several
    quantiles are drawn together, for epsilon once, and come back in order.
    """
    _release("quantile", options, q=quantile)


@command(
    epilog="\b\nkng median survey.csv --column age --bounds 0:120 --granularity 1 --epsilon 0.5"
)
@_shared
@sampler("order", "branch-and-bound")
def median(**options: Any) -> None:
    """Release a private median of a column.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public.
    """
    _release("median", options)


@command(
    epilog="\b\nkng geomedian homes.csv --bounds x=0:50 --bounds y=0:50 --epsilon 1",
)
@_shared
@option("--norm", metavar="NAME", help="auto, l2, l1 or linf.")
@sampler("branch-and-bound")
@option(
    "--scale",
    multiple=True,
    metavar="[COLUMN=]NUMBER",
    help="What counts as one unit of distance in each column, or the word bounds: the range of "
    "each. Without it all columns are in one unit.",
)
def geomedian(scale: tuple[str, ...], **options: Any) -> None:
    """Release a private geometric median of two to five columns.

    DATA is a Parquet, CSV or Arrow file, a pattern or directory of them, a postgresql:// address, a
    table of kng.toml, or - for CSV on standard input. Names of columns are public.
    """
    _release("geometric_median", options, scale=scale)


def _release(
    statistic: str,
    options: dict[str, Any],
    q: tuple[str, ...] | None = None,
    scale: tuple[str, ...] = (),
) -> None:
    """Read the words and release a statistic of the file."""
    # Imported here: `kng --help` should not wait for NumPy and FLINT.
    import kng
    from kng.cli.arguments import read_options, read_quantiles, read_setting, read_statistic
    from kng.cli.receipt import hand_over
    from kng.cli.tables import read_table, with_promise

    table = read_table(options)
    options = with_promise(options, table)
    if table.columns is not None and options["column"] and not options["bounds"]:
        table = table[list(options["column"])]
    arguments = {**read_options(options), **read_statistic(options, table)}
    if q is not None:
        arguments["q"] = read_quantiles(q)
    if scale:
        arguments["scale"] = read_setting("scale", scale)
    compute: Callable[..., kng.Release] = getattr(kng, statistic)
    hand_over(lambda: compute(table, **arguments), options, arguments.get("ledger"))
