"""Which cells are accepted and by which sampler, and which are refused with which sentence.

The table is kept in `table.txt`, and is recorded anew by

    PYTHONPATH=tests python -m product.table

A letter is the sampler that draws, a number the sentence that refuses. Where they depend on the
neighbours, all are given in the order of `axes.UNITS`.
"""

from __future__ import annotations

from functools import cache
from itertools import product as every
from pathlib import Path

from product.axes import DOMAINS, LOSSES, MECHANISMS, NORMS, UNITS
from product.cells import Cell, every_cell, outcome

from kng.core.parts import described

PATH = Path(__file__).with_name("table.txt")
LETTERS = {
    "order": "o",
    "together": "t",
    "branch-and-bound": "b",
    "affine": "a",
    "gaussian": "g",
    "noise": "n",
    "perturbed": "p",
}
_WIDE = 14


def sentence(cell: Cell) -> str | None:
    """Return why a cell is refused, with its own parts left out; None if it is not."""
    found = outcome(cell)
    if not found.startswith("refused: "):
        return None
    problem = cell.problem()
    for part, word in ((problem.loss, "LOSS"), (problem.domain, "DOMAIN"), (problem.norm, "NORM")):
        found = found.replace(described(part), word)
    return found.removeprefix("refused: ").replace(type(problem.norm).__name__ + " has", "NORM has")


def written() -> str:
    """Return the table of the library as it is."""
    sentences: list[str] = []

    def code(cell: Cell) -> str:
        why = sentence(cell)
        if why is None:
            return LETTERS[outcome(cell)]
        if why not in sentences:
            sentences.append(why)
        return str(sentences.index(why) + 1)

    lines = []
    known = set(every_cell())
    for mechanism, loss in every(MECHANISMS, LOSSES):
        norms = [n for n in NORMS if Cell(mechanism, loss, n, "box", "replace-one") in known]
        header = "".join(f"{norm:>{_WIDE}}" for norm in norms)
        lines += [f"{mechanism}: {loss}", f"{'':{_WIDE}}{header}"]
        for domain in DOMAINS:
            row = f"{domain:{_WIDE}}"
            for norm in norms:
                codes = [code(Cell(mechanism, loss, norm, domain, unit)) for unit in UNITS]
                row += f"{codes[0] if len(set(codes)) == 1 else '/'.join(codes):>{_WIDE}}"
            lines.append(row)
        lines.append("")
    letters = [f"{letter}  {name}" for name, letter in LETTERS.items()]
    numbered = [f"{i}  {text}" for i, text in enumerate(sentences, 1)]
    return "\n".join([*letters, "", *numbered, "", *lines])


@cache
def recorded() -> dict[Cell, str]:
    """Return the code of every cell as the table has it."""
    found: dict[Cell, str] = {}
    blocks = PATH.read_text(encoding="utf-8").split("\n\n")[2:]
    for block in blocks:
        title, header, *rows = block.strip("\n").split("\n")
        mechanism, loss = title.split(": ")
        norms = _cut(header)[1:]
        for line in rows:
            domain, *entries = _cut(line)
            for norm, entry in zip(norms, entries, strict=True):
                codes = entry.split("/")
                for unit, code in zip(UNITS, codes * (len(UNITS) // len(codes)), strict=True):
                    found[Cell(mechanism, loss, norm, domain, unit)] = code
    return found


def accepted_cells() -> list[Cell]:
    """Return the cells that the table has a sampler for."""
    return [cell for cell, code in recorded().items() if not code.isdigit()]


def _cut(line: str) -> list[str]:
    return [line[i : i + _WIDE].strip() for i in range(0, len(line), _WIDE)]


if __name__ == "__main__":
    PATH.write_text(written(), encoding="utf-8")
