"""Exact laws of tiny problems, and their largest privacy loss over all neighbours.

The oracle is the auditor's ruler. It asks the production parts for everything that carries
privacy (records through the ingestion door, fields, scores, sensitivities, exponents, envelopes)
and computes only what production never computes: normalisers and ratios. Scores and exponents
are exact fractions; exp and log are enclosed by Arb at ``PRECISION`` bits, so a verdict is a proof
for the tiny universe it looked at and has no statistical error.

    Setting            what is asked: loss, mechanism, relation, epsilon, lattice
    datasets, pairs    a universe, and which of its datasets are neighbours
    exponents          gamma(theta) of one dataset on the whole lattice
    audit              largest |log ratio| and range of exp(-gamma) / Z over pairs
    released_law       law of the whole released point: attempts, depth, beta, fallback
    audit_laws         the same verdict for laws given as probabilities
    climb              directed search for a bad pair where enumeration is out of reach
    noise_law          the noise that production asks for, with its exact pmf
    audit_noise        largest loss of additive noise over all neighbours

Records are tuples of whole steps and theta is a tuple too, so that a problem with several
columns or coordinates only needs a field that scores tuples.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, combinations_with_replacement, product
from typing import Any, TypeVar
from unittest import mock

import numpy as np
from flint import arb, ctx, fmpq

from kng.bases import Uniform
from kng.core.bounds import Bounds
from kng.core.certificate import Certificate
from kng.core.delta import Delta
from kng.core.encoding import Encoding
from kng.core.parts import Norm, Point
from kng.core.plan import DensityPlan, NoisePlan
from kng.core.privacy import AddRemove, Neighbours, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Source
from kng.core.regions import Region
from kng.core.smoothing import Smoothing
from kng.corridor import certified
from kng.data import open_source
from kng.domains import Box, Whole
from kng.norms import LInf
from kng.samplers.exact import noise as noise_module
from kng.samplers.exact.line import envelope_of

Record = tuple[int, ...]
Dataset = tuple[Record, ...]  # sorted: a multiset, because every score is a sum over records
Pairs = Sequence[tuple[Dataset, Dataset]]

REPLACE, ADD = ReplaceOne.name, AddRemove.name
RELATIONS = (REPLACE, ADD)
# Far more than any float: an audit that comes out at epsilon + 1e-60 must not be waved through.
PRECISION = 256


# --- what is asked -------------------------------------------------------------------------------


def encoding(last: Point) -> Encoding:
    """Return columns with bounds 0 .. last and steps of one: records are their own integers."""
    low, high = (0,) * len(last), last
    bounds = Bounds(tuple(map(Fraction, low)), tuple(map(Fraction, high)))
    return Encoding(bounds, (Fraction(1),) * len(last), (0,) * len(last))


def unit_of(relation: str, n: int, records_per_person: int = 1) -> PrivacyUnit:
    """Return who is protected in n records (n matters under replace-one only)."""
    neighbours: Neighbours = ReplaceOne(max(n, 1)) if relation == REPLACE else AddRemove()
    return PrivacyUnit(neighbours, records_per_person)


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

    @property
    def first(self) -> Point:
        """The least record."""
        return (0,) * len(self.last)

    def problem(self, n: int, domain: Any = None) -> Problem:
        """Return the problem for n records."""
        records = encoding(self.last)
        return Problem(
            self.loss.over(records),
            self.norm,
            domain or Box.of(records.lattice),
            records,
            records.lattice,
            unit_of(self.relation, n, self.records_per_person),
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


def with_smoothing(plan: DensityPlan, smoothing: Smoothing) -> DensityPlan:
    """Return the plan under a smoothing of the auditor's choice."""
    old = plan.certificate
    assert old is not None
    return plan.certified(Certificate(old.sampler, old.guarantee, old.assumptions, smoothing))


# --- universes and neighbours --------------------------------------------------------------------


