"""Private quantiles and medians: names become parts, and the corridor does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from kng.core.bounds import bounds_of
from kng.core.encoding import Encoding
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, show
from kng.core.lattice import Lattice
from kng.core.naming import argument
from kng.core.noise.stored import Noise
from kng.core.parts import Domain, Point, Points, filled
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.core.release import Release
from kng.corridor import Answer, Stage, certified, release
from kng.data import open_source
from kng.domains import Box, Ordered
from kng.estimators.based import between, refuse_coefficients, said
from kng.estimators.declared_groups import groups_of
from kng.estimators.noisy import rank_noise
from kng.estimators.plans import plan_median, plan_quantile, with_plan
from kng.estimators.request import (
    Request,
    details,
    one_of,
    present_of,
    request_of,
    stated,
    table_states,
    way_of,
)
from kng.losses.location import Location
from kng.losses.pointwise.pinball import Pinball
from kng.losses.quantiles import Quantiles
from kng.mechanisms import KNG, Exponential
from kng.norms import LInf, Variation
from kng.samplers.exact.together import Together, too_many

# Records are read alike for every quantile.
_MEDIAN = Location(Pinball(Fraction(1, 2)))
_NAMES = ("auto", "kng", "exponential")
_SAMPLERS = ("auto", "together", "order", "branch-and-bound", "hit-and-run")

# What a cache may know by its value and its type.
_SIMPLE = (int, float, str, Fraction, type(None))


@with_plan(plan_quantile)
@table_states("bounds", "granularity")
def quantile(
    data: Any,
    q: Any,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    granularity: Any = None,
    missing: Any = "drop",
    where: Any = None,
    by: Any = None,
    mechanism: Any = "auto",
    domain: Any = None,
    base: Any = None,
    sampler: str = "auto",
    neighbours: str = "replace-one",
    n_max: int | None = None,
    records_per_person: int = 1,
    person: str | None = None,
    max_records: int | None = None,
    ledger: Any = None,
    random_state: Any = None,
) -> Release:
    """Release one or several private quantiles of a column.

    Several quantiles are drawn together, as one vector, for epsilon once: the answer to a larger q
    is never smaller, and each is nearly as accurate as if it had been asked for alone.

    Parameters
    ----------
    data : array, list, series, data frame with one column, or path of a CSV file
        One row per record.
    q : number or list of numbers
        Strictly between 0 and 1.
    bounds : (low, high) or {column: (low, high)}
        Public range of a record. Records outside are clipped.
    epsilon : number
        Privacy budget to spend, for all of q together.
    granularity : number, optional
        Public step of the data and of the answer. With the true step of the data (1 for whole
        dollars) ties are answered exactly.
    missing : "drop" or a number
        What becomes of a record with a missing cell (NaN, None, text that is no number). "drop"
        leaves it out, and how many are left out stays private; a number takes its place.
        docs/missing.md.
    where : str, optional
        A condition on columns of a table, such as "age >= 40 and sex = 'F'". Records for which it
        does not hold are absent: they have no part in the answer, and how many there are stays
        private. docs/conditions.md.
    by : {column: levels}, optional
        Declared groups, such as {"sex": ["F", "M"]}: one answer for each, together for epsilon.
        Several columns give all combinations. A record with another level is in no group, and how
        many are in each stays private. docs/groups.md.
    mechanism : {"auto", "kng", "exponential"} or a mechanism
        "auto" is KNG.
    domain : domain of `kng.domains`, optional
        Where the answer is looked for, in its units; between the bounds unless given.
    base : {"uniform", "heavy-tailed", "gaussian", "student"}, a base of `kng.bases`, or a Release
        How likely answers are before the records are seen: an earlier release is what to start
        from. "gaussian" and "student" have half the range as their scale. Uniform unless given.
    sampler : {"auto", "together", "order", "branch-and-bound", "hit-and-run"}
        "auto" is the exact order sampler for one quantile, branch and bound where there is a base,
        and the exact joint draw for several. "order" draws several one by one, each for an equal
        share of epsilon, as does "auto" with mechanism="exponential", with a base, or with hundreds
        of quantiles for which a joint draw might take more than a gigabyte of memory. The Markov
        chain is taken only by name.
    neighbours : {"replace-one", "add-remove"}
        Whether the number of records is public (one record replaced) or private.
    n_max : int, optional
        Public bound on the number of records under add-remove.
    records_per_person : int
        How many records one person may have; the guarantee is per person.
    person, max_records : str and int, optional
        The column that says whose a record is, and how many records of each person are used at
        most. The promise is then for people: others beyond that are left out. docs/people.md.
    ledger : Ledger or path, optional
        Account to charge before the data are read.
    random_state : int, optional
        Makes the release repeatable. It is then a simulation: do not publish it; ledgers reject it.

    Returns
    -------
    Release
        ``value`` is a float for one q, an array for a list; with ``by`` it has a row for each
        group.

    Examples
    --------
    >>> import kng
    >>> wages = list(range(10, 60)) * 100
    >>> answer = kng.quantile(wages, 0.9, bounds=(0, 100), epsilon=1, granularity=1)
    >>> bool(50 < answer.value < 60)
    True
    """
    ask = request_of(
        epsilon=epsilon,
        neighbours=neighbours,
        n_max=n_max,
        records_per_person=records_per_person,
        ledger=ledger,
        random_state=random_state,
        present=present_of(where, person, max_records, records_per_person),
    )
    parts = _parts(bounds, granularity, missing, (mechanism, domain, sampler, base))
    return _release("quantile", (data, by), q, parts, ask)


@with_plan(plan_median)
@table_states("bounds", "granularity")
def median(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    granularity: Any = None,
    missing: Any = "drop",
    where: Any = None,
    by: Any = None,
    mechanism: Any = "auto",
    domain: Any = None,
    base: Any = None,
    sampler: str = "auto",
    neighbours: str = "replace-one",
    n_max: int | None = None,
    records_per_person: int = 1,
    person: str | None = None,
    max_records: int | None = None,
    ledger: Any = None,
    random_state: Any = None,
) -> Release:
    """Release a private median of a column.

    Parameters
    ----------
    data : array, list, series, data frame with one column, or path of a CSV file
        One row per record.
    bounds : (low, high) or {column: (low, high)}
        Public range of a record. Records outside are clipped.
    epsilon : number
        Privacy budget to spend.
    granularity, missing, where, by, mechanism, domain, base, sampler, neighbours
        As for `quantile`.
    n_max, records_per_person, ledger, random_state
        As for `quantile`.

    Returns
    -------
    Release
        ``value`` is a float; with ``by`` an array with a number for each group.

    Examples
    --------
    >>> import kng
    >>> answer = kng.median([3, 1, 2] * 500, bounds=(0, 10), epsilon=1, granularity=1)
    >>> answer.value
    2.0
    """
    ask = request_of(
        epsilon=epsilon,
        neighbours=neighbours,
        n_max=n_max,
        records_per_person=records_per_person,
        ledger=ledger,
        random_state=random_state,
        present=present_of(where, person, max_records, records_per_person),
    )
    parts = _parts(bounds, granularity, missing, (mechanism, domain, sampler, base))
    return _release("median", (data, by), Fraction(1, 2), parts, ask)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The pieces of a quantile's problem that the caller named."""

    records: Encoding
    weigh: KNG | Exponential
    domain: Domain
    sampler: str
    said: tuple[tuple[str, str], ...] = ()

    @property
    def hashed(self) -> bool:
        """Whether plans can be remembered; a domain of the caller's may have no hash."""
        return type(self.domain).__hash__ is not None


