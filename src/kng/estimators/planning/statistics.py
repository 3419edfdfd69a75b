"""Plans for means and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.bits import simulator
from kng.core.bounds import Bounds, bounds_of
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import positive, whole
from kng.core.naming import argument
from kng.core.privacy import ReplaceOne
from kng.estimators.mean import _MEAN, _on_the_sum, mean
from kng.estimators.planned import planned
from kng.estimators.planning.declared import Column, columns_of
from kng.estimators.planning.dry_run import Numbers
from kng.estimators.planning.expected import Errors, Expected, sound
from kng.estimators.planning.location import mean_errors, quantile_errors
from kng.estimators.planning.present import counted_of
from kng.estimators.planning.report import Choice, ReleasePlan, times_plain
from kng.estimators.planning.units import unit_of
from kng.estimators.quantile import _parts, _plans, _taus, quantile
from kng.estimators.request import Request, request_of, way_of
from kng.mechanisms import KNorm

# As for linear models.
_LEAST, _MOST = Fraction(1, 10**12), 10**6
_NORMS = ("auto", "weighted-sup", "l1", "l2")


def asked(epsilon: Any, neighbours: str, records_per_person: int, n: Any) -> Request:
    """Read what every plan is told; a private number of records is bounded by twice the guess."""
    most = None if neighbours == ReplaceOne.name else 2 * whole(n, "n", 1)
    ask = request_of(
        epsilon=epsilon,
        neighbours=neighbours,
        n_max=most,
        records_per_person=records_per_person,
        ledger=None,
        random_state=None,
    )
    if not _LEAST <= ask.epsilon <= _MOST:
        raise SpecError(
            f"{argument('epsilon')} must lie between 1e-12 and 1e6 for a plan; got "
            f"{float(ask.epsilon):g}."
        )
    return ask


def _names(bounds: Bounds, statistic: str) -> list[str]:
    if bounds.columns is not None:
        return list(bounds.columns)
    return [statistic] if len(bounds) == 1 else [f"column {j}" for j in range(len(bounds))]


def said(bounds: Bounds, columns: Sequence[Column], guessed: bool) -> str:
    """Say what columns are taken to look like."""
    names = _names(bounds, "")
    words = [
        f"{name + ' ' if name else ''}{column.described()}"
        for name, column in zip(names, columns, strict=True)
    ]
    doubt = "" if guessed else " (a sixth of the range; state the spread for a better guess)"
    return "; ".join(words) + doubt


def mean_plan(
    *,
    n: int,
    epsilon: Any,
    bounds: Any,
    spread: Any,
    centre: Any,
    error: Any,
    norm: Any,
    granularity: Any,
    missing: Any,
    present: Any,
    neighbours: str,
    records_per_person: int,
) -> ReleasePlan:
    """Plan a mean."""
    number, counted = whole(n, "n", 1), counted_of(present, missing)
    ask = asked(epsilon, neighbours, records_per_person, n)
    box = bounds_of(bounds)
    loss = _MEAN.over(_MEAN.encode(box, granularity, missing))
    columns = columns_of(box.low, box.high, centre, spread)
    names = _names(box, "mean")

    def errors_in(option: Any) -> Errors:
        way = way_of("auto", ("auto", "k-norm"), norm=option)

        def errors(records: int, cost: Fraction) -> list[Expected]:
            unit = unit_of(replace(ask, epsilon=cost), records, missing)
            problem = _on_the_sum(way, granularity, loss, unit, None)
            plan = planned(KNorm(), problem, cost, "auto")
            found = mean_errors(plan, columns, names, counted.of(records))
            if found is None:
                raise IncompatibleParts("This norm does not know how large its noise is.")
            return found

        return sound(errors)

    errors = errors_in(norm)
    choices: tuple[Choice, ...] = ()
    if len(columns) > 1 and isinstance(norm, str):
        by_norm = {name: times_plain(errors_in(name)(number, ask.epsilon)) for name in _NORMS}
        choices = (Choice("norm", by_norm),)

    def trial(seed: int) -> tuple[Numbers, Numbers, Numbers]:
        rng = simulator(seed)
        data = np.column_stack([column.draw(rng, number) for column in columns])
        gone = counted.absent(rng, number)
        data[gone] = np.nan
        release = mean(
            data, bounds=Bounds(box.low, box.high), epsilon=ask.epsilon, norm=norm,
            granularity=granularity, missing=missing, neighbours=neighbours,
            n_max=ask.n_max, records_per_person=records_per_person, random_state=seed,
        )  # fmt: skip
        plain = data[~gone].mean(axis=0)
        return np.atleast_1d(release.value), plain, [c.mean for c in columns]

    return ReleasePlan(
        "mean", number, ask.epsilon, tuple(errors(number, ask.epsilon)),
        counted.said(said(box, columns, spread is not None)), choices, read_error(error),
        "formula", errors, trial,
    )  # fmt: skip


def quantile_plan(
    statistic: str,
    q: Any,
    *,
    n: int,
    epsilon: Any,
    bounds: Any,
    spread: Any,
    centre: Any,
    error: Any,
    granularity: Any,
    missing: Any,
    present: Any,
    neighbours: str,
    records_per_person: int,
) -> ReleasePlan:
    """Plan one or several quantiles."""
    number, counted = whole(n, "n", 1), counted_of(present, missing)
    ask = asked(epsilon, neighbours, records_per_person, n)
    parts = _parts(bounds, granularity, missing, ("auto", None, "auto", None))
    box, taus = parts.records.bounds, _taus(q)
    (column,) = columns_of(box.low, box.high, centre, spread)

    def errors(records: int, cost: Fraction) -> list[Expected]:
        unit = unit_of(replace(ask, epsilon=cost), records, missing)
        plans = _plans(parts, tuple(taus), unit, cost)
        found = quantile_errors(plans, column, taus, counted.of(records))
        return [replace(found[0], name=statistic)] if len(found) == 1 else found

    known = sound(errors)

    def trial(seed: int) -> tuple[Numbers, Numbers, Numbers]:
        rng = simulator(seed)
        data = column.draw(rng, number)
        gone = counted.absent(rng, number)
        data[gone] = np.nan
        release = quantile(
            data, list(taus), bounds=bounds, epsilon=ask.epsilon, granularity=granularity,
            missing=missing, neighbours=neighbours, n_max=ask.n_max,
            records_per_person=records_per_person, random_state=seed,
        )  # fmt: skip
        shares = [float(tau) for tau in taus]
        plain = np.quantile(data[~gone], shares, method="inverted_cdf")
        return np.atleast_1d(release.value), plain, [column.quantile(v) for v in shares]

    return ReleasePlan(
        statistic, number, ask.epsilon, tuple(known(number, ask.epsilon)),
        counted.said(said(box, [column], spread is not None)), (), read_error(error), "formula",
        known, trial,
    )  # fmt: skip


def read_error(error: Any) -> float | None:
    """Read the error that is asked for."""
    return None if error is None else float(positive(error, "error"))
