"""Regressions on tiny lattices of coefficients, over records that are whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from kng.audit.oracle import unit_of
from kng.audit.universe import Record
from kng.core.bounds import Bounds
from kng.core.lattice import Lattice
from kng.core.parts import Norm
from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.corridor import certified
from kng.domains import Box
from kng.losses import Linear
from kng.losses.linear_encoding import linear_design
from kng.norms import LInf

# Bounds of the covariate and of the response.
END = 8
# Corners, both sides of every plane, records on planes of the lattice (ties), one to be clipped.
RECORDS: tuple[Record, ...] = ((8, 8), (-8, 8), (8, -8), (8, 3), (-8, 0), (0, -8), (30, -2))


@dataclass(frozen=True, slots=True)
class Plane:
    """A line y = a + b x by a pointwise loss; coefficients -bound, ..., bound in units of y."""

    pointwise: Any
    mechanism: Any
    relation: str
    epsilon: Fraction = Fraction(1)
    records_per_person: int = 1
    reach: int = 4
    bound: Fraction = Fraction(1, 2)
    norm: Norm = field(default_factory=LInf)

    def plan(self, n: int) -> DensityPlan:
        """Return production's plan for n records."""
        end = Fraction(END)
        design = linear_design(self.pointwise, True, Bounds((-end,), (end,)), (-end, end))
        bound, d = self.bound, design.dim
        answers = Lattice((-bound,) * d, (bound / self.reach,) * d, (2 * self.reach,) * d)
        loss = Linear(self.pointwise, intercept=True).over(design, answers)
        unit = unit_of(self.relation, n, self.records_per_person)
        problem = Problem(loss, self.norm, Box.of(answers), design.records, answers, unit)
        plan = certified(self.mechanism.plan(problem, self.epsilon))
        assert isinstance(plan, DensityPlan)
        return plan
