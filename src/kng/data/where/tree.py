"""What a condition is made of, once it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Comparison = Literal["=", "!=", "<", "<=", ">", ">="]
Arithmetic = Literal["+", "-", "*"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is written in the condition."""

    value: float


@dataclass(frozen=True, slots=True)
class Truth(Number):
    """1 or 0, written as true or false."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text that is written in the condition."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Calculated:
    """Two numbers added, subtracted or multiplied."""

    operation: Arithmetic
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Compared:
    """Two values compared."""

    operation: Comparison
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Listed:
    """Whether a value is one of some that are written in the condition."""

    value: Node
    among: tuple[Number | Text, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Whether a cell is missing; always known."""

    value: Name


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition; unknown where that is."""

    condition: Node


@dataclass(frozen=True, slots=True)
class Both:
    """Two conditions, both of which must hold."""

    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Either:
    """Two conditions, one of which must hold."""

    left: Node
    right: Node


Value = Number | Text | Name | Calculated
Condition = Compared | Listed | Missing | Not | Both | Either
Node = Value | Condition
