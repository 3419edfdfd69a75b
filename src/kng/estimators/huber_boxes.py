"""Huber's loss over a box of coefficients, weighed by its gradient or its value."""

from __future__ import annotations

from fractions import Fraction

from kng.core.design import Design
from kng.core.parts import Domain
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.core.records import USUAL_MEMORY
from kng.estimators.part_options import norm_for
from kng.estimators.planned import planned
from kng.estimators.public_facts import Kind, on_effects
from kng.estimators.request import Way
from kng.losses.linear import Linear
from kng.losses.pointwise.huber import Huber
from kng.mechanisms import KNG, Exponential

# What the mechanisms weigh that draw from a box.
_WEIGHED: dict[str, tuple[Kind, KNG | Exponential]] = {
    "kng": ("gradient", KNG()),
    "exponential": ("value", Exponential()),
}


def boxed_plan(
    way: Way,
    design: Design,
    domain: Domain,
    epsilon: Fraction,
    unit: PrivacyUnit,
    *,
    memory: int = USUAL_MEMORY,
) -> DensityPlan:
    """Plan a draw from a box; ``design`` has the threshold as the unit of y."""
    kind, weigh = _WEIGHED[way.name]
    linear = Linear(Huber(design.half_y), intercept=design.intercept)
    loss, known, answers = on_effects(linear, design, domain, kind)
    norm = norm_for(way.norm, loss, unit, bounded=known.bounded)
    problem = Problem(loss, norm, known, design.records, answers, unit, memory)
    return planned(weigh, problem, epsilon, way.sampler)
