"""The corridor: plan, reserve, read, draw, settle. The order of its lines is the privacy argument.

Above `reserve` nothing has been read but, under replace-one, the public number of records; so
errors may speak. Below it only the value and a content-free failure can leave, and the charge
stays whatever happens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from kng.core.bits import Bits
from kng.core.bounds import Bounds
from kng.core.errors import (
    IncompatibleParts,
    LedgerError,
    PrivateZoneError,
    SpecError,
    private_zone,
)
from kng.core.lattice import AffineMap, Lattice
from kng.core.plan import Certificate, DensityPlan, NoisePlan, event_of
from kng.core.privacy import Assumption, Guarantee
from kng.core.protocols import (
    Charge,
    CurvedLoss,
    Ledger,
    PlaneLoss,
    Point,
    PreparedLoss,
    Sampler,
    Source,
)
from kng.core.regression import AdaptivePlan, CoefficientPlan, FitPlan, PerturbedPlan, Plan
from kng.core.release import Fact, Release
from kng.core.version import __version__
from kng.samplers.exact.line import Order
from kng.samplers.exact.noise import Noise

# Every sampler there is, whatever it serves.
_NAMES = (
    *("auto", "affine", "branch-and-bound", "gaussian", "hit-and-run", "metropolis", "noise"),
    *("order", "perturbed"),
)

# Turns what was drawn, one point per plan, into the released lattice point; post-processing.
Finish = Callable[[Sequence[Point]], Point]


@dataclass(frozen=True, slots=True)
class Answer:
    """How the released value is to be shown: all of it public."""

    statistic: str
    lattice: Lattice
    scalar: bool
    bounds: Bounds
    details: Mapping[str, Fact]
    finish: Finish
    units: AffineMap | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """Plans that are read together; a later stage may depend on what the earlier ones drew."""

    plans: Sequence[Plan]
    source: Source


P = TypeVar("P", bound=Plan)


def certified(plan: P, sampler: str = "auto") -> P:
    """Give the plan to the sampler that serves it, or refuse and name what would.

    Parameters
    ----------
    plan : Plan
        What is to be drawn.
    sampler : str
        ``"auto"``, or a sampler by name. Markov chains are never chosen, only named.
    """
    fitting = _samplers(plan)
    if not isinstance(sampler, str) or sampler not in _NAMES:
        raise SpecError(
            f"sampler must be one of {', '.join(map(repr, ('auto', *fitting)))}; got {sampler!r}."
        )
    if sampler != "auto" and sampler not in fitting:
        raise IncompatibleParts(
            f"sampler={sampler!r} does not serve mechanism={plan.mechanism!r} here; use "
            f"{' or '.join(repr(name) for name in fitting)}, or leave it at 'auto'."
        )
    chosen = next(iter(fitting)) if sampler == "auto" else sampler
    result: P = fitting[chosen].certify(plan)
    return result


def _samplers(plan: Plan) -> dict[str, Sampler]:
    """Return the samplers that serve a plan; the first is the one to take."""
    serving: tuple[Sampler, ...]
    match plan:
        case NoisePlan():
            serving = (Noise(),)
        case DensityPlan() if isinstance(plan.problem.loss, CurvedLoss | PlaneLoss):
            serving = _plane_samplers()
        case DensityPlan():
            serving = (Order(),)
        case CoefficientPlan() | PerturbedPlan() | AdaptivePlan():
            serving = _regression_samplers(plan)
    return {sampler.name: sampler for sampler in serving}


def _plane_samplers() -> tuple[Sampler, ...]:
    # Imported here: numba takes longer to load than a median takes to draw.
    from kng.samplers.chains.hit_and_run import HitAndRun
    from kng.samplers.exact.boxes import BranchAndBound

    return (BranchAndBound(), HitAndRun())


def _regression_samplers(plan: FitPlan) -> tuple[Sampler, ...]:
    # Imported here: SciPy takes longer to load than a median takes to draw.
    from kng.samplers.chains.hit_and_run import HitAndRun
    from kng.samplers.chains.metropolis import Metropolis
    from kng.samplers.exact.objective import Perturbed
    from kng.samplers.real.affine import Affine
    from kng.samplers.real.gaussian import Gaussian

    if not isinstance(plan, CoefficientPlan):
        return (Perturbed(),)
    certified_one = Affine() if plan.score == "gradient" else Gaussian()
    return (certified_one, HitAndRun(), Metropolis())


def release(stages: Sequence[Stage], answer: Answer, ledger: Ledger | None, bits: Bits) -> Release:
    """Spend the plans' epsilon once and return one private answer.

    Paper    Theorem 3.1, through the plans.
    Privacy  Charge first, read second, draw third. docs/proofs/corridor.md.
    Cost     The passes that the loss asks for, and milliseconds.
    """
    plans = [plan for stage in stages for plan in stage.plans]
    certificate = _certificate(plans, bits)
    event = event_of(plans, plans[0].problem.unit, certificate.guarantee)
    parameters = _parameters(plans, answer)
    samplers = [[_sampler(plan) for plan in stage.plans] for stage in stages]
    for loss in {type(plan.problem.loss): plan.problem.loss for plan in plans}.values():
        if isinstance(loss, PreparedLoss):
            loss.prepare()
    charge = None if ledger is None else ledger.reserve(event, parameters=parameters)
    with private_zone():
        integers = answer.lattice.clamp(answer.finish(_draw(stages, samplers, bits)))
        result = Release(
            statistic=answer.statistic,
            integers=integers,
            lattice=answer.lattice,
            scalar=answer.scalar,
            event=event,
            sampler=certificate.sampler,
            bounds=answer.bounds,
            assumptions=certificate.assumptions,
            details=answer.details,
            version=__version__,
            units=answer.units,
        )
    if ledger is not None and charge is not None:
        _settle(ledger, charge, result)
    return result


def _settle(ledger: Ledger, charge: Charge, result: Release) -> None:
    """Store the release; a ledger that fails now has been charged already."""
    try:
        ledger.settle(charge, result.to_json())
    except LedgerError as error:
        raise PrivateZoneError(
            f"The release was charged, but the ledger could not store it: {error} The charge stays."
        ) from None


def _certificate(plans: Sequence[Plan], bits: Bits) -> Certificate:
    """Return what the samplers promise together; seeded bits turn any promise into a simulation.

    The guarantee is the weakest of them, the sampler is the one that draws last.
    """
    promises = [plan.certificate for plan in plans if plan.certificate is not None]
    if len(promises) < len(plans):
        raise IncompatibleParts("A plan must be certified by a sampler before it is released.")
    assumed = list(dict.fromkeys(a for promise in promises for a in promise.assumptions))
    guarantee = max((promise.guarantee for promise in promises), key=list(Guarantee).index)
    if bits.seeded:
        rest = (a for a in assumed if a is not Assumption.RANDOM_BITS)
        guarantee, assumed = Guarantee.SIMULATION, [Assumption.SEEDED, *rest]
    return Certificate(promises[-1].sampler, guarantee, tuple(assumed))


def _sampler(plan: Plan) -> Sampler:
    """Return the sampler that certified a plan; whatever it needs is loaded by now."""
    assert plan.certificate is not None
    name = plan.certificate.sampler
    # Only one sampler has this name; to ask what else serves the plan takes longer than to draw.
    return Order() if name == Order.name else _samplers(plan)[name]


def _draw(
    stages: Sequence[Stage], samplers: Sequence[Sequence[Sampler]], bits: Bits
) -> list[Point]:
    """Stage by stage, read the records for all plans at once, then draw from each."""
    drawn: list[Point] = []
    for stage, serving in zip(stages, samplers, strict=True):
        # A later plan may depend on what an earlier one drew, which is as public as its release.
        plans = [_after(plan, drawn) for plan in stage.plans]
        for plan, sampler, field in zip(plans, serving, _read(plans, stage.source), strict=True):
            known = plan.given(drawn) if isinstance(plan, DensityPlan) else plan
            drawn.append(_draw_one(known, sampler, field, bits))
    return drawn


def _after(plan: Plan, drawn: Sequence[Point]) -> Plan:
    """Return a plan once the stages before it are drawn."""
    if drawn and isinstance(plan, DensityPlan | AdaptivePlan):
        return plan.after(drawn)
    return plan


def _read(plans: Sequence[Plan], source: Source) -> list[Any]:
    """Let the loss read what its plans need; several quantiles share their passes."""
    first, loss = plans[0], plans[0].problem.loss
    match first:
        case NoisePlan():
            return [loss.read_sum(source, plan) for plan in plans]
        case DensityPlan(score="gradient"):
            return list(loss.read_gradient(source, plans))
        case DensityPlan():
            return list(loss.read_value(source, plans))
        case CoefficientPlan():
            return [loss.read_affine(source, first.problem.design)]
        case PerturbedPlan():
            problem = first.problem
            return [loss.read_smooth(source, problem.design, problem.unit.neighbours)]
        case AdaptivePlan():
            raise AssertionError("an adaptive plan is read as what earlier draws make of it")


def _draw_one(plan: Plan, sampler: Sampler, field: Any, bits: Bits) -> Point:
    drawn = sampler.draw(plan, field, bits)
    if isinstance(plan, CoefficientPlan):
        # Coefficients are floats up to here; what leaves is the nearest lattice point.
        return plan.lattice.nearest([Fraction(v) for v in drawn])
    point: Point = drawn
    return point


def _parameters(plans: Sequence[Plan], answer: Answer) -> str:
    """Return the public description that the ledger keeps with the charge."""
    return json.dumps(
        {
            "statistic": answer.statistic,
            "mechanism": plans[-1].mechanism,
            "low": [str(low) for low in answer.bounds.low],
            "high": [str(high) for high in answer.bounds.high],
            "columns": answer.bounds.columns,
            "version": __version__,
            **answer.details,
        }
    )
