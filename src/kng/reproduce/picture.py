"""Pictures of the experiments, as PNG and SVG.

matplotlib is an extra, ``pip install 'kng[reproduce]'``; the tables are made without it. The same
table gives the same bytes: no date, no random names inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import Any

from kng.core.errors import KngError
from kng.reproduce.summary import Row


class PictureError(KngError):
    """No picture can be drawn here; everything else was made."""


@dataclass(frozen=True, slots=True)
class Style:
    """How a curve is drawn."""

    color: str
    line: str = "-"
    marker: str = ""
    width: float = 1.8


# The paper has the non-private curve black and the exponential mechanism red.
_BLACK, _RED, _BLUE, _GREEN = "#000000", "#cc2222", "#2255bb", "#118833"
_PALE_RED, _PALE_GREEN, _ORANGE, _PURPLE, _GREY = (
    "#dd8866",
    "#77bb44",
    "#dd8800",
    "#883399",
    "#888888",
)
STYLES = {
    "non-private": Style(_BLACK, width=2.2),
    "exponential": Style(_RED),
    "exponential-printed": Style(_RED),
    "exponential-derived": Style(_PALE_RED, "--"),
    "objective-perturbation": Style(_BLUE),
    "kng": Style(_GREEN),
    "kng-printed": Style(_GREEN),
    "kng-derived": Style(_PALE_GREEN, "--"),
    "exponential-chain": Style(_RED, "", "o"),
    "exponential-printed-chain": Style(_RED, "", "o"),
    "exponential-derived-chain": Style(_PALE_RED, "", "s"),
    "kng-chain": Style(_GREEN, "", "o"),
    "kng-chain-tuned": Style(_GREEN, "", "x"),
    "kng-printed-chain": Style(_GREEN, "", "o"),
    "kng-derived-chain": Style(_PALE_GREEN, "", "s"),
    "kng-derived-chain-tuned": Style(_PALE_GREEN, "", "x"),
    "distance-linear": Style(_GREEN, "-", "o"),
    "distance-quantile": Style(_RED, "-", "o"),
    "distance-quantile-vanishing": Style(_BLUE, "--", "s"),
    "noise-kng": Style(_GREEN, "-", "o"),
    "noise-exponential": Style(_RED, "-", "o"),
    "noise-quantile": Style(_BLUE, "--", "s"),
    "ours-default": Style(_GREY, ":"),
    "ours-objective": Style(_ORANGE, ":"),
    "ours-huber": Style(_PURPLE, "-."),
}


def curves(rows: list[Row], labels: Mapping[str, str], stem: Path, title: str) -> list[Path]:
    """Draw base 10 logarithms of mean errors against those of n, as in the paper."""
    figure = canvas(7.2, 6.4)
    axes = figure.add_subplot()
    plot(axes, rows, labels)
    axes.set_xlabel("log₁₀ n")
    axes.set_ylabel("log₁₀ average distance to θ*")
    axes.set_title(title, fontsize=11)
    axes.legend(loc="upper right", fontsize=8, frameon=False)
    # Room for the legend in the corner where the paper has it; ours-default starts above it.
    top = max(row.log10_mean_error for row in rows if row.method != "ours-default")
    axes.set_ylim(top=top + 0.9)
    return save(figure, stem)


def limit_panels(
    rows: list[Row], labels: Mapping[str, str], radii: Mapping[int, list[float]], stem: Path
) -> list[Path]:
    """Draw Theorem 3.2: distances to the limit, the law of the radius, sizes of the noise."""
    from scipy.special import gammainc

    figure = canvas(13.5, 4.6)
    distance, law, noise = figure.subplots(1, 3)
    plot(distance, rows, {m: t for m, t in labels.items() if m.startswith("distance")})
    distance.set_title("distance to the K-norm limit", fontsize=11)
    distance.set_ylabel("log₁₀ distance")
    plot(noise, rows, {m: t for m, t in labels.items() if m.startswith("noise")})
    noise.set_title("size of the noise, ‖θ~ - θ^‖", fontsize=11)
    noise.set_ylabel("log₁₀ mean size, in units of R")
    for axes in (distance, noise):
        axes.set_xlabel("log₁₀ n")
        axes.legend(loc="lower left", fontsize=8, frameon=False)
        axes.set_ylim(bottom=axes.get_ylim()[0] - 0.6)  # room for the legend
    for n, quantiles in radii.items():
        levels = [(k + 1) / (len(quantiles) + 1) for k in range(len(quantiles))]
        law.plot(quantiles, levels, marker=".", linewidth=0.8, label=f"n = {n:,}")
    grid = [k / 5 for k in range(0, 126)]
    law.plot(grid, gammainc(12, grid), color=_BLACK, linewidth=1.6, label="limit: Gamma(12)")
    law.set_title("linear regression: distribution of c‖Hz‖", fontsize=11)
    law.set_xlabel("c‖Hz‖, one sample of each size")
    law.legend(loc="lower right", fontsize=8, frameon=False)
    law.grid(True, linewidth=0.3)
    return save(figure, stem)


def plot(axes: Any, rows: list[Row], labels: Mapping[str, str]) -> None:
    """Draw one curve per method, with bars of one standard error."""
    for method, label in labels.items():
        points = [row for row in rows if row.method == method]
        style = STYLES[method]
        axes.errorbar(
            [log10(row.n) for row in points],
            [row.log10_mean_error for row in points],
            yerr=[row.log10_se for row in points],
            color=style.color,
            linestyle=style.line or "none",
            linewidth=style.width,
            marker=style.marker or None,
            markersize=6,
            markerfacecolor="none",
            elinewidth=0.8,
            label=label,
        )
    axes.set_xticks(sorted({log10(row.n) for row in rows}))
    axes.grid(True, linewidth=0.3)


def canvas(width: float, height: float) -> Any:
    """Return an empty figure, or say what is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PictureError(
            "The tables were written, but pictures need matplotlib, which is not installed. "
            "Run pip install 'kng[reproduce]' and the same command again; nothing is computed "
            "twice."
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, stem: Path) -> list[Path]:
    """Write PNG and SVG."""
    import matplotlib

    paths = [stem.with_suffix(".png"), stem.with_suffix(".svg")]
    with matplotlib.rc_context({"svg.hashsalt": stem.name, "svg.fonttype": "path"}):
        figure.savefig(paths[0], dpi=150, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    return paths
