"""Pictures of the experiments, as PNG and SVG.

matplotlib is an extra, ``pip install 'kng[reproduce]'``. The same table gives the same bytes: no
date, no random names inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log, log10
from pathlib import Path
from typing import Any

from kng.core.errors import MissingExtra
from kng.reproduce.summary import Row


@dataclass(frozen=True, slots=True)
class Style:
    """How a curve is drawn; line and marker tell it from the others in a print without colours."""

    color: str
    line: str | tuple[int, tuple[float, ...]] = "none"
    marker: str = "none"
    width: float = 1.6


# The palette of Okabe and Ito, which colour-blind readers can tell apart. The paper has the
# non-private curve black and the exponential mechanism red.
_BLACK, _ORANGE, _SKY, _GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
_BLUE, _VERMILION, _PURPLE, _GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"
_LONG, _DASHED, _DOTTED = (0, (10, 3)), (0, (4, 1.5)), (0, (1, 1.5))
_DASHDOT, _TWO_DOTS = (0, (6, 1.5, 1, 1.5)), (0, (4, 1.5, 1, 1.5, 1, 1.5))
# Lines are exact draws, markers without a line are chains.
STYLES = {
    "non-private": Style(_BLACK, "-", width=2.4),
    "exponential": Style(_VERMILION, _LONG),
    "exponential-printed": Style(_VERMILION, _LONG),
    "exponential-derived": Style(_ORANGE, _DASHDOT),
    "objective-perturbation": Style(_ORANGE, _DASHDOT),
    "kng": Style(_BLUE, _DASHED),
    "kng-printed": Style(_SKY, "-", "1"),
    "kng-derived": Style(_BLUE, _DASHED),
    "exponential-chain": Style(_VERMILION, marker="s"),
    "exponential-printed-chain": Style(_VERMILION, marker="s"),
    "exponential-derived-chain": Style(_ORANGE, marker="D"),
    "kng-chain": Style(_BLUE, marker="o"),
    "kng-chain-sweeps": Style(_BLUE, marker="^"),
    "kng-chain-tuned": Style(_BLUE, marker="x"),
    "kng-printed-chain": Style(_SKY, marker="v"),
    "kng-derived-chain": Style(_BLUE, marker="o"),
    "kng-derived-chain-sweeps": Style(_BLUE, marker="^"),
    "kng-derived-chain-tuned": Style(_BLUE, marker="x"),
    "distance-linear": Style(_BLUE, "-", "o"),
    "distance-quantile": Style(_VERMILION, _LONG, "s"),
    "distance-quantile-vanishing": Style(_GREEN, _DASHDOT, "^"),
    "distance-kink": Style(_PURPLE, _DASHED, "D"),
    "noise-kng": Style(_BLUE, "-", "o"),
    "noise-exponential": Style(_VERMILION, _LONG, "s"),
    "noise-quantile": Style(_GREEN, _DASHDOT, "^"),
    "noise-geometric": Style(_ORANGE, _DASHED, "D"),
    "ours-default": Style(_GREY, _DOTTED, "+"),
    "ours-objective": Style(_PURPLE, _TWO_DOTS, "*"),
    "ours-huber": Style(_GREEN, "-", "P"),
}


def curves(rows: list[Row], labels: Mapping[str, str], stem: Path, title: str) -> list[Path]:
    """Draw base 10 logarithms of mean errors against those of n, as in the paper."""
    figure = canvas(8.0, 7.2)
    axes = figure.add_subplot()
    plot(axes, rows, labels)
    axes.set_xlabel("n, on a logarithmic scale (markers of chains at one n stand side by side)")
    axes.set_ylabel("log₁₀ average distance to θ*")
    axes.set_title(title, fontsize=11)
    axes.legend(loc="upper right", fontsize=8, frameon=False, handlelength=4)
    # Room for the legend in the corner where the paper has it; ours-default starts above it.
    top = max(row.log10_mean_error for row in rows if row.method != "ours-default")
    axes.set_ylim(top=top + 0.9)
    return save(figure, stem)


def close_up(rows: list[Row], labels: Mapping[str, str], stem: Path, title: str) -> list[Path]:
    """Draw mean errors at small n, on a plain scale: the curves lie within a factor of two."""
    figure = canvas(8.0, 5.4)
    axes = figure.add_subplot()
    for method, label in labels.items():
        points, style = [row for row in rows if row.method == method], STYLES[method]
        axes.errorbar(
            [log10(row.n) for row in points],
            [row.mean_error for row in points],
            yerr=[row.mean_error * row.log10_se * log(10) for row in points],
            label=label,
            **_look(style),
        )
    _mark_sizes(axes, rows)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("n, on a logarithmic scale")
    axes.set_ylabel("average distance to θ*")
    axes.set_title(title, fontsize=11)
    axes.legend(loc="upper right", fontsize=8, frameon=False, handlelength=4)
    return save(figure, stem)


def limit_panels(
    rows: list[Row],
    labels: Mapping[str, str],
    radii: Mapping[int, list[float]],
    floor: float,
    stem: Path,
) -> list[Path]:
    """Draw Theorem 3.2: distances to the limit, the law of the radius, sizes of the noise."""
    from scipy.special import gammainc

    figure = canvas(11.0, 9.6)
    (distance, law), (noise, scaled) = figure.subplots(2, 2)
    plot(distance, rows, {m: t for m, t in labels.items() if m.startswith("distance")})
    distance.axhline(
        log10(floor), color=_GREY, linestyle=_DOTTED, label="Kolmogorov, draws of the limit itself"
    )
    distance.set_title("distance to the K-norm limit", fontsize=11)
    distance.set_ylabel("log₁₀ distance")
    sized = {m: t for m, t in labels.items() if m.startswith("noise")}
    plot(noise, rows, sized)
    noise.set_title("size of the noise, ‖θ~ - θ^‖", fontsize=11)
    noise.set_ylabel("log₁₀ mean size; of regressions in units of R")
    plot(scaled, [_times_n(row) for row in rows], sized)
    scaled.set_title("n times the size of the noise", fontsize=11)
    scaled.set_ylabel("log₁₀ of n times the mean size")
    for axes, corner in ((distance, "lower left"), (noise, "lower left"), (scaled, "upper left")):
        axes.set_xlabel("n, on a logarithmic scale")
        axes.legend(loc=corner, fontsize=8, frameon=False, handlelength=4)
    for axes in (distance, noise):
        axes.set_ylim(bottom=axes.get_ylim()[0] - 0.9)  # room for the legend
    scaled.set_ylim(top=scaled.get_ylim()[1] + 0.7)
    looks = zip((_ORANGE, _SKY, _GREEN, _VERMILION, _PURPLE), "sv^ox", strict=True)
    for (n, quantiles), (color, marker) in zip(radii.items(), looks, strict=False):
        levels = [(k + 1) / (len(quantiles) + 1) for k in range(len(quantiles))]
        law.plot(
            *(quantiles, levels),
            color=color,
            marker=marker,
            markersize=4,
            markerfacecolor="none",
            linewidth=0.8,
            label=f"n = {n:,}",
        )
    grid = [k / 5 for k in range(0, 126)]
    law.plot(grid, gammainc(12, grid), color=_BLACK, linewidth=1.6, label="limit: Gamma(12)")
    law.set_title("linear regression: distribution of c‖Hz‖", fontsize=11)
    law.set_xlabel("c‖Hz‖, one sample of each size")
    law.set_ylabel("probability of at most that")
    law.legend(loc="lower right", fontsize=8, frameon=False)
    law.grid(True, linewidth=0.3)
    return save(figure, stem)


def plot(axes: Any, rows: list[Row], labels: Mapping[str, str]) -> None:
    """Draw one curve per method, with bars of one standard error."""
    chains = [method for method in labels if STYLES[method].line == "none"]
    for method, label in labels.items():
        points = [row for row in rows if row.method == method]
        axes.errorbar(
            [log10(row.n) + _aside(method, chains) for row in points],
            [row.log10_mean_error for row in points],
            yerr=[row.log10_se for row in points],
            label=label,
            **_look(STYLES[method]),
        )
    _mark_sizes(axes, rows)


def _look(style: Style) -> dict[str, Any]:
    return {
        "color": style.color,
        "linestyle": style.line,
        "linewidth": style.width,
        "marker": style.marker,
        "markersize": 5.5,
        "markerfacecolor": "none",
        "elinewidth": 0.8,
    }


def _mark_sizes(axes: Any, rows: list[Row]) -> None:
    """Mark every n by itself, powers of ten as such where they are many digits long."""
    sizes = sorted({row.n for row in rows})
    axes.set_xticks([log10(n) for n in sizes], [_shown(n) for n in sizes])
    axes.grid(True, linewidth=0.3)


def _shown(n: int) -> str:
    power = len(str(n)) - 1
    return f"$10^{power}$" if n == 10**power and n > 1000 else f"{n:,}"


def _times_n(row: Row) -> Row:
    """Return the row for n times its mean."""
    return replace(
        row,
        mean_error=row.n * row.mean_error,
        log10_mean_error=log10(row.n) + row.log10_mean_error,
    )


def _aside(method: str, chains: list[str]) -> float:
    """Return how far a chain's markers stand beside their n, so that none hides another."""
    return 0.04 * (chains.index(method) - (len(chains) - 1) / 2) if method in chains else 0.0


def require_matplotlib() -> None:
    """Say that it is missing before an hour of work, not after."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "pictures need matplotlib, which is not installed. Run: pip install 'kng[reproduce]'"
        ) from None


def canvas(width: float, height: float) -> Any:
    """Return an empty figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, stem: Path) -> list[Path]:
    """Write PNG and SVG."""
    import matplotlib

    paths = [stem.parent / f"{stem.name}.{kind}" for kind in ("png", "svg")]
    with matplotlib.rc_context({"svg.hashsalt": stem.name, "svg.fonttype": "path"}):
        figure.savefig(paths[0], dpi=150, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None})
    return paths
