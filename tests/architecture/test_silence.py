"""Nothing speaks but the command line: no output, no log, no warning, no shown progress."""

from __future__ import annotations

import ast

import pytest
from architecture.sources import dotted, imported, modules, used

INSIDE = sorted(path for path in modules() if not path.startswith("cli/"))


def outputs(tree: ast.AST) -> set[str]:
    """Return the calls and names in a module that could write something out."""
    called = {dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = called & {"print", "breakpoint", "input", "help", "pprint"}
    found |= {name for name in used(tree) if name.startswith(("sys.stdout", "sys.stderr"))}
    speaking = {"logging", "warnings", "click", "rich", "tqdm", "traceback", "pdb", "faulthandler"}
    return found | {name for name in imported(tree) if name.split(".")[0] in speaking}


# scikit-learn asks for a warning about the shape of y, which is known before the charge. That
# something is compiled is said before it as well, and depends on no record; no event does.
ALLOWED = {
    "estimators/array_shapes.py": {"warnings"},
    "core/compiled.py": {"logging"},
    "core/events.py": {"logging"},
}


@pytest.mark.parametrize("path", INSIDE)
def test_the_library_writes_nothing_out(path):
    assert outputs(modules()[path]) == ALLOWED.get(path, set())


@pytest.mark.parametrize(
    "text",
    [
        "print(1)",
        "import logging",
        "from logging import getLogger",
        "import warnings",
        "import sys\nsys.stderr.write('x')",
        "def f():\n    from tqdm import tqdm",
    ],
)
def test_the_search_finds_every_voice(text):
    assert outputs(ast.parse(text))


def test_the_command_line_does_speak():
    # Otherwise the search above would find nothing anywhere.
    assert any(outputs(tree) for path, tree in modules().items() if path.startswith("cli/"))


@pytest.mark.parametrize("path", INSIDE)
def test_an_error_below_the_charge_is_not_told_by_an_assert(path):
    # An assert may show what it compares; samplers and losses hold records and fields.
    if not path.startswith(("losses/", "samplers/", "data/")):
        return
    shown = [
        node.lineno
        for node in ast.walk(modules()[path])
        if isinstance(node, ast.Assert) and node.msg is not None
    ]
    assert shown == []
