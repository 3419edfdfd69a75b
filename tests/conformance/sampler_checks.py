"""What every sampler must keep that asks a field for its scores and for nothing else."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction as F
from itertools import product
from math import exp
from typing import Any

from samplers.laws import ALARM, p_value
from samplers.tapes import enumerate_tapes

from kng.bases import Gaussian
from kng.core.bits import SeededBits, TapeBits
from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.core.parts import Domain, Loss, Point
from kng.core.plan import DensityPlan
from kng.core.privacy import Guarantee, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.data import open_source
from kng.domains import Box, Polytope
from kng.losses import Huber, Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential
from kng.norms import L2, LInf

DRAWS, RUNS = 3000, 800


@dataclass(frozen=True)
class Scored:
    """A field whose scores are known, and which counts how often it is asked."""

    scores: Mapping[Point, F]
    asked: list[Point]

    def score(self, theta: Point) -> F:
        self.asked.append(theta)
        return self.scores[theta]


def conforms(sampler: Any) -> None:
    """Attack a sampler with small plans: its promise, its law, and scores of any size."""
    for plan, records in _plans():
        assert sampler.refusal(plan) is None
        certified = sampler.certify(plan)
        promise = certified.certificate
        assert promise.sampler == sampler
        assert promise.guarantee in tuple(Guarantee)
        points = points_of(plan)
        source = open_source(records, plan.problem.records)
        (field,) = certified.read(source, [certified])
        scores = {point: F(field.score(point)) for point in points}
        _law(sampler, certified, scores)
        _tapes(sampler, certified, scores)
        _extremes(sampler, certified, points)


def points_of(plan: DensityPlan) -> list[Point]:
    """Return the points of a small domain, one by one."""
    ends = zip(plan.domain.first, plan.domain.last, strict=True)
    return [k for k in product(*(range(a, b + 1) for a, b in ends)) if plan.domain.contains(k)]


def pmf(plan: DensityPlan, scores: Mapping[Point, F], times: float = 1.0) -> dict[Hashable, float]:
    """Return the stated law by brute force, with ``times`` the exponent."""
    exponents = {point: plan.exponent(point, score) for point, score in scores.items()}
    least = min(exponents.values())
    weights = {point: exp(-times * float(gamma - least)) for point, gamma in exponents.items()}
    total = sum(weights.values())
    return {point: weight / total for point, weight in weights.items()}


def _law(sampler: Any, plan: DensityPlan, scores: Mapping[Point, F]) -> None:
    """Draws have the stated law, and are enough to tell it from a rate 20 % off."""
    bits, field = SeededBits(1), Scored(scores, [])
    draws = [sampler.draw(plan, field, bits) for _ in range(DRAWS)]
    assert p_value(draws, pmf(plan, scores)) > ALARM
    assert p_value(draws, pmf(plan, scores, 1.2)) < ALARM
    assert p_value(draws, pmf(plan, scores, 0.8)) < ALARM


def _tapes(sampler: Any, plan: DensityPlan, scores: Mapping[Point, F]) -> None:
    """Every short string of bits, one after the other: brackets of the law without statistics."""

    def run(bits: TapeBits) -> Point:
        point: Point = sampler.draw(plan, Scored(scores, []), bits)
        return point

    found = enumerate_tapes(run, RUNS)
    assert found.unresolved < F(3, 4)
    assert found.escapes({point: F(p) for point, p in pmf(plan, scores).items()}) == []


def _extremes(sampler: Any, plan: DensityPlan, points: list[Point]) -> None:
    """Whatever the scores are, there is an answer, and as many scores are asked for."""
    huge = F(10**400)
    kinds: list[Callable[[int], F]] = [
        lambda i: F(0),
        lambda i: huge,
        lambda i: huge * (i != 1),
        lambda i: huge**-1 * i,
        lambda i: huge if i % 2 else F(i, 10**30),
    ]
    counts = set()
    for kind in kinds:
        field = Scored({point: kind(i) for i, point in enumerate(points)}, [])
        assert sampler.draw(plan, field, SeededBits(2)) in points
        counts.add(len(field.asked))
    assert len(counts) == 1


def _plans() -> list[tuple[DensityPlan, list[Any]]]:
    """Return small plans with records: on a line, behind walls, with a base, and of values."""
    walls = Polytope([[-1, 0], [0, -1], [1, 1]], [0, 0, 4])
    table = [[1, 2], [0, 3], [4, 1], [2, 2], [2, 0]]
    line = [0, 2, 3, 3, 5, 7]
    return [
        (_plan(KNG(), Location(Pinball(F(1, 2))), Box(0, 6), (0, 6), F(3)), line),
        (_plan(KNG(), Location(Huber(1)), walls, ([0, 0], [4, 4]), F(4)), table),
        (_plan(KNG(), Location(Huber(1)), _weighed(), (0, 6), F(3)), line),
        (_plan(Exponential(), Location(Squared()), Box(0, 6), (0, 6), F(9)), line),
    ]


def _weighed() -> Domain:
    return Box(0, 6, base=Gaussian(2, 1))


def _plan(weigh: Any, loss: Any, domain: Any, bounds: Any, epsilon: F) -> DensityPlan:
    records = encoding_of(bounds_of(bounds), granularity=1, missing=None, bits=20)
    over: Loss = loss.over(records)
    known = domain.sized(over.dim)
    assert over.grid is not None
    points = known.on(over.grid)
    answers = over.grid.between(points.first, points.last)
    norm = LInf() if over.dim == 1 else L2()
    unit = PrivacyUnit(ReplaceOne(6))
    plan: DensityPlan = weigh.plan(Problem(over, norm, known, records, answers, unit), epsilon)
    return plan
