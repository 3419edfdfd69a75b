"""Quantile planes of Algorithm 1 over the library's own parts, and many draws of one law.

    kng.KNG(kng.losses.Linear(kng.losses.Pinball(tau)), norm="linf", domain=kng.domains.L1Ball(B))

A figure needs one draw of a law, which is a release. A histogram needs thousands: they are the
accepted attempts of the library's branch and bound over one cover, each with the stated law.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from kng import mechanisms
from kng.core.bits import Bits
from kng.core.boxes.covering import ShiftedField
from kng.core.parts import Field
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.quadratic import Matrix, Vector
from kng.data import open_regression
from kng.domains import L1Ball
from kng.estimators.assembled import KNG, Exponential
from kng.estimators.planned import planned
from kng.estimators.posed import Asked, posed
from kng.estimators.public_facts import Columns
from kng.losses import Linear, Pinball
from kng.norms import LInf
from kng.reproduce.constants import B
from kng.samplers.chains.metropolis import Metropolis
from kng.samplers.exact.boxes import BoxEnvelope, covers_of, log_envelope

# Boxes of a cover for many draws; far more than one draw asks for, and less than a second's work.
_BOXES = 2**12
_BOUNDS: dict[str, Any] = {"bounds_X": (-1, 1), "bounds_y": (-1, 1)}


@dataclass(frozen=True)
class Planes:
    """Records (1, x, y) with x and y in [-1, 1], and the quantile that is asked for."""

    X: Matrix
    y: Vector
    tau: Fraction

    @property
    def loss(self) -> Linear:
        """The check loss of a linear model with an intercept."""
        return Linear(Pinball(self.tau))

    def kng(self, epsilon: Fraction, bits: Bits) -> Vector:
        """Return a release by KNG in the sup norm, over the l1 ball of radius B."""
        mechanism = KNG(self.loss, norm="linf", domain=L1Ball(B))
        return self._released(mechanism, epsilon, bits)

    def exponential(self, epsilon: Fraction, bits: Bits) -> Vector:
        """Return a release by the exponential mechanism over the same ball."""
        return self._released(Exponential(self.loss, domain=L1Ball(B)), epsilon, bits)

    def kng_chain(self, chain: Metropolis, epsilon: Fraction, bits: Bits) -> Vector:
        """Return where a chain for KNG ends."""
        return self._ended(chain, self.kng_plan(epsilon), bits)

    def exponential_chain(self, chain: Metropolis, epsilon: Fraction, bits: Bits) -> Vector:
        """Return where a chain for the exponential mechanism ends."""
        plan = planned(mechanisms.Exponential(), self._problem("value"), epsilon, "auto")
        return self._ended(chain, plan, bits)

    def kng_plan(self, epsilon: Fraction) -> DensityPlan:
        """Return the plan that a release by KNG has."""
        return planned(mechanisms.KNG(), self._problem("gradient"), epsilon, "auto")

    def field(self, plan: DensityPlan) -> Field:
        """Read the records for a plan."""
        for load in plan.loaders:
            load()
        source = open_regression(self.X[:, 1:], self.y, plan.problem.records)
        return plan.read(source, [plan])[0]

    def _released(self, mechanism: KNG | Exponential, epsilon: Fraction, bits: Bits) -> Vector:
        found = mechanism.release(
            self.X[:, 1:], self.y, **_BOUNDS, epsilon=epsilon, random_state=bits
        )
        return np.asarray(found.value)

    def _problem(self, kind: str) -> Problem:
        width = self.X.shape[1] - 1
        asked = Asked(**_BOUNDS)
        setting = posed(self.loss, L1Ball(B), kind, asked, Columns(width))  # type: ignore[arg-type]
        # A release shifts responses at random by up to 2**-12, for the sake of ties: at n = 10^5 as
        # far as KNG's own noise. Laws and chains are looked at without that.
        loss = replace(setting.loss, jitter=Fraction(0))  # type: ignore[type-var]
        unit = PrivacyUnit(ReplaceOne(len(self.y)), 1)
        return Problem(loss, LInf(), setting.domain, setting.records, setting.answers, unit)

    def _ended(self, chain: Metropolis, plan: DensityPlan, bits: Bits) -> Vector:
        point = chain.draw(plan, self.field(plan), bits)
        return np.array([float(v) for v in plan.grid.theta(point)])


def drawn(plan: DensityPlan, field: Field, bits: Bits, size: int) -> Matrix:
    """Return independent draws of one law: attempts of branch and bound that are accepted."""
    if isinstance(field, ShiftedField):
        field = field.shifted(bits)
    covers, _ = covers_of(plan, field)
    for cover in covers:
        cover.refine(_BOXES)
    envelope = BoxEnvelope(plan, min(covers, key=log_envelope))
    found = np.empty((size, plan.domain.dim))
    kept = 0
    while kept < size:
        point = envelope.attempt(bits)
        if point is not None:
            found[kept] = [float(v) for v in plan.grid.theta(point)]
            kept += 1
    return found
