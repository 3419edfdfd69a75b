"""The theorem itself: four mechanisms over any loss, norm and domain that fit together.

p(theta) proportional to exp( -(epsilon / 2 Delta(theta)) || sum of scores at theta ||_K )
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from kng import mechanisms
from kng.bases import Uniform
from kng.core.delta import changes
from kng.core.errors import SpecError
from kng.core.exact import exact
from kng.core.lattice import Lattice
from kng.core.naming import argument
from kng.core.parts import Domain, Norm, Point
from kng.core.perturbed import PerturbedPlan
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.corridor import Finish
from kng.domains import Whole
from kng.estimators.assembly import Assembled, placed
from kng.estimators.mean import closest
from kng.estimators.part_options import norm_for
from kng.estimators.posed import Posed
from kng.estimators.public_facts import Kind, centre_of
from kng.estimators.record_balls import HeldRecords
from kng.losses.linear import Linear
from kng.losses.location import Location
from kng.losses.location_sum import counted
from kng.mechanisms.knorm import standard_deviations
from kng.norms import CoordinateSup


@dataclass(frozen=True)
class KNG(Assembled):
    """The K-norm gradient mechanism over a loss, a norm and a domain.

        p(theta) proportional to exp( -(epsilon / 2 Delta(theta)) || sum of scores at theta ||_K )

    Delta(theta) is the most that one record can do to the sum, in the norm. Parts that do not fit
    together are refused before any record is read. Of a caller's own part the receipt says that
    nobody has proved it.

    Parameters
    ----------
    loss : loss of `kng.losses`
        What is minimised. None only where an estimator takes the mechanism: ``mechanism=``.
    norm : "auto", "l1", "l2", "linf", or a norm of `kng.norms`
        How the sum of scores is measured. "auto" asks the loss which ball fits best.
    domain : domain of `kng.domains`
        Where theta is looked for, and its base measure. In the units of the records for locations
        and distances; effects in units of y for linear models.
    sampler : str
        "auto" takes an exact one; Markov chains only by name.

    See Also
    --------
    Exponential : the same with the loss in place of the gradient.

    Examples
    --------
    >>> import kng
    >>> half = kng.losses.Location(kng.losses.Pinball(0.5))
    >>> median = kng.KNG(half, domain=kng.domains.Box(0, 10))
    >>> median.plan(bounds=(0, 10), epsilon=1).sensitivity([5])
    1.0
    >>> answer = median.release([3, 1, 2] * 500, bounds=(0, 10), epsilon=1, granularity=1)
    >>> answer.value
    2.0
    """

    norm: Any = field(default="auto", kw_only=True)  # type: ignore[misc]
    domain: Any = field(default=None, kw_only=True)  # type: ignore[misc]
    sampler: Any = field(default="auto", kw_only=True)  # type: ignore[misc]
    name: ClassVar[str] = "kng"
    kind: ClassVar[Kind] = "gradient"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss is not None:
            self._domain()

    def _weigh(self, setting: Posed) -> mechanisms.KNG:  # noqa: ARG002
        return mechanisms.KNG()


@dataclass(frozen=True)
class Exponential(Assembled):
    """The exponential mechanism over a loss and a bounded domain.

        p(theta) proportional to exp( -(epsilon / 2 Delta) * sum of losses at theta )

    Parameters
    ----------
    loss, domain, sampler
        As for `KNG`.

    Examples
    --------
    >>> import kng
    >>> half = kng.losses.Location(kng.losses.Pinball(0.5))
    >>> median = kng.Exponential(half, domain=kng.domains.Box(0, 10))
    >>> median.plan(bounds=(0, 10), epsilon=1).sensitivity([5])
    5.0
    """

    domain: Any = field(default=None, kw_only=True)  # type: ignore[misc]
    sampler: Any = field(default="auto", kw_only=True)  # type: ignore[misc]
    name: ClassVar[str] = "exponential"
    kind: ClassVar[Kind] = "value"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.loss is not None:
            self._domain()

    def _weigh(self, setting: Posed) -> mechanisms.Exponential:  # noqa: ARG002
        return mechanisms.Exponential()


@dataclass(frozen=True)
class KNorm(Assembled):
    """K-norm noise on the sum that a mean is made of; it keeps the whole epsilon.

        released sum = sum_i x_i + u,     u with density prop. to exp( -epsilon ||u||_K / Delta )

    The answer is moved into the bounds after the draw.

    Parameters
    ----------
    loss : loss of `kng.losses`
        One whose minimiser is a mean: ``Location(Squared())``.
    norm : "auto", "l1", "l2", "linf", or a norm of `kng.norms`
        "auto" is the sup norm in units of what one record does to each coordinate of the sum. If
        ``bounds`` are a ball around 0, such as ``kng.domains.L1Ball(3, dim=2)``, it is the ball's.

    Examples
    --------
    >>> import kng
    >>> mean = kng.KNorm(kng.losses.Location(kng.losses.Squared()))
    >>> round(mean.plan(bounds=(0, 100), epsilon=1, n=1000).predicted_error, 3)
    0.141
    """

    norm: Any = field(default="auto", kw_only=True)  # type: ignore[misc]
    name: ClassVar[str] = "k-norm"
    kind: ClassVar[Kind] = "sum"

    def _domain(self) -> Domain:
        return Whole(base=Uniform())

    def _norm(self, setting: Posed, unit: PrivacyUnit) -> Norm:
        sums = getattr(setting.loss, "sums", None)
        if sums is None or not isinstance(self.norm, str) or self.norm != "auto":
            return super()._norm(setting, unit)
        if setting.held is not None:
            return setting.held.norm_for(counted(unit))
        if isinstance(setting.loss, Location):
            return closest(setting.loss, unit)
        return CoordinateSup().at(changes(sums.body(unit), unit))

    def _weigh(self, setting: Posed) -> mechanisms.KNorm:  # noqa: ARG002
        return mechanisms.KNorm()

    def _answers(self, plan: Any, setting: Posed, granularity: Any) -> tuple[Lattice, Finish]:
        answers, neighbours = setting.answers, plan.problem.unit.neighbours
        if granularity is None and isinstance(neighbours, ReplaceOne):
            answers = answers.refined(neighbours.n)
        return answers, partial(_mean, plan, answers, setting.held)

    def _predicted(self, plan: NoisePlan, setting: Posed, n: int | None) -> Any:
        found = standard_deviations(plan)
        if n is None or found is None or not isinstance(plan.problem.unit.neighbours, ReplaceOne):
            return None
        each = tuple(v / n for v in found)
        return each[0] if setting.scalar else each


@dataclass(frozen=True)
class ObjectivePerturbation(Assembled):
    """Objective perturbation: a random linear term and a ridge, then a convex solve.

        theta = argmin over Theta of  sum of losses + (gamma / 2) ||theta - c||^2 + u'theta

    Parameters
    ----------
    loss : loss of `kng.losses`
        One with a bounded curvature: ``Linear(Huber(threshold))``, or ``Linear(Squared())`` on an
        L1Ball. None only where an estimator takes the mechanism: ``mechanism=``.
    norm : "auto", "l1", "l2", "linf", or a norm of `kng.norms`
        Norm of the noise; "auto" is the sup norm.
    domain : domain of `kng.domains`, optional
        An L1Ball, or everything unless given.
    share : number, optional
        Share of epsilon that pays for the noise, between 0 and 1; the rest pays for the ridge. None
        takes the one with the smallest predicted error, 0.5 is the paper's.
    centre : array-like, optional
        A public guess of ``release.value``, which the ridge draws to.

    Examples
    --------
    >>> import kng
    >>> flat = kng.losses.Linear(kng.losses.Huber(1))
    >>> robust = kng.ObjectivePerturbation(flat, share=0.5)
    >>> robust.plan(bounds_X=(-1, 1), epsilon=1).guarantee.value
    'exact'
    """

    norm: Any = field(default="auto", kw_only=True)  # type: ignore[misc]
    domain: Any = field(default=None, kw_only=True)  # type: ignore[misc]
    share: Any = field(default=None, kw_only=True)  # type: ignore[misc]
    centre: Any = field(default=None, kw_only=True)  # type: ignore[misc]
    name: ClassVar[str] = "objective"
    kind: ClassVar[Kind] = "smooth"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.share is not None:
            share = exact(self.share, "share")
            object.__setattr__(self, "share", share)
            if not 0 < share < 1:
                raise SpecError(
                    f"{argument('share')} must lie strictly between 0 and 1, got {self.share}."
                )

    def _domain(self) -> Domain:
        domain: Domain = Whole(base=Uniform()) if self.domain is None else self.domain
        return domain

    def _norm(self, setting: Posed, unit: PrivacyUnit) -> Norm:
        return norm_for(self.norm, setting.loss, unit, bounded=True)

    def _weigh(self, setting: Posed) -> mechanisms.ObjectivePerturbation:
        centre: tuple[Fraction, ...] | None = None
        if self.centre is not None and isinstance(setting.loss, Linear):
            centre = centre_of(self.centre, setting.loss.design)
        return mechanisms.ObjectivePerturbation(self.share, centre)

    def _answers(self, plan: Any, setting: Posed, granularity: Any) -> tuple[Lattice, Finish]:  # noqa: ARG002
        return plan.lattice, partial(placed, plan)

    def _predicted(self, plan: PerturbedPlan, setting: Posed, n: int | None) -> float:  # noqa: ARG002
        mechanism = self._weigh(setting)
        return mechanism.predicted_error(plan.problem, plan.epsilon, plan.share)


def _mean(
    plan: NoisePlan, answers: Lattice, held: HeldRecords | None, drawn: Sequence[Point]
) -> Point:
    """Read the mean off a noisy sum; post-processing."""
    sums = plan.problem.loss.sums  # type: ignore[attr-defined]
    found = answers.nearest(sums.minimiser(drawn[0], plan.problem))
    return found if held is None else held.pulled(found, answers)
