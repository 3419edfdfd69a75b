"""Exact laws of tiny problems, and their largest privacy loss over all neighbours.

The oracle asks the production parts for everything that carries privacy (records through the
ingestion door, fields, scores, sensitivities, exponents) and computes only what production never
computes: normalisers and ratios. Scores and exponents are exact fractions; exp and log are enclosed
by Arb at ``PRECISION`` bits, so a verdict is a proof for the universe that it looked at and has no
statistical error.

Records are tuples of whole steps and theta is a tuple too, so that a problem with several columns
or coordinates only needs a field that scores tuples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from flint import arb, ctx, fmpq

from kng.audit.universe import ABSENT, REPLACE, Dataset, Pairs, pairs
from kng.bases import Uniform
from kng.core.bounds import Bounds
from kng.core.delta import Delta
from kng.core.encoding import Encoding
from kng.core.parts import Norm, Point
from kng.core.plan import DensityPlan, NoisePlan
from kng.core.privacy import AddRemove, Neighbours, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Source
from kng.core.regions import Region
from kng.corridor import certified
from kng.data import open_source
from kng.domains import Box, Whole
from kng.norms import LInf

# Far more than any float: an audit that comes out at epsilon + 1e-60 must not be waved through.
PRECISION = 256


# --- what is asked -------------------------------------------------------------------------------


def encoding(last: Point, missing: int | None = 0) -> Encoding:
    """Return columns with bounds 0 .. last and steps of one: records are their own integers.

    What is missing counts as a number, or is absent.
    """
    low, high = (0,) * len(last), last
    bounds = Bounds(tuple(map(Fraction, low)), tuple(map(Fraction, high)))
    return Encoding(bounds, (Fraction(1),) * len(last), (missing,) * len(last))


def unit_of(
    relation: str,
    n: int,
    records_per_person: int = 1,
    presence: Literal["always", "optional"] = "always",
) -> PrivacyUnit:
    """Return who is protected in n records (n matters under replace-one only)."""
    neighbours: Neighbours = ReplaceOne(max(n, 1)) if relation == REPLACE else AddRemove()
    return PrivacyUnit(neighbours, records_per_person, presence)


class Asked(Protocol):
    """What an audit asks: a plan for n records, and which datasets are neighbours."""

    @property
    def relation(self) -> str:
        """The name of the relation."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """What may be lost."""
        ...

    @property
    def records_per_person(self) -> int:
        """How many records change together."""
        ...

    def plan(self, n: int) -> DensityPlan:
        """Return the certified plan."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """One mechanism on one loss of columns, with everything public that its plan needs."""

    loss: Any
    mechanism: Any
    relation: str
    epsilon: Fraction
    last: Point
    records_per_person: int = 1
    norm: Norm = field(default_factory=LInf)
    presence: Literal["always", "optional"] = "always"

    @property
    def first(self) -> Point:
        """The least record."""
        return (0,) * len(self.last)

    def problem(self, n: int, domain: Any = None) -> Problem:
        """Return the problem for n records."""
        records = encoding(self.last, 0 if self.presence == "always" else None)
        return Problem(
            self.loss.over(records),
            self.norm,
            domain or Box.of(records.lattice),
            records,
            records.lattice,
            unit_of(self.relation, n, self.records_per_person, self.presence),
        )

    def plan(self, n: int) -> DensityPlan:
        """Return the certified plan of a density mechanism."""
        plan = certified(self.mechanism.plan(self.problem(n), self.epsilon))
        assert isinstance(plan, DensityPlan)
        return plan

    def noise_plan(self, n: int) -> NoisePlan:
        """Return the certified plan of additive noise on the sum."""
        problem = self.problem(n, Whole(len(self.last), base=Uniform()))
        plan = certified(self.mechanism.plan(problem, self.epsilon))
        assert isinstance(plan, NoisePlan)
        return plan


# --- exact laws ----------------------------------------------------------------------------------


def ball(number: Fraction | int) -> arb:
    """Return a ball around a rational number at the precision in force."""
    number = Fraction(number)
    return arb(fmpq(number.numerator, number.denominator))


def ends(value: arb) -> tuple[Fraction, Fraction]:
    """Return a rational enclosure of a ball."""

    def rational(end: arb) -> Fraction:
        mantissa, exponent = end.man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

    return rational(value.lower()), rational(value.upper())


def source_of(dataset: Dataset, records: Encoding) -> Source:
    """Open a dataset through the production door, so that clipping is part of the audit."""
    lacking = (math.nan,) * len(records)
    cells = [lacking if record == ABSENT else record for record in dataset]
    array = np.array(cells, dtype=np.float64).reshape(len(dataset), len(records))
    return open_source(array, records)


def field_of(plan: DensityPlan | NoisePlan, dataset: Dataset) -> Any:
    """Return the field that production would draw from."""
    return plan.read(source_of(dataset, plan.problem.records), [plan])[0]


def points(plan: DensityPlan) -> Iterator[Point]:
    """Yield the whole lattice of theta."""
    sides = zip(plan.domain.first, plan.domain.last, strict=True)
    return product(*(range(a, b + 1) for a, b in sides))


def exponents(plan: DensityPlan, dataset: Dataset) -> list[Fraction]:
    """Return gamma at every lattice point, exactly, from the production field and plan."""
    scores = field_of(plan, dataset)
    return [plan.exponent(theta, scores.score(theta)) for theta in points(plan)]


def pmf(gammas: Sequence[Fraction]) -> list[arb]:
    """Return exp(-gamma) / Z; call inside ``ctx.workprec``."""
    weights = [(-ball(gamma)).exp() for gamma in gammas]
    z = sum(weights, arb(0))
    return [weight / z for weight in weights]


# --- verdicts ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Verdict:
    """The largest privacy loss that was found, enclosed, and where it was found."""

    epsilon: Fraction
    low: Fraction
    high: Fraction
    spread: Fraction  # largest range of the log ratio of one pair, an upper bound
    witness: tuple[Dataset, Dataset]

    @property
    def tightness(self) -> float:
        """Share of epsilon that is really used."""
        return float(self.low / self.epsilon)

    @property
    def private(self) -> bool:
        """Whether the loss is certainly at most epsilon."""
        return self.high <= self.epsilon

    @property
    def broken(self) -> bool:
        """Whether the loss is certainly above epsilon; not the negation of `private`."""
        return self.low > self.epsilon


def audit(
    setting: Asked,
    universe: tuple[Dataset, ...],
    *,
    plan_of: Callable[[int], DensityPlan] | None = None,
) -> Verdict:
    """Return the largest loss of exp(-gamma) / Z over all neighbours of a universe.

    log p(theta) - log p'(theta) = gamma' - gamma + log Z' - log Z: the first difference is an
    exact fraction, so per pair only its two extremes meet the enclosed normalisers, and the range
    of the log ratio is exact.
    """
    plan_of = plan_of or setting.plan
    plans = {n: plan_of(n) for n in {len(d) for d in universe}}
    gammas = {d: exponents(plans[len(d)], d) for d in universe}
    scale = math.lcm(*{g.denominator for row in gammas.values() for g in row})
    whole = {d: np.array([int(g * scale) for g in row], dtype=object) for d, row in gammas.items()}
    with ctx.workprec(PRECISION):
        log_z = {d: sum(((-ball(g)).exp() for g in row), arb(0)).log() for d, row in gammas.items()}
        worst, spread, witness = arb(0), Fraction(0), None
        for a, b in pairs(universe, setting.relation, setting.records_per_person):
            difference = whole[b] - whole[a]
            top, bottom = Fraction(difference.max(), scale), Fraction(difference.min(), scale)
            shift = log_z[b] - log_z[a]
            loss = (ball(top) + shift).max(-(ball(bottom) + shift))
            if witness is None or not loss <= worst:
                worst, witness = loss.max(worst), (a, b)
            spread = max(spread, top - bottom)
        low, high = ends(worst)
    assert witness is not None
    return Verdict(setting.epsilon, low, high, spread, witness)


def audit_laws(
    laws: Mapping[Dataset, Sequence[arb]], neighbours: Pairs, epsilon: Fraction
) -> Verdict:
    """Return the largest loss of laws that are given as probabilities of every output."""
    with ctx.workprec(PRECISION):
        logs = {d: [p.log() for p in law] for d, law in laws.items()}
        worst, spread, witness = arb(0), Fraction(0), None
        for a, b in neighbours:
            ratios = [x - y for x, y in zip(logs[a], logs[b], strict=True)]
            top, bottom = ratios[0], ratios[0]
            for ratio in ratios[1:]:
                top, bottom = top.max(ratio), bottom.min(ratio)
            loss = top.max(-bottom)
            if witness is None or not loss <= worst:
                worst, witness = loss.max(worst), (a, b)
            spread = max(spread, ends(top - bottom)[1])
        low, high = ends(worst)
    assert witness is not None
    return Verdict(epsilon, low, high, spread, witness)


def noise_loss(plan: NoisePlan, shift: Sequence[int]) -> Fraction:
    """Return the largest log ratio between the noise of a plan and that noise moved by a shift.

    The density is proportional to exp(-rate ||u||), so the ratio is at most rate ||shift||, and
    rounding to whole steps adds densities over cells, which brings no larger ratio.
    """
    moved = [step * s for step, s in zip(plan.steps, shift, strict=True)]
    return plan.rate * plan.problem.norm.value(moved)


def audit_noise(
    plan_of: Callable[[int], NoisePlan], setting: Setting, universe: tuple[Dataset, ...]
) -> Verdict:
    """Return the largest loss of additive noise on the sum over all neighbours, exactly."""
    plans = {n: plan_of(n) for n in {len(d) for d in universe}}
    sums = {d: field_of(plans[len(d)], d).total for d in universe}
    worst, witness = Fraction(-1), None
    for a, b in pairs(universe, setting.relation, setting.records_per_person):
        shift = [y - x for x, y in zip(sums[a], sums[b], strict=True)]
        loss = noise_loss(plans[len(a)], shift)
        if loss > worst:
            worst, witness = loss, (a, b)
    assert witness is not None
    return Verdict(setting.epsilon, worst, worst, 2 * worst, witness)


# --- broken parts --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rescaled:
    """A mechanism whose Delta was multiplied by a factor: the usual way to be wrong."""

    base: Any
    factor: Fraction

    def plan(self, problem: Problem, epsilon: Fraction) -> DensityPlan | NoisePlan:
        """Return the base mechanism's plan with the wrong sensitivity."""
        plan: DensityPlan = self.base.plan(problem, epsilon)
        return rescaled(plan, self.factor)


P = TypeVar("P", DensityPlan, NoisePlan)


def rescaled(plan: P, factor: Fraction) -> P:
    """Return a plan with its Delta multiplied, at every theta."""
    if isinstance(plan, NoisePlan):
        return replace(plan, sensitivity=factor * plan.sensitivity)
    steady = None if plan.steady is None else factor * plan.steady
    wrong = _Times(plan.delta.norm, plan.delta.unit, plan.delta.body, plan.delta.least, factor)
    return replace(plan, delta=wrong, steady=steady)


@dataclass(frozen=True, slots=True)
class _Times(Delta):
    factor: Fraction

    def over(self, region: Region) -> Fraction:
        """Return the wrong Delta."""
        return self.factor * Delta.over(self, region)

    def under(self, region: Region) -> Fraction:
        """Return the wrong Delta."""
        return self.factor * Delta.under(self, region)