def datasets(values: Iterable[int | Record], sizes: Iterable[int]) -> tuple[Dataset, ...]:
    """Return every multiset of the given record values, of each of the given sizes."""
    records = sorted(v if isinstance(v, tuple) else (v,) for v in values)
    return tuple(d for n in sizes for d in combinations_with_replacement(records, n))


def are_neighbours(left: Dataset, right: Dataset, relation: str, k: int = 1) -> bool:
    """Tell whether at most k records were replaced, or at most k were added or removed."""
    a, b = Counter(left), Counter(right)
    gone, come = (a - b).total(), (b - a).total()
    if relation == REPLACE:
        return gone == come <= k
    return 0 < gone + come <= k


@lru_cache(maxsize=64)
def pairs(universe: tuple[Dataset, ...], relation: str, k: int = 1) -> Pairs:
    """Return every unordered pair of neighbours; a loss is taken in absolute value anyway."""
    found = [
        (a, b) for a, b in combinations(universe, 2) if a != b and are_neighbours(a, b, relation, k)
    ]
    assert found, "an audit without neighbours proves nothing"
    return found


def sizes(relation: str, most: int = 4) -> range:
    """Return the sizes to enumerate: an empty file exists only where n is private."""
    return range(relation == REPLACE, most + 1)


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
    array = np.array(dataset, dtype=np.float64).reshape(len(dataset), len(records))
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


def floats(gammas: Sequence[Fraction]) -> list[float]:
    """Return the exact pmf, rounded once at the end."""
    with ctx.workprec(PRECISION):
        return [float(p) for p in pmf(gammas)]


def released_law(plan: DensityPlan, dataset: Dataset) -> list[arb]:
    """Return the law of what `samplers.leaves.draw` releases; call inside ``ctx.workprec``.

    One attempt returns k with probability 2**P exp(-gamma(k)) / sum W. The first accepted of
    ``attempts`` is kept; without one, or on the beta coin, the answer is uniform.
    """
    envelope, exponent = envelope_of(plan, field_of(plan, dataset))
    smoothing, first = plan.smoothing, plan.domain.first[0]
    unit = arb(2) ** envelope.scale / arb(envelope.cumulative[-1])
    hits = [arb(0)] * plan.domain.points
    for leaf in envelope.leaves:
        for k in range(leaf.first, leaf.first + leaf.count):
            assert hits[k - first].is_zero(), "two leaves share a point"
            hits[k - first] = unit * (-ball(exponent(k))).exp()
    accepted = sum(hits, arb(0))
    none = (1 - accepted) ** smoothing.attempts
    beta, size = ball(smoothing.beta), arb(plan.domain.points)
    return [(1 - beta) * (h / accepted * (1 - none) + none / size) + beta / size for h in hits]


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
    setting: Setting,
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


# --- directed search -----------------------------------------------------------------------------


