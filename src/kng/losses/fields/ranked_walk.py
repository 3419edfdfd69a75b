"""Several quantiles of one column, from the ranks of the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from kng.core.capabilities import Runs
from kng.core.parts import Point
from kng.core.records import Records
from kng.losses.fields.ranked_line import reach_of, relation_of
from kng.losses.kernels.ranks import Ranks, Wanted, read_ranks


def read_walks(source: Records, plans: Sequence[Any]) -> list[RankWalk]:
    """Read the ranks that carry weight, around each quantile of each plan."""
    domain, relation = plans[0].domain, relation_of(plans[0].problem.unit)
    first, last = domain.first[0], domain.last[0]
    fields = []
    for plan in plans:
        levels, reach = plan.problem.loss.taus, reach_of(plan)
        found = read_ranks(source, relation, first, last, [Wanted(q, reach) for q in levels])
        fields.append(RankWalk(levels, found[0].total, runs_of(found, first, last)))
    return fields


def runs_of(found: Sequence[Ranks], first: int, last: int) -> Runs:
    """Return all lattice points of windows, in runs of equal ranks.

    Records before ``first`` count as being there, and those after ``last`` likewise.
    """
    parts = [_runs(window, first, last) for window in _joined(found)]
    return Runs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _joined(found: Sequence[Ranks]) -> list[Ranks]:
    """Return the same windows in order, with those that meet made one."""
    ordered = sorted({id(ranks): ranks for ranks in found}.values(), key=lambda r: r.first)
    joined = [ordered[0]]
    for each in ordered[1:]:
        one = joined[-1]
        if each.first > one.last + 1:
            joined.append(each)
            continue
        known = dict(zip(one.values, one.upto, strict=True))
        known.update(zip(each.values, each.upto, strict=True))
        values = sorted(known)
        upto = [known[v] for v in values]
        end = max(one.last, each.last)
        joined[-1] = Ranks(one.total, one.before, one.first, end, values, upto)
    return joined


def _runs(ranks: Ranks, first: int, last: int) -> Runs:
    """Return a window's records one by one, with what lies before, between and after them."""
    values, upto = (np.array(column, dtype=np.int64) for column in (ranks.values, ranks.upto))
    before = ranks.before
    if ranks.first == first and before > 0:
        if not len(values) or values[0] > first:
            values, upto = np.append(first, values), np.append(before, upto)
        before = 0
    if ranks.last == last and (upto[-1] if len(upto) else before) < ranks.total:
        if not len(values) or values[-1] < last:
            values, upto = np.append(values, last), np.append(upto, ranks.total)
        upto[-1] = ranks.total
    below = np.append(before, upto)  # before each record, and after the last
    start = np.append(ranks.first, values + 1)
    gap = np.append(values, ranks.last + 1) - start
    runs = [
        _alternating(gaps, records)
        for gaps, records in (
            (start, values),
            (gap, np.ones_like(values)),
            (below, below[:-1]),
            (below, upto),
        )
    ]
    kept = runs[1] > 0
    return Runs(*(column[kept] for column in runs))


def _alternating(gaps: Any, records: Any) -> Any:
    """Return the first gap, the first record, the second gap, and so on."""
    both = np.empty(len(gaps) + len(records), dtype=np.int64)
    both[0::2], both[1::2] = gaps, records
    return both


@dataclass(frozen=True, slots=True)
class RankWalk:
    """Half the shortest walk from 0 past the ranks of each theta_j, counted from q_j n, to 0.

        T_j in [ #{x < theta_j}, #{x <= theta_j} ] - q_j n,     score = 1/2 sum_j |T_j - T_(j-1)|

    Whoever moves only into the next interval walks least.
    """

    levels: tuple[Fraction, ...]
    total: int
    runs: Runs

    def score(self, theta: Point) -> Fraction:
        """Return the score, exactly: in whole numbers of the levels' common denominator."""
        at = np.searchsorted(self.runs.first, theta, side="right") - 1
        unit = lcm(*(level.denominator for level in self.levels))
        ends = zip(self.runs.below[at].tolist(), self.runs.upto[at].tolist(), strict=True)
        here, walked = 0, 0
        for level, (below, upto) in zip(self.levels, ends, strict=True):
            target = int(level * unit) * self.total
            there = min(max(here, unit * below - target), unit * upto - target)
            walked += abs(there - here)
            here = there
        return Fraction(walked + abs(here), 2 * unit)
