"""Functions of formulas: each looks at one record, and has bounds that follow from its values'.

Sums, differences, products and quotients of float64 are correctly rounded, hence monotone: the ends
of a range, computed by the same operations as the cells, hold for every cell. Logarithms and
exponentials are those of Python's ``math``, cell by cell, so that what becomes of a record does not
depend on where it stands; their ends are rounded outwards. Clipping to the ends when records become
whole numbers is what privacy rests on; that the ends hold means that nothing is lost to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import reduce

import numpy as np

from kng.core.errors import SpecError
from kng.data.engine import Floats

Range = tuple[float, float]

# Digits of ends that are rounded outwards: far fewer than float64 has.
_DIGITS = 12
_UNLIMITED = 10**6


@dataclass(frozen=True, slots=True)
class Function:
    """A function of cells, and of the ranges that they lie in; how many values it takes."""

    cells: Callable[[Sequence[Floats]], Floats]
    ends: Callable[[Sequence[Range]], Range]
    values: tuple[int, int] = (1, 1)


def _increasing(
    name: str, function: Callable[[float], float], least: float, exact: Range, open_end: bool
) -> Function:
    """Return a function of one value that grows, from ``least`` on; ``exact`` is a value of it."""

    def safe(x: float) -> float:
        # Only predictions, which are not clipped, come here with values outside the range.
        if math.isnan(x) or x < least or (open_end and x == least):
            return math.nan
        try:
            return function(x)
        except OverflowError:
            return math.inf

    def cells(values: Sequence[Floats]) -> Floats:
        return np.fromiter(map(safe, values[0].tolist()), np.float64, len(values[0]))

    def ends(values: Sequence[Range]) -> Range:
        low, high = values[0]
        if low < least or (open_end and low == least):
            above = "above" if open_end else "at or above"
            raise SpecError(
                f"{name} needs a value {above} {least:g}, and its bounds begin at {low:g}. Raise "
                "the low bound of the column."
            )
        return _end(low, exact, safe, ROUND_FLOOR), _end(high, exact, safe, ROUND_CEILING)

    return Function(cells, ends)


def _end(x: float, exact: Range, function: Callable[[float], float], rounding: str) -> float:
    """Return one end of a range, rounded outwards unless it is known exactly."""
    value = function(x)
    if x == exact[0] or not math.isfinite(value):
        return exact[1] if x == exact[0] else value
    return float(Context(prec=_DIGITS, rounding=rounding).create_decimal(Decimal(value)))


def _absolute(values: Sequence[Range]) -> Range:
    low, high = values[0]
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def _all_of(function: Callable[[Floats, Floats], Floats]) -> Callable[[Sequence[Floats]], Floats]:
    return lambda values: reduce(function, values)


_MINUS_INFINITY = -math.inf
FUNCTIONS = {
    "log": _increasing("log", math.log, 0.0, (1.0, 0.0), True),
    "log2": _increasing("log2", math.log2, 0.0, (1.0, 0.0), True),
    "log10": _increasing("log10", math.log10, 0.0, (1.0, 0.0), True),
    "log1p": _increasing("log1p", math.log1p, -1.0, (0.0, 0.0), True),
    "exp": _increasing("exp", math.exp, _MINUS_INFINITY, (0.0, 1.0), False),
    "sqrt": _increasing("sqrt", math.sqrt, 0.0, (0.0, 0.0), False),
    "abs": Function(lambda values: np.abs(values[0]), _absolute),
    "minimum": Function(
        _all_of(np.minimum),
        lambda values: (min(low for low, _ in values), min(high for _, high in values)),
        (2, _UNLIMITED),
    ),
    "maximum": Function(
        _all_of(np.maximum),
        lambda values: (max(low for low, _ in values), max(high for _, high in values)),
        (2, _UNLIMITED),
    ),
}
