"""Read a formula: a target, terms, interactions, categories, arithmetic and listed functions.

    formula     target ~ terms                           wages ~ education + age + C(sex)
    terms       + and -, interactions : and *, ( )       age * C(sex), age:education
                - 1 or + 0 for no intercept              wages ~ 0 + age
    categories  C(column), with levels if need be        C(sex, levels=['F', 'M'], reference='F')
    values      I(...) and functions of columns          I(age ** 2), log(income), I(pay - 2 * rent)

Columns whose names are no words stand in backticks. Nothing is evaluated here, and nothing that
would have to look at all records, such as their mean, is in the language.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import isfinite
from typing import Any, NoReturn, cast

from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.data.formula.functions import FUNCTIONS
from kng.data.formula.tree import (
    Arithmetic,
    Calculated,
    Called,
    Computed,
    Divided,
    Factor,
    Formula,
    Levels,
    Name,
    Negative,
    Number,
    Power,
    Term,
    Value,
    written,
)

_LONGEST, _DEEPEST, _MOST_LINKS, _MOST_TERMS, _LARGEST_POWER = 10_000, 50, 200, 1000, 16
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])
      | (?P<text>'[^']*'|"[^"]*")
      | `(?P<quoted>[^`]+)`
      | (?P<word>[^\W\d][\w.]*)
      | (?P<sign>\*\*|[~+\-*/:(),=\[\]^|%@])
    )""",
    re.VERBOSE,
)
# Transforms that learn from all records, by their names in other programs.
_STATEFUL = (
    *("scale", "center", "centre", "standardize", "standardise", "poly", "bs", "ns", "cs", "cr"),
    *("cc", "te", "lag", "hashed", "demean", "rank", "cut", "qcut"),
)
_Terms = list[Term]


@lru_cache(maxsize=64)
def read_formula(stated: str) -> Formula:
    """Return what a formula says; what is none is refused."""
    if len(stated) > _LONGEST:
        raise SpecError(
            f"{argument('formula')} has more than {_LONGEST} characters. Give a shorter one."
        )
    if any("\ud800" <= sign <= "\udfff" for sign in stated):
        raise SpecError(
            f"{argument('formula')} holds half of a character (a lone surrogate). Write it as text."
        )
    return _Reader(stated).whole()


