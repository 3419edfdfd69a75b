"""Pictures of an answer: where it could have fallen, bars, coefficients and fitted lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, isfinite

from kng.core.noise.interval import NoiseInterval
from kng.core.noise.shown import numbers_shown
from kng.core.receipt_names import BINS
from kng.core.release import Release
from kng.report.axis import Axis, number
from kng.report.svg import WIDTH, curve, dot, line, picture, rect, text

# Bands of a picture, the widest first.
_LEVELS = (0.99, 0.95, 0.8, 0.5)
_MOST_ROWS = 40
_POINTS = 60
# Noise of this part of the public range is said to drown the answer.
_DROWNED = 0.5
# Answers that lie between the bounds of the records.
_BETWEEN = ("mean", "median", "quantile", "geometric median")
_LINKS: dict[str, Callable[[float], float]] = {
    "logistic regression": lambda v: 1 / (1 + exp(-max(min(v, 700.0), -700.0))),
    "Poisson regression": lambda v: exp(min(v, 700.0)),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture and what is written below it."""

    svg: str
    caption: str


def figures(release: Release) -> list[Figure]:
    """Return the pictures of one answer; none where there is nothing to show."""
    interval = interval_of(release)
    found: list[Figure | None]
    if release.scalar:
        found = [_one(release, interval)]
    elif "coefficients" in release.details:
        found = [_lines(release), _coefficients(release, interval)]
    elif "quantiles" in release.details and release.groups is None:
        found = [_quantiles(release)]
    elif _barred(release):
        found = [_bars(release, interval)]
    else:
        found = [_columns(release, interval)]
    return [figure for figure in found if figure is not None]


def drowned(release: Release) -> str | None:
    """Say so where the noise may be half as wide as the public range, or wider."""
    interval = interval_of(release)
    if interval is None:
        return None
    size = len(release.exact_value)
    ranges = [_range(release, at) for at in range(size)]
    ends = ends_of(interval, size)
    if interval.kind == "ranks":
        low, high = (side if isinstance(side, tuple) else (side,) for side in interval)
        # Ends are counts of records, whose number may be private, or shares of them.
        known = re.match(r"(\d+) \(public\)", str(release.details.get("records", "")))
        counted = interval.unit.startswith("records")
        whole = 1.0 if not counted else float(known[1]) if known else float("inf")
        # They are bounds, and most answers are much nearer.
        wide = any(b - a >= whole for a, b in zip(low, high, strict=True))
    else:
        pairs = zip(ends or [], ranges, strict=True)
        wide = any(r is not None and b - a >= _DROWNED * (r[1] - r[0]) for (a, b), r in pairs)
    if not wide:
        return None
    return (
        "The privacy noise is about as wide as the range that was stated: the answer says next to "
        "nothing about the records. More records, a larger epsilon or narrower bounds help."
    )


def interval_of(release: Release, level: float = 0.95) -> NoiseInterval | None:
    """Return the noise interval, or None where nothing is known of it."""
    return None if release.noise is None else release.noise_interval(level)


def values_of(release: Release) -> list[float]:
    """Return the numbers of the answer in a row."""
    return [float(value) for value in release.exact_value]


def names_of(release: Release) -> list[str]:
    """Return what the numbers are called."""
    return list(release.names or [str(at + 1) for at in range(len(release.exact_value))])


def ends_of(interval: NoiseInterval | None, size: int) -> list[tuple[float, float]] | None:
    """Return the ends for each number, in its own units; None where they are of ranks."""
    if interval is None or interval.kind == "ranks":
        return None
    low, high = interval.low, interval.high
    lows = low if isinstance(low, tuple) else (low,) * size
    highs = high if isinstance(high, tuple) else (high,) * size
    return list(zip(lows, highs, strict=True))


def _range(release: Release, at: int) -> tuple[float, float] | None:
    """Return the public range that a number of the answer lies in."""
    if release.statistic == "proportion":
        return 0.0, 1.0
    if release.statistic not in _BETWEEN or not len(release.bounds):
        return None
    column = at % len(release.bounds) if release.statistic != "quantile" else 0
    low, high = float(release.bounds.low[column]), float(release.bounds.high[column])
    return (low, high) if low < high else None


