"""Numbers as the caller wrote them: 0.1 is one tenth, not the nearest double."""

from __future__ import annotations

import numbers
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.errors import SpecError, SpecTypeError


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
        raise SpecTypeError(f"{name} must be a number, got {value!r}. Give it as 1, 0.5 or '1/3'.")
    if isinstance(value, numbers.Rational | np.integer):
        return Fraction(int(value)) if isinstance(value, np.integer) else Fraction(value)
    if isinstance(value, float | np.floating | Decimal | str):
        text = str(value).strip()
        try:
            return Fraction(text)
        except ZeroDivisionError:
            raise SpecError(f"{name} must be a finite number, got {value!r}.") from None
        except ValueError:
            kind = "a finite number" if not isinstance(value, str) else "a number"
            raise SpecError(f"{name} must be {kind}, got {value!r}.") from None
    raise SpecTypeError(f"{name} must be a number, got {type(value).__name__}.")


def positive(value: Any, name: str) -> Fraction:
    """Read a public number that must be greater than zero."""
    number = exact(value, name)
    if number <= 0:
        raise SpecError(f"{name} must be greater than 0, got {value}.")
    return number


def whole(value: Any, name: str, least: int) -> int:
    """Read a public whole number that must be at least ``least``."""
    number = exact(value, name)
    if number.denominator != 1 or number < least:
        raise SpecError(f"{name} must be a whole number of at least {least}, got {value}.")
    return int(number)


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
