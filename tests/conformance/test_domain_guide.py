"""docs/adding-a-domain.md is a program: its blocks run one after the other."""

from __future__ import annotations

import re
import sys
from fractions import Fraction as F
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conformance.domains import conforms

from kng.core.regions import Region
from kng.domains import L2Ball, Polytope, Simplex

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-domain.md"
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
    assert len(BLOCKS) == 5
    run(stranger, *BLOCKS)


def test_the_checks_of_the_page_catch_wrong_domains(stranger, monkeypatch):
    run(stranger, "import numpy as np", BLOCKS[2])
    shape, points = stranger.Ellipsoid, stranger.EllipsoidPoints
    faults = [
        (shape, "contains", lambda self, theta: sum(map(abs, theta)) <= 1),
        (shape, "region", lambda self: Region.between((F(-1),) * self.dim, (F(1),) * self.dim)),
        (shape, "scaled", lambda self, factor: self),
        (points, "contains", lambda self, point: True),
        (points, "home", lambda self: self.first),
        (points, "beside", lambda self, low, high: (np.full(len(low), True),) * 2),
        (points, "beside", lambda self, low, high: (np.full(len(low), False),) * 2),
    ]
    for owner, name, wrong in faults:
        with monkeypatch.context() as planted:
            planted.setattr(owner, name, wrong)
            with pytest.raises(AssertionError):
                run(stranger, BLOCKS[4])
    run(stranger, BLOCKS[4])


def test_domains_of_the_package_pass_the_same_checks():
    conforms(lambda d: L2Ball(2, d), lambda t: sum(v * v for v in t) <= 4)
    conforms(lambda d: Simplex("5/2", d), lambda t: min(t) >= 0 and sum(t) <= F(5, 2))
    rows = [[1, 1, 1], [-1, 2, 0], [0, -1, 1], [-1, -1, -3]]

    def polytope(d: int) -> Polytope:
        return Polytope([row[:d] for row in rows], [2, 2, 2, 2])

    def holds(theta: tuple[F, ...]) -> bool:
        return all(sum(a * v for a, v in zip(row, theta, strict=False)) <= 2 for row in rows)

    conforms(polytope, holds, (1, 2, 3))
