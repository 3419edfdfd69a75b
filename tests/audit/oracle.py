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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
from flint import arb, ctx

from kng.audit.oracle import (
    PRECISION,
    Rescaled,
    Setting,
    Verdict,
    audit,
    audit_laws,
    ball,
    encoding,
    ends,
    exponents,
    field_of,
    pmf,
    points,
    rescaled,
    source_of,
    unit_of,
)
from kng.audit.universe import (
    ADD,
    RELATIONS,
    REPLACE,
    Dataset,
    Pairs,
    Record,
    are_neighbours,
    datasets,
    pairs,
    sizes,
)
from kng.core.certificate import Certificate
from kng.core.parts import Norm, Point
from kng.core.plan import DensityPlan, NoisePlan
from kng.core.smoothing import Smoothing
from kng.samplers.exact import noise as noise_module
from kng.samplers.exact.line import envelope_of

__all__ = [
    "ADD",
    "PRECISION",
    "RELATIONS",
    "REPLACE",
    "Dataset",
    "Pairs",
    "Record",
    "Rescaled",
    "Setting",
    "Verdict",
    "are_neighbours",
    "audit",
    "audit_laws",
    "ball",
    "datasets",
    "encoding",
    "ends",
    "exponents",
    "field_of",
    "pairs",
    "pmf",
    "points",
    "rescaled",
    "sizes",
    "source_of",
    "unit_of",
]


def with_smoothing(plan: DensityPlan, smoothing: Smoothing) -> DensityPlan:
    """Return the plan under a smoothing of the auditor's choice."""
    old = plan.certificate
    assert old is not None
    return plan.certified(Certificate(old.sampler, old.guarantee, old.assumptions, smoothing))


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
