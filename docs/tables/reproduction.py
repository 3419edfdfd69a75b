"""Put the tables of a run into docs/reproduction.md.

    kng reproduce figure1 --out docs/reproduction      (and figure2, theorem, errata)
    python docs/tables/reproduction.py

Each table stands between two comments that name it, and is replaced.
"""

from __future__ import annotations

import csv
import re
from math import isnan, log
from pathlib import Path

from kng.reproduce import figure1, figure2, theorem

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "reproduction"
PAGE = DOCS / "reproduction.md"
LABELS = {
    "figure1": figure1.METHODS,
    "figure1-zoom": {method: figure1.METHODS[method] for method in figure1.DRAWN},
    "figure2": figure2.METHODS,
    "theorem": theorem.METHODS,
}


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with (FOLDER / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def averages(name: str) -> str:
    """Return one row for each curve, and what belongs to all of them."""
    rows, slopes = read(f"{name}.csv"), read(f"{name}.slopes.csv")
    sizes = sorted({int(row["n"]) for row in rows})
    point = {(row["method"], int(row["n"])): f"{float(row['mean_error']):.4g}" for row in rows}
    fall = {row["method"]: f"{float(row['slope']):.3f} ± {float(row['se']):.3f}" for row in slopes}
    lines = [
        f"| n | {' | '.join(f'{n:,}' for n in sizes)} | slope |",
        f"| --- |{' --- |' * (len(sizes) + 1)}",
    ]
    for method, label in LABELS[name].items():
        cells = [point.get((method, n), "") for n in sizes]
        lines.append(f"| {label} | {' | '.join(cells)} | {fall[method]} |")
    notes = []
    if "R" in fall:
        notes.append(f"R = max \\|Y\\| grows with a slope of {fall['R']} over the last decade.")
    lengths = {int(row["n"]): int(row["replicates"]) for row in rows}
    notes.append(f"Replicates: {' '.join(sorted({str(k) for k in lengths.values()}))} at each n.")
    return "\n".join([*lines, "", *notes])


def sample_sizes(name: str, reference: str) -> str:
    """Return how many times the records of a reference each method needs."""
    labels = LABELS[name]
    rows = [row for row in read(f"{name}.sizes.csv") if row["reference"] == reference]
    sizes = sorted({int(row["n"]) for row in rows})
    ratios = {
        (row["method"], int(row["n"])): _with_error(float(row["ratio"]), float(row["se"]))
        for row in rows
    }
    lines = [
        f"| records for the error of {labels[reference]} at n, over n | "
        f"{' | '.join(f'{n:,}' for n in sizes)} |",
        f"| --- |{' --- |' * len(sizes)}",
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [ratios[method, n] for n in sizes]
        if any(cells):
            lines.append(f"| {labels[method]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _with_error(value: float, error: float) -> str:
    if isnan(value):
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f}" + ("" if isnan(error) else f" ± {error:.{digits}f}")


def versus() -> str:
    """Return the errors of KNG over those of its rivals, on the same records."""
    rows, labels = read("figure1-zoom.versus.csv"), LABELS["figure1-zoom"]
    sizes = sorted({int(row["n"]) for row in rows})
    lines = [
        f"| mean error over that of | {' | '.join(f'{n:,}' for n in sizes)} |",
        f"| --- |{' --- |' * len(sizes)}",
    ]
    for over in dict.fromkeys(row["over"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows):
            points = {
                int(row["n"]): row for row in rows if (row["method"], row["over"]) == (method, over)
            }
            cells = [
                f"{float(points[n]['ratio']):.3f} ± {float(points[n]['se']):.3f}" for n in sizes
            ]
            lines.append(f"| {labels[method]} / {labels[over]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def scaled() -> str:
    """Return n times the size of the noise."""
    rows = [row for row in read("theorem.csv") if row["method"].startswith("noise")]
    sizes = sorted({int(row["n"]) for row in rows})
    point = {(r["method"], int(r["n"])): int(r["n"]) * float(r["mean_error"]) for r in rows}
    lines = [
        f"| n times the size of the noise | {' | '.join(f'{n:,}' for n in sizes)} |",
        f"| --- |{' --- |' * len(sizes)}",
    ]
    for method in dict.fromkeys(row["method"] for row in rows):
        cells = [f"{point[method, n]:.4g}" if (method, n) in point else "" for n in sizes]
        lines.append(f"| {LABELS['theorem'][method]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def standard_errors() -> str:
    """Return the ranges of the standard errors on both scales, beside the paper's."""
    lines = ["| | printed | natural logarithms | base 10 |", "| --- | --- | --- | --- |"]
    for name, printed, ours in (
        ("figure1", "0.01380 to 0.02729", figure1.METHODS),
        ("figure2", "0.04403 to 0.06028", figure2.METHODS),
    ):
        # the paper's own curves, where they have arrived
        methods = [m for m in ours if not m.startswith("ours") and "chain" not in m]
        errors = [float(r["log10_se"]) for r in read(f"{name}.csv") if r["method"] in methods]
        ten = f"{min(errors):.4f} to {max(errors):.4f}"
        natural = f"{min(errors) * log(10):.4f} to {max(errors) * log(10):.4f}"
        lines.append(f"| {name} | {printed} | {natural} | {ten} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Return every table by its name."""
    return {
        **{name: averages(name) for name in LABELS},
        "figure1-sizes": sample_sizes("figure1", "non-private"),
        "figure1-sizes-kng": sample_sizes("figure1", "kng-derived"),
        "figure2-sizes": sample_sizes("figure2", "non-private"),
        "versus": versus(),
        "scaled": scaled(),
        "errors": standard_errors(),
        "errata": (FOLDER / "errata.md").read_text(encoding="utf-8").strip(),
    }


def filled(page: str) -> str:
    """Return the page with its tables as the files have them."""
    for name, text in tables().items():
        block = f"<!-- {name} -->\n\n{text}\n\n<!-- end -->"
        pattern = rf"<!-- {name} -->.*?<!-- end -->"
        page, found = re.subn(pattern, lambda _, block=block: block, page, flags=re.DOTALL)
        if found != 1:
            raise SystemExit(f"{PAGE} has {found} places for the table {name}; it needs one.")
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