def _parts(*stated: Any) -> _Parts:
    """Read what is asked for; the same words are read once."""
    bounds, granularity, missing, weighing = stated
    # A cache tells 0.1 from np.float32(0.1) by their types, and looks at none inside a tuple.
    plain = type(bounds) is tuple and {type(end) for end in bounds} <= {int, float}
    if not plain or not all(isinstance(v, _SIMPLE) for v in (granularity, missing, *weighing)):
        return _read_parts.__wrapped__(*stated)
    return _read_parts(*stated)


@lru_cache(maxsize=64, typed=True)
def _read_parts(
    bounds: Any, granularity: Any, missing: Any, weighing: tuple[Any, Any, str, Any]
) -> _Parts:
    mechanism, domain, sampler, base = weighing
    box = bounds_of(bounds)
    if len(box) != 1:
        raise SpecError(
            f"a quantile is of one column, the {argument('bounds')} describe {len(box)}. Release "
            "one column at a time."
        )
    records = _MEDIAN.encode(box, granularity, missing)
    way = way_of(mechanism, _NAMES, domain=domain, sampler=sampler, base=base)
    one_of("sampler", way.sampler, _SAMPLERS)
    way.refuse_norm()
    weigh = Exponential() if way.name == "exponential" else KNG()
    domain = Box.of(records.lattice) if way.domain is None else way.domain.sized(1)
    refuse_coefficients(domain.base)
    if base is None:
        return _Parts(records, weigh, domain, way.sampler)
    weighed = between(records.lattice, base)
    return _Parts(records, weigh, weighed, way.sampler, tuple(said(base).items()))