def climb(
    setting: Setting,
    start: tuple[Dataset, Dataset],
    rng: random.Random,
    steps: int,
    enough: float = math.inf,
) -> Verdict:
    """Move one record at a time while the loss of the pair grows; return the exact verdict.

    The search ends early once ``enough`` times epsilon is reached.

    Candidates are judged in floating point and the winner exactly, so the search may be sloppy
    and its answer is still a proof. A move puts a record onto an end of the lattice, beside or
    onto another record, or anywhere; in half of the moves both datasets share the record.
    """
    plan = setting.plan(len(start[0]))
    assert setting.relation == REPLACE, "neighbours of the search differ in their last record"

    @lru_cache(maxsize=4096)
    def approximate(dataset: Dataset) -> np.ndarray[Any, Any]:
        return np.array([float(x) for x in exponents(plan, dataset)])

    def loss(left: Dataset, right: Dataset) -> float:
        g, h = approximate(tuple(sorted(left))), approximate(tuple(sorted(right)))
        shift = np.logaddexp.reduce(-h) - np.logaddexp.reduce(-g)
        return float(np.abs(h - g + shift).max())

    def moved(old: Record, others: Sequence[Record]) -> Record:
        j = rng.randrange(len(old))
        near = rng.choice(others)[j] + rng.choice((-1, 0, 1))
        low, high = setting.first[j], setting.last[j]
        target = rng.choice((low, high, near, rng.randint(low, high)))
        target = min(max(target, low), high)
        return (*old[:j], target, *old[j + 1 :])

    common, (x, y) = list(start[0][:-1]), (start[0][-1], start[1][-1])
    best = loss((*common, x), (*common, y))
    for _ in range(steps):
        if best > enough * setting.epsilon:
            break
        trial, a, b = list(common), x, y
        if rng.random() < 0.5:
            # Runs of equal records move together: one at a time would have to cross a valley.
            old = rng.choice(trial)
            new = moved(old, [*trial, a, b])
            many = rng.random() < 0.5
            i = trial.index(old)
            trial = [new if (many and r == old) or k == i else r for k, r in enumerate(trial)]
        elif rng.random() < 0.5:
            a = moved(a, trial)
        else:
            b = moved(b, trial)
        value = loss((*trial, a), (*trial, b))
        if value >= best:
            best, common, x, y = value, trial, a, b
    left, right = (tuple(sorted((*common, r))) for r in (x, y))
    return audit(setting, (left, right)) if left != right else _nothing(setting, left)


def _nothing(setting: Setting, dataset: Dataset) -> Verdict:
    return Verdict(setting.epsilon, Fraction(0), Fraction(0), Fraction(0), (dataset, dataset))


# --- additive noise ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Separate:
    """Independent discrete Laplace noise: P(k) = prod_j tanh(rate_j / 2) exp(-rate_j |k_j|)."""

    rates: tuple[Fraction, ...]

    def loss(self, shift: Point) -> Fraction:
        """Return the largest log ratio between the noise and the noise moved by ``shift``."""
        return sum((r * abs(s) for r, s in zip(self.rates, shift, strict=True)), Fraction(0))

    def probability(self, cell: Point) -> arb:
        """Return the probability of one output; call inside ``ctx.workprec``."""
        result = arb(1)
        for rate, k in zip(self.rates, cell, strict=True):
            result *= (ball(rate) / 2).tanh() * (-ball(rate * abs(k))).exp()
        return result


@dataclass(frozen=True, slots=True)
class RoundedBox:
    """Density proportional to exp(-rate max_j |u_j| / width_j), rounded to whole steps."""

    rate: Fraction
    widths: tuple[Fraction, ...]

    def loss(self, shift: Point) -> Fraction:
        """Return the supremum of the log ratio of the densities, which bounds that of cells."""
        return self.rate * max(abs(s) / w for s, w in zip(shift, self.widths, strict=True))

    def probability(self, cell: Point) -> arb:
        """Integrate the density over the unit cube around a lattice point, in closed form.

        The mass of a box with a corner at the origin is known (`_corner`); a cube is a signed
        sum of 2**d of them.
        """
        half = Fraction(1, 2)
        total = arb(0)
        for corner in product((0, 1), repeat=len(cell)):
            sides, sign = [], 1
            for k, upper, width in zip(cell, corner, self.widths, strict=True):
                end = (k - half + upper) / width
                sides.append(abs(end))
                sign *= (1 if upper else -1) * (1 if end > 0 else -1)
            total += sign * self._corner(sorted(sides))
        return total * self._normaliser()

    def _corner(self, sides: Sequence[Fraction]) -> arb:
        """Return the integral of exp(-rate max_j v_j) over 0 <= v_j <= sides_j, sides sorted.

        {max v <= r} cuts the volume prod_j min(r, sides_j) out of the box; between two
        neighbouring sides it grows like r**m with m coordinates still free.
        """
        total, fixed, before = arb(0), Fraction(1), Fraction(0)
        for done, side in enumerate(sides):
            free = len(sides) - done
            total += ball(fixed) * (self._moment(free, side) - self._moment(free, before))
            fixed, before = fixed * side, side
        return total

    def _moment(self, m: int, r: Fraction) -> arb:
        """Return the integral of m s**(m-1) exp(-rate s) over 0 <= s <= r, by parts."""
        c, total, factor = ball(self.rate), arb(0), arb(1)
        for i in range(m, 0, -1):
            # m (m-1) ... i / c**(m-i+1) times r**(i-1)
            factor = factor * i / c
            total += factor * (ball(r) ** (i - 1) if i > 1 else arb(1))
        return factor - total * (-ball(self.rate * r)).exp()

    def _normaliser(self) -> arb:
        d = len(self.widths)
        return ball(self.rate) ** d / (arb(2) ** d * math.factorial(d))


