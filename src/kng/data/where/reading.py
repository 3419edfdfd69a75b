"""Read a condition: columns, literals, + - *, comparisons, and, or, not, in, between, is missing.

    condition   and, or, not, ( )                          age >= 40 and not (sex = 'F')
    test        = != < <= > >=, also in a row              18 <= age < 65
                in (...), between ... and ..., is missing  region in ('N', 'S')
    value       columns, numbers, texts, + - *, ( )        income - 2 * rent > 0

Columns whose names are no words stand in backticks. Nothing else is in the language: no division,
which may fail, and no function, which may look at other records.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn, cast

from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.data.where.tree import (
    Arithmetic,
    Both,
    Calculated,
    Compared,
    Comparison,
    Condition,
    Either,
    Listed,
    Missing,
    Name,
    Node,
    Not,
    Number,
    Text,
)

# What is deeper than this is no condition that a person has written.
_DEEPEST = 50
_LONGEST = 10_000
# Operators of one condition: each is a step down in its tree, which Python walks by calling itself.
_MOST_LINKS = 200
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])
      | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
      | `(?P<quoted>[^`]+)`
      | (?P<word>[^\W\d][\w.]*)
      | (?P<sign><=|>=|!=|<>|==|=|<|>|\+|-|\*|\(|\)|,)
    )""",
    re.VERBOSE,
)
_COMPARISONS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">"}
_COMPARISONS[">="] = ">="
_WORDS = ("and", "or", "not", "in", "between", "is", "missing", "null")


@lru_cache(maxsize=256)
def read_condition(stated: str) -> Condition:
    """Return the condition that a text states; what is no condition is refused."""
    if len(stated) > _LONGEST:
        raise SpecError(
            f"{argument('where')} has more than {_LONGEST} characters. Give a shorter condition."
        )
    if not stated.isascii() and any("\ud800" <= sign <= "\udfff" for sign in stated):
        raise SpecError(
            f"{argument('where')} holds half of a character (a lone surrogate). Write it as text."
        )
    return _Reader(stated).whole()


