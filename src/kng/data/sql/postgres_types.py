"""Types of PostgreSQL: what may be done with their values so that no row can be an error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from kng.core.errors import SchemaError
from kng.data.engine import Kind

# Digits before and after the point of decimals that float64 holds without overflow or underflow.
MOST_DIGITS = 300
# What a big integer holds.
_WHOLE_DIGITS = 19


class Family(StrEnum):
    """Types that behave alike."""

    WHOLE = "whole numbers"
    DECIMAL = "decimals"  # of limited digits, so that a float64 holds them
    NUMERIC = "decimals of any length"
    FLOAT = "floats"
    MONEY = "money"
    BOOLEAN = "booleans"
    TEXT = "text"
    DATE = "dates"
    CONSTANT = "a constant"  # a string or NULL, which takes the type of what it stands beside
    OTHER = "another type"


_FAMILIES = {
    **dict.fromkeys(("int2", "int4", "int8"), Family.WHOLE),
    **dict.fromkeys(("float4", "float8"), Family.FLOAT),
    **dict.fromkeys(("text", "varchar", "bpchar"), Family.TEXT),
    **dict.fromkeys(("date", "timestamp", "timestamptz"), Family.DATE),
    "numeric": Family.NUMERIC,
    "money": Family.MONEY,
    "bool": Family.BOOLEAN,
}
_KINDS = {
    **dict.fromkeys((Family.WHOLE, Family.DECIMAL, Family.NUMERIC, Family.FLOAT), Kind.NUMBER),
    **dict.fromkeys((Family.TEXT, Family.CONSTANT), Kind.TEXT),
    Family.MONEY: Kind.NUMBER,
    Family.BOOLEAN: Kind.BOOLEAN,
    Family.DATE: Kind.DATE,
}
_NUMBERS = (Family.WHOLE, Family.DECIMAL, Family.FLOAT)
_NEVER_NAN = (Family.WHOLE, Family.MONEY, Family.BOOLEAN, Family.DATE)
_EXACT = (Family.WHOLE, Family.DECIMAL, Family.NUMERIC)


@dataclass(frozen=True, slots=True)
class PostgresType:
    """A type: its family, its name, the digits of decimals, the collation of text."""

    family: Family
    declared: str
    digits: int = _WHOLE_DIGITS
    scale: int = 0
    collation: str = ""
    filled: bool = False  # declared NOT NULL

    @property
    def optional(self) -> bool:
        """Whether a cell can be missing; floats and decimals can be NaN."""
        return not self.filled or self.family not in _NEVER_NAN

    @property
    def kind(self) -> Kind:
        """What a column of it holds."""
        return _KINDS.get(self.family, Kind.OTHER)


def decimal(digits: int, scale: int) -> PostgresType:
    """Return the type of decimals with so many digits before and after the point."""
    family = Family.DECIMAL if max(digits, scale) <= MOST_DIGITS else Family.NUMERIC
    return PostgresType(family, "numeric", digits, scale)


def type_of(
    name: str, modifier: int, declared: str, collation: str, *, filled: bool
) -> PostgresType:
    """Return a type by its name in the catalogue."""
    family = _FAMILIES.get(name, Family.OTHER)
    found = PostgresType(family, declared, collation=collation, filled=filled)
    if family is not Family.NUMERIC or modifier < 0:
        return found
    precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
    scale = (scale ^ 1024) - 1024  # it may be negative
    known = decimal(precision - scale, max(scale, 0))
    return replace(found, family=known.family, digits=known.digits, scale=known.scale)


def together(left: PostgresType, right: PostgresType) -> PostgresType:
    """Return the type that two values share; refuse those that a cast could fail on."""
    a, b = left.family, right.family
    if Family.OTHER in (a, b) or Family.MONEY in (a, b):
        raise _unlike(left, right)
    if a is Family.CONSTANT or b is Family.CONSTANT:
        return replace(right if a is Family.CONSTANT else left, filled=False)
    if a in _NUMBERS and b in _NUMBERS and Family.FLOAT in (a, b):
        return PostgresType(Family.FLOAT, "double precision")
    if a in _EXACT and b in _EXACT:
        if a is b is Family.WHOLE:
            return replace(left, filled=False)
        if Family.NUMERIC in (a, b):
            return PostgresType(Family.NUMERIC, "numeric")
        return decimal(max(left.digits, right.digits), max(left.scale, right.scale))
    same = left.declared == right.declared if a is Family.DATE else True
    if a is b and same and left.collation == right.collation:
        return replace(left, filled=False)
    raise _unlike(left, right)


def _unlike(left: PostgresType, right: PostgresType) -> SchemaError:
    return SchemaError(
        f"the query brings {left.declared} and {right.declared} together, and a cast could fail on "
        "a record. Use columns of one type."
    )
