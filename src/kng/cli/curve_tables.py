"""Tables of curves for people: averages with their slopes, sample sizes, and who beats whom."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kng.reproduce.sample_sizes import Need
    from kng.reproduce.summary import Row, Slope
    from kng.reproduce.versus import Versus


def show_averages(
    title: str, rows: list[Row], slopes: list[Slope], labels: Mapping[str, str]
) -> None:
    """Print averages and slopes."""
    sizes = sorted({row.n for row in rows})
    wide = _wide(labels)
    falls = {slope.method: f"{slope.slope:>9.3f}{_error(slope.se, '.3f')}" for slope in slopes}
    told = "; slope over the last two sizes of n, with its standard error" if falls else ""
    click.echo(f"{title}{told}")
    heading = f"{'slope':>9}" if falls else ""
    click.echo(f"{'n':<{wide}}{''.join(f'{n:>11,}' for n in sizes)}{heading}")
    point = {(row.method, row.n): f"{row.mean_error:.4g}" for row in rows}
    for method, label in labels.items():
        cells = "".join(f"{point.get((method, n), ''):>11}" for n in sizes)
        click.echo(f"{label:<{wide}}{cells}{falls.get(method, '')}")


def show_needs(rows: list[Need], labels: Mapping[str, str]) -> None:
    """Print how many times the records of a reference each method needs."""
    sizes, wide = sorted({row.n for row in rows}), _wide(labels)
    for reference in dict.fromkeys(row.reference for row in rows):
        click.echo(
            f"\nRecords for the error of {labels[reference]} at n, as a multiple of n; blank where "
            "a curve has no such error"
        )
        click.echo(f"{'n':<{wide}}{''.join(f'{n:>16,}' for n in sizes)}")
        asked = [row for row in rows if row.reference == reference]
        for method in dict.fromkeys(row.method for row in asked):
            points = {row.n: row for row in asked if row.method == method}
            cells = "".join(f"{_need(points[n]):>16}" for n in sizes)
            if cells.strip():
                click.echo(f"{labels[method]:<{wide}}{cells}")


def show_versus(rows: list[Versus], labels: Mapping[str, str]) -> None:
    """Print mean errors over those of another method, on the same records."""
    sizes, wide = sorted({row.n for row in rows}), _wide(labels)
    over = labels[rows[0].over]
    click.echo(f"\nMean error over that of {over} on the same records; below 1 is a win")
    click.echo(f"{'n':<{wide}}{''.join(f'{n:>16,}' for n in sizes)}")
    for method in dict.fromkeys(row.method for row in rows):
        points = {row.n: row for row in rows if row.method == method}
        cells = [f"{points[n].ratio:.3f}{_error(points[n].se, '.3f')}" for n in sizes]
        click.echo(f"{labels[method]:<{wide}}{''.join(f'{cell:>16}' for cell in cells)}")


def _need(row: Need) -> str:
    if isnan(row.ratio):
        return ""
    return f"{row.ratio:.3g}{_error(row.se, '.2g')}"


def _error(se: float, form: str) -> str:
    """Return a standard error, or nothing where a single replicate has none."""
    return "" if isnan(se) else f" ±{se:{form}}"


def _wide(labels: Mapping[str, str]) -> int:
    return max(map(len, labels.values())) + 2
