"""What a public call would draw from a tiny table: its plans, and what they read, group by group.

A call is stopped where the corridor is about to charge, with everything opened as the caller has
asked for it: conditions, groups, people, missing cells, formulas. Two tables are compared by what
one draw can tell apart:

    density  max |log p - log p'| over the lattice, or over some points twice the change of gamma
    noise    rate * ||sum - sum'||

Groups draw one after the other, so their losses add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any
from unittest import mock

import numpy as np

from kng import corridor
from kng.core.plan import DensityPlan, NoisePlan
from kng.domains import Box

Table = tuple[Any, ...]
# Lattices with more points than this are looked at in some of them.
_MOST = 64
_THETAS = tuple(map(Fraction, ("-4", "-0.5", "0", "0.75", "3")))


class Stopped(BaseException):
    """What a release would have been; no error of the library's, so nothing catches it."""


@dataclass(frozen=True)
class Seen:
    """One draw: a sum with noise on it, or exponents of points of a lattice."""

    plan: Any
    sums: tuple[int, ...] | None
    gammas: np.ndarray[Any, Any] | None
    whole: bool

    def loss(self, other: Seen) -> float:
        """Return the largest loss between two tables, or a bound of it."""
        assert self.plan.law == other.plan.law, "the law depends on the records"
        if self.sums is not None and other.sums is not None:
            pairs = zip(self.plan.steps, self.sums, other.sums, strict=True)
            return float(
                self.plan.rate * self.plan.problem.norm.value([h * (a - b) for h, a, b in pairs])
            )
        assert self.gammas is not None
        assert other.gammas is not None
        change = other.gammas - self.gammas
        if not self.whole:
            return float(2 * np.abs(change).max())
        total = np.logaddexp.reduce(-self.gammas) - np.logaddexp.reduce(-other.gammas)
        return float(np.abs(change - total).max())


def seen(ask: Callable[[], Any]) -> list[Seen]:
    """Return every draw of a call: of each group, each stage, each plan."""

    def stop(stages: Any, groups: Any) -> None:
        refuse(stages, groups)
        raise Stopped(stages, groups)

    refuse = corridor._refuse_unfit
    try:
        with mock.patch.object(corridor, "_refuse_unfit", stop):
            ask()
    except Stopped as stopped:
        stages, groups = stopped.args
    else:
        raise AssertionError("the call did not come to the corridor")
    found = []
    for group in [None] if groups is None else range(len(groups)):
        for stage in stages:
            source = stage.source if group is None else stage.source.group(group)
            for load in [load for plan in stage.plans for load in plan.loaders]:
                load()
            fields = stage.plans[0].read(source, stage.plans)
            found += [_of(p, f) for p, f in zip(stage.plans, fields, strict=True)]
    return found


def _of(plan: Any, field: Any) -> Seen:
    if isinstance(plan, NoisePlan):
        return Seen(plan, tuple(field.total), None, True)
    assert isinstance(plan, DensityPlan), plan.mechanism
    points, whole = _points(plan)
    gammas = [float(plan.exponent(p, field.score(p))) for p in points]
    return Seen(plan, None, np.array(gammas), whole)


def _points(plan: DensityPlan) -> tuple[list[tuple[int, ...]], bool]:
    """Return all points of a small lattice on a line, or some of any other that lie inside."""
    grid, domain = plan.problem.grid, plan.problem.domain
    if len(grid.step) == 1 and isinstance(domain, Box):
        (first,), (last,) = plan.domain.first, plan.domain.last
        if last - first < _MOST:
            return [(k,) for k in range(first, last + 1)], True
    pairs = list(zip(grid.origin, grid.step, strict=True))
    nearest = [[round((theta - o) / h) for theta in _THETAS] for o, h in pairs]
    return [k for k in product(*nearest) if domain.contains(grid.theta(k))], False


def neighbours(records: Sequence[Any], relation: str, n: int) -> Iterator[tuple[Table, Table]]:
    """Yield tables one record apart."""
    if relation == "replace-one":
        for rest in combinations_with_replacement(records, n - 1):
            for a, b in combinations_with_replacement(records, 2):
                yield (*rest, a), (*rest, b)
    else:
        for m in range(1, n):
            for rest in combinations_with_replacement(records, m):
                for a in records:
                    yield rest, (*rest, a)


def worst(call: Callable[[Table], Any], pairs: Iterator[tuple[Table, Table]]) -> tuple[float, Any]:
    """Return the largest loss of a call over pairs of tables, and a pair that has it."""
    known: dict[str, list[Seen]] = {}
    largest: tuple[float, Any] = (0.0, None)
    for a, b in pairs:
        for table in (a, b):
            if repr(table) not in known:
                known[repr(table)] = seen(lambda table=table: call(table))
        draws = zip(known[repr(a)], known[repr(b)], strict=True)
        loss = sum(one.loss(other) for one, other in draws)
        if loss > largest[0]:
            largest = loss, (a, b)
    return largest
