"""The corridor: plan, reserve, read, draw, settle. The order of its lines is the privacy argument.

Above `reserve` nothing has been read but, under replace-one, the public number of records; so
errors may speak. Below it only the value and a content-free failure leave, and the charge stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from kng.core.bits import Bits
from kng.core.bounds import Bounds
from kng.core.certificate import Certificate, event_of, parallel, weakest
from kng.core.errors import IncompatibleParts, private_zone
from kng.core.events import Planned, Reading, Settled, tell
from kng.core.groups import Groups
from kng.core.lattice import AffineMap, Lattice
from kng.core.noise.grouped import GroupedNoise
from kng.core.noise.stored import Noisy
from kng.core.parts import Point
from kng.core.payment import BLOCKS, Ledger, charged, settle
from kng.core.privacy import Assumption, Guarantee, PrivacyEvent
from kng.core.provenance import Provenance
from kng.core.records import GroupedSource, Source
from kng.core.release import Fact, Release
from kng.core.version import __version__
from kng.samplers.registry import Plan, certified

__all__ = ["Answer", "Finish", "Stage", "certified", "release"]

# Turns what was drawn, one point per plan, into the released lattice point; post-processing.
Finish = Callable[[Sequence[Point]], Point]


@dataclass(frozen=True, slots=True)
class Answer:
    """How the released value, of each group if there are any, is to be shown: all of it public."""

    statistic: str
    lattice: Lattice
    scalar: bool
    bounds: Bounds
    details: Mapping[str, Fact]
    finish: Finish
    units: AffineMap | None = None
    noise: Noisy | None = None
    groups: Groups | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """Plans that are read together; a later stage may depend on what the earlier ones drew."""

    plans: Sequence[Plan]
    source: Source | GroupedSource


def release(stages: Sequence[Stage], answer: Answer, ledger: Ledger | None, bits: Bits) -> Release:
    """Spend the plans' epsilon once and return one private answer.

    Paper    Theorem 3.1, through the plans.
    Privacy  Charge first, read second, draw third. docs/proofs/corridor.md.
    Cost     The passes that the loss asks for, and milliseconds.
    """
    plans = [plan for stage in stages for plan in stage.plans]
    # Every group has the same plans over records of its own.
    groups: Sequence[int | None] = [None] if answer.groups is None else range(len(answer.groups))
    _refuse_unfit(stages, answer.groups)
    certificate, event = _promised(tuple(plans), len(groups), bits.seeded)
    stated = (a for stage in stages for a in stage.source.assumptions)
    assumed = tuple(dict.fromkeys((*certificate.assumptions, *stated)))
    law, lattice = plans[-1].law, answer.lattice.repeated(len(groups))
    for load in [load for plan in plans for load in plan.loaders]:
        load()
    sampler = certificate.sampler.name
    tell(Planned(answer.statistic, event.mechanism, sampler, event.guarantee, event.epsilon))
    # The time is taken here: after the draw it would tell how long that took.
    provenance = None if bits.seeded else Provenance.asked(stages[0].source.declared)
    charge = None
    if ledger is None and BLOCKS.open and not bits.seeded:
        BLOCKS.require_none_elsewhere()
    if ledger is not None:
        charge = charged(ledger, event, _parameters(plans, answer), stages[0].source.dataset)
        if charge.payload is not None:  # the same request was answered before
            return Release.from_json(charge.payload)
        provenance = provenance and provenance.charged(ledger, charge)
    tell(Reading(plans[0].problem.unit.neighbours.n))
    with private_zone():
        drawn = [_draw(stages, group, bits) for group in groups]
        integers = lattice.clamp([k for points in drawn for k in answer.finish(points)])
        noise = [None if answer.noise is None else answer.noise(points) for points in drawn]
        result = Release(
            statistic=answer.statistic,
            integers=integers,
            lattice=lattice,
            scalar=answer.scalar,
            event=event,
            sampler=sampler,
            bounds=answer.bounds,
            assumptions=assumed,
            details=answer.details,
            version=__version__,
            units=answer.units,
            law=law,
            noise=noise[0] if answer.groups is None else GroupedNoise.of(noise),
            groups=answer.groups,
            provenance=provenance,
        )
    if ledger is not None and charge is not None:
        settle(ledger, charge, result.to_json)
    tell(Settled())
    return result


def _refuse_unfit(stages: Sequence[Stage], groups: Groups | None) -> None:
    """Refuse records that may be absent or move where a plan was made for none that are or do."""
    for stage, unit in ((s, plan.problem.unit) for s in stages for plan in s.plans):
        absent = stage.source.presence != "always" and unit.presence == "always"
        # How many records a group has is private, so a plan may not know it.
        if absent or (groups is not None and unit.neighbours.n is not None):
            raise IncompatibleParts("The plan was made for records that all count and never move.")


def _draw(stages: Sequence[Stage], group: int | None, bits: Bits) -> list[Point]:
    """Stage by stage, read the records for all plans at once, then draw from each."""
    drawn: list[Point] = []
    for stage in stages:
        # A later plan may depend on what an earlier one drew, which is as public as its release.
        plans = [plan.after(drawn) for plan in stage.plans]
        source = cast("Source", stage.source)
        if group is not None:
            source = cast("GroupedSource", stage.source).group(group)
        fields = plans[0].read(source, plans)
        for plan, field in zip(plans, fields, strict=True):
            assert plan.certificate is not None  # `_promised` has seen it
            drawn.append(plan.certificate.sampler.draw(plan.given(drawn), field, bits))
    return drawn


@lru_cache(maxsize=256)
def _promised(
    plans: tuple[Plan, ...], groups: int, seeded: bool
) -> tuple[Certificate, PrivacyEvent]:
    """Return what the samplers promise together, and what it costs; the same for the same plans.

    Seeded bits turn any promise into a simulation. The guarantee is the weakest of all, the
    sampler is the one that draws last.
    """
    promises = [plan.certificate for plan in plans if plan.certificate is not None]
    if len(promises) < len(plans):
        raise IncompatibleParts("A plan must be certified by a sampler before it is released.")
    assumed = list(dict.fromkeys(a for promise in promises for a in promise.assumptions))
    guarantee = weakest([promise.guarantee for promise in promises])
    if seeded:
        rest = (a for a in assumed if a is not Assumption.RANDOM_BITS)
        guarantee, assumed = Guarantee.SIMULATION, [Assumption.SEEDED, *rest]
    certificate = Certificate(promises[-1].sampler, guarantee, tuple(assumed))
    unit = plans[0].problem.unit
    return certificate, parallel([event_of(plans, unit, guarantee)] * groups, unit)


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
            # Several quantiles one by one have one law each.
            "law": list(dict.fromkeys(str(plan.law) for plan in plans)),
        }
    )
