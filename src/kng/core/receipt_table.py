"""The numbers of one answer as a table: a row for each coefficient, quantile, bin or group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of texts, each under its name; some of them are numbers."""

    columns: Sequence[Sequence[str]]
    numeric: Sequence[bool]

    def lines(self) -> list[str]:
        """Return it for a terminal."""
        widths = [max(map(len, column)) for column in self.columns]
        made = []
        for row in zip(*self.columns, strict=True):
            cells = zip(row, widths, self.numeric, strict=True)
            texts = [f"{cell:>{width}}" if r else f"{cell:<{width}}" for cell, width, r in cells]
            made.append("  ".join(texts).rstrip())
        return made

    def html(self) -> str:
        """Return it for a notebook; every name in it is the caller's, so it is escaped."""
        aligned = ["right" if r else "left" for r in self.numeric]
        head, *body = zip(*self.columns, strict=True)

        def row(cells: Sequence[str], tag: str) -> str:
            made = zip(cells, aligned, strict=True)
            return "".join(
                f"<{tag} style='text-align:{side};padding-right:1.5em;"
                f"font-variant-numeric:tabular-nums'>{escape(cell)}</{tag}>"
                for cell, side in made
            )

        lines = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in body)
        return f"<table style='border:0;margin:.4em 0'><tr>{row(head, 'th')}</tr>{lines}</table>"
