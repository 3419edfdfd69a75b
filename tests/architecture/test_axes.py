"""Nobody outside a part contains its formula: no loss is named, no norm written out, elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import kng
from kng import losses
from kng.losses.accelerators import ACCELERATORS

ROOT = Path(kng.__file__).parent
ASKING = ("samplers", "mechanisms", "norms", "domains", "bases")
# Proposals for one ball and one norm in real arithmetic. What they draw is compared with the
# generic sampler in tests/samplers/test_two_ways.py.
ENVELOPES = "samplers/real/envelopes"
# A compiled chain for the same; tests/samplers/test_metropolis.py compares it with the generic one.
WALKS = "samplers/chains/ball_walks.py"
# A sup or a sum of absolute values over the coordinates of vectors.
FORMULA = re.compile(r"abs\([^\n]*\)\.(max|sum)\(|max\(abs|max\(map\(abs|linalg\.norm")
# The same pattern where vectors are not measured: corners of lattices, and lengths of steps.
INNOCENT = {"samplers/exact/boxes.py"}


def files(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [*found, ROOT / "corridor.py"]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def losses_by_name() -> set[str]:
    classes = {name for name in losses.__all__ if isinstance(getattr(losses, name), type)}
    functions = {getattr(losses, name) for name in classes}
    words = {getattr(each, "name", None) for each in functions}
    return classes | {word for word in words if isinstance(word, str)}


def words_of(source: str) -> Iterator[str]:
    """Yield the names and the strings of a program; docstrings and comments are prose."""
    tree = ast.parse(source)
    prose = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        ):
            yield node.value


@pytest.mark.parametrize("path", files(*ASKING), ids=relative)
def test_no_loss_is_named(path: Path) -> None:
    named = losses_by_name()
    assert len(named) >= 8
    assert not named & set(words_of(path.read_text()))


def test_a_loss_that_is_named_is_found() -> None:
    assert "Pinball" in set(words_of("from kng.losses import Pinball as P"))
    assert "huber" in set(
        words_of('def f(p):\n    """About huber."""\n    return p.name == "huber"')
    )
    assert "huber" not in set(words_of('def f(p):\n    """huber"""'))


@pytest.mark.parametrize("path", files("samplers", "mechanisms"), ids=relative)
def test_no_norm_is_written_out(path: Path) -> None:
    name = relative(path)
    if name.startswith(ENVELOPES) or name == WALKS or name in INNOCENT:
        return
    code = "\n".join(line.split("#")[0] for line in path.read_text().splitlines())
    assert not FORMULA.search(code)


def test_a_norm_that_is_written_out_is_found() -> None:
    envelopes = [path for path in files("samplers") if relative(path).startswith(ENVELOPES)]
    assert sum(bool(FORMULA.search(path.read_text())) for path in envelopes) >= 5


def test_accelerators_are_listed_once() -> None:
    assert len({each.name for each in ACCELERATORS}) == len(ACCELERATORS) >= 7


def test_the_corridor_asks_for_no_type() -> None:
    source = (ROOT / "corridor.py").read_text()
    assert "isinstance" not in set(words_of(source))
    assert len(source.splitlines()) <= 180


def test_samplers_are_few_lines() -> None:
    lines = [len(path.read_text().splitlines()) for path in (ROOT / "samplers").rglob("*.py")]
    assert sum(lines) < 5400