@dataclass(frozen=True, slots=True)
class RoundedNorm:
    """Density proportional to exp(-rate ||u||), rounded to whole steps."""

    rate: Fraction
    norm: Norm
    steps: tuple[Fraction, ...]

    def loss(self, shift: Point) -> Fraction:
        """Return the supremum of the log ratio of the densities, which bounds that of cells."""
        return self.rate * self.norm.value([h * s for h, s in zip(self.steps, shift, strict=True)])


NoiseLaw = Separate | RoundedBox | RoundedNorm


def noise_law(plan: NoisePlan) -> NoiseLaw:
    """Return the law that production asks its samplers for: its own calls are overheard."""
    rates: list[Fraction] = []
    boxes: list[RoundedBox] = []
    others: list[RoundedNorm] = []

    def laplace(_bits: Any, rate: Fraction) -> int:
        rates.append(rate)
        return 0

    def box(_bits: Any, rate: Fraction, widths: tuple[Fraction, ...]) -> Point:
        boxes.append(RoundedBox(rate, widths))
        return (0,) * len(widths)

    def lazy(norm: Norm, rate: Fraction, dim: int) -> tuple[Norm, Fraction]:
        assert dim == len(plan.steps)
        return norm, rate

    def rounded(_bits: Any, made: tuple[Norm, Fraction], steps: tuple[Fraction, ...]) -> Point:
        others.append(RoundedNorm(made[1], made[0], steps))
        return (0,) * len(steps)

    with (
        mock.patch.object(noise_module, "discrete_laplace", laplace),
        mock.patch.object(noise_module, "rounded_box_noise", box),
        mock.patch.object(noise_module, "LazyNoise", lazy),
        mock.patch.object(noise_module, "rounded_noise", rounded),
    ):
        noise_module.noise(plan, None)
    return others[0] if others else boxes[0] if boxes else Separate(tuple(rates))


def audit_noise(setting: Setting, universe: tuple[Dataset, ...]) -> tuple[Fraction, set[Point]]:
    """Return the largest loss over all neighbours, exactly, and every shift of the sum."""
    plans = {n: setting.noise_plan(n) for n in {len(d) for d in universe}}
    laws = {n: noise_law(plan) for n, plan in plans.items()}
    assert len(set(laws.values())) == 1, "the noise depends on the number of records"
    law = next(iter(laws.values()))
    sums = {d: field_of(plans[len(d)], d).total for d in universe}
    shifts = {
        tuple(y - x for x, y in zip(sums[a], sums[b], strict=True))
        for a, b in pairs(universe, setting.relation, setting.records_per_person)
    }
    return max(law.loss(shift) for shift in shifts), shifts


# --- broken parts --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rescaled:
    """A mechanism whose Delta was multiplied by a factor: the usual way to be wrong."""

    base: Any
    factor: Fraction

    def plan(self, problem: Problem, epsilon: Fraction) -> DensityPlan | NoisePlan:
        """Return the base mechanism's plan with the wrong sensitivity."""
        return rescaled(self.base.plan(problem, epsilon), self.factor)


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
        return self.factor * Delta.over(self, region)

    def under(self, region: Region) -> Fraction:
        return self.factor * Delta.under(self, region)