def _one(release: Release, interval: NoiseInterval | None) -> Figure | None:
    """Draw where one number could have fallen: its noise, and the range that it lies in."""
    value, public = values_of(release)[0], _range(release, 0)
    marks: list[str] = []
    height, said = 6.0, []
    if interval is not None:
        ranks = interval.kind == "ranks"
        bands = [_ends(interval_of(release, level)) for level in _LEVELS]
        low, high = bands[0]
        centre = value if not ranks else (0.0 if low < 0 else (low + high) / 2)
        if low < high and isfinite(low) and isfinite(high):
            axis = Axis(low, high, 12, WIDTH - 12)
            kinds = ("band1", "band2", "band3", "band4")
            for (left, right), kind in zip(bands, kinds, strict=True):
                marks.append(rect(axis.at(left), 14, axis.at(right) - axis.at(left), 34, kind))
            x = axis.at(centre)
            marks += [line(x, 8, x, 54, "mark"), *axis.below(60, percent=ranks and low >= 0)]
            height = 92.0
            said.append(_bands_said(value, interval))
    if public is not None:
        axis = Axis(*public, 12, WIDTH - 12)
        y = height + 22
        marks += [line(axis.start, y, axis.end, y, "track"), dot(axis.at(value), y)]
        marks += axis.below(y + 14)
        height = y + 44
        said.append(
            f"{'Below' if said else 'The dot'}: the answer in the range that was stated, "
            f"{number(public[0])} to {number(public[1])}."
        )
    if not marks:
        return None
    return Figure(picture(marks, height, f"The {release.statistic} and its noise"), " ".join(said))


def _bands_said(value: float, interval: NoiseInterval) -> str:
    levels = "50, 80, 95 and 99 %"
    if interval.kind == "ranks":
        unit = "in records" if interval.unit.startswith("records") else "in percent of the records"
        return (
            f"How far the answer is from the rank that was asked for, {unit}: within the bands "
            f"with a probability of at least {levels}."
        )
    word = "predicted to lie" if interval.kind == "predicted" else "lies"
    said = f"The line is the answer. Without privacy noise it {word} in the bands ({levels})."
    low, high = _ends(interval)
    if abs(low + high - 2 * value) > 0.1 * (high - low):
        said += " They stay within the stated range and need not be centred on the answer."
    return said


def _ends(interval: NoiseInterval | None) -> tuple[float, float]:
    assert interval is not None
    assert isinstance(interval.low, float | int)
    assert isinstance(interval.high, float | int)
    return float(interval.low), float(interval.high)


def _barred(release: Release) -> bool:
    """Whether all numbers are of one kind, so that bars can be compared."""
    if BINS in release.details:
        return True
    return release.groups is not None and len(release.groups) == len(release.exact_value)


def _bars(release: Release, interval: NoiseInterval | None) -> Figure:
    """Draw a bar for each group or bin."""
    values, ends = values_of(release), ends_of(interval, len(release.exact_value))
    shown = numbers_shown(values, interval)
    sides = [side for pair in ends or [] for side in pair]
    low, high = min(0.0, *values, *sides), max(0.0, *values, *sides)
    axis = Axis(low, high if high > low else low + 1, 14, WIDTH - 14)
    marks, y, zero = [], 4.0, axis.at(0)
    for at, name in enumerate(names_of(release)[:_MOST_ROWS]):
        x = axis.at(values[at])
        marks += [text(14, y + 14, name), text(WIDTH - 14, y + 14, shown[at], "value", "end")]
        marks.append(rect(min(x, zero), y + 21, abs(x - zero), 13, "bar"))
        if ends is not None:
            marks += _whisker(axis, ends[at], y + 27.5)
        y += 44
    marks += axis.below(y + 4)
    what = "bins" if release.groups is None else "groups"
    by = "bin" if release.groups is None else ", ".join(release.groups.columns)
    cut = "" if len(values) <= _MOST_ROWS else f" The first {_MOST_ROWS} of {len(values)}."
    noise = "" if ends is None else " Thin lines: privacy noise (95 %)."
    return Figure(
        picture(marks, y + 34, f"The {release.statistic} of each of {len(values)} {what}"),
        f"{release.statistic.capitalize()} by {by}.{noise}{cut}",
    )


