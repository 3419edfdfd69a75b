"""What a formula says: a target, and terms that are products of columns and of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Arithmetic = Literal["+", "-", "*"]


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number, and how it is written."""

    value: float
    written: str


@dataclass(frozen=True, slots=True)
class Calculated:
    """Two values and what is done with them."""

    operation: Arithmetic
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Divided:
    """A value divided by a number that is not 0."""

    value: Value
    number: Number


@dataclass(frozen=True, slots=True)
class Power:
    """A value times itself."""

    value: Value
    exponent: int


@dataclass(frozen=True, slots=True)
class Negative:
    """A value with the other sign."""

    value: Value


@dataclass(frozen=True, slots=True)
class Called:
    """A listed function of values."""

    function: str
    values: tuple[Value, ...]


Value = Name | Number | Calculated | Divided | Power | Negative | Called


@dataclass(frozen=True, slots=True)
class Levels:
    """A column of categories, ``C(sex)``; what is not stated here is declared with the table."""

    name: str
    levels: tuple[Any, ...] | None = None
    reference: Any = None
    other: Any = None


@dataclass(frozen=True, slots=True)
class Computed:
    """A value that a term multiplies, and what it is called."""

    value: Value
    shown: str


# What a term multiplies; a column by its name may be one of numbers or of categories.
Factor = Name | Levels | Computed
Term = tuple[Factor, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """A target, the terms that it is predicted from, and whether there is an intercept."""

    target: str
    terms: tuple[Term, ...]
    intercept: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the terms, each once."""
        return tuple(dict.fromkeys(n for term in self.terms for f in term for n in names_in(f)))


def plain_formula(target: str, columns: Sequence[str]) -> Formula:
    """Return the formula that adds columns as they are."""
    return Formula(target, tuple((Name(column),) for column in columns))


def names_in(node: Factor | Value) -> tuple[str, ...]:
    """Return the columns of a factor or a value, as often as they stand in it."""
    match node:
        case Name(name) | Levels(name):
            return (name,)
        case Computed(value) | Divided(value) | Power(value) | Negative(value):
            return names_in(value)
        case Calculated(_, left, right):
            return names_in(left) + names_in(right)
        case Called(_, values):
            return tuple(name for value in values for name in names_in(value))
        case Number():
            return ()


# How strongly operations bind, as in Python.
_ADDED, _MULTIPLIED, _SIGNED, _RAISED = 1, 2, 3, 4


def written(node: Value, binding: int = 0) -> str:
    """Write a value as people do, in brackets where what is around it binds more strongly."""
    match node:
        case Name(name):
            return name if name.replace(".", "_").isidentifier() else f"`{name}`"
        case Number(_, text):
            return text
        case Called(function, values):
            return f"{function}({', '.join(written(value) for value in values)})"
        case Negative(value):
            own, text = _SIGNED, f"-{written(value, _SIGNED)}"
        case Power(value, exponent):
            own, text = _RAISED, f"{written(value, _RAISED + 1)} ** {exponent}"
        case Divided(value, number):
            own, text = _MULTIPLIED, f"{written(value, _MULTIPLIED)} / {number.written}"
        case Calculated(operation, left, right):
            own = _MULTIPLIED if operation == "*" else _ADDED
            text = f"{written(left, own)} {operation} {written(right, own + 1)}"
    return f"({text})" if own < binding else text
