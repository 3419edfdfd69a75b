"""Noise in words: "41.3 ± 0.9 (privacy noise, 95 %)", and no digit that is only noise."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10

from kng.core.noise.interval import NoiseInterval

# Digits of a margin that are shown; the answer ends where they do.
_DIGITS = 2
_PLAIN = 15
# Digits of a number whose margin is not known.
_BRIEF = 6


def numbers_shown(values: Sequence[float], interval: NoiseInterval | None) -> list[str]:
    """Return each number with its margin, if there is one in its units."""
    if interval is None or interval.kind == "ranks":
        return [brief(value) for value in values]
    margin = interval.margin
    margins = margin if isinstance(margin, tuple) else (margin,)
    return [_beside(v, m) for v, m in zip(values, margins, strict=True)]


def brief(value: float) -> str:
    """Write a number whose noise in its own units is not known.

    All of up to four decimals, because steps of the caller's are seldom finer; else six digits,
    and the whole part in any case.
    """
    if not isfinite(value) or not 1e-4 <= abs(value) < 10.0**_PLAIN:
        return f"{value:.{_BRIEF}g}"
    if value == round(value, _BRIEF - 2):
        return f"{value:.{_BRIEF - 2}f}".rstrip("0").rstrip(".")
    decimals = max(_BRIEF - 1 - floor(log10(abs(value))), 0)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


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
        return f" (rank ± {ceil(margin)} records: privacy noise, {level})"
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
