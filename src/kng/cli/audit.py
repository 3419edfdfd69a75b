"""``kng audit``: the privacy loss of every mechanism, computed exactly on tiny datasets."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from kng.cli.help import command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kng.audit import Row

# The exit code if a row comes out otherwise than it must.
WRONG = 7
_WIDE = 46  # of a pair in the table; --json has all of it


@command(epilog="\b\nkng audit --quick\nkng audit --json > audit.json")
@click.option("--quick", is_flag=True, help="Fewer records and one epsilon: some seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: a list of rows.")
def audit(quick: bool, as_json: bool) -> int:
    """Check the privacy of every mechanism on tiny datasets.

    Each row enumerates every dataset of a few record values and every pair of neighbours, asks
    kng's own parts for the law of the answer, and divides: loss / epsilon is the largest log ratio
    of two laws over the promise, and must be at most 1. A dot is a record that lacks a cell; in
    rows with groups a record is (group, value), and group 0 is none.

    Rows that must FAIL show that the audit can see a fault: mechanisms with a wrong constant, and
    the constants that the paper prints where they are too small. The exit code is 0 if every row
    comes out as it must, and 7 otherwise. No data are read.
    """
    from kng.audit import full
    from kng.audit import quick as quick_rows

    computations = quick_rows() if quick else full()
    rows: list[Row] = []
    show = not as_json
    if show:
        click.echo(_HEADING)
    for compute in computations:
        for row in compute():
            rows.append(row)
            if show:
                click.echo(_line(row))
    wrong = [row for row in rows if not row.right]
    if as_json:
        click.echo(json.dumps([_mapping(row) for row in rows], indent=2))
    else:
        _conclude(rows, wrong)
    return WRONG if wrong else 0


_WIDTHS = (27, 31, 34, 4, 13, 8)
_HEADING = "  ".join(
    f"{title:<{width}}"
    for title, width in zip(
        ("mechanism", "statistic", "relation", "ε", "loss / ε", "verdict"), _WIDTHS, strict=True
    )
) + "  worst pair"  # fmt: skip


def _line(row: Row) -> str:
    from kng.audit.rows import share_told

    verdict = ("holds" if row.holds else "FAILS") + ("" if row.right else " !!")
    cells = (row.mechanism, row.statistic, row.relation, row.epsilon, share_told(row.share))
    texts = [f"{cell:<{width}}" for cell, width in zip((*cells, verdict), _WIDTHS, strict=True)]
    pair = row.pair if len(row.pair) <= _WIDE else row.pair[: _WIDE - 1] + "…"
    return "  ".join([*texts, pair])


def _mapping(row: Row) -> dict[str, object]:
    # JSON has no infinity.
    share: object = row.share if row.share < sys.float_info.max else "infinite"
    return {**asdict(row), "share": share, "right": row.right}


def _conclude(rows: Sequence[Row], wrong: Sequence[Row]) -> None:
    ours = [row for row in rows if row.expected == "holds"]
    faults = len(rows) - len(ours)
    if wrong:
        click.echo(f"\n{len(wrong)} of {len(rows)} rows came out otherwise than they must (!!).")
        return
    most = max(row.share for row in ours)
    click.echo(
        f"\nAll {len(ours)} rows of ours hold; the largest loss is {most:.4f} of epsilon. All "
        f"{faults} faults that were put in or printed were found."
    )
