"""Exhaustive privacy loss with each base measure: at most epsilon, and used where it can be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest
from audit.oracle import RELATIONS, Setting, audit, datasets, encoding, sizes

from kng.bases import Density, Gaussian, HeavyTailed, Student
from kng.corridor import certified
from kng.domains import Box
from kng.losses import Distance, Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential
from kng.norms import L2, LInf

LAST = 3
BASES = {
    "gaussian": Gaussian("1/2", centre=2),
    "student": Student("1/3", 2, centre=3),
    "heavy": HeavyTailed(1),
    "table": Density(edges=[-1, 1, "5/2", 5], weights=[1, 50, 3]),
    "function": Density(lambda theta: np.sin(3 * theta[:, 0]), grid=7),
}
LOSSES = {
    "median": (Location(Pinball(F(1, 2))), KNG(), LInf()),
    "high quantile": (Location(Pinball(F(9, 10))), KNG(), LInf()),
    "mean": (Location(Squared()), KNG(), LInf()),
    "mean by value": (Location(Squared()), Exponential(), LInf()),
    "distance": (Distance(), KNG(), L2()),
}


def weighed(setting: Setting, base):
    box = Box(0, LAST, 1, base=base)

    def plan_of(n):
        return certified(setting.mechanism.plan(setting.problem(n, box), setting.epsilon))

    return plan_of


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", BASES)
def test_the_loss_is_at_most_epsilon(name, loss, relation):
    function, mechanism, norm = LOSSES[loss]
    setting = Setting(function, mechanism, relation, F(1), (LAST,), norm=norm)
    universe = datasets(range(LAST + 1), sizes(relation, 3))
    verdict = audit(setting, universe, plan_of=weighed(setting, BASES[name]))
    assert verdict.private
    assert verdict.spread <= setting.epsilon


@pytest.mark.parametrize("name", BASES)
def test_epsilon_is_used(name):
    """A base changes normalisers only: the range of the loss is what it was."""
    setting = Setting(*LOSSES["median"][:2], "replace-one", F(1), (LAST,))
    universe = datasets(range(LAST + 1), [3])
    verdict = audit(setting, universe, plan_of=weighed(setting, BASES[name]))
    plain = audit(setting, universe)
    assert verdict.spread == plain.spread == setting.epsilon
    assert verdict.tightness > 0.5


def test_a_base_that_looks_at_the_records_is_caught(monkeypatch):
    """Planted: the centre follows the dataset, as no public base can."""
    import kng.audit.oracle as oracle

    setting = Setting(*LOSSES["median"][:2], "replace-one", F(1), (LAST,))
    universe = datasets(range(LAST + 1), [3])
    plain = oracle.exponents

    def peeking(plan, dataset):
        centre = sum((F(r[0]) for r in dataset), F(0)) / len(dataset)
        box = Box(0, LAST, 1, base=Gaussian("1/2", centre=centre))
        return plain(replace(plan, problem=replace(plan.problem, domain=box)), dataset)

    monkeypatch.setattr(oracle, "exponents", peeking)
    assert audit(setting, universe, plan_of=weighed(setting, BASES["gaussian"])).broken


def test_two_coordinates():
    setting = Setting(Distance(), KNG(), "replace-one", F(1), (2, 2), norm=L2())
    universe = datasets([(0, 0), (0, 2), (1, 1), (2, 2)], [2])
    box = Box(0, 2, 2, base=Student(["1/2", 2], 3, centre=[2, 0]))

    def plan_of(n):
        return certified(KNG().plan(setting.problem(n, box), setting.epsilon))

    assert len(encoding((2, 2))) == 2
    assert audit(setting, universe, plan_of=plan_of).private
