"""The paper's chain: compiled walks against the generic one, sweeps, and a reach that is tuned."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from samplers import test_branch_and_bound as planes
from samplers.laws import ALARM, p_value

from kng.core.bits import SeededBits
from kng.core.quadratic import AffineGradient
from kng.mechanisms import KNG, Exponential
from kng.norms import L2
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.constants import LINEAR_TRUTH
from kng.reproduce.figure1 import Paper
from kng.samplers.chains.metropolis import Metropolis
from kng.samplers.chains.target import Cells, Target, walk_of


@pytest.fixture(scope="module")
def paper():
    return Paper(Sample(LINEAR_TRUTH, 500, (1,)).moments())


@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["sup", "value"])
@pytest.mark.parametrize("tuning", [0, 1200], ids=["fixed", "tuned"])
def test_the_compiled_walk_is_the_generic_one(paper, mechanism, tuning):
    chain = Metropolis(steps=3000, tuning=tuning)
    plan = chain.certify(mechanism.plan(paper.regression, Fraction(1)))
    assert isinstance(paper.field, AffineGradient)
    bits = SeededBits(7)
    luck = bits.uniforms(3000), bits.uniforms(3000)
    slow = chain.walked(Target(plan, paper.field), *luck)
    fast = chain.coefficients(plan, paper.field, SeededBits(7))
    np.testing.assert_allclose(fast, slow, rtol=0, atol=1e-12)
    assert np.abs(fast).sum() > 0.1
    point = chain.draw(plan, paper.field, SeededBits(7))
    step = float(plan.grid.step[0])
    assert [float(v) for v in plan.grid.theta(point)] == pytest.approx(list(fast), abs=step)


def test_what_is_compiled_has_a_sup_norm_and_a_ball(paper):
    """Another norm is walked by the generic path."""
    chain = Metropolis(steps=400)
    plan = chain.certify(KNG().plan(replace(paper.regression, norm=L2()), Fraction(1)))
    end = chain.coefficients(plan, paper.field, SeededBits(3))
    bits = SeededBits(3)
    again = chain.walked(Target(plan, paper.field), bits.uniforms(400), bits.uniforms(400))
    assert (end == again).all()


def test_a_sweep_is_one_proposal_for_every_coordinate():
    assert Metropolis(10_000).sweeping(12) == Metropolis(120_000)
    assert Metropolis(1_000, tuning=500).sweeping(2) == Metropolis(2_000, tuning=1_000)


class Watched:
    """A target that notes where it is asked for."""

    def __init__(self, target):
        self._target, self.home, self.unit, self.asked = target, target.home, target.unit, []

    def holds(self, theta):
        return self._target.holds(theta)

    def log_density(self, theta):
        self.asked.append(theta)
        return self._target.log_density(theta)


def taken(chain, target, last):
    """Return the share of the last proposals that were taken: the next one starts there."""
    watched, bits = Watched(target), SeededBits(1)
    chain.walked(watched, bits.uniforms(chain.steps), bits.uniforms(chain.steps))
    _, *trials = watched.asked
    pairs = enumerate(pairwise(trials))
    return np.mean([b[i % len(a)] == a[i % len(a)] for i, (a, b) in pairs][-last:])


def test_a_tuned_reach_is_taken_44_times_of_100(paper):
    """A reach that is far too long stands still until it is tuned."""
    plan = KNG().plan(paper.regression, Fraction(50))
    target = Target(plan, paper.field)
    assert taken(Metropolis(6000, reach=0.5), target, 3000) < 0.1
    share = taken(Metropolis(6000, reach=0.5, tuning=3000), target, 3000)
    assert 0.3 < share < 0.58


def test_scores_of_cells_are_quick_and_the_same():
    """One box with all points gives the score of the records themselves."""
    for mechanism in (KNG(), Exponential()):
        plan = planes.plan_of(2, 8, records=12, epsilon=4, mechanism=mechanism)
        field = planes.field_of(plan, *planes.line_data(2, 12)).shifted(SeededBits(1))
        walk = walk_of(plan, field)
        assert isinstance(walk, Cells)
        assert walk.cover is not None
        box = plan.domain
        for first in range(box.first[0], box.last[0] + 1):
            for second in range(box.first[1], box.last[1] + 1):
                point = (first, second)
                exact = -float(plan.exponent(point, field.score(point)))
                assert walk.log_density(np.array(point, float)) == exact


class From(Cells):
    """Cells that are walked from a stated place."""

    home = None


def walked(plan, field, starts, steps):
    """Return where a chain of so many proposals leads from places in the cells of points."""
    chain, bits, found = Metropolis(steps, reach=3 * float(plan.grid.step[0])), SeededBits(9), []
    walk = From(plan, field)
    for point in starts:
        From.home = np.array(point) + bits.uniforms(2) - 0.5
        found.append(walk.nearest(chain.walked(walk, bits.uniforms(steps), bits.uniforms(steps))))
    return found


@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["gradient", "value"])
def test_on_a_lattice_steps_keep_the_exact_law(mechanism):
    """Also at the border, beyond which nothing is proposed that stands for a point."""
    plan = planes.plan_of(2, 8, records=12, epsilon=2, mechanism=mechanism)
    field = planes.field_of(plan, *planes.line_data(2, 12)).shifted(SeededBits(1))
    law = planes.law_of(planes.exponents(plan, field))
    points = list(law)
    chosen = np.random.default_rng(11).choice(len(points), 1500, p=list(law.values()))
    starts = [points[k] for k in chosen]
    assert p_value(walked(plan, field, starts, 4), law) > ALARM
    # steps for another rate carry such points away
    slow = replace(plan, epsilon=plan.epsilon / 4)
    assert p_value(walked(slow, field, starts, 8), law) < ALARM
