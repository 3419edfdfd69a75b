"""The library's messages in the words of the command line.

A message refers to an argument, ``n_max=5``; at a shell it is an option, ``--n-max 5``, and in
a file of questions a setting, ``n_max = 5``.
"""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import click

from kng.cli.models import MODELS
from kng.core.naming import Argument, Call, Clause, Code, Reference, told

# Options that have another name than the argument; the first that the command takes.
_OTHERWISE = {
    "q": ("quantile",),
    "quantile": ("q",),
    "bounds_X": ("bounds",),
    "bounds_y": ("bounds",),
    "fit_intercept": ("no_intercept",),
    "random_state": ("seed",),
    "features": ("covariates",),
    "cap": ("epsilon",),
    "sequence": ("receipt",),
    "replicates": ("simulate",),
}
_COMMANDS = {
    **{model: f"kng {command}" for command, model in MODELS.items()},
    **{name: f"kng {name}" for name in ("mean", "quantile", "median", "count", "variance")},
    **{name: f"kng budget {name}" for name in ("history", "verify")},
    "geometric_median": "kng geomedian",
    "kng.Ledger": "kng budget create",
    "Ledger.adopt": "kng budget adopt",
    "Ledger.restore": "kng budget restore",
}
# In a file of questions; the others have the name of the argument.
_SETTINGS = {"q": "quantile", "bounds_X": "bounds", "bounds_y": "bounds", "features": "covariates"}
# Read as a line of CSV whose cells are numbers if they look like it, unless they are quoted.
_LEVELS = ("by", "levels")
_PLAIN = frozenset("_-.,:=/@%+")
# What a shell reads within double quotes.
_READ = frozenset('"$`\\!')


def at_the_shell(message: str, command: click.Command) -> str:
    """Return a message with the options of a command where the library has arguments.

    What is no option of the command keeps its name, and is a setting in a file of questions.
    """
    other = _setting if command.name == "run" else _plainly
    return told(message, partial(_said, dict(_options(command)), other))


def _options(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the options of a command, or of all commands of a group, by their names."""
    for part in getattr(command, "commands", {}).values():
        yield from _options(part)
    for option in command.params:
        if isinstance(option, click.Option) and option.name is not None:
            yield option.name, option.opts[0]


def _said(
    options: Mapping[str, str], other: Callable[[Argument], str], reference: Reference
) -> str:
    if isinstance(reference, Clause):
        return "" if reference.python else told(reference.message, partial(_said, options, other))
    if isinstance(reference, Call):
        return _command(reference)
    names = (reference.name, *_OTHERWISE.get(reference.name, ()))
    option = next((options[name] for name in names if name in options), None)
    return other(reference) if option is None else _option(option, reference)


def _command(reference: Call) -> str:
    """Return the command that does the same; what none does keeps its name."""
    name = reference.name
    command = _COMMANDS.get(name) or _COMMANDS.get(name.removeprefix("kng."))
    if command is None:
        return str(reference)
    return " ".join([command, *(_word(_text("", each)) for each in reference.arguments or ())])


def _option(option: str, argument: Argument) -> str:
    """Return an option as it is typed."""
    name = argument.name
    if argument.values in ((), (Code(""),)):
        return f"{option} of the target" if name == "bounds_y" else option
    (value,) = argument.values
    if name == "fit_intercept":
        return f"no {option}" if value else option
    if value is None:
        return f"no {option}"
    if isinstance(value, dict):
        each = (_word(f"{column}={_text(name, part)}") for column, part in value.items())
        return " ".join(f"{option} {word}" for word in each)
    column = "COLUMN=" if name in ("bounds_X", "bounds_y") else ""
    return f"{option} {_word(column + _text(name, value))}"


def _text(name: str, value: Any) -> str:
    """Return a value in one word, unquoted."""
    if not isinstance(value, tuple | list):
        return str(value)
    if name.startswith("bounds") and len(value) == 2:
        return ":".join(map(str, value))
    cells = [str(each) for each in value]
    if name in _LEVELS and any(isinstance(each, str) and _is_number(each) for each in value):
        return ",".join(f"'{cell}'" for cell in cells)
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _word(text: str) -> str:
    """Return a text as it is typed at a shell; what cannot be typed is written as in Python."""
    shown = "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
    if shown and all(sign.isalnum() or sign in _PLAIN for sign in shown):
        return shown
    spaced = " " in shown or "'" in shown
    return f'"{shown}"' if spaced and not _READ & set(shown) else shlex.quote(shown)


def _plainly(argument: Argument) -> str:
    """Return an argument that the command does not take, in words."""
    name = argument.name.replace("_", " ")
    if argument.values in ((), (Code(""),)):
        return name
    (value,) = argument.values
    return f"no {name}" if value is None else f"{name} {_text(argument.name, value)}"


def _setting(argument: Argument) -> str:
    """Return an argument as a setting in a file of questions."""
    name = _SETTINGS.get(argument.name, argument.name)
    if argument.values in ((), (Code(""),)):
        return name
    (value,) = argument.values
    return f"no {name}" if value is None else f"{name} = {_toml(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(str(key))} = {_toml(each)}" for key, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, Code):
        return value.text
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)


def _key(text: str) -> str:
    bare = text.isascii() and text.replace("-", "").replace("_", "").isalnum()
    return text if bare else json.dumps(text, ensure_ascii=False)