def _quantiles(release: Release) -> Figure | None:
    """Draw quantiles of one column on one scale."""
    values, public = values_of(release), _range(release, 0)
    if public is None:
        return None
    reach = 0.05 * (max(values) - min(values)) or 0.05 * (public[1] - public[0])
    low, high = max(public[0], min(values) - reach), min(public[1], max(values) + reach)
    axis = Axis(low, high, 14, WIDTH - 14)
    shown, marks, y = numbers_shown(values, None), [], 4.0
    for name, value, words in zip(names_of(release)[:_MOST_ROWS], values, shown, strict=False):
        marks += [text(14, y + 14, name), text(WIDTH - 14, y + 14, words, "value", "end")]
        marks.append(line(axis.start, y + 30, axis.end, y + 30, "track"))
        marks.append(dot(axis.at(value), y + 30))
        y += 44
    marks += axis.below(y + 4)
    ends = f"{number(public[0])} to {number(public[1])}"
    return Figure(
        picture(marks, y + 34, "The quantiles"),
        f"The quantiles on one scale. The range that was stated: {ends}.",
    )


def _whisker(axis: Axis, ends: tuple[float, float], y: float) -> list[str]:
    left, right = axis.at(ends[0]), axis.at(ends[1])
    return [
        line(left, y, right, y, "whisker"),
        line(left, y - 5, left, y + 5, "whisker"),
        line(right, y - 5, right, y + 5, "whisker"),
    ]


def _columns(release: Release, interval: NoiseInterval | None) -> Figure | None:
    """Draw each number in its own public range."""
    values, ends = values_of(release), ends_of(interval, len(release.exact_value))
    shown, marks, y = numbers_shown(values, interval), [], 4.0
    for at, name in enumerate(names_of(release)[:_MOST_ROWS]):
        public = _range(release, at)
        if public is None:
            return None
        axis = Axis(*public, 14, WIDTH - 14)
        marks += [text(14, y + 14, name), text(WIDTH - 14, y + 14, shown[at], "value", "end")]
        marks.append(line(axis.start, y + 30, axis.end, y + 30, "track"))
        if ends is not None:
            marks += _whisker(axis, ends[at], y + 30)
        marks.append(dot(axis.at(values[at]), y + 30))
        marks.append(text(14, y + 50, number(public[0]), "tick"))
        marks.append(text(WIDTH - 14, y + 50, number(public[1]), "tick", "end"))
        y += 64
    noise = "" if ends is None else " Thin lines: privacy noise (95 %)."
    return Figure(
        picture(marks, y, f"The numbers of the {release.statistic}"),
        f"Each number in the range that was stated for it.{noise}",
    )


def _coefficients(release: Release, interval: NoiseInterval | None) -> Figure:
    """Draw each coefficient against zero, on a scale of its own."""
    values, ends = values_of(release), ends_of(interval, len(release.exact_value))
    shown, marks, y = numbers_shown(values, interval), [], 4.0
    for at, name in enumerate(names_of(release)[:_MOST_ROWS]):
        sides = (values[at], *(ends[at] if ends is not None else ()))
        reach = 1.1 * max(map(abs, sides)) or 1.0
        axis = Axis(-reach, reach, 14, WIDTH - 14)
        marks += [text(14, y + 14, name), text(WIDTH - 14, y + 14, shown[at], "value", "end")]
        marks.append(line(axis.start, y + 30, axis.end, y + 30, "track"))
        marks.append(line(axis.at(0), y + 20, axis.at(0), y + 40, "axis"))
        if ends is not None:
            marks += _whisker(axis, ends[at], y + 30)
        marks.append(dot(axis.at(values[at]), y + 30))
        y += 50
    said = "Coefficients, each on a scale of its own; the line in the middle is zero."
    if interval is not None and ends is not None:
        word = "predicted privacy noise" if interval.kind == "predicted" else "privacy noise"
        said += f" Thin lines: {word} (95 %)."
    return Figure(picture(marks, y + 4, "The coefficients"), said)


