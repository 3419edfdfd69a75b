"""docs/adding-a-loss.md is a program: its blocks run one after the other, as a stranger's would."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-loss.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def stranger(monkeypatch) -> ModuleType:
    module = ModuleType("stranger")
    monkeypatch.setitem(sys.modules, "stranger", module)
    return module


def run(module: ModuleType, *blocks: str) -> None:
    for block in blocks:
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(module))


def test_the_page_runs(stranger):
    assert len(BLOCKS) == 4
    run(stranger, *BLOCKS)


def test_the_checks_of_the_page_catch_a_wrong_function(stranger, monkeypatch):
    run(stranger, *BLOCKS[:2])
    right = stranger.SoftSteps.psi
    wrong = lambda self, eta, y: right(self, eta, y) * 1.5 // 1  # noqa: E731
    monkeypatch.setattr(stranger.SoftSteps, "psi", wrong)
    with pytest.raises(AssertionError):
        run(stranger, BLOCKS[3])
