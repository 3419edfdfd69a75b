"""Numbers as the caller wrote them: 0.1 is one tenth, not the nearest double."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import groupby
from math import inf
from typing import Any

import numpy as np

from kng.core.errors import SpecError, SpecTypeError
from kng.core.naming import argument

_STORED = re.compile(r"-?[0-9]+(/[0-9]+)?")
_MOST_DIGITS = 300
_LARGEST = 10**_MOST_DIGITS
# float64 holds these, and one divided by them, with all their digits.
_LARGEST_MADE = 10**305
_OUT_OF_RANGE = (
    "{name} must lie between 1e-300 and 1e300 in size, which float64 can hold. Give a number of "
    "ordinary size, in other units if need be."
)


def exact(value: Any, name: str) -> Fraction:
    """Read a public number exactly, floats by their repr.

    Parameters
    ----------
    value : int, float, Decimal, Fraction, numpy scalar or str
        Strings may be decimals or ratios, as in ``"0.1"`` or ``"1/3"``.
    name : str
        The argument's name, for the message.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        raise SpecTypeError(
            f"{argument(name)} must be a number, got {value!r}. Give it as 1, 0.5 or '1/3'."
        )
    if isinstance(value, numbers.Rational | np.integer):
        whole_or_ratio = int(value) if isinstance(value, np.integer) else value
        return _moderate(Fraction(whole_or_ratio), name)
    if isinstance(value, float | np.floating | Decimal | str):
        top, slash, bottom = str(value).strip().partition("/")
        ratio = _decimal(top, value, name)
        if slash:
            divisor = _decimal(bottom, value, name)
            if divisor == 0:
                raise SpecError(f"{argument(name)} must be a finite number, got {value!r}.")
            ratio /= divisor
        return _moderate(ratio, name)
    found = "None" if value is None else type(value).__name__
    raise SpecTypeError(f"{argument(name)} must be a number, got {found}.")


def _decimal(text: str, value: Any, name: str) -> Fraction:
    """Read a decimal; its exponent is looked at before it is written out."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise SpecError(f"{argument(name)} must be a number, got {_shown(value)}.") from None
    if not number.is_finite():
        raise SpecError(f"{argument(name)} must be a finite number, got {_shown(value)}.")
    if number and abs(number.adjusted()) > _MOST_DIGITS:
        raise SpecError(_OUT_OF_RANGE.format(name=argument(name)))
    return Fraction(number)


def _moderate(number: Fraction, name: str) -> Fraction:
    """Refuse what float64 could not hold: later steps compute with the nearest double."""
    above, under = abs(number.numerator), number.denominator
    if above and (above * _LARGEST < under or above > under * _LARGEST):
        raise SpecError(_OUT_OF_RANGE.format(name=argument(name)))
    return number


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def positive(value: Any, name: str) -> Fraction:
    """Read a public number that must be greater than zero."""
    number = exact(value, name)
    if number <= 0:
        raise SpecError(f"{argument(name)} must be greater than 0, got {value}.")
    return number


def positives(values: Any, name: str) -> tuple[Fraction, ...]:
    """Read a list of public numbers that must be greater than zero.

    Fractions may come from numbers that were read before, and be somewhat larger than these.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise SpecTypeError(
            f"{argument(name)} must be a list of numbers, one per coordinate, got {values!r}."
        )
    numbers = tuple(v if isinstance(v, Fraction) else positive(v, name) for v in values)
    if numbers and min(numbers) <= 0:
        raise SpecError(f"{argument(name)} must be greater than 0, got {min(numbers)}.")
    if numbers and (max(numbers) > _LARGEST_MADE or min(numbers) * _LARGEST_MADE < 1):
        raise SpecError(
            f"{argument(name)} must lie between 1e-305 and 1e305, which float64 can hold."
        )
    return numbers


def whole(value: Any, name: str, least: int) -> int:
    """Read a public whole number that must be at least ``least``."""
    number = exact(value, name)
    if number.denominator != 1 or number < least:
        raise SpecError(
            f"{argument(name)} must be a whole number of at least {least}, got {value}."
        )
    return int(number)


def as_stored(text: Any) -> Fraction:
    """Read a number of a receipt, which has it as ``str`` writes a Fraction.

    Nothing else is read: somebody may have put 1e999999999 there, which would be written out.
    """
    if not isinstance(text, str) or _STORED.fullmatch(text) is None:
        raise SpecError("this release holds something other than a number where one belongs.")
    return Fraction(text)


def as_float(number: Fraction) -> float:
    """Return the nearest float, or an infinite one where none is large enough."""
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def show(number: Fraction) -> str:
    """Write an exact number for people: a short decimal where there is one, else a ratio."""
    if number.denominator == 1:
        return str(number.numerator)
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return f"{number.numerator}/{number.denominator}"
    text = repr(float(number))
    return text if Fraction(text) == number else f"{number.numerator}/{number.denominator}"


def listed(texts: Iterable[str]) -> str:
    """Write a list for people; what repeats in a row is written once and counted."""
    runs = [(text, len(list(run))) for text, run in groupby(texts)]
    return ", ".join(text if times == 1 else f"{text} ({times} times)" for text, times in runs)
