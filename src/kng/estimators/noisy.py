"""What a receipt says of the noise of sums, means, variances and quantiles, from their plans."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import lgamma, log
from typing import Any

from kng.core.lattice import Lattice
from kng.core.noise.moments import MomentNoise
from kng.core.noise.parabola import leading, named
from kng.core.noise.ranks import RankNoise
from kng.core.noise.ratio import RatioNoise
from kng.core.noise.share import ShareNoise
from kng.core.noise.sums import SumNoise
from kng.core.noise.tails import Tail
from kng.core.parts import Point
from kng.core.plan import DensityPlan, NoisePlan
from kng.core.privacy import ReplaceOne
from kng.losses.location_sum import counted
from kng.mechanisms.noise_tails import noise_tails

_HALF = Fraction(1, 2)


@lru_cache(maxsize=64)
def sum_noise(plan: NoisePlan, factor: Fraction, answers: Lattice) -> SumNoise | None:
    """Return the noise of answers that are a sum times a number, on a lattice.

    An answer that is a whole number of steps of the noisy sum is not rounded. One answer more than
    sums is the rest of a public number, whose noise has the law of the others
    (`kng.core.noise.exchange`).
    """
    tails = noise_tails(plan)
    if tails is None:
        return None
    rest = len(answers.step) - len(tails)
    scaled = tuple(tail.times(factor) for tail in (*tails, *tails[:rest]))
    return SumNoise(scaled, tuple(map(_rounded, scaled, answers.step)))


def _rounded(tail: Tail, step: Fraction) -> Fraction:
    """Return how far a whole number of the noise's steps is from the lattice of answers."""
    return Fraction(0) if (tail.step / step).denominator == 1 else step / 2


def share_noise(plan: NoisePlan, drawn: Point) -> SumNoise | ShareNoise | None:
    """Return the noise of a proportion: of a count over n, or of two private counts."""
    unit = plan.problem.unit
    if not counted(unit):
        assert isinstance(unit.neighbours, ReplaceOne)
        return sum_noise(plan, Fraction(1, unit.neighbours.n), plan.problem.answers)
    tails = noise_tails(plan)
    return None if tails is None else ShareNoise((drawn[0], drawn[1]), tails[0])


def mean_noise(
    plan: NoisePlan, answers: Lattice, drawn: Point, pulled: bool
) -> SumNoise | RatioNoise | None:
    """Return the noise of means: of a sum over n, or over a private count.

    ``pulled`` says that means are moved into a ball all together.
    """
    problem, neighbours = plan.problem, plan.problem.unit.neighbours
    if counted(problem.unit):
        return _quotient(plan, drawn)
    assert isinstance(neighbours, ReplaceOne)
    found = sum_noise(plan, Fraction(1, neighbours.n), answers)
    if found is None or not pulled:
        return found
    sums: Any = problem.loss.sums  # type: ignore[attr-defined]
    return SumNoise(found.tails, found.widened, sums.minimiser(drawn, problem))


def _quotient(plan: NoisePlan, drawn: Point) -> RatioNoise | None:
    laws = _laws(plan)
    return None if laws is None else RatioNoise(drawn, *laws)


@lru_cache(maxsize=64)
def _laws(
    plan: NoisePlan,
) -> tuple[tuple[Tail, ...], tuple[Fraction, ...], tuple[Fraction, ...]] | None:
    """Return the laws of sums and count, where sums are taken from, and how far means can be."""
    loss: Any = plan.problem.loss
    bounds, tails = loss.encoding.bounds, noise_tails(plan)
    if tails is None:
        return None
    if loss.ball is not None:  # sums are taken from 0, and the count has a unit of its own
        reach = bounds.high
        middles = (Fraction(0),) * len(reach)
        return (*tails[:-1], tails[-1].times(1 / plan.steps[-1])), middles, reach
    records = loss.encoding
    ranges = [h * k for h, k in zip(records.step, records.last, strict=True)]
    reach = tuple(r / 2 for r in ranges)
    middles = tuple(a + r for a, r in zip(bounds.low, reach, strict=True))
    return _around_hull(plan, tails, reach), middles, reach


def _around_hull(
    plan: NoisePlan, tails: tuple[Tail, ...], reach: Sequence[Fraction]
) -> tuple[Tail, ...]:
    """Return the laws in the hull of what a record does that may be absent, if that is the norm.

    Its ball, in half ranges: |c| <= 1, |s_j| <= 2 - |c|. docs/noise.md.
    """
    norm = plan.problem.norm
    if tails[0].law != "radius" or not _is_hull(norm, reach):
        return tails
    sizes = (*reach, Fraction(1))
    pairs = zip(sizes, tails, strict=True)
    return tuple(Tail("hull", w / plan.rate, tail.step, tail.dim) for w, tail in pairs)


def _is_hull(norm: Any, reach: Sequence[Fraction]) -> bool:
    """Whether the unit ball is that hull: by its facets  |c|  and  |s_j| / 2 + |c| / 2."""
    one, zero = Fraction(1), Fraction(0)
    wanted = {(*(zero for _ in reach), one)}
    for j, w in enumerate(reach):
        for sign in (one, -one):
            row = [zero] * len(reach) + [sign / 2]
            row[j] = 1 / (2 * w)
            wanted.add(tuple(row))
    found = getattr(norm.shape, "facets", ())
    return {leading(tuple(facet)) for facet in found} == wanted


def variance_noise(plan: NoisePlan, drawn: Point) -> MomentNoise | None:
    """Return the noise of a variance, which is read off noisy sums of y and y^2."""
    change = _change(plan)
    if change is None:
        return None
    sums: Any = plan.problem.loss.sums  # type: ignore[attr-defined]
    unit, last = plan.problem.unit, sums.records.last[0]
    number = None if counted(unit) else unit.neighbours.n
    return MomentNoise(drawn, change, plan.rate, last, number, sums.ddof, sums.half)


@lru_cache(maxsize=64)
def _change(plan: NoisePlan) -> str | None:
    """Return the name of the polytope that noise on two moments is drawn in."""
    return named(getattr(plan.problem.norm.shape, "facets", ()))


def rank_noise(plans: Sequence[DensityPlan], quantiles: Sequence[Fraction]) -> RankNoise | None:
    """Return the ranks that quantiles are drawn between; None where the law says nothing of ranks.

    That is the exponential mechanism, a base measure, or a domain other than all points between
    the bounds, which may hold no point with the score 0.
    """
    plan = plans[0]
    problem, unit = plan.problem, plan.problem.unit
    records, points = problem.records, plan.domain
    whole = tuple(points.first) == (0,) * len(points.first) and tuple(points.last) == (
        records.last[0],
    ) * len(points.last)
    if (
        plan.weighs != "gradient"
        or plan.steady is None
        or not problem.domain.base.even
        or not whole
    ):
        return None
    if records.last[0] == 0:
        return None
    public = isinstance(unit.neighbours, ReplaceOne) and unit.presence == "always"
    number = unit.neighbours.n if public and isinstance(unit.neighbours, ReplaceOne) else None
    rate = plan.epsilon / (2 * unit.group(plan.steady))
    size = log(records.last[0])
    if len(plans) == 1 < len(quantiles):  # ordered tuples: C(points + m - 1, m) of them
        m, k = len(quantiles), records.last[0] + 1
        size = lgamma(k + m) - lgamma(k) - lgamma(m + 1) + 1e-6
    return RankNoise(tuple(quantiles), number, rate, size, len(plans))
