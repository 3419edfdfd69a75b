"""One departure of the paper from its own theorems, and a table of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf, isnan


@dataclass(frozen=True, slots=True)
class Erratum:
    """One departure; the losses are at epsilon = 1, and nan where none is at stake."""

    place: str
    printed: str
    verdict: str
    witness: str
    loss_printed: float
    ours: str
    loss_ours: float


def markdown(rows: list[Erratum]) -> str:
    """Return the table for a page."""
    heading = ("where", "printed", "verdict", "witness", "loss", "ours", "loss")
    lines = [heading, ("---",) * len(heading)]
    for row in rows:
        before, after = (told(loss) for loss in (row.loss_printed, row.loss_ours))
        cells = (row.place, row.printed, row.verdict, row.witness, before, row.ours, after)
        lines.append(tuple(cell.replace("|", "\\|") for cell in cells))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def told(loss: float) -> str:
    """Return a loss as text, and nothing where none is at stake."""
    return "" if isnan(loss) else "infinite" if isinf(loss) else f"{loss:.3f}"
