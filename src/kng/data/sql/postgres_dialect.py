"""Values in PostgreSQL that are never an error.

PostgreSQL has no way to go on after a row that fails. So only operations are written that cannot
fail: comparisons of like types, logic, and sums and products of whole numbers and decimals, which
are computed as decimals of more digits than they can need.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce

from kng.core.errors import SchemaError
from kng.data.sql.marks import constant, dotted, operation
from kng.data.sql.postgres_types import MOST_DIGITS, Family, PostgresType, decimal, together
from kng.data.sql.scope import Scope
from kng.data.sql.tree import Case, Cast, Expression, Literal, Name, Operation

Typed = tuple[str, PostgresType]

BOOLEAN = PostgresType(Family.BOOLEAN, "boolean")
_CONSTANT = PostgresType(Family.CONSTANT, "text")
_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
_LOGIC = ("AND", "OR", "NOT")
_SHARED = ("COALESCE", "greatest", "least", "nullif")
_LIKE = ("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE")
_ROUNDING = ("abs", "ceil", "floor")
_DOUBLE = ("DOUBLE", "DOUBLE PRECISION", "FLOAT8")
_DATES = {"DATE": "date", "TIMESTAMP": "timestamp without time zone"}
_EXACT = (Family.WHOLE, Family.DECIMAL)
_SAFE = (
    "PostgreSQL stops at a row that fails, so a query may use what cannot fail: comparisons, AND, "
    "OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, COALESCE, NULLIF, GREATEST, LEAST; of whole "
    "numbers and decimals also + - * abs ceil floor, and CAST to double precision"
)


def postgres_value(value: Expression, scope: Scope[PostgresType]) -> Typed:
    """Return a value as SQL, and its type; refuse what a row could make fail."""
    if isinstance(value, Name):
        path, kind = scope.find(value)
        return dotted(path), kind
    if isinstance(value, Literal):
        return constant(value), _literal(value)
    if isinstance(value, Cast):
        return _cast(value, postgres_value(value.child, scope))
    if isinstance(value, Case):
        return _case(value, scope)
    if value.name in _LIKE:
        return _like(value, scope)
    return _operation(value.name, [postgres_value(part, scope) for part in value.arguments])


def _operation(name: str, arguments: Sequence[Typed]) -> Typed:
    texts, kinds = [text for text, _ in arguments], [kind for _, kind in arguments]
    if name in ("IS NULL", "IS NOT NULL"):
        return operation(name, texts), BOOLEAN
    if name in (*_COMPARISONS, "IN", "BETWEEN"):
        reduce(together, kinds)
        return operation(name, texts), BOOLEAN
    if name in _LOGIC:
        if any(kind.family not in (Family.BOOLEAN, Family.CONSTANT) for kind in kinds):
            raise SchemaError(f"{name} in the query takes conditions only.")
        return operation(name, texts), BOOLEAN
    if name in _SHARED:
        return operation(name, texts), reduce(together, kinds)
    exact = all(kind.family in _EXACT for kind in kinds)
    if name in ("+", "-", "*", *_ROUNDING) and exact:
        # As decimals: whole numbers of PostgreSQL fail where they overflow.
        wide = [f"CAST({text} AS numeric)" for text in texts]
        return operation(name, wide), _digits(name, kinds)
    raise SchemaError(f"the query has {name} of {kinds[0].family.value}. {_SAFE}.")


def _digits(name: str, kinds: Sequence[PostgresType]) -> PostgresType:
    digits, scales = [kind.digits for kind in kinds], [kind.scale for kind in kinds]
    many = name == "*"
    found = decimal(sum(digits) if many else max(digits) + 1, sum(scales) if many else max(scales))
    if found.family is not Family.DECIMAL:
        raise SchemaError(f"the query computes decimals of more than {MOST_DIGITS} digits.")
    return found


def _literal(value: Literal) -> PostgresType:
    if value.kind == "boolean":
        return BOOLEAN
    if value.kind != "number":
        return _CONSTANT
    number = Decimal(value.text)
    digits, scale = max(number.adjusted() + 1, 1), max(-int(number.as_tuple().exponent), 0)
    whole = value.text.lstrip("-").isdigit() and digits < 19
    return PostgresType(Family.WHOLE, "bigint") if whole else decimal(digits, scale)


def _cast(value: Cast, child: Typed) -> Typed:
    text, kind = child
    numbers = kind.family in (*_EXACT, Family.FLOAT)
    if value.kind in _DOUBLE and numbers:
        return f"CAST({text} AS double precision)", PostgresType(Family.FLOAT, "double precision")
    if value.kind in ("INTEGER", "INT", "BIGINT") and kind.family is Family.BOOLEAN:
        return f"CAST({text} AS integer)", PostgresType(Family.WHOLE, "integer")
    if value.kind in _DATES and isinstance(value.child, Literal) and kind is _CONSTANT:
        name = _DATES[value.kind]
        return f"CAST({text} AS {name})", PostgresType(Family.DATE, name)
    raise SchemaError(
        f"the query casts {kind.family.value} to {value.kind.lower()}, which could fail on a "
        f"record. {_SAFE}."
    )


def _case(value: Case, scope: Scope[PostgresType]) -> Typed:
    otherwise, shared = postgres_value(value.otherwise, scope)
    texts = []
    for when, then in value.checks:
        condition, kind = postgres_value(when, scope)
        if kind.family is not Family.BOOLEAN:
            raise SchemaError("CASE WHEN in the query takes conditions only.")
        result, kind = postgres_value(then, scope)
        shared = together(shared, kind)
        texts.append(f"WHEN {condition} THEN {result}")
    return f"CASE {' '.join(texts)} ELSE {otherwise} END", shared


def _like(value: Operation, scope: Scope[PostgresType]) -> Typed:
    left, pattern = value.arguments
    text, kind = postgres_value(left, scope)
    plain = isinstance(pattern, Literal) and pattern.kind == "string" and "\\" not in pattern.text
    if kind.family is not Family.TEXT or not plain:
        raise SchemaError("LIKE in the query takes a column of text and a pattern without \\.")
    return operation(value.name, [text, constant(pattern)]), BOOLEAN  # type: ignore[arg-type]
