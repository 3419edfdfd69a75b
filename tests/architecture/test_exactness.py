"""Privacy constants are exact: no float is written or made where a sensitivity is computed."""

from __future__ import annotations

import ast
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
from kng.domains import Box, Whole
from kng.losses import Huber, Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential, KNorm
from kng.norms import L1, CoordinateSup, LInf, WeightedSup

# Where bodies, Delta, rates and budgets come from. What only chooses among private plans (shares of
# epsilon, thresholds) or writes for people may be in float64, and says so by its place.
CALIBRATION = [
    "bases/uniform.py",
    "core/bodies.py",
    "core/certificate.py",
    "core/delta.py",
    "core/perturbed.py",
    "core/plan.py",
    "core/privacy.py",
    "core/problem.py",
    "core/regions.py",
    "core/smoothing.py",
    "core/solve/linear_program.py",
    "domains/ball.py",
    "domains/box.py",
    "domains/l2_ball.py",
    "domains/polytope.py",
    "domains/simplex.py",
    "domains/uncrossed.py",
    "domains/whole.py",
    "losses/distance.py",
    "losses/linear.py",
    "losses/location.py",
    "losses/location_sum.py",
    "losses/own.py",
    "mechanisms/exponential.py",
    "mechanisms/kng.py",
    "norms/coordinate.py",
    "norms/weighted.py",
]
# What says how far one record reaches, or what privacy asks for, in files that hold more than that.
REACHES = {
    "domains/half_spaces.py": {"contains", "walls_on", "between", "cut", "point_inside"},
    "losses/linear_spread.py": {"over", "under", "steepest", "largest_response", "longest"},
    "losses/pointwise/huber.py": {"psi", "apart", "rho", "curvature"},
    "losses/pointwise/pinball.py": {"psi", "apart", "rho"},
    "losses/pointwise/squared.py": {"psi", "apart", "rho"},
    "mechanisms/knorm.py": {"plan"},
    "mechanisms/objective.py": {"plan", "of", "ridge", "rounded_up"},
    "mechanisms/scaled.py": {"plan", "_at"},
    "norms/intercept.py": {"largest", "largest_in_ball", "value"},
    "norms/lp.py": {"largest", "largest_in_ball", "value"},
    "norms/polytope.py": {"largest", "largest_in_ball", "value"},
}
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


@pytest.mark.parametrize("path", REACHES)
def test_no_float_is_written_or_made_where_a_record_s_reach_is_computed(path):
    found = {}
    for node in ast.walk(modules()[path]):
        if isinstance(node, ast.FunctionDef) and node.name in REACHES[path]:
            if path.startswith("losses/pointwise") and _compiled(node):
                continue
            found.setdefault(node.name, []).extend(inexact(node))
    assert found.keys() == REACHES[path]
    assert not any(found.values()), found


def _compiled(node: ast.FunctionDef) -> bool:
    """Tell whether a function is of arrays, as those that read records are."""
    return any("Array" in ast.unparse(a.annotation) for a in node.args.args if a.annotation)


def test_the_search_finds_floats():
    found = inexact(ast.parse("x = 0.5\ny = float(z)\nw = math.exp(v)"))
    assert set(found) == {"0.5", "float", "math.exp"}
    assert inexact(ast.parse("raise ValueError(f'{float(x):g}')")) == []


@pytest.mark.parametrize("relation", [ReplaceOne(7), AddRemove()], ids=lambda r: r.name)
def test_sensitivities_rates_and_costs_are_fractions(relation):
    records = encoding_of(bounds_of((0, 10)), granularity="0.1", missing=None, bits=20)
    unit, line = PrivacyUnit(relation, 3), records.lattice
    epsilon = Fraction(1, 3)
    for pointwise in (Pinball(Fraction(9, 10)), Squared(), Huber(2)):
        loss = Location(pointwise).over(records)
        problem = Problem(loss, LInf(), Box.of(line), records, line, unit)
        for mechanism in (KNG(), Exponential()):
            plan = mechanism.plan(problem, epsilon)
            for theta in ((0,), (37,), (100,)):
                assert type(plan.delta_at(theta)) is Fraction
                assert type(plan.exponent(theta, Fraction(5))) is Fraction
            event = event_of((plan, plan), unit, Guarantee.EXACT)
            assert (event.epsilon, type(event.width)) == (2 * epsilon, Fraction)
    loss = Location(Squared()).over(records)
    steps = len(loss.sums.steps(unit))
    for norm in (WeightedSup((Fraction(3, 7),) * steps), L1(), LInf(), CoordinateSup()):
        problem = Problem(loss, norm, Whole(1, base=Uniform()), records, line, unit)
        plan = KNorm().plan(problem, epsilon)
        assert (type(plan.rate), type(plan.sensitivity)) == (Fraction, Fraction)
    assert isinstance(line, Lattice)