def _release(name: str, held: tuple[Any, Any], q: Any, parts: _Parts, ask: Request) -> Release:
    """Release quantiles of data, of the records that count, in groups if there are any."""
    taus, records = _taus(q), parts.records
    data, by = held
    groups = None if by is None else groups_of(by)
    source = open_source(data, records, ask.present, groups)
    unit = ask.unit(source, groups)
    asked = parts, tuple(taus), unit, ask.epsilon
    plans = _plans(*asked) if parts.hashed else _plans.__wrapped__(*asked)
    facts = {**dict(parts.said), **details(records, unit), **stated(ask.present, groups)}
    if _several(q):
        share = {"epsilon per quantile": show(plans[0].epsilon)} if len(plans) == len(taus) else {}
        facts = {"quantiles": ", ".join(show(tau) for tau in taus), **share, **facts}
    elif name == "quantile":
        facts = {"quantile": show(taus[0]), **facts}
    order = sorted(range(len(taus)), key=lambda i: taus[i])
    first = plans[0].domain.first[0]

    def in_order(drawn: Sequence[Point]) -> Point:
        """Give the smallest number drawn to the smallest quantile, and so on."""
        values = sorted(k - first for point in drawn for k in point)
        placed = dict(zip(order, values, strict=True))
        return tuple(placed[i] for i in range(len(taus)))

    lines = [plan.problem.answers for plan in plans]
    answers = reduce(Lattice.beside, lines)
    ranks = _noise(plans, tuple(taus)) if parts.hashed else rank_noise(plans, taus)

    def noise(_: Sequence[Point]) -> Noise | None:
        return ranks

    single = not _several(q) and groups is None
    answer = Answer(name, answers, single, records.bounds, facts, in_order, None, noise, groups)
    return release([Stage(plans, source)], answer, ask.ledger, ask.bits)


@lru_cache(maxsize=64)
def _plans(
    parts: _Parts, taus: tuple[Fraction, ...], unit: PrivacyUnit, epsilon: Fraction
) -> tuple[DensityPlan, ...]:
    """Plan the draw, or one for each quantile; the same public facts have the same plans."""
    points = parts.domain.on(_MEDIAN.over(parts.records).grid)
    if len(taus) > 1 and parts.sampler in ("auto", "together"):
        if parts.weigh == KNG() and parts.domain.base.even and filled(points):
            named, said = parts.sampler == "together", too_many(points.points, len(taus))
            if said and named:
                raise IncompatibleParts(said)
            if not said:
                plan = _joint(parts, points, tuple(sorted(taus)), unit, epsilon)
                if named or Together().refusal(plan) is None:
                    return (certified(plan, parts.sampler),)
        elif parts.sampler == "together":
            raise IncompatibleParts(
                f"Quantiles are drawn together by {argument('mechanism', 'kng')}, from all points "
                f"between two ends and without a base. Leave {argument('sampler')} at 'auto' to "
                "draw them one by one."
            )
    # Equal shares: the draws compose, so their epsilons add up to the whole.
    share = epsilon / len(taus)
    return tuple(_single(parts, points, tau, unit, share) for tau in taus)


_noise = lru_cache(maxsize=64)(rank_noise)


def _joint(
    parts: _Parts, points: Points, taus: tuple[Fraction, ...], unit: PrivacyUnit, epsilon: Fraction
) -> DensityPlan:
    """Plan one draw of all quantiles, which grow."""
    loss = Quantiles(taus).over(parts.records)
    grid, m = loss.grid, len(taus)
    ends = [grid.theta(end * m) for end in (points.first, points.last)]
    domain = Ordered.between(ends[0][0], ends[1][0], m)
    answers = grid.between(points.first * m, points.last * m)
    problem = Problem(loss, Variation(), domain, parts.records, answers, unit)
    return parts.weigh.plan(problem, epsilon)


def _single(
    parts: _Parts, points: Points, tau: Fraction, unit: PrivacyUnit, share: Fraction
) -> DensityPlan:
    """Plan the draw of one quantile."""
    loss = Location(Pinball(tau)).over(parts.records)
    line = loss.grid.between(points.first, points.last)
    problem = Problem(loss, LInf(), parts.domain, parts.records, line, unit)
    return certified(parts.weigh.plan(problem, share), parts.sampler)


def _taus(q: Any) -> list[Fraction]:
    """Read q, one number or a list of different ones."""
    listed = list(q) if _several(q) else [q]
    if not listed:
        raise SpecError(
            f"{argument('q')} is empty; give a quantile such as 0.5, or a list of them."
        )
    taus = [
        _tau(item) if isinstance(item, int | float | Fraction) else _read_tau(item)
        for item in listed
    ]
    if len(set(taus)) < len(taus):
        twice = next(tau for tau in taus if taus.count(tau) > 1)
        raise SpecError(f"{argument('q')} names {show(twice)} twice. Name each quantile once.")
    return taus


def _read_tau(item: Any) -> Fraction:
    """Read one quantile."""
    tau = exact(item, "q")
    if not 0 < tau < 1:
        raise SpecError(
            f"{argument('q')} must lie strictly between 0 and 1, got {show(tau)}. For the ends of "
            "a distribution use for example 0.001 or 0.999."
        )
    return tau


_tau = lru_cache(maxsize=64, typed=True)(_read_tau)


def _several(q: Any) -> bool:
    """Tell a list of quantiles from one."""
    return isinstance(q, list | tuple) or (isinstance(q, np.ndarray) and q.ndim > 0)
