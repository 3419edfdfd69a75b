"""Values of a formula, of cells and of ranges: the same operations, one beside the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np

from kng.core.errors import SpecError
from kng.data.engine import Floats
from kng.data.formula.functions import FUNCTIONS, Range
from kng.data.formula.tree import (
    Calculated,
    Called,
    Divided,
    Name,
    Negative,
    Number,
    Power,
    Value,
)

_LARGEST = 1e290
_CELLS = {"+": np.add, "-": np.subtract, "*": np.multiply}


def cells_of(node: Value, cells: Mapping[str, Floats], size: int) -> Floats:
    """Return a value for each record; NaN where a cell is missing."""
    match node:
        case Name(name):
            return cells[name]
        case Number(value):
            return np.full(size, value)
        case Negative(value):
            return -cells_of(value, cells, size)
        case Power(value, exponent):
            return reduce(np.multiply, [cells_of(value, cells, size)] * exponent)
        case Divided(value, number):
            return cells_of(value, cells, size) / number.value
        case Calculated(operation, left, right):
            both = cells_of(left, cells, size), cells_of(right, cells, size)
            found: Floats = _CELLS[operation](*both)
            return found
        case Called(function, values):
            return FUNCTIONS[function].cells([cells_of(value, cells, size) for value in values])


def range_of(node: Value, ranges: Mapping[str, Range]) -> Range:
    """Return between which ends a value lies, given those of the columns."""
    found = _range(node, ranges)
    if not all(abs(end) <= _LARGEST for end in found):
        raise SpecError(
            "a term of the formula can exceed 1e290, more than float64 holds with room. Use other "
            "units, as in I(income / 1000)."
        )
    return found


def _range(node: Value, ranges: Mapping[str, Range]) -> Range:
    match node:
        case Name(name):
            return ranges[name]
        case Number(value):
            return value, value
        case Negative(value):
            low, high = range_of(value, ranges)
            return -high, -low
        case Power(value, exponent):
            return _power(range_of(value, ranges), exponent)
        case Divided(value, number):
            ends = [end / number.value for end in range_of(value, ranges)]
            return min(ends), max(ends)
        case Calculated(operation, left, right):
            return _calculated(operation, range_of(left, ranges), range_of(right, ranges))
        case Called(function, values):
            return FUNCTIONS[function].ends([range_of(value, ranges) for value in values])


def _calculated(operation: str, left: Range, right: Range) -> Range:
    (a, b), (c, d) = left, right
    if operation == "+":
        return a + c, b + d
    return (a - d, b - c) if operation == "-" else product_range(left, right)


def product_range(left: Range, right: Range) -> Range:
    """Return between which ends a product lies: those of the corners."""
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def _power(ends: Range, exponent: int) -> Range:
    low, high = (reduce(lambda a, b: a * b, [end] * exponent) for end in ends)
    if exponent % 2:
        return low, high
    return (0.0 if ends[0] <= 0 <= ends[1] else min(low, high)), max(low, high)
