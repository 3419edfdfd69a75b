"""``kng.mean.plan`` and its like: what a release would be worth; what it needs loads when asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from kng.estimators.planning.report import ReleasePlan

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)


class Planning(Protocol[P, R_co, Q]):
    """A function that releases, and the plan of such a release."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Release."""
        ...

    def plan(self, *args: Q.args, **kwargs: Q.kwargs) -> ReleasePlan:
        """Plan."""
        ...


def with_plan(
    plan: Callable[Q, ReleasePlan],
) -> Callable[[Callable[P, R_co]], Planning[P, R_co, Q]]:
    """Give a function its plan as an attribute."""

    def given(function: Callable[P, R_co]) -> Planning[P, R_co, Q]:
        function.plan = plan  # type: ignore[attr-defined]
        return cast("Planning[P, R_co, Q]", function)

    return given


def plan_mean(
    *,
    n: int,
    epsilon: Any,
    bounds: Any,
    spread: Any = None,
    centre: Any = None,
    error: Any = None,
    norm: Any = "auto",
    granularity: Any = None,
    missing: Any = None,
    present: Any = None,
    neighbours: str = "replace-one",
    records_per_person: int = 1,
) -> ReleasePlan:
    """Return what a private mean would be worth, from public facts and guesses alone.

    Parameters
    ----------
    n : int
        Number of records.
    epsilon, bounds, norm, granularity, missing, neighbours, records_per_person
        As for `kng.mean`.
    spread, centre : number or one per column, optional
        Guesses of the standard deviation and the mean of records; a sixth of the range and its
        middle unless given.
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
    >>> plan = kng.mean.plan(n=3000, epsilon=1, bounds=(0, 100))
    >>> plan.feasible, round(plan.expected[0].total, 2)
    (True, 0.3)
    """
    from kng.estimators.planning.statistics import mean_plan

    return mean_plan(
        n=n, epsilon=epsilon, bounds=bounds, spread=spread, centre=centre, error=error,
        norm=norm, granularity=granularity, missing=missing, present=present,
        neighbours=neighbours, records_per_person=records_per_person,
    )  # fmt: skip


def plan_quantile(
    q: Any,
    *,
    n: int,
    epsilon: Any,
    bounds: Any,
    spread: Any = None,
    centre: Any = None,
    error: Any = None,
    granularity: Any = None,
    missing: Any = None,
    present: Any = None,
    neighbours: str = "replace-one",
    records_per_person: int = 1,
) -> ReleasePlan:
    """Return what private quantiles would be worth, from public facts and guesses alone.

    Parameters
    ----------
    q : number or list of numbers
        As for `kng.quantile`.
    n, epsilon, bounds, spread, centre, error, granularity, missing, present
        As for ``kng.mean.plan``.
    neighbours, records_per_person
        As for `kng.quantile`.

    Returns
    -------
    ReleasePlan
        Expected errors, a verdict, what the error asked for needs, and a dry run. docs/plan.md.
    """
    from kng.estimators.planning.statistics import quantile_plan

    return quantile_plan(
        "quantile", q, n=n, epsilon=epsilon, bounds=bounds, spread=spread, centre=centre,
        error=error, granularity=granularity, missing=missing, present=present,
        neighbours=neighbours, records_per_person=records_per_person,
    )  # fmt: skip


def plan_median(
    *,
    n: int,
    epsilon: Any,
    bounds: Any,
    spread: Any = None,
    centre: Any = None,
    error: Any = None,
    granularity: Any = None,
    missing: Any = None,
    present: Any = None,
    neighbours: str = "replace-one",
    records_per_person: int = 1,
) -> ReleasePlan:
    """Return what a private median would be worth, from public facts and guesses alone.

    Parameters
    ----------
    n, epsilon, bounds, spread, centre, error, granularity, missing, present
        As for ``kng.mean.plan``.
    neighbours, records_per_person
        As for `kng.median`.

    Returns
    -------
    ReleasePlan
        Expected errors, a verdict, what the error asked for needs, and a dry run. docs/plan.md.
    """
    from kng.estimators.planning.statistics import quantile_plan

    return quantile_plan(
        "median", 0.5, n=n, epsilon=epsilon, bounds=bounds, spread=spread, centre=centre,
        error=error, granularity=granularity, missing=missing, present=present,
        neighbours=neighbours, records_per_person=records_per_person,
    )  # fmt: skip
