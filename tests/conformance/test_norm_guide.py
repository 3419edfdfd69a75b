"""docs/adding-a-norm.md is a program: its blocks run one after the other."""

from __future__ import annotations

import re
import sys
from fractions import Fraction as F
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from conformance.norm_checks import conforms
from flint import arb

from kng.norms import L1, L2, LInf, Polytope

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-norm.md"
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
    assert len(BLOCKS) == 6
    run(stranger, *BLOCKS)


def unrounded(self, low, high):
    near, far = np.maximum(np.maximum(low, -high), 0.0), np.maximum(-low, high)
    with np.errstate(over="ignore", under="ignore"):
        return np.minimum(self.lengths(near), 1e300), self.lengths(far)


def at_the_middle(self, low, high):
    with np.errstate(all="ignore"):
        middle = self.lengths((low + high) / 2)
    return middle * (1 - 2.0**-40), middle * (1 + 2.0**-40)


def one_uniform_too_few(self, uniforms, dim):
    radius = -sum((number.log() for number in uniforms[:dim]), arb(0))
    return [radius * w for w in self.cube(uniforms, dim)]


def one_fifth_more(self, uniforms, dim):
    radius = -sum((number.log() for number in uniforms[: dim + 1]), arb(0))
    return [radius * w * 6 / 5 for w in self.cube(uniforms, dim)]


FAULTS = {
    "a bound that forgets its roundings": ("bounds", unrounded),
    "a bound at the middle of the box": ("bounds", at_the_middle),
    "a largest value that forgets a corner": ("largest", lambda self, low, high: self.value(high)),
    "twice the largest value": (
        "largest",
        lambda self, low, high: (
            2 * self.value([max(-a, b) for a, b in zip(low, high, strict=True)])
        ),
    ),
    "a ball that is too small": ("largest_in_ball", lambda self, radius, dim: radius * F(99, 100)),
    "a ball that is not rounded": ("largest_in_ball", lambda self, radius, dim: radius),
    "values rounded by a share of themselves": ("rounded_for", lambda self, longest: self),
    "a sum of blocks": (
        "value",
        lambda self, vector: sum((self.length(p) for p in self.parts(vector)), F(0)),
    ),
    "a radius of Gamma(d)": ("noise", one_uniform_too_few),
    "a rate 20 % off": ("noise", one_fifth_more),
    "points of the whole cube": ("inside", lambda self, uniforms, dim: True),
    "moments of another ball": ("second_moments", lambda self, dim: (1 / 3,) * dim),
    "any number of coordinates": ("refusal", lambda self, dim: None if dim < 9 else "no"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checks_of_the_page_catch_wrong_norms(stranger, monkeypatch, fault):
    run(stranger, "import numpy as np", BLOCKS[1], BLOCKS[3])
    name, wrong = FAULTS[fault]
    monkeypatch.setattr(stranger.NoisyBlocks, name, wrong)
    with pytest.raises(AssertionError):
        run(stranger, BLOCKS[5].replace("dims=(1, 2, 3, 4)", "dims=(3,)"))


def weighted(vector):
    return [w * abs(v) for w, v in zip(WEIGHTS, vector, strict=False)]


WEIGHTS, FACETS = (F(1, 3), F(2), F(7, 10)), [[1, 0], [0, 1], [1, -1]]
DEFINED = {
    "l1": (lambda d: L1(WEIGHTS[:d]), lambda v: sum(weighted(v)) ** 2, (1, 2)),
    "l2": (lambda d: L2(WEIGHTS[:d]), lambda v: sum(a * a for a in weighted(v)), (1, 3)),
    "sup": (lambda d: LInf(), lambda v: max(map(abs, v)) ** 2, (1, 2)),
    "facets": (
        lambda d: Polytope(FACETS),
        lambda v: max((a * v[0] + b * v[1]) ** 2 for a, b in FACETS),
        (2,),
    ),
}


@pytest.mark.parametrize("name", DEFINED)
def test_norms_of_the_package_pass_the_same_checks(name):
    conforms(*DEFINED[name])