class _Reader:
    """Reads from the left; every method takes what it names and moves on."""

    def __init__(self, stated: str) -> None:
        self._called, self._at, self._depth, self._links = argument("formula", stated), 0, 0, 0
        self._tokens = _tokens(stated)

    def whole(self) -> Formula:
        target = self._target()
        terms, intercept = self._sum(outer=True)
        if self._at < len(self._tokens):
            self._refuse("a sign (+, -, *, :) or the end")
        if not terms:
            raise SpecError(f"{self._called} has no term. Name the columns to predict from.")
        for term in terms:
            if any(isinstance(factor, Name | Levels) and factor.name == target for factor in term):
                raise SpecError(
                    f"{self._called}: {target!r} is the target and cannot be a term too."
                )
        return Formula(target, tuple(sorted(terms, key=len)), intercept)

    def _target(self) -> str:
        name = self._name()
        if name is None or not self._sign("~"):
            raise SpecError(
                f"{self._called} must begin with the column to predict, as in 'wages ~ age + "
                "education'. Compute a function of it before the fit."
            )
        return name

    # Terms

    def _sum(self, *, outer: bool) -> tuple[_Terms, bool]:
        """Read terms that are added or left out, and whether there is an intercept."""
        self._deeper()
        terms: _Terms = []
        intercept, sign = True, self._sign("+", "-") or "+"
        while True:
            self._link()
            one = self._intercept()
            if one is not None:
                if not outer:
                    self._refuse("a column")
                intercept = one == (sign == "+")
            else:
                found = self._star()
                if sign == "-":
                    terms = [term for term in terms if _same(term) not in map(_same, found)]
                else:
                    known = [_same(term) for term in terms]
                    terms += [term for term in found if _same(term) not in known]
            if len(terms) > _MOST_TERMS:
                raise SpecError(
                    f"{argument('formula')} has more than {_MOST_TERMS} terms. Give fewer."
                )
            sign = self._sign("+", "-") or ""
            if not sign:
                self._depth -= 1
                return terms, intercept

    def _intercept(self) -> bool | None:
        """Read 0 or 1 as a term of its own; other numbers are no terms."""
        kind, text = self._seen()
        if kind != "number":
            return None
        if text not in ("0", "1"):
            raise SpecError(
                f"{self._called}: {text} is not a term. Write arithmetic inside I(...), as in "
                f"I({text} * age)."
            )
        self._at += 1
        return text == "1"

    def _star(self) -> _Terms:
        found = self._colon()
        while self._sign("*"):
            self._link()
            right = self._colon()
            found = _unlike([*found, *right, *_crossed(found, right)])
        if self._sign("**", "/", "^", "|", "%", "@"):
            self._at -= 1
            sign = self._seen()[1]
            raise SpecError(
                f"{self._called}: {sign!r} is arithmetic. Write it inside I(...), as in I(age ** "
                "2)."
            )
        return found

    def _colon(self) -> _Terms:
        found = self._factor()
        while self._sign(":"):
            self._link()
            found = _crossed(found, self._factor())
        return found

    def _factor(self) -> _Terms:
        if self._sign("("):
            terms, _ = self._sum(outer=False)
            self._expect(")")
            return terms
        kind, text = self._seen()
        if kind == "word" and self._seen(1) == ("sign", "("):
            return [(self._call(text),)]
        name = self._name()
        if name is None:
            self._refuse("a column")
        return [(Name(name),)]

    def _call(self, text: str) -> Factor:
        """Read C(...), I(...) or a function."""
        if text == "C":
            self._at += 2
            return self._levels()
        if text == "I":
            self._at += 2
            value = self._value()
            self._expect(")")
            return value_factor(value, f"I({written(value)})")
        value = self._atom()
        return Computed(value, written(value))

    def _levels(self) -> Levels:
        name = self._name()
        if name is None:
            self._refuse("a column")
        stated: dict[str, Any] = {}
        while self._sign(","):
            kind, option = self._seen()
            if kind != "word" or option not in ("levels", "reference", "other"):
                self._refuse("one of levels=, reference= and other=")
            if option in stated:
                raise SpecError(f"{self._called} states {option} of {name!r} twice.")
            self._at += 1
            self._expect("=")
            stated[option] = self._list() if option == "levels" else self._literal()
        self._expect(")")
        return Levels(name, **stated)

    def _list(self) -> tuple[Any, ...]:
        end = "]" if self._sign("[") else ")"
        if end == ")":
            self._expect("(")
        found = [self._literal()]
        while self._sign(","):
            if self._seen() == ("sign", end):
                break
            found.append(self._literal())
        self._expect(end)
        return tuple(found)

    def _literal(self) -> str | float | int:
        minus = self._sign("-")
        kind, text = self._seen()
        if kind == "number":
            self._at += 1
            number = int(text) if text.isdigit() else float(text)
            return -number if minus else number
        if kind != "text" or minus:
            self._refuse("a level, such as 'F' or 1")
        self._at += 1
        return text[1:-1]

    # Values

    def _value(self) -> Value:
        self._deeper()
        found = self._product()
        while (sign := self._sign("+", "-")) is not None:
            self._link()
            found = Calculated(cast("Arithmetic", sign), found, self._product())
        self._depth -= 1
        return found

    def _product(self) -> Value:
        found = self._unary()
        while (sign := self._sign("*", "/")) is not None:
            self._link()
            right = self._unary()
            if sign == "*":
                found = Calculated("*", found, right)
            elif isinstance(right, Number) and right.value != 0:
                found = Divided(found, right)
            else:
                raise SpecError(f"{self._called} divides by what may be 0. Divide by a number.")
        return found

    def _unary(self) -> Value:
        if self._sign("-"):
            self._deeper()
            value = self._unary()
            self._depth -= 1
            return Negative(value)
        found = self._atom()
        if not self._sign("**"):
            return found
        self._link()
        kind, text = self._seen()
        if kind != "number" or not text.isdigit() or not 1 <= int(text) <= _LARGEST_POWER:
            self._refuse(f"a whole power from 1 to {_LARGEST_POWER}")
        self._at += 1
        return Power(found, int(text))

    def _atom(self) -> Value:
        kind, text = self._seen()
        if kind == "number":
            self._at += 1
            return self._number(text)
        if self._sign("("):
            found = self._value()
            self._expect(")")
            return found
        if kind == "word" and self._seen(1) == ("sign", "("):
            return self._function(text)
        name = self._name()
        if name is None:
            self._refuse("a column, a number or a function")
        return Name(name)

    def _number(self, text: str) -> Number:
        if not isfinite(float(text)):
            raise SpecError(f"{self._called}: {text} is more than float64 holds.")
        return Number(float(text), text)

    def _function(self, text: str) -> Value:
        name = text.removeprefix("np.").removeprefix("numpy.")
        if name in _STATEFUL:
            raise SpecError(
                f"{self._called}: {text} learns from all records, so it would release something "
                "that nobody pays for. Use public numbers, as in I((age - 40) / 10)."
            )
        if name in ("C", "I"):
            raise SpecError(f"{self._called}: {name}(...) cannot stand inside a value.")
        if name not in FUNCTIONS:
            raise SpecError(
                f"{self._called}: {text} is not one of the functions of formulas: "
                f"{', '.join(FUNCTIONS)}."
            )
        self._at += 2
        values = [self._value()]
        while self._sign(","):
            values.append(self._value())
        self._expect(")")
        least, most = FUNCTIONS[name].values
        if not least <= len(values) <= most:
            many = "one value" if most == 1 else "two values or more"
            raise SpecError(f"{self._called}: {name} takes {many}.")
        return Called(name, tuple(values))

    # Tokens

    def _name(self) -> str | None:
        kind, text = self._seen()
        if kind not in ("word", "quoted"):
            return None
        self._at += 1
        return text

    def _seen(self, ahead: int = 0) -> tuple[str, str]:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ("end", "")

    def _sign(self, *signs: str) -> str | None:
        kind, text = self._seen()
        if kind != "sign" or text not in signs:
            return None
        self._at += 1
        return text

    def _expect(self, sign: str) -> None:
        if self._sign(sign) is None:
            self._refuse(repr(sign))

    def _refuse(self, wanted: str) -> NoReturn:
        kind, text = self._seen()
        found = "it ends" if kind == "end" else f"{text!r} stands"
        raise SpecError(f"{self._called} cannot be read: {found} where {wanted} is expected.")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise SpecError(f"{argument('formula')} is nested too deeply. Give a simpler one.")

    def _link(self) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise SpecError(
                f"{argument('formula')} has more than {_MOST_LINKS} operators. Give a shorter one."
            )


def value_factor(value: Value, shown: str) -> Factor:
    """Return a value as a factor; a column alone is that column."""
    return value if isinstance(value, Name) else Computed(value, shown)


def _tokens(stated: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, text = 0, stated.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            rest = text[at:].lstrip()
            raise SpecError(f"{argument('formula', stated)} cannot be read from {rest[:20]!r} on.")
        assert match.lastgroup is not None
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


def _same(term: Term) -> frozenset[Factor]:
    """Return what terms of the same factors share, in whatever order."""
    return frozenset(term)


def _unlike(terms: _Terms) -> _Terms:
    seen: dict[frozenset[Factor], Term] = {}
    for term in terms:
        seen.setdefault(_same(term), term)
    return list(seen.values())


def _crossed(left: _Terms, right: _Terms) -> _Terms:
    """Return the products of all pairs; a factor counts once, as in a:a."""
    if len(left) * len(right) > _MOST_TERMS:
        raise SpecError(f"{argument('formula')} has more than {_MOST_TERMS} terms. Give fewer.")
    pairs = [(*a, *(factor for factor in b if factor not in a)) for a in left for b in right]
    return _unlike(pairs)