def _lines(release: Release) -> Figure | None:
    """Draw fitted lines over the public range of the one covariate."""
    names, columns = names_of(release), release.bounds.columns
    if columns is None or not columns:
        return None
    name, values = columns[0], values_of(release)
    low, high = float(release.bounds.low[0]), float(release.bounds.high[0])
    planes = _planes(names, name)
    link = _LINKS.get(release.statistic)
    if planes is None or not low < high or (link is not None and len(planes) > 1):
        return None
    xs = [low + (high - low) * k / _POINTS for k in range(_POINTS + 1)]
    curves = []
    for _, where in planes:
        start, slope = (
            (values[where[0]], values[where[1]]) if len(where) > 1 else (0.0, values[where[0]])
        )
        ys = [start + slope * x for x in xs]
        curves.append([link(y) for y in ys] if link is not None else ys)
    span = [y for ys in curves for y in ys]
    if not all(map(isfinite, span)):
        return None
    bottom, top = _vertical(release, span)
    across, up = Axis(low, high, 70, WIDTH - 16), Axis(bottom, top, 246, 32)
    marks = [*across.below(246), *up.beside(70)]
    for (label, _), ys in zip(planes, curves, strict=True):
        marks.append(curve([(across.at(x), up.at(y)) for x, y in zip(xs, ys, strict=True)], "fit"))
        if label:
            marks.append(text(WIDTH - 18, up.at(ys[-1]) - 5, label, "tick", "end"))
    marks.append(text(70, 14, _response(release), "label", "middle"))
    marks.append(text((across.start + across.end) / 2, 286, name, "label", "middle"))
    what = {
        "logistic regression": "The fitted probability",
        "Poisson regression": "The fitted rate",
    }
    said = what.get(release.statistic, "The fitted line" if len(planes) == 1 else "Fitted lines")
    return Figure(
        picture(marks, 294, f"{said} against {name}"),
        f"{said} over the stated range of {name}.",
    )


def _response(release: Release) -> str:
    """Return what stands on the vertical scale."""
    odds = str(release.details.get("log-odds", "")).removeprefix("of ").partition(" against ")[0]
    named = {"logistic regression": f"probability of {odds}", "Poisson regression": "rate"}
    columns = release.bounds.columns or ()
    return named.get(release.statistic, columns[1] if len(columns) == 2 else "response")


def _planes(names: Sequence[str], column: str) -> list[tuple[str, list[int]]] | None:
    """Return, for each fitted line, its label and its coefficients; None with more covariates."""
    planes: dict[str, list[int]] = {}
    for at, name in enumerate(names):
        for kind in ("intercept", column):
            rest = name.removeprefix(kind)
            if name.startswith(kind) and (not rest or rest.startswith(" at ")):
                planes.setdefault(rest.removeprefix(" at "), []).append(at)
                break
        else:
            return None
    sizes = {len(where) for where in planes.values()}
    return list(planes.items()) if sizes and max(sizes) <= 2 and len(sizes) == 1 else None


def _vertical(release: Release, span: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the vertical scale: those of the response, and of the lines."""
    low, high = min(span), max(span)
    if release.statistic == "logistic regression":
        return 0.0, 1.0
    if release.statistic not in _LINKS and len(release.bounds) == 2:
        ends = float(release.bounds.low[1]), float(release.bounds.high[1])
        # A wide range of the response would press the lines flat.
        if 3 * (high - low) >= ends[1] - ends[0]:
            low, high = min(low, ends[0]), max(high, ends[1])
    return (low, high) if low < high else (low - 1, high + 1)
