"""Quantiles drawn together, enumerated: all paths that production can choose, and all thetas.

The probabilities of an attempt are known without statistical error: every path, with the whole
numbers it is chosen by, and for each theta of a path the acceptance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction as F
from itertools import combinations_with_replacement
from math import comb, exp
from typing import Any

import numpy as np
from audit.oracle import encoding

from kng.core.parts import Point
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.corridor import certified
from kng.data import open_source
from kng.domains import Ordered
from kng.losses import Quantiles
from kng.losses.fields.ranked_walk import RankWalk
from kng.mechanisms import KNG
from kng.norms import Variation
from kng.samplers.exact.long_walks import LongWalks
from kng.samplers.exact.together import Attempts
from kng.samplers.exact.walks import WalkEnvelope

Envelope = WalkEnvelope | LongWalks
QUARTILES = (F(1, 4), F(1, 2), F(3, 4))


def plan_of(
    taus: Sequence[F], last: int, n: int | None, epsilon: F | int, domain: Any = None, k: int = 1
) -> DensityPlan:
    """Return the certified plan for records 0 .. last; n is None where it is private."""
    records = encoding((last,))
    loss = Quantiles(taus).over(records)
    region = domain or Ordered(0, last)
    points = region.sized(len(taus)).on(loss.grid)
    answers = loss.grid.between(points.first, points.last)
    unit = PrivacyUnit(AddRemove() if n is None else ReplaceOne(n), k)
    sized = region.sized(len(taus))
    problem = Problem(loss, Variation(), sized, records, answers, unit)
    return certified(KNG().plan(problem, F(epsilon)))


def field_of(plan: DensityPlan, data: Sequence[int]) -> RankWalk:
    source = open_source(np.array(data, dtype=float).reshape(-1, 1), plan.problem.records)
    return plan.read(source, [plan])[0]


def brute(taus: Sequence[F], data: Sequence[int], theta: Point) -> F:
    """Return the score by its definition: the best of all ways to share out tied records.

    Ends of intervals of ranks and walks that stay are enough: an optimum of a piecewise linear
    function on a box lies where as many of its lines meet as there are coordinates.
    """
    n = len(data)
    ends = [
        (sum(x < t for x in data) - tau * n, sum(x <= t for x in data) - tau * n)
        for t, tau in zip(theta, taus, strict=True)
    ]
    values = sorted({F(0), *(v for pair in ends for v in pair)})
    best = {F(0): F(0)}
    for a, b in [*ends, (F(0), F(0))]:
        best = {v: min(way + abs(v - u) for u, way in best.items()) for v in values if a <= v <= b}
    return best[F(0)] / 2


def thetas(plan: DensityPlan) -> Iterator[Point]:
    a, b = plan.domain.first[0], plan.domain.last[0]
    return combinations_with_replacement(range(a, b + 1), plan.domain.dim)


def paths(envelope: Envelope) -> Iterator[tuple[list[tuple[int, int]], F]]:
    """Yield every path that can be chosen, and its probability divided by its points."""
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        script = waiting.pop()
        asked = iter(script)
        branches: list[int] = []

        def choose(running: Any, asked=asked, branches=branches) -> int:
            index = next(asked, None)
            possible = np.flatnonzero(np.diff(running, prepend=0)).tolist()
            if index is None:
                branches.extend(possible)
                raise StopIteration
            return index

        try:
            yield envelope.trace(choose)
        except StopIteration:
            waiting += [(*script, i) for i in branches]


def ways(envelope: Envelope, groups: Sequence[tuple[int, int]]) -> int:
    """Return how many thetas a path has."""
    found = 1
    for block, b in groups:
        found *= comb(int(envelope.blocks.size[block]) + b - 1, b)
    return found


def law_of_attempt(plan: DensityPlan, data: Sequence[int]) -> dict[Point, float]:
    """Return how likely one attempt is to return each theta, from all that production chooses."""
    field = field_of(plan, data)
    attempts = Attempts(plan, field)
    envelope, any_ = attempts.paths, F(1, 2**20)
    found: dict[Point, float] = {}
    whole = F(0)
    for groups, share in paths(envelope):
        whole += share * ways(envelope, groups)
        choices = [()]
        for block, size in groups:
            first, count = int(envelope.blocks.first[block]), int(envelope.blocks.size[block])
            more = combinations_with_replacement(range(first, first + count), size)
            choices = [(*c, *m) for m in more for c in choices]
        for theta in choices:
            gamma = plan.exponent(theta, field.score(theta))
            accepted = exp(-gamma) * float((1 - F(1, 2**15)) / (envelope.mass * share))
            assert accepted <= 1
            found[theta] = found.get(theta, 0.0) + float((1 - any_) * share) * accepted
    assert whole == 1  # the shares are those of all paths
    for theta in thetas(plan):
        if attempts.outside(theta):
            assert theta not in found
            gamma = plan.exponent(theta, field.score(theta))
            scale = float((1 - F(1, 2**15)) * (2**20 - 1) * attempts.tuples / envelope.mass)
            assert exp(-gamma) * scale <= 1
            found[theta] = float(any_) / attempts.tuples * exp(-gamma) * scale
    return found
