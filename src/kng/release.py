"""The corridor: plan, reserve, read, draw, settle. The order of its lines is the privacy argument.

Above `reserve` nothing has been read but, under replace-one, the public number of records; so
errors may speak. Below it only the value and a content-free failure can leave, and the charge
stays whatever happens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kng.core.bits import Bits
from kng.core.bounds import Bounds
from kng.core.errors import IncompatibleParts, LedgerError, PrivateZoneError, private_zone
from kng.core.lattice import Lattice
from kng.core.plan import Certificate, DensityPlan, NoisePlan, Plan, event_of
from kng.core.privacy import Assumption, Guarantee
from kng.core.protocols import Charge, Ledger, Point, Source
from kng.core.released import Release
from kng.core.version import __version__
from kng.samplers import Noise, Order

# Turns what was drawn, one point per plan, into the released lattice point; post-processing.
Finish = Callable[[Sequence[Point]], Point]


@dataclass(frozen=True, slots=True)
class Answer:
    """How the released value is to be shown: all of it public."""

    statistic: str
    lattice: Lattice
    scalar: bool
    bounds: Bounds
    details: Mapping[str, str]
    finish: Finish


def certified(plan: Plan, sampler: str = "auto") -> Plan:
    """Give the plan to the sampler that serves it, or refuse and name what would.

    Parameters
    ----------
    plan : Plan
        What is to be drawn.
    sampler : str
        ``"auto"``, or an exact sampler by name.
    """
    if isinstance(plan, NoisePlan):
        if sampler not in {"auto", Noise.name}:
            raise IncompatibleParts(_refusal(sampler, plan.mechanism, Noise.name))
        return Noise().certify(plan)
    if sampler not in {"auto", Order.name}:
        raise IncompatibleParts(_refusal(sampler, plan.mechanism, Order.name))
    return Order().certify(plan)


def _refusal(sampler: str, mechanism: str, fitting: str) -> str:
    return (
        f"sampler={sampler!r} does not serve mechanism={mechanism!r} here; use "
        f"sampler={fitting!r} or leave it at 'auto'."
    )


def release(
    plans: Sequence[Plan], answer: Answer, source: Source, ledger: Ledger | None, bits: Bits
) -> Release:
    """Spend the plans' epsilon once and return one private answer.

    Paper    Theorem 3.1, through the plans.
    Privacy  Charge first, read second, draw third. docs/proofs/corridor.md.
    Cost     The passes that the loss asks for, and milliseconds.
    """
    certificate = _certificate(plans, bits)
    event = event_of(tuple(plans), certificate.guarantee)
    parameters = _parameters(plans, answer)
    charge = None if ledger is None else ledger.reserve(event, parameters=parameters)
    with private_zone():
        integers = answer.lattice.clamp(answer.finish(_draw(plans, source, bits)))
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
    """Return what the samplers promise; seeded bits turn any promise into a simulation."""
    certificate = plans[0].certificate
    if certificate is None or any(plan.certificate is None for plan in plans):
        raise IncompatibleParts("A plan must be certified by a sampler before it is released.")
    if not bits.seeded:
        return certificate
    rest = tuple(a for a in certificate.assumptions if a is not Assumption.RANDOM_BITS)
    return Certificate(certificate.sampler, Guarantee.SIMULATION, (Assumption.SEEDED, *rest))


def _draw(plans: Sequence[Plan], source: Source, bits: Bits) -> list[Point]:
    """Read the records for all plans at once, then draw from each."""
    loss: Any = plans[0].problem.loss
    noisy = [plan for plan in plans if isinstance(plan, NoisePlan)]
    if noisy:
        return [Noise().draw(plan, loss.read_sum(source, plan), bits) for plan in noisy]
    weighed = [plan for plan in plans if isinstance(plan, DensityPlan)]
    read = loss.read_gradient if weighed[0].score == "gradient" else loss.read_value
    fields = read(source, weighed)
    return [Order().draw(plan, field, bits) for plan, field in zip(weighed, fields, strict=True)]


def _parameters(plans: Sequence[Plan], answer: Answer) -> str:
    """Return the public description that the ledger keeps with the charge."""
    return json.dumps(
        {
            "statistic": answer.statistic,
            "mechanism": plans[0].mechanism,
            "low": [str(low) for low in answer.bounds.low],
            "high": [str(high) for high in answer.bounds.high],
            "columns": answer.bounds.columns,
            "version": __version__,
            **answer.details,
        }
    )
