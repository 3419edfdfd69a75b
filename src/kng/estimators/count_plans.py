"""``kng.count.plan`` and its like for sums; what it needs loads when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kng.estimators.planning.report import ReleasePlan


def plan_count(
    *,
    n: int,
    epsilon: Any,
    share: Any = None,
    error: Any = None,
    present: Any = None,
    neighbours: str = "replace-one",
    records_per_person: int = 1,
) -> ReleasePlan:
    """Return what a private count would be worth, from public facts and guesses alone.

    Parameters
    ----------
    n : int
        Number of all records.
    epsilon, neighbours, records_per_person
        As for `kng.count`.
    share : number, optional
        Guess of the share of records for which the condition holds; a half unless given.
    error : number, optional
        Error that is asked for: the plan says which n or epsilon it needs.
    present : number, optional
        Guess of the share of records that count: those without a missing cell, for which the
        condition of ``where`` holds, or of one group of ``by``. All unless given.

    Returns
    -------
    ReleasePlan
        Expected errors, a verdict, what the error asked for needs, and a dry run. docs/plan.md.

    Examples
    --------
    >>> import kng
    >>> plan = kng.count.plan(n=3000, epsilon=1)
    >>> plan.feasible, round(plan.expected[0].noise, 1)
    (True, 1.4)
    """
    from kng.estimators.planning.counts import count_plan

    return count_plan(
        n=n, epsilon=epsilon, share=share, error=error, present=present,
        neighbours=neighbours, records_per_person=records_per_person,
    )  # fmt: skip


def plan_proportion(
    *,
    n: int,
    epsilon: Any,
    share: Any = None,
    error: Any = None,
    present: Any = None,
    neighbours: str = "replace-one",
    records_per_person: int = 1,
) -> ReleasePlan:
    """Return what a private proportion would be worth, from public facts and guesses alone.

    Parameters
    ----------
    n, epsilon, share, error, present, neighbours, records_per_person
        As for ``kng.count.plan``.

    Returns
    -------
    ReleasePlan
        Expected errors, a verdict, what the error asked for needs, and a dry run. docs/plan.md.
    """
    from kng.estimators.planning.counts import proportion_plan

    return proportion_plan(
        n=n, epsilon=epsilon, share=share, error=error, present=present,
        neighbours=neighbours, records_per_person=records_per_person,
    )  # fmt: skip


def plan_histogram(
    *,
    n: int,
    epsilon: Any,
    bins: Any,
    shares: Any = None,
    error: Any = None,
    present: Any = None,
    neighbours: str = "replace-one",
    records_per_person: int = 1,
) -> ReleasePlan:
    """Return what private counts in bins would be worth, from public facts and guesses alone.

    Parameters
    ----------
    n, epsilon, error, present, neighbours, records_per_person
        As for ``kng.count.plan``.
    bins : int or list of names
        How many bins there are, or what they are called.
    shares : list of numbers, optional
        Guesses of the share of records in each bin; equal ones unless given.

    Returns
    -------
    ReleasePlan
        Expected errors, a verdict, what the error asked for needs, and a dry run. docs/plan.md.
    """
    from kng.estimators.planning.counts import histogram_plan

    return histogram_plan(
        n=n, epsilon=epsilon, bins=bins, shares=shares, error=error, present=present,
        neighbours=neighbours, records_per_person=records_per_person,
    )  # fmt: skip


def plan_sum(
    *,
    n: int,
    epsilon: Any,
    bounds: Any,
    spread: Any = None,
    centre: Any = None,
    error: Any = None,
    granularity: Any = None,
    missing: Any = "drop",
    present: Any = None,
    neighbours: str = "replace-one",
    records_per_person: int = 1,
) -> ReleasePlan:
    """Return what a private sum would be worth, from public facts and guesses alone.

    Parameters
    ----------
    n, epsilon, bounds, spread, centre, error, granularity, missing, present
        As for ``kng.mean.plan``.
    neighbours, records_per_person
        As for `kng.sum`.

    Returns
    -------
    ReleasePlan
        Expected errors, a verdict, what the error asked for needs, and a dry run. docs/plan.md.
    """
    from kng.estimators.planning.counts import sum_plan

    return sum_plan(
        n=n, epsilon=epsilon, bounds=bounds, spread=spread, centre=centre, error=error,
        granularity=granularity, missing=missing, present=present,
        neighbours=neighbours, records_per_person=records_per_person,
    )  # fmt: skip


def plan_variance(
    *,
    n: int,
    epsilon: Any,
    bounds: Any,
    spread: Any = None,
    centre: Any = None,
    error: Any = None,
    ddof: int = 1,
    granularity: Any = None,
    missing: Any = "drop",
    present: Any = None,
    neighbours: str = "replace-one",
    records_per_person: int = 1,
) -> ReleasePlan:
    """Return what a private variance would be worth, from public facts and guesses alone.

    Parameters
    ----------
    n, epsilon, bounds, spread, centre, error, granularity, missing, present
        As for ``kng.mean.plan``.
    ddof, neighbours, records_per_person
        As for `kng.variance`.

    Returns
    -------
    ReleasePlan
        Expected errors, a verdict, what the error asked for needs, and a dry run. docs/plan.md.
    """
    from kng.estimators.planning.counts import variance_plan

    return variance_plan(
        n=n, epsilon=epsilon, bounds=bounds, spread=spread, centre=centre, error=error,
        ddof=ddof, granularity=granularity, missing=missing, present=present,
        neighbours=neighbours, records_per_person=records_per_person,
    )  # fmt: skip
