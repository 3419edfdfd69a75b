"""A plan as a picture: errors against epsilon and against the number of records, in plain SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from kng.core.errors import KngError
from kng.estimators.planning.expected import Expected

if TYPE_CHECKING:
    from kng.estimators.planning.report import ReleasePlan

_WIDE, _HIGH, _LEFT, _TOP, _APART = 300, 220, 76, 34, 392
# How far to either side of the plan a panel looks, and in how many steps.
_FACTOR, _STEPS = 32.0, 20
# Readable on light and on dark ground.
_PRIVATE, _PLAIN, _INK = "#2a7f9e", "#c2703d", "#888"

Curve = list[tuple[float, float]]


def drawn(plan: ReleasePlan) -> str:
    """Return the picture; both axes are logarithmic.

    It shows the number that the verdict is about, or the one that is farthest above the
    error asked for.
    """
    factors = [_FACTOR ** (2 * k / _STEPS - 1) for k in range(_STEPS + 1)]
    by_epsilon = [plan.epsilon * f for f in factors]
    by_records = [max(2.0, round(plan.n * f)) for f in factors]

    def at_epsilon(value: float) -> Sequence[Expected]:
        assert plan._errors is not None
        return plan._errors(plan.n, Fraction(f"{value:.6g}"))

    def at_records(value: float) -> Sequence[Expected]:
        assert plan._errors is not None
        return plan._errors(int(value), plan.exact_epsilon)

    here = max(plan.expected, key=lambda e: e.total if plan.error else e.total / e.sampling)
    shown = plan.expected.index(here)
    marks = [((at, here.total), plan.error) for at in (plan.epsilon, float(plan.n))]
    panels = [
        _panel(_LEFT, "epsilon", by_epsilon, lambda v: at_epsilon(v)[shown], marks[0]),
        _panel(_LEFT + _APART, "records", by_records, lambda v: at_records(v)[shown], marks[1]),
    ]
    of = "" if len(plan.expected) == 1 else f", {here.name}"
    title = escape(f"Expected error of {plan.statistic}{of}:")
    size = f'width="{2 * _APART}" height="{_TOP + _HIGH + 50}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}" '
        f'font-family="sans-serif" font-size="11" fill="{_INK}">'
        f'<title>{title}</title><text x="{_LEFT}" y="16" font-size="13">{title} '
        f'<tspan fill="{_PRIVATE}">private</tspan>, <tspan fill="{_PLAIN}">without privacy</tspan>'
        f"</text>{''.join(panels)}</svg>"
    )


def _panel(
    left: float,
    label: str,
    values: Sequence[float],
    errors: Callable[[float], Expected],
    marks: tuple[tuple[float, float], float | None],
) -> str:
    """Return one panel; ``marks`` are the plan's own point, and the error that is asked for."""
    here, asked = marks
    private, plain = _curves(values, errors)
    numbers = [y for _, y in (*private, *plain, here) if y > 0] + ([asked] if asked else [])
    low, high = floor(log10(min(numbers))), ceil(log10(max(numbers)) + 1e-9)
    first, last = log10(values[0]), log10(values[-1])

    def x(value: float) -> float:
        return left + _WIDE * (log10(value) - first) / (last - first)

    def y(value: float) -> float:
        return _TOP + _HIGH * (high - log10(max(value, 1e-300))) / max(high - low, 1)

    parts = [
        f'<rect x="{left}" y="{_TOP}" width="{_WIDE}" height="{_HIGH}" fill="none" '
        f'stroke="{_INK}"/>',
        f'<text x="{left + _WIDE / 2:.0f}" y="{_TOP + _HIGH + 34}" text-anchor="middle">'
        f"{label}</text>",
        f'<text transform="translate({left - 58},{_TOP + _HIGH / 2:.0f}) rotate(-90)" '
        'text-anchor="middle">error, in the units of the answer</text>',
    ]
    for power in range(low, high + 1):
        parts.append(_tick(left - 6, y(10.0**power) + 4, power, "end"))
    for power in range(ceil(first), floor(last) + 1):
        parts.append(_tick(x(10.0**power), _TOP + _HIGH + 16, power, "middle"))
    for curve, colour in ((plain, _PLAIN), (private, _PRIVATE)):
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in curve if b > 0)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
    parts.append(f'<circle cx="{x(here[0]):.1f}" cy="{y(here[1]):.1f}" r="4" fill="{_PRIVATE}"/>')
    if asked:
        at = f"{y(asked):.1f}"
        parts.append(
            f'<line x1="{left}" x2="{left + _WIDE}" y1="{at}" y2="{at}" stroke="{_INK}" '
            'stroke-dasharray="4 4"/>'
            f'<text x="{left + _WIDE - 4}" y="{y(asked) - 4:.1f}" text-anchor="end">'
            "error asked for</text>"
        )
    return "".join(parts)


def _curves(values: Sequence[float], errors: Callable[[float], Expected]) -> tuple[Curve, Curve]:
    """Return the error at each value, with privacy and without; leave out refusals."""
    private, plain = [], []
    for value in values:
        try:
            each = errors(value)
        except KngError:
            continue
        private.append((value, each.total))
        plain.append((value, each.sampling))
    return private, plain


def _tick(x: float, y: float, power: int, anchor: str) -> str:
    number = f"{10.0**power:g}"
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{number}</text>'
