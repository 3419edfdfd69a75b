"""Plans for counts, proportions, histograms, sums and variances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from kng.core.bits import simulator
from kng.core.bounds import bounds_of
from kng.core.encoding import DROP, encoding_of
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, whole
from kng.core.naming import Code, argument
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.data.counting import codes
from kng.estimators import count, histogram, proportion, total, variance
from kng.estimators.noisy_sums import one_column
from kng.estimators.planning.declared import Column, columns_of
from kng.estimators.planning.dry_run import Numbers, Trial
from kng.estimators.planning.expected import Expected, sound
from kng.estimators.planning.location import cut
from kng.estimators.planning.present import counted_of
from kng.estimators.planning.report import ReleasePlan
from kng.estimators.planning.statistics import asked, read_error, said
from kng.estimators.planning.units import unit_of
from kng.losses.location_sum import counted
from kng.mechanisms.knorm import standard_deviations

# Bins of a histogram that a plan is made for; more are not looked at one by one.
_MOST_BINS = 1000
# Errors of a release, from its unit and its epsilon, for so many records.
OfUnit = Callable[[PrivacyUnit, Fraction, int], list[Expected]]


def _planned(
    statistic: str,
    n: Any,
    shape: str,
    errors_of: OfUnit,
    trial: Callable[[int, dict[str, Any]], Trial],
    *,
    epsilon: Any,
    error: Any,
    missing: Any,
    neighbours: str,
    records_per_person: int,
) -> ReleasePlan:
    """Put a plan together; ``trial`` takes the number of records and what every release takes."""
    number = whole(n, "n", 2)
    ask = asked(epsilon, neighbours, records_per_person, n)

    def errors(records: int, cost: Fraction) -> list[Expected]:
        return errors_of(unit_of(replace(ask, epsilon=cost), records, missing), cost, records)

    known = sound(errors)
    shared = {
        "epsilon": ask.epsilon, "neighbours": neighbours, "n_max": ask.n_max,
        "records_per_person": records_per_person,
    }  # fmt: skip
    return ReleasePlan(
        statistic, number, ask.epsilon, tuple(known(number, ask.epsilon)), shape, (),
        read_error(error), "formula", known, trial(number, shared),
    )  # fmt: skip


def _sizes(plan: NoisePlan) -> tuple[float, ...]:
    found = standard_deviations(plan)
    if found is None:
        raise IncompatibleParts("This norm does not know how large its noise is.")
    return found


def _share(share: Any, name: str = "share") -> float:
    found = float(exact(share, name))
    if not 0 < found < 1:
        raise SpecError(
            f"{argument(name)} must lie strictly between 0 and 1, as in 0.5; got {share}."
        )
    return found


def _guess(share: Any) -> str:
    return "" if share is not None else " (a guess; state the share for a better one)"


def count_plan(*, n: Any, share: Any, present: Any, **options: Any) -> ReleasePlan:
    """Plan a count of the records for which a condition holds."""
    known = counted_of(present, None)
    stated = _share(Fraction(1, 2) if share is None else share)
    part = stated * known.share

    def errors(unit: PrivacyUnit, cost: Fraction, records: int) -> list[Expected]:
        (size,) = _sizes(count.plan_for(codes(1), unit, cost))
        return [Expected("count", min(size, records), sqrt(records * part * (1 - part)))]

    def trial(number: int, shared: dict[str, Any]) -> Trial:
        def run(seed: int) -> tuple[Numbers, Numbers, Numbers]:
            held = (simulator(seed).uniform(0, 1, number) < part).astype(int)
            found = count.count({"x": held}, where="x = 1", random_state=seed, **shared)
            return np.atleast_1d(found.value), [held.sum()], [number * part]

        return run

    shape = known.said(f"a condition holds for {stated:.3g} of them{_guess(share)}")
    return _planned("count", n, shape, errors, trial, missing=DROP, **options)


def proportion_plan(*, n: Any, share: Any, present: Any, **options: Any) -> ReleasePlan:
    """Plan the share of the records for which a condition holds.

    Noise of both counts has the variance s^2, and in the norm `Exchange` the covariance -s^2 / 2,
    so that (1 - p) u - p v has  s^2 (1 - p (1 - p));  independent it is  s^2 ((1 - p)^2 + p^2).
    """
    known = counted_of(present, None)
    part = _share(Fraction(1, 2) if share is None else share)

    def errors(unit: PrivacyUnit, cost: Fraction, records: int) -> list[Expected]:
        m = known.of(records)
        size = _sizes(proportion.plan_for(codes(2), unit, cost))[0]
        if counted(unit):
            both = isinstance(unit.neighbours, ReplaceOne)
            size *= sqrt(1 - (1 if both else 2) * part * (1 - part))
        sampling = sqrt(part * (1 - part) / m)
        return [Expected("proportion", cut(size / m, 0.5), sampling)]

    def trial(number: int, shared: dict[str, Any]) -> Trial:
        def run(seed: int) -> tuple[Numbers, Numbers, Numbers]:
            rng = simulator(seed)
            held = (rng.uniform(0, 1, number) < part).astype(float)
            gone = known.absent(rng, number)
            held[gone] = np.nan
            found = proportion.proportion(held, random_state=seed, **shared)
            return np.atleast_1d(found.value), [held[~gone].mean()], [part]

        return run

    shape = known.said(f"a condition holds for {part:.3g} of them{_guess(share)}")
    return _planned("proportion", n, shape, errors, trial, missing=DROP, **options)


def histogram_plan(*, n: Any, bins: Any, shares: Any, present: Any, **options: Any) -> ReleasePlan:
    """Plan counts in bins."""
    listed = hasattr(bins, "__len__") and not isinstance(bins, str)
    names = [str(b) for b in bins] if listed else [f"bin {j + 1}" for j in range(_bins(bins))]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SpecError(f"{argument('bins')} has {twice!r} twice; name each bin once.")
    if not 2 <= len(names) <= _MOST_BINS:
        raise SpecError(f"A plan is for 2 to {_MOST_BINS} bins; got {len(names)}.")
    stated = [1 / len(names)] * len(names) if shares is None else _parts(shares, len(names))
    known = counted_of(present, None)
    parts = [p * known.share for p in stated]

    def errors(unit: PrivacyUnit, cost: Fraction, records: int) -> list[Expected]:
        size = _sizes(histogram.plan_for(len(names), codes(len(names)), unit, cost))[0]
        noise = min(size, float(records))
        pairs = zip(names, parts, strict=True)
        return [Expected(name, noise, sqrt(records * p * (1 - p))) for name, p in pairs]

    def trial(number: int, shared: dict[str, Any]) -> Trial:
        ends = np.cumsum(stated)[:-1]

        def run(seed: int) -> tuple[Numbers, Numbers, Numbers]:
            rng = simulator(seed)
            at = np.searchsorted(ends, rng.uniform(0, 1, number)).astype(float)
            gone = known.absent(rng, number)
            at[gone] = np.nan
            levels = list(range(len(names)))
            found = histogram.histogram(at, levels=levels, random_state=seed, **shared)
            plain = np.bincount(at[~gone].astype(int), minlength=len(names)).astype(float)
            return np.asarray(found.value, dtype=float), plain, [number * p for p in parts]

        return run

    even = " (state the shares for a better guess)" if shares is None else ""
    shape = known.said(f"in {len(names)} bins, of shares {_shares_said(stated)}{even}")
    return _planned("histogram", n, shape, errors, trial, missing=DROP, **options)


def _bins(bins: Any) -> int:
    return min(whole(bins, "bins", 2), _MOST_BINS + 1)


def _parts(shares: Any, bins: int) -> list[float]:
    if not hasattr(shares, "__len__") or isinstance(shares, str) or len(shares) != bins:
        raise SpecError(
            f"{argument('shares')} must be a list with one number for each of the {bins} bins."
        )
    parts = [_share(share, "shares") for share in shares]
    if abs(sum(parts) - 1) > 1e-6:
        raise SpecError(f"{argument('shares')} must add up to 1; they add up to {sum(parts):.6g}.")
    return parts


def _shares_said(parts: Sequence[float]) -> str:
    if max(parts) - min(parts) < 1e-12:
        return f"{parts[0]:.3g} each"
    return ", ".join(f"{p:.3g}" for p in parts[:8]) + (" and so on" if len(parts) > 8 else "")


def _column(bounds: Any, statistic: str, centre: Any, spread: Any) -> tuple[Any, Column]:
    box = one_column(bounds_of(bounds), statistic)
    (column,) = columns_of(box.low, box.high, centre, spread)
    return box, column


def sum_plan(
    *,
    n: Any,
    bounds: Any,
    spread: Any,
    centre: Any,
    granularity: Any,
    missing: Any,
    present: Any,
    **options: Any,
) -> ReleasePlan:
    """Plan a sum."""
    known = counted_of(present, missing)
    part = known.share
    box, column = _column(bounds, "sum", centre, spread)
    records = encoding_of(box, granularity=granularity, missing=missing, bits=total._BITS)

    def errors(unit: PrivacyUnit, cost: Fraction, number: int) -> list[Expected]:
        (size,) = _sizes(total.plan_for(records, unit, cost))
        most = number * max(abs(column.low), abs(column.high), column.high - column.low)
        square = part * (column.deviation**2 + column.mean**2) - (part * column.mean) ** 2
        return [Expected("sum", min(size, most), sqrt(number * square))]

    def trial(number: int, shared: dict[str, Any]) -> Trial:
        given = {"granularity": granularity, "missing": missing, **shared}

        def run(seed: int) -> tuple[Numbers, Numbers, Numbers]:
            rng = simulator(seed)
            data = column.draw(rng, number)
            gone = known.absent(rng, number)
            data[gone] = np.nan
            ends = column.low, column.high
            found = total.sum(data, bounds=ends, random_state=seed, **given)
            return np.atleast_1d(found.value), [data[~gone].sum()], [number * part * column.mean]

        return run

    shape = known.said(said(box, [column], spread is not None))
    return _planned("sum", n, shape, errors, trial, missing=missing, **options)


def variance_plan(
    *,
    n: Any,
    bounds: Any,
    spread: Any,
    centre: Any,
    ddof: Any,
    granularity: Any,
    missing: Any,
    present: Any,
    **options: Any,
) -> ReleasePlan:
    """Plan a variance.

    With y from -1 to 1 between the bounds, m = E y, q = E y^2 and half the range h, noise u on
    (sum y, sum y^2, count) moves  h^2 (q - m^2)  by  h^2 / n (-2 m, 1, 2 m^2 - q)'u.
    """
    box, column = _column(bounds, "variance", centre, spread)
    records = encoding_of(box, granularity=granularity, missing=missing, bits=variance._BITS)
    known = counted_of(present, missing)
    divisor, half = whole(ddof, "ddof", 0), (column.high - column.low) / 2
    y = (column.points - (column.low + column.high) / 2) / half
    mean, q = float(y.mean()), float((y**2).mean())
    fourth = float(((y - mean) ** 4).mean())

    def errors(unit: PrivacyUnit, cost: Fraction, number: int) -> list[Expected]:
        m = known.of(number)
        if m <= divisor + 1:
            raise SpecError(
                f"A variance with {argument('ddof', Code(str(divisor)))} needs more than {m} "
                "records."
            )
        plan = variance.plan_for(divisor, records, unit, cost)
        norm: Any = plan.problem.norm
        along = [-2 * mean, 1.0, *([2 * mean * mean - q] if counted(unit) else [])]
        d = len(along)
        size = sqrt((d + 1) * (d + 2) * norm.second_moment(along)) / float(plan.rate)
        sampling = sqrt(max(fourth - (q - mean * mean) ** 2, 0.0) / m) * half**2
        return [Expected("variance", min(size / m, 1.0) * half**2, sampling)]

    def trial(number: int, shared: dict[str, Any]) -> Trial:
        given = {"ddof": divisor, "granularity": granularity, "missing": missing, **shared}

        def run(seed: int) -> tuple[Numbers, Numbers, Numbers]:
            rng = simulator(seed)
            data = column.draw(rng, number)
            gone = known.absent(rng, number)
            data[gone] = np.nan
            ends = column.low, column.high
            found = variance.variance(data, bounds=ends, random_state=seed, **given)
            plain = data[~gone].var(ddof=divisor)
            return np.atleast_1d(found.value), [plain], [(q - mean * mean) * half**2]

        return run

    shape = known.said(said(box, [column], spread is not None))
    return _planned("variance", n, shape, errors, trial, missing=missing, **options)
