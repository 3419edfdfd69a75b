"""Draws from densities whose gradient is affine: least squares by KNG, in any dimension.

By rejection: proposals with a known density that is nowhere below the target, up to a constant,
until one is accepted. Which proposals are made depends on the data and changes the speed only;
those with the smallest envelope are taken.

    whole space  `envelopes.projective`  noise where the data see, the base measure elsewhere
                 `envelopes.long_theta`         where the data say that theta is long
    ball         `envelopes.sup_inside`      noise where the data see, any point elsewhere
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
from kng.core.errors import IncompatibleParts
from kng.core.plan import Certificate
from kng.core.privacy import Guarantee
from kng.core.protocols import BoxNorm
from kng.core.regression import (
    AffineField,
    BallDomain,
    CoefficientPlan,
    RealNorm,
    Vector,
)
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

    def certify(self, plan: CoefficientPlan) -> CoefficientPlan:
        """Promise a draw that is exact in real arithmetic."""
        if plan.score != "gradient":
            raise IncompatibleParts("The affine sampler draws KNG; use sampler='gaussian'.")
        if not isinstance(plan.problem.norm, RealNorm):
            raise IncompatibleParts(
                f"The affine sampler cannot draw from the norm {type(plan.problem.norm).__name__}."
            )
        if isinstance(plan.problem.domain, BallDomain) and not isinstance(
            plan.problem.norm, BoxNorm
        ):
            raise IncompatibleParts(
                "On a ball of coefficients KNG is drawn in the sup norm, which is the tightest "
                "there too. Use norm='auto', or coef_bound=None, or the Markov chain "
                "sampler='metropolis'."
            )
        if isinstance(plan.problem.domain, BallDomain):
            load_solver()
        return plan.certified(Certificate(self.name, Guarantee.IDEAL, ASSUMPTIONS))

    def draw(self, plan: CoefficientPlan, field: AffineField, bits: Bits) -> Vector:
        """Return coefficients in standardised units."""
        return first_accepted(best(plan, field), bits)


def best(plan: CoefficientPlan, field: AffineField) -> Envelope:
    """Return the proposals with the smallest envelope."""
    ball = isinstance(plan.problem.domain, BallDomain)
    return smallest(_on_a_ball(plan, field) if ball else _on_the_whole_space(plan, field))


def _on_a_ball(plan: CoefficientPlan, field: AffineField) -> list[Envelope]:
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


def _on_the_whole_space(plan: CoefficientPlan, field: AffineField) -> list[Envelope]:
    frame = Frame.of(plan, field)
    return offered(
        lambda: [Proposals.split(frame, [])],  # the base measure: always there
        lambda: [Proposals.best(frame)],
        partial(_far, frame),
    )


def _far(frame: Frame) -> list[Envelope]:
    far = LongTheta.best(frame)
    return [] if far is None else [far]


def acceptance(plan: CoefficientPlan, field: AffineField, bits: Bits, size: int) -> float:
    """Return the mean acceptance probability; for tests and documentation, never for a release."""
    _, log_accept = best(plan, field).batch(bits, size)
    return float(np.exp(log_accept).mean())
