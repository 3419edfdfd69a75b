"""Privacy constants are exact: no float is written or made where a sensitivity is computed."""

from __future__ import annotations

import ast
import re
from fractions import Fraction

import pytest
from architecture.sources import dotted, modules

from kng.bases import Uniform
from kng.core.bounds import bounds_of
from kng.core.certificate import event_of
from kng.core.encoding import encoding_of
from kng.core.lattice import Lattice
from kng.core.privacy import AddRemove, Guarantee, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.domains import LatticeBox, Whole
from kng.losses import Pinball, Squared
from kng.mechanisms import KNG, Exponential, KNorm
from kng.norms import L1, LInf, WeightedSup

# Where rates and budgets come from. Regression is drawn in real arithmetic and says so ("ideal").
CALIBRATION = [
    "core/plan.py",
    "core/privacy.py",
    "core/sensitivity.py",
    "core/smoothing.py",
    "bases/uniform.py",
    "domains/ball.py",
    "domains/box.py",
    "domains/uncrossed.py",
    "domains/whole.py",
    "losses/pinball.py",
    "losses/squared.py",
    "mechanisms/knorm.py",
    "norms/weighted.py",
]
# What says how far one record reaches, in whatever loss or mechanism. Enclosures bound what records
# that are there do over a box; no rate comes from them.
REACHES = re.compile(r".*(sensitivity|bound|slope|curvature|sum_widths|sum_steps)")
INEXACT = {
    "float",
    "np.float64",
    "math.exp",
    "math.log",
    "math.sqrt",
    "np.exp",
    "np.log",
    "np.sqrt",
}


def inexact(tree: ast.AST) -> list[str]:
    """Return the float literals and conversions of a module, but for those in a message."""
    messages = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in messages:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            found.append(repr(node.value))
        if isinstance(node, ast.Call) and dotted(node.func) in INEXACT:
            found.append(dotted(node.func))
    return found


@pytest.mark.parametrize("path", CALIBRATION)
def test_no_float_is_written_or_made_in_calibration(path):
    assert inexact(modules()[path]) == []


def reaches() -> list[tuple[str, str]]:
    return [
        (path, node.name)
        for path, tree in modules().items()
        if path.startswith(("losses/", "mechanisms/")) and "/enclosures/" not in path
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and REACHES.fullmatch(node.name)
    ]


@pytest.mark.parametrize(("path", "name"), reaches(), ids="-".join)
def test_no_float_is_written_or_made_where_a_record_s_reach_is_computed(path, name):
    for node in ast.walk(modules()[path]):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            assert inexact(node) == []


def test_there_are_reaches():
    assert {name for _, name in reaches()} >= {"gradient_sensitivity", "value_sensitivity"}


def test_the_search_finds_floats():
    found = inexact(ast.parse("x = 0.5\ny = float(z)\nw = math.exp(v)"))
    assert set(found) == {"0.5", "float", "math.exp"}
    assert inexact(ast.parse("raise ValueError(f'{float(x):g}')")) == []


@pytest.mark.parametrize("relation", [ReplaceOne(7), AddRemove()], ids=lambda r: r.name)
def test_sensitivities_rates_and_costs_are_fractions(relation):
    records = encoding_of(bounds_of((0, 10)), granularity="0.1", missing=None, bits=20)
    unit, line = PrivacyUnit(relation, 3), records.lattice
    epsilon = Fraction(1, 3)
    for loss in (Pinball(Fraction(9, 10)), Squared()):
        problem = Problem(loss, LInf(), LatticeBox.of(line), records, line, unit)
        for mechanism in (KNG(), Exponential()):
            plan = mechanism.plan(problem, epsilon)
            for theta in ((0,), (37,), (100,)):
                assert type(plan.sensitivity.at(theta)) is Fraction
                assert type(plan.exponent(theta, Fraction(5))) is Fraction
            event = event_of((plan, plan), unit, Guarantee.EXACT)
            assert (event.epsilon, type(event.width)) == (2 * epsilon, Fraction)
    widths = Squared().sum_widths(records, relation)
    for norm in (WeightedSup(widths), L1(), LInf()):
        problem = Problem(Squared(), norm, Whole(len(widths), base=Uniform()), records, line, unit)
        plan = KNorm().plan(problem, epsilon)
        assert (type(plan.rate), type(plan.sensitivity)) == (Fraction, Fraction)
    assert isinstance(line, Lattice)