class _Reader:
    """Reads from the left; every method takes what it names and moves on."""

    def __init__(self, stated: str) -> None:
        self._called, self._at, self._depth, self._links = argument("where", stated), 0, 0, 0
        self._tokens = _tokens(stated)

    def whole(self) -> Condition:
        found = self._condition(self._either())
        if self._at < len(self._tokens):
            self._refuse("and, or, or the end")
        return found

    def _either(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise SpecError(f"{argument('where')} is nested too deeply. Give a simpler condition.")
        found = self._chain(self._both, "or", Either)
        self._depth -= 1
        return found

    def _link(self) -> None:
        self._links += 1
        if self._links > _MOST_LINKS:
            raise SpecError(
                f"{argument('where')} has more than {_MOST_LINKS} operators. Give a shorter "
                "condition, as with in (...) in place of many comparisons."
            )

    def _both(self) -> Node:
        return self._chain(self._not, "and", Both)

    def _chain(self, part: Callable[[], Node], word: str, made: type[Both] | type[Either]) -> Node:
        found = part()
        while self._taken(word):
            self._link()
            found = made(self._condition(found), self._condition(part()))
        return found

    def _not(self) -> Node:
        many = 0
        while self._taken("not"):
            many += 1
        found = self._test()
        if not many:
            return found
        inner = self._condition(found)
        return Not(inner) if many % 2 else Not(Not(inner))

    def _test(self) -> Node:
        left = self._sum()
        tests: list[Node] = []
        while (sign := self._sign(*_COMPARISONS)) is not None:
            self._link()
            right = self._value(self._sum())
            operation = cast("Comparison", _COMPARISONS[sign])
            tests.append(Compared(operation, self._value(left), right))
            left = right
        if tests:
            found = tests[0]
            for test in tests[1:]:
                found = Both(found, test)
            return found
        if self._taken("is"):
            negated = self._taken("not")
            if not (self._taken("missing") or self._taken("null")):
                self._refuse("missing")
            if not isinstance(left, Name):
                raise SpecError(f"{self._called}: only a column can be missing.")
            return Not(Missing(left)) if negated else Missing(left)
        negated = self._taken("not")
        if self._taken("in"):
            found = Listed(self._value(left), self._literals())
        elif self._taken("between"):
            low = self._value(self._sum())
            if not self._taken("and"):
                self._refuse("'and' (as in between 18 and 65)")
            found = Both(
                Compared("<=", low, self._value(left)),
                Compared("<=", self._value(left), self._value(self._sum())),
            )
        elif negated:
            self._refuse("in or between")
        else:
            return left
        return Not(found) if negated else found

    def _sum(self) -> Node:
        found = self._product()
        while (sign := self._sign("+", "-")) is not None:
            self._link()
            right = self._value(self._product())
            found = Calculated(cast("Arithmetic", sign), self._value(found), right)
        return found

    def _product(self) -> Node:
        found = self._factor()
        while self._sign("*") is not None:
            self._link()
            found = Calculated("*", self._value(found), self._value(self._factor()))
        return found

    def _factor(self) -> Node:
        negative = False
        while (sign := self._sign("-", "+")) is not None:
            negative ^= sign == "-"
        if self._sign("(") is not None:
            found = self._either()
            if self._sign(")") is None:
                self._refuse("a closing bracket")
        else:
            found = self._atom()
        if not negative:
            return found
        if isinstance(found, Number):
            return Number(-found.value)
        return Calculated("-", Number(0.0), self._value(found))

    def _atom(self) -> Node:
        kind, text = self._next("a column, a number or a text")
        match kind:
            case "number":
                found: Node = Number(float(text))
            case "text":
                found = Text(text[1:-1].replace(text[0] * 2, text[0]))
            case "quoted":
                found = Name(text)
            case "word" if text.lower() not in _WORDS:
                if self._tokens[self._at + 1 : self._at + 2] == [("sign", "(")]:
                    raise SpecError(
                        f"{self._called}: there are no functions such as {text!r}. Use columns, "
                        "numbers, texts and + - *."
                    )
                found = Name(text)
            case _:
                self._refuse("a column, a number or a text")
        self._at += 1
        return found

    def _literals(self) -> tuple[Number | Text, ...]:
        if self._sign("(") is None:
            self._refuse("a list (such as ('N', 'S'))")
        found: list[Number | Text] = []
        while True:
            item = self._factor()
            if not isinstance(item, Number | Text):
                raise SpecError(f"{self._called}: a list after in holds numbers and texts.")
            found.append(item)
            if self._sign(")") is not None:
                return tuple(found)
            if self._sign(",") is None:
                self._refuse("a comma or a closing bracket")

    def _taken(self, word: str) -> bool:
        """Take a word if it stands next."""
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind == "word" and text.lower() == word:
                self._at += 1
                return True
        return False

    def _sign(self, *signs: str) -> str | None:
        """Take one of some signs if it stands next."""
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind == "sign" and text in signs:
                self._at += 1
                return text
        return None

    def _next(self, wanted: str) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            self._refuse(wanted)
        return self._tokens[self._at]

    def _condition(self, found: Node) -> Condition:
        """Refuse a value where a condition is needed."""
        if isinstance(found, Condition):
            return found
        shown = f"{found.name!r} is a column" if isinstance(found, Name) else "there is a value"
        raise SpecError(
            f"{self._called}: {shown} where a condition is needed. Compare it, as in age >= 40."
        )

    def _value(self, found: Node) -> Node:
        """Refuse a condition where a value is needed."""
        if isinstance(found, Condition):
            raise SpecError(
                f"{self._called}: a condition stands where a value is needed. Join conditions by "
                "and, or and not."
            )
        return found

    def _refuse(self, wanted: str) -> NoReturn:
        if self._at < len(self._tokens):
            found = f"{self._tokens[self._at][1]!r} stands where {wanted} is expected"
        else:
            found = f"it ends where {wanted} is expected"
        raise SpecError(f"{self._called} cannot be read: {found}.")


def _tokens(stated: str) -> list[tuple[str, str]]:
    """Cut a text into words, signs and literals."""
    found, at = [], 0
    text = stated.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            left = text[at:].lstrip()
            raise SpecError(
                f"{argument('where', stated)} cannot be read from {left[:20]!r} on. Texts stand in "
                "quotes, columns with odd names in backticks; there are + - * and no division or "
                "functions."
            )
        kind = token.lastgroup or ""
        found.append((kind, token[kind]))
        at = token.end()
    if not found:
        raise SpecError(
            f"{argument('where')} is empty. State a condition, as in "
            f"{argument('where', 'age >= 40')}."
        )
    return found
