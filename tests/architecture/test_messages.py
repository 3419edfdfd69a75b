"""Messages name arguments by references, and the command line words those and reads no English."""

from __future__ import annotations

import ast
import re

import click
import pytest
from architecture.sources import imported, modules

from kng.cli.main import commands
from kng.core.errors import KngError

# Reads what the caller has typed, a level of a group; no message.
READERS = {"cli/arguments.py"}
# Parts are objects of Python, and a checker of pipelines speaks about programs; no command takes
# them. A declared table has fields, not arguments.
PYTHON = ("audit/", "bases/", "cli/", "domains/", "reproduce/", "data/declared/")
HABITS = "estimators/habits/"


def names_of(command: click.Command) -> set[str]:
    found = {option.name for option in command.params if isinstance(option, click.Option)}
    for part in getattr(command, "commands", {}).values():
        found |= names_of(part)
    return {name for name in found if name}


# Names that are no words: they can stand in a message only as the name of an argument.
NAMES = {name for name in names_of(commands) if "_" in name} | {"bounds_X", "bounds_y"}
NAMES -= {"as_json"}
SPELLED = re.compile(rf"(?<![\w.'\"])({'|'.join(sorted(NAMES))})(?![\w(])")
STATED = re.compile(rf"(?<![\w.'\"])({'|'.join(sorted(names_of(commands)))})=(?=['\d\[{{(@])")


def spelled(text: str) -> str:
    """Return a message with what is between the parentheses of a call left out."""
    while (shorter := re.sub(r"\w\([^()]*\)", "", text)) != text:
        text = shorter
    return text


def messages(tree: ast.AST) -> list[tuple[int, str]]:
    """Return the texts in what a module raises, with @ for what is put into them."""
    found = []
    raised = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc)
    nodes = [part for exc in raised for part in ast.walk(exc)]
    inside = {id(p) for text in nodes if isinstance(text, ast.JoinedStr) for p in text.values}
    for text in nodes:
        if id(text) in inside:
            continue
        if isinstance(text, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "@" for p in text.values]
            found.append((text.lineno, spelled("".join(map(str, parts)))))
        elif isinstance(text, ast.Constant) and isinstance(text.value, str) and " " in text.value:
            found.append((text.lineno, spelled(text.value)))
    return found


@pytest.mark.parametrize("path", sorted(p for p in modules() if p.startswith("cli/")))
def test_the_command_line_applies_no_regular_expressions_to_messages(path):
    found = {name for name in imported(modules()[path]) if name.split(".")[0] in {"re", "regex"}}
    assert not found or path in READERS


@pytest.mark.parametrize(
    "path", sorted(p for p in modules() if not p.startswith((*PYTHON, HABITS)))
)
def test_a_message_spells_no_argument(path):
    """``argument("n_max", 5)`` becomes ``n_max=5`` or ``--n-max 5``; a spelled one stays."""
    wrong = [
        (line, text)
        for line, text in messages(modules()[path])
        if SPELLED.search(text) or STATED.search(text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "program",
    [
        "raise SpecError('n_max belongs to others')",
        "raise SpecError(f'{x} needs mechanism={y!r}')",
        "raise SpecError('use ' f'neighbours=\\'add-remove\\' {x}')",
        "raise SpecError('state it, as in bounds=(0, 100)')",
    ],
)
def test_the_search_finds_a_spelled_argument(program):
    ((_, text),) = messages(ast.parse(program))
    assert SPELLED.search(text) or STATED.search(text)


@pytest.mark.parametrize(
    "program",
    [
        "raise SpecError(f'{argument(\"n_max\", 5)} belongs to others')",
        "raise SpecError('as in kng.Ledger(path, analyst=1)')",
    ],
)
def test_the_search_finds_nothing_else(program):
    found = messages(ast.parse(program))
    assert not any(SPELLED.search(text) or STATED.search(text) for _, text in found)


def test_every_error_of_ours_tells_plain_words():
    kinds, found = [KngError], set()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        found.add(kind)
        own = {name for name in ("__str__", "__repr__", "__reduce__") if name in vars(kind)}
        assert own <= ({"__str__"} if kind.__name__ == "UnknownName" else set())
    assert len(found) > 8
