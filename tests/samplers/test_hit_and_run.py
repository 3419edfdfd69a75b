"""The chain on lattices: its steps keep exact laws, it starts anywhere, and it shifts records.

A chain of fixed length has no law to test. Points drawn from the exact law and moved by some steps
still have it; with steps for another rate they do not. False-alarm rate 1e-6 a test, seeds fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from samplers import test_branch_and_bound as planes
from samplers import test_curved as distances
from samplers.laws import ALARM, p_value

from kng.core.bits import Bits, SeededBits
from kng.core.parts import Field, Point
from kng.core.plan import DensityPlan
from kng.mechanisms import Exponential
from kng.norms import LInf
from kng.samplers.chains.hit_and_run import HitAndRun, _step
from kng.samplers.chains.target import Cells, walk_of


def plane(**facts) -> tuple[DensityPlan, Field]:
    plan = planes.plan_of(2, 8, records=12, **facts)
    return plan, planes.field_of(plan, *planes.line_data(2, 12))


def distance(**facts) -> tuple[DensityPlan, Field]:
    plan = distances.plan_of((12, 10), records=12, **facts)
    return plan, distances.field_of(plan, distances.cloud((12, 10), 12))


CASES = {
    "quantile plane": lambda: plane(epsilon=4, tau=Fraction(3, 4)),
    "quantile plane, exponential": lambda: plane(epsilon=8, mechanism=Exponential()),
    "distance": lambda: distance(epsilon=1),
    "distance, sup norm": lambda: distance(epsilon=2, norm=LInf()),
}


def moved(plan: DensityPlan, field: Field, starts: list[Point], steps: int) -> list[Point]:
    """Return where so many steps lead from a place in the cell of each point."""
    walk, bits, found = walk_of(plan, field), SeededBits(12), []
    assert isinstance(walk, Cells)
    for point in starts:
        theta = np.array(point) + bits.uniforms(len(point)) - 0.5
        height = walk.log_density(theta)
        for _ in range(steps):
            theta, height = _step(walk, theta, height, bits)
        assert plan.domain.contains(walk.nearest(theta))
        found.append(walk.nearest(theta))
    return found


def starts_of(law: dict[Point, float], size: int) -> list[Point]:
    """Return independent draws of a law."""
    points = list(law)
    chosen = np.random.default_rng(11).choice(len(points), size, p=list(law.values()))
    return [points[i] for i in chosen]


@pytest.mark.parametrize("case", CASES)
def test_steps_keep_the_exact_law(case):
    plan, field = CASES[case]()
    law = distances.law_of(planes.exponents(plan, field))
    starts = starts_of(law, 1500)
    there = moved(plan, field, starts, 2)
    assert np.mean([a != b for a, b in zip(starts, there, strict=True)]) > 0.5  # it does move
    assert p_value(there, law) > ALARM
    # Steps for another rate carry the same points away.
    slow = replace(plan, epsilon=plan.epsilon / 3)
    assert p_value(moved(slow, field, starts, 2), law) < ALARM


def test_steps_lead_from_a_corner_to_the_exact_law():
    """All chains start in one corner, where there is hardly any mass."""
    plan, field = CASES["distance"]()
    law = distances.law_of(planes.exponents(plan, field))
    corners = [plan.domain.first] * 1000
    assert p_value(moved(plan, field, corners, 16), law) > ALARM
    assert p_value(moved(plan, field, corners, 1), law) < ALARM


@dataclass(frozen=True)
class Peak:
    """A score that is 0 at one point and large elsewhere; a shift moves the point."""

    top: Point

    def score(self, theta: Point) -> Fraction:
        return Fraction(1000 * sum(abs(a - b) for a, b in zip(theta, self.top, strict=True)))

    def shifted(self, bits: Bits) -> Peak:
        return Peak(tuple(k + 2 + bits.take(1) for k in self.top))


def test_records_are_shifted_before_the_chain_starts():
    plan, _ = CASES["distance"]()
    drawn = HitAndRun().draw(plan, Peak((2, 4)), SeededBits(1))
    assert drawn == Peak((2, 4)).shifted(SeededBits(1)).top
