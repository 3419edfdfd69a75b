"""Noise in words: "41.3 ± 0.9 (privacy noise, 95 %)", and no digit that is only noise."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10

from kng.core.noise.interval import NoiseInterval

# Digits of a margin that are shown; the answer ends where they do.
_DIGITS = 2
_PLAIN = 15


def numbers_shown(values: Sequence[float], interval: NoiseInterval | None) -> list[str]:
    """Return each number with its margin, if there is one in its units."""
    if interval is None or interval.kind == "ranks":
        return [f"{value:.10g}" for value in values]
    margin = interval.margin
    margins = margin if isinstance(margin, tuple) else (margin,)
    return [_beside(v, m) for v, m in zip(values, margins, strict=True)]


def words_for(interval: NoiseInterval | None) -> str:
    """Return what is said of all numbers together, after them."""
    if interval is None:
        return ""
    level = f"{100 * interval.level:.10g} %"
    if interval.kind == "exact":
        return f" (privacy noise, {level})"
    if interval.kind == "predicted":
        return f" (predicted privacy noise, {level})"
    margin = interval.margin[0] if isinstance(interval.margin, tuple) else interval.margin
    if interval.unit.startswith("records"):
        return f" (rank ± {margin:.3g} records: privacy noise, {level})"
    return f" (rank ± {margin:.2g} of the records: privacy noise, {level})"


def _beside(value: float, margin: float) -> str:
    """Write a number and its margin, both to the margin's second digit."""
    if not isfinite(margin) or margin <= 0:
        return f"{value:.10g}" + (" ± 0" if margin == 0 else "")
    decimals = _DIGITS - 1 - floor(log10(margin))
    # A margin of whole steps, 3 for a count, has no second digit.
    if float(f"{margin:.1g}") == margin and margin == round(margin):
        decimals = min(decimals, 0)
    if not -_PLAIN < decimals < _PLAIN:
        return f"{value:.10g} ± {margin:.{_DIGITS}g}"
    places = max(decimals, 0)
    unit = 10.0**-decimals
    upwards = unit * ceil(margin / unit * (1 - 1e-9))
    return f"{round(value, decimals):.{places}f} ± {upwards:.{places}f}"
