"""The K-norm gradient mechanism."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from kng.core.capabilities import AffineLoss, BallDomain, FactoredLoss
from kng.core.delta import Delta, changes
from kng.core.errors import IncompatibleParts
from kng.core.parts import Standing, described, standing_of
from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.core.regions import Region
from kng.core.shapes import RoundShape


@dataclass(frozen=True, slots=True)
class KNG:
    """Weigh theta by the size of the sum of scores there.

        p(theta) proportional to exp( -(epsilon / 2 Delta(theta)) * || sum_i g(x_i, theta) ||_K )

    Delta is the one at theta. Only on an l1 ball, where scores grow with theta without end, it is
    the largest over the ball, as in the paper. A norm that follows what one record can change is
    the one at theta. On the whole space a ridge of the order of the noise keeps directions without
    data in range; it is public and moves with no record.

    Paper    Theorem 3.1. It asks for integrability of exp(-score); what is needed is that of
             exp(-(epsilon/2) score), which a bounded Theta or a proper base measure gives.
    Privacy  Fact A: any per-record function g with a public bound Delta on its change.
             docs/proofs/mechanisms/density.md.
    Cost     The plan is arithmetic on public numbers.
    """

    name: ClassVar[str] = "kng"

    def plan(self, problem: Problem, epsilon: Fraction) -> DensityPlan:
        """Fix the density before the charge."""
        loss, domain, unit = problem.loss, problem.domain, problem.unit
        refused = domain.refusal()
        if refused is not None:
            raise IncompatibleParts(
                f"KNG of {described(loss)}: {refused} For a mean, KNorm needs no base measure."
            )
        problem.refuse_norm(loss.dim)
        region = domain.region()
        if domain.bounded and problem.norm.follows:
            body = loss.body(region)
            common = changes(loss.smallest(region), unit)
            if all(piece in common for piece in changes(body, unit)):
                problem = problem.fitted(body)  # one norm serves every theta
            elif standing_of(loss) is Standing.CALLERS:
                raise IncompatibleParts(
                    f"{described(problem.norm)} is fitted to {described(loss)} at every theta, and "
                    "nobody has proved that what a record can change spans the space there. Use "
                    "LInf."
                )
            else:
                _refuse_unfitted(problem, region)
        delta = Delta(problem.norm, unit, loss.body, loss.smallest)
        if domain.bounded and isinstance(problem.norm.shape, RoundShape):
            problem = problem.rounded(delta.over(region))
            delta = replace(delta, norm=problem.norm)
        grows = not (isinstance(loss, FactoredLoss) and loss.factor is not None)
        largest = isinstance(domain, BallDomain) and grows
        if domain.bounded and problem.norm.follows and standing_of(problem.norm) is Standing.PROVED:
            steady: Fraction | None = Fraction(1)  # in the norm that is fitted at each theta
        else:
            steady = delta.over(region) if largest else delta.steady(region)
        ridge = _ridge(problem, epsilon)
        return DensityPlan(problem, epsilon, self.name, "gradient", delta, steady, ridge)


def _refuse_unfitted(problem: Problem, region: Region) -> None:
    """Fit the norm at both ends of a region: what it refuses there must not wait for a draw.

    A loss may reach alike on both sides of a theta in the middle, and has an easier hull there.
    """
    for end in (region.low, region.high):
        assert end is not None  # the domain is bounded
        problem.fitted(problem.loss.body(Region.between(end, end)))


def _ridge(problem: Problem, epsilon: Fraction) -> Fraction:
    """Return s (d + 1) k / (2 epsilon) on the whole space, 0 on a bounded domain."""
    loss, unit = problem.loss, problem.unit
    growth = loss.growth(unit) if isinstance(loss, AffineLoss) else None
    if problem.domain.bounded or growth is None:
        return Fraction(0)
    return growth * (loss.dim + 1) * unit.rows / (2 * epsilon)
