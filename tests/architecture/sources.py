"""The package as text: every module, parsed once."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import kng

ROOT = Path(kng.__file__).parent
# The checkout, where tests run from one; an installed package has no docs beside it.
CHECKOUT = Path(__file__).parents[2]


@cache
def modules() -> dict[str, ast.Module]:
    """Return the syntax tree of every module, by its path below the package."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
    }


def texts() -> dict[str, str]:
    """Return the text of every module, by its path below the package."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(ROOT.rglob("*.py"))
    }


def dotted(node: ast.expr) -> str:
    """Return ``a.b.c`` for an attribute chain, or an empty text for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def imported(tree: ast.AST) -> set[str]:
    """Return the dotted names that a module imports, at its top or anywhere inside."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def used(tree: ast.AST) -> set[str]:
    """Return the attribute chains that a module mentions."""
    return {dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)} - {""}
