"""Draws from densities whose gradient is affine: least squares by KNG, in any dimension.

By rejection: proposals with a known density that is nowhere below the target, up to a constant,
until one is accepted. Which proposals are made depends on the data and changes the speed only;
those with the smallest envelope are taken.

    whole space  `envelopes.projective`  noise where records determine theta, else the base measure
                 `envelopes.long_theta`         where the data say that theta is long
    ball         `envelopes.sup_inside`      noise where records determine theta, else any point
                 `envelopes.sup_at_edge`      from a corner, if the ball's edge cuts the density

Measured figures, slow cases included: docs/sampling-regression.md.

Paper    Section 4.2, which uses a Markov chain; the remark after it for the whole space.
Privacy  docs/proofs/samplers/affine.md and corner.md: the law is the stated one whatever the data,
         in real arithmetic, hence `ideal`; the number of attempts has no public bound, hence
         `unbounded-time`.
Cost     d^3 once, then d^2 a proposal, in batches. A ball also costs a few linear programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from kng.core.bits import Bits
from kng.core.capabilities import AffineField, BallDomain, RealNorm, TailedBase
from kng.core.certificate import Certificate
from kng.core.naming import argument
from kng.core.parts import Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import Guarantee
from kng.core.quadratic import Vector
from kng.core.shapes import BoxShape, RoundShape, SumShape
from kng.samplers.real.envelopes.linear_programs import Guess, Sup, guesses, load_solver
from kng.samplers.real.envelopes.long_theta import LongTheta
from kng.samplers.real.envelopes.projective import Frame, Proposals
from kng.samplers.real.envelopes.rejection import (
    ASSUMPTIONS,
    Envelope,
    first_accepted,
    offered,
    smallest,
)
from kng.samplers.real.envelopes.sup_at_edge import SupAtEdge
from kng.samplers.real.envelopes.sup_inside import SupInside


@dataclass(frozen=True, slots=True)
class Affine:
    """Rejection with the proposals above."""

    name: ClassVar[str] = "affine"

    def refusal(self, plan: DensityPlan) -> str | None:
        """Refuse norms that it cannot draw from, and domains other than a ball and everything."""
        norm, domain = plan.problem.norm, plan.problem.domain
        known = norm.shape in {None, BoxShape(), SumShape(), RoundShape()}
        if not isinstance(norm, RealNorm) or not known:
            # Its proposals take coordinates apart, so weights and other balls are out.
            return f"The affine sampler cannot draw from the norm {described(norm)}."
        if isinstance(domain, BallDomain) and domain.base.even:
            if norm.shape == BoxShape():
                return None
            return (
                "The affine sampler draws from an l1 ball in the sup norm, not in "
                f"{described(norm)}. Use {argument('norm', 'auto')}, at most five coordinates, or "
                f"no {argument('coef_bound')}."
            )
        if not domain.bounded and isinstance(domain.base, TailedBase):
            return None
        return (
            "The affine sampler draws from an L1Ball with a uniform base, or from Whole with a "
            f"HeavyTailed one, not from {described(domain)}. Use {plan.problem.loss.remedy}; or "
            f"{argument('sampler', 'hit-and-run')}, whose guarantee is only approximate."
        )

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise a draw that is exact in real arithmetic."""
        if isinstance(plan.problem.domain, BallDomain):
            load_solver()
        return plan.certified(Certificate(self, Guarantee.IDEAL, ASSUMPTIONS))

    def draw(self, plan: DensityPlan, field: AffineField, bits: Bits) -> Point:
        """Return the lattice point nearest to the coefficients."""
        return plan.nearest(coefficients(plan, field, bits))


def coefficients(plan: DensityPlan, field: AffineField, bits: Bits) -> Vector:
    """Return a draw in real numbers."""
    return first_accepted(best(plan, field), bits)


def best(plan: DensityPlan, field: AffineField) -> Envelope:
    """Return the proposals with the smallest envelope."""
    ball = isinstance(plan.problem.domain, BallDomain)
    return smallest(_on_a_ball(plan, field) if ball else _on_the_whole_space(plan, field))


def _on_a_ball(plan: DensityPlan, field: AffineField) -> list[Envelope]:
    sup = Sup.of(plan, field)
    found = guesses(sup)
    floor = max([0.0, *(sup.level(guess.weights) for guess in found)])
    return offered(
        lambda: SupInside.splits(sup, [], floor),  # uniform points: always there
        lambda: [SupInside.best(sup, floor)],
        *(partial(_corner, sup, guess) for guess in found),
    )


def _corner(sup: Sup, guess: Guess) -> list[Envelope]:
    corner = SupAtEdge.at(sup, guess)
    return [] if corner is None else [corner]


def _on_the_whole_space(plan: DensityPlan, field: AffineField) -> list[Envelope]:
    frame = Frame.of(plan, field)
    return offered(
        lambda: [Proposals.split(frame, [])],  # the base measure: always there
        lambda: [Proposals.best(frame)],
        partial(_far, frame),
    )


def _far(frame: Frame) -> list[Envelope]:
    far = LongTheta.best(frame)
    return [] if far is None else [far]


def acceptance(plan: DensityPlan, field: AffineField, bits: Bits, size: int) -> float:
    """Return the mean acceptance probability; for tests and documentation, never for a release."""
    _, log_accept = best(plan, field).batch(bits, size)
    return float(np.exp(log_accept).mean())
