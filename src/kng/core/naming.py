"""What a message names: arguments and calls, as references that each front end words for itself.

An argument is ``n_max=5`` in Python, ``--n-max 5`` at a shell and ``n_max = 5`` in a file of
questions. So a message does not spell it: ``f"{argument('n_max', 5)} is too small"``. Inside a
string a reference is a mark that only `told` reads; no mark leaves the program, as errors tell
their messages in the words of Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

# A text, a number, a truth value, None, a tuple, a list or a dictionary of them, or `Code`; any
# other value is written as an expression.
Value: TypeAlias = Any

_OPEN, _CLOSE = "\x0e", "\x0f"


@dataclass(frozen=True)
class Code:
    """A value that is written as an expression, such as ``...``."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Argument:
    """An argument, with a value or without one."""

    name: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return "=".join([self.name, *map(repr, self.values)])


@dataclass(frozen=True)
class Call:
    """A function, an estimator or a method, with what it is called with or without."""

    name: str
    arguments: tuple[Value, ...] | None

    def __str__(self) -> str:
        listed = None if self.arguments is None else ", ".join(map(repr, self.arguments))
        return self.name if listed is None else f"{self.name}({listed})"


@dataclass(frozen=True)
class Clause:
    """Words that make sense in Python only, or everywhere else."""

    message: str
    python: bool

    def __str__(self) -> str:
        return told(self.message) if self.python else ""


Reference: TypeAlias = Argument | Call | Clause

# Only references made by this process are read: a text of the caller's cannot imitate one.
_SEAL = f"{id(object()):x}"


def argument(name: str, *value: Value) -> str:
    """Return the mark of an argument, as in ``n_max`` or ``n_max=5``.

    Parameters
    ----------
    name : str
        Its name in Python, first of all words if there are several, as in ``"bounds low"`` or
        ``"bounds['age']"``. What is none stays as it is: a mark, say.
    value
        Its value, if that is named too. Never one that depends on records.
    """
    own = name.partition(" ")[0].partition("[")[0]
    if not own.isidentifier():
        return name
    return _mark("argument", own, *map(_coded, value)) + name.removeprefix(own)


def keyword(name: str) -> str:
    """Return the mark of an argument as ``by=``, where its bare name would read as a word."""
    return argument(name, Code(""))


def call(name: str, *arguments: Value) -> str:
    """Return the mark of a function or a method: ``kng.median``, or ``history()`` with ``()``."""
    bare = name.removesuffix("()")
    if arguments or bare != name:
        return _mark("call", bare, [_coded(each) for each in arguments])
    return _mark("call", name, None)


def in_python(message: str) -> str:
    """Return the mark of words that are left out where the caller does not write Python."""
    return _mark("clause", message, True)


def outside_python(message: str) -> str:
    """Return the mark of words for callers that do not write Python, such as those of a shell."""
    return _mark("clause", message, False)


def told(message: str, say: Callable[[Reference], str] = str) -> str:
    """Return a message in words.

    Parameters
    ----------
    message : str
    say : callable
        Gives the words of a reference; those of Python unless given.
    """
    return "".join(part if isinstance(part, str) else say(part) for part in parts(message))


def parts(message: str) -> tuple[str | Reference, ...]:
    """Return the texts and the references that a message consists of."""
    found: list[str | Reference] = []
    text, *marked = message.split(_OPEN + _SEAL)
    found.append(text)
    for each in marked:
        inside, _, text = each.partition(_CLOSE)
        found += [_read(inside), text]
    return tuple(part for part in found if part != "")


def joined(pieces: tuple[str | Reference, ...]) -> str:
    """Return the message that consists of these, in this process."""
    return "".join(piece if isinstance(piece, str) else _marked(piece) for piece in pieces)


def renamed(message: str, names: Mapping[str, str]) -> str:
    """Return a message about arguments that have other names where it is told."""
    return joined(
        tuple(
            replace(part, name=names.get(part.name, part.name))
            if isinstance(part, Argument)
            else part
            for part in parts(message)
        )
    )


def arguments_of(message: str) -> Iterator[str]:
    """Yield the names of arguments in a message, in their order."""
    for part in parts(message):
        if isinstance(part, Argument):
            yield part.name
        elif isinstance(part, Clause):
            yield from arguments_of(part.message)


def _mark(*content: Any) -> str:
    # JSON in ASCII escapes all control characters, so nothing inside ends a mark.
    return f"{_OPEN}{_SEAL}{json.dumps(content)}{_CLOSE}"


def _read(inside: str) -> Reference:
    kind, name, *rest = json.loads(inside)
    if kind == "argument":
        return Argument(name, tuple(map(_decoded, rest)))
    if kind == "call":
        listed = rest[0]
        return Call(name, None if listed is None else tuple(map(_decoded, listed)))
    return Clause(name, rest[0])


def _marked(reference: Reference) -> str:
    if isinstance(reference, Argument):
        return argument(reference.name, *reference.values)
    if isinstance(reference, Clause):
        return _mark("clause", reference.message, reference.python)
    listed = reference.arguments
    return _mark("call", reference.name, listed and [_coded(each) for each in listed])


def _coded(value: Value) -> Any:
    """Return a value as JSON without braces, which ``str.format`` would read."""
    if isinstance(value, dict):
        return ["dict", *([_coded(key), _coded(each)] for key, each in value.items())]
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(_coded, value)]
    if isinstance(value, Code):
        return ["code", value.text]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return ["code", repr(value)]


def _decoded(value: Any) -> Value:
    if not isinstance(value, list):
        decoded: Value = value
        return decoded
    kind, *rest = value
    if kind == "dict":
        return {_decoded(key): _decoded(each) for key, each in rest}
    if kind == "code":
        return Code(rest[0])
    return tuple(map(_decoded, rest)) if kind == "tuple" else [_decoded(each) for each in rest]
