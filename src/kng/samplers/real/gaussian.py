"""Draws from a Gaussian cut to the l1 ball: least squares by the exponential mechanism.

    density proportional to exp( -(theta - theta_hat)' P (theta - theta_hat) / 2 )

with P = (rate / Delta) A, by rejection from the smallest of several envelopes:

    `envelopes.gaussian_inside`  noise where records determine theta, any point elsewhere
    `envelopes.gaussian_at_edge`     from a corner, if the ball's edge cuts the density

Paper    Proposition 2.2 in the linear regression of section 4.3, drawn without a chain.
Privacy  docs/proofs/samplers/corner.md: rejection from an envelope, in real arithmetic.
Cost     d^3 once, then d^2 a proposal, in batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.capabilities import AffineField, BallDomain
from kng.core.certificate import Certificate
from kng.core.naming import argument
from kng.core.parts import Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import Guarantee
from kng.core.quadratic import Vector
from kng.samplers.real.envelopes.gaussian_at_edge import Anchor, anchors
from kng.samplers.real.envelopes.gaussian_inside import Form, GaussianInside
from kng.samplers.real.envelopes.rejection import (
    ASSUMPTIONS,
    Envelope,
    first_accepted,
    offered,
    smallest,
)
from kng.samplers.real.space import Scale


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Rejection with Gaussian strong coordinates, or from a corner of the ball."""

    name: ClassVar[str] = "gaussian"

    def refusal(self, plan: DensityPlan) -> str | None:
        """Refuse domains other than a ball."""
        domain = plan.problem.domain
        if isinstance(domain, BallDomain) and domain.base.even:
            return None
        return (
            f"The gaussian sampler draws from a uniform L1Ball, not from {described(domain)}. Use "
            f"{plan.problem.loss.remedy}; or {argument('sampler', 'hit-and-run')}, which is only "
            "approximate."
        )

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise a draw that is exact in real arithmetic."""
        return plan.certified(Certificate(self, Guarantee.IDEAL, ASSUMPTIONS))

    def draw(self, plan: DensityPlan, field: AffineField, bits: Bits) -> Point:
        """Return the lattice point nearest to the coefficients."""
        return plan.nearest(coefficients(plan, field, bits))


def coefficients(plan: DensityPlan, field: AffineField, bits: Bits) -> Vector:
    """Return a draw in real numbers."""
    return first_accepted(best(plan, field), bits)


def best(plan: DensityPlan, field: AffineField) -> Envelope:
    """Return the proposals with the smallest envelope, a ball's corner among them."""
    domain = plan.problem.domain
    assert isinstance(domain, BallDomain)
    factor, radius = float(plan.rate) / Scale.of(plan).bound, float(domain.l1_radius)
    precision, vector = factor * field.matrix, factor * field.vector
    points = anchors(precision, vector, radius)
    # Numbers are smallest around 0, and largest around an estimate that lies far outside.
    forms = [
        Form(precision, vector, radius, np.zeros(len(vector))),
        *(Form(precision, vector, radius, anchor.point) for anchor in points[:1]),
        Form.around_the_estimate(precision, vector, radius),
    ]
    return smallest(
        offered(
            lambda: GaussianInside.splits(forms[0], [], 0.0),  # uniform points: always there
            *(partial(_ellipsoid, form, points) for form in forms),
            *(anchor.proposals for anchor in points),
        )
    )


def _ellipsoid(form: Form, points: list[Anchor]) -> list[Envelope]:
    return [GaussianInside.best(form, points)]
