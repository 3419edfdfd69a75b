"""The private mean: names become parts, and the corridor does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from kng.bases import Uniform
from kng.core.bounds import bounds_of
from kng.core.delta import changes
from kng.core.errors import IncompatibleParts
from kng.core.naming import Code, argument
from kng.core.noise.stored import Noise
from kng.core.parts import Domain, Norm, Point, described
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.receipt_text import RECORD_BALL
from kng.core.release import Release
from kng.corridor import Answer, Stage, release
from kng.data import open_source
from kng.domains import Box, Whole
from kng.estimators.based import between, refuse_coefficients, said
from kng.estimators.declared_groups import groups_of
from kng.estimators.noisy import mean_noise
from kng.estimators.planned import planned
from kng.estimators.plans import plan_mean, with_plan
from kng.estimators.record_balls import HeldRecords, bounds_in, held_records
from kng.estimators.request import (
    Way,
    details,
    named_norm,
    one_of,
    present_of,
    request_of,
    stated,
    table_states,
    way_of,
)
from kng.losses.location import Location
from kng.losses.location_sum import counted
from kng.losses.pointwise.squared import Squared
from kng.mechanisms import KNG, Exponential, KNorm
from kng.norms import L1, L2, CoordinateSup, Hull, LInf
from kng.norms.shaped import norm_of_shape
from kng.samplers.registry import Plan

_MEAN = Location(Squared())
# Columns up to which noise is drawn from the hull of what one record does, where some are absent.
_HULLS = 4
# Ranges of records in between have facets that float64 can hold.
_ORDINARY = Fraction(1, 10**60), 10**60


@with_plan(plan_mean)
@table_states("bounds")
def mean(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    granularity: Any = None,
    missing: Any = "drop",
    where: Any = None,
    by: Any = None,
    mechanism: Any = "auto",
    norm: Any = "auto",
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
    """Release a private mean of one or several columns.

    Parameters
    ----------
    data : array, list, series, data frame, or path of a CSV file
        One row per record.
    bounds : (low, high), numbers or one array per end, or {column: (low, high)}, or a domain
        Public range of a record. Records outside are clipped. A ball around 0, such as
        ``kng.domains.L1Ball(3)``, is a range for K-norm noise too: records outside are pulled
        towards 0 until they are inside, and the noise is drawn in the ball's own norm.
    epsilon : number
        Privacy budget to spend.
    granularity : number or one per column, optional
        Public step of the data and of the answer, such as 1 for whole years. Without it the
        data are read on a fine lattice and the answer is as fine as the noise.
    missing : "drop", a number, or one per column
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
    mechanism : {"auto", "k-norm", "kng", "exponential"} or a mechanism
        "auto" is K-norm noise on the sum, which keeps the whole epsilon. "kng" and "exponential"
        weigh the lattice between the bounds, in up to five columns.
    norm : {"auto", "weighted-sup", "l1", "l2", "linf"} or a norm of `kng.norms`
        Norm of the noise, or of the gradient. "auto" is the weighted sup norm, the best one for a
        box, and where records may be absent `Hull`, the best one there, for up to four columns.
        With a private number of records the sum has a coordinate more, the count.
    domain : domain of `kng.domains`, optional
        Where "kng" and "exponential" look for the answer, in its units; between the bounds unless
        given.
    base : {"uniform", "heavy-tailed", "gaussian", "student"}, a base of `kng.bases`, or a Release
        For "kng" and "exponential": how likely answers are before the records are seen, an earlier
        release for example. "gaussian" and "student" have half the range as their scale.
    sampler : {"auto", "noise", "order", "branch-and-bound", "hit-and-run"}
        "auto" takes the exact one that fits. The Markov chain is taken only by name.
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
        ``value`` is a float for one column, an array for several; with ``by`` it has a row for each
        group.

    Examples
    --------
    >>> import kng
    >>> ages = [31, 45, 28, 60, 39] * 200
    >>> answer = kng.mean(ages, bounds=(0, 100), epsilon=1, random_state=7)
    >>> bool(30 < answer.value < 50)
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
    held = None
    if hasattr(type(bounds), "contains"):  # a domain
        bounds = bounds_in(bounds, data)
        held = held_records(bounds, data, granularity, missing, _MEAN)
    box = bounds_of(bounds) if held is None else held.box
    loss = held.loss if held else _MEAN.over(_MEAN.encode(box, granularity, missing))
    records = loss.encoding
    names = ("auto", "k-norm", "kng", "exponential")
    way = way_of(mechanism, names, norm=norm, domain=domain, sampler=sampler, base=base)
    one_of("sampler", way.sampler, ("auto", "noise", "order", "branch-and-bound", "hit-and-run"))
    groups = None if by is None else groups_of(by)
    source = open_source(data, records, ask.present, groups)
    unit = ask.unit(source, groups)
    if way.name in ("kng", "exponential"):
        weigh = KNG() if way.name == "kng" else Exponential()
        problem = _on_the_lattice(way, loss, unit)
        plan: Plan = planned(weigh, problem, ask.epsilon, way.sampler)
    else:
        way.refuse_base()
        problem = _on_the_sum(way, granularity, loss, unit, held)
        plan = planned(KNorm(), problem, ask.epsilon, way.sampler)
        # What is loaded may depend on a number that is public, never on the records that came.
        source.prepare_sums(unit.neighbours.stated or 0)

    def finish(drawn: Sequence[Point]) -> Point:
        return _estimate(plan, drawn[0], held)

    answers, facts = (
        problem.answers,
        {**_ball(held), **details(records, unit), **stated(ask.present, groups)},
    )
    if base is not None:
        facts = {**said(base), **facts}

    def noise(drawn: Sequence[Point]) -> Noise | None:
        if not isinstance(plan, NoisePlan):
            return None
        return mean_noise(plan, answers, drawn[0], held is not None)

    single = len(records) == 1 and groups is None
    answer = Answer("mean", answers, single, box, facts, finish, None, noise, groups)
    return release([Stage([plan], source)], answer, ask.ledger, ask.bits)


def _ball(held: HeldRecords | None) -> dict[str, str]:
    """Return what a receipt says of records in a ball."""
    return {} if held is None else {RECORD_BALL: held.ball.described}


def _estimate(plan: Plan, drawn: Point, held: HeldRecords | None) -> Point:
    """Return the mean that was drawn, or the one that a noisy sum stands for."""
    problem = plan.problem
    if plan.weighs != "sum":
        return plan.place(drawn)
    sums = problem.loss.sums  # type: ignore[attr-defined]
    found: Point = problem.answers.nearest(sums.minimiser(drawn, problem))
    return found if held is None else held.pulled(found, problem.answers)


def _on_the_sum(
    way: Way, granularity: Any, loss: Location, unit: PrivacyUnit, held: HeldRecords | None
) -> Problem:
    """Ask for K-norm noise on the sum; the mean is read off it afterwards."""
    if way.domain is not None:
        raise IncompatibleParts(
            "K-norm noise keeps the whole epsilon only without a domain; got "
            f"{described(way.domain)}. Use {argument('mechanism', 'kng')}, or leave domain out."
        )
    # A sum of n records in whole steps is a mean in n-ths of a step: nothing is rounded.
    fine = granularity is None and isinstance(unit.neighbours, ReplaceOne)
    parts = unit.neighbours.n if fine and isinstance(unit.neighbours, ReplaceOne) else 1
    records, sup = loss.encoding, _optimal(loss, unit)
    answers = records.lattice.refined(parts) if held is None else held.answers(parts)
    optimal = closest(loss, unit) if held is None else held.norm_for(counted(unit))
    names = {"auto": optimal, "weighted-sup": sup, "l1": L1(), "l2": L2(), "linf": LInf()}
    ball = named_norm(way.norm, names)
    return Problem(loss, ball, Whole(loss.dim, base=Uniform()), records, answers, unit)


@lru_cache(maxsize=64)
def _optimal(loss: Location, unit: PrivacyUnit) -> Norm:
    """Return the sup norm in units of what one record does to the sum."""
    assert loss.sums is not None
    return CoordinateSup().at(changes(loss.sums.body(unit), unit))


@lru_cache(maxsize=64)
def closest(loss: Location, unit: PrivacyUnit) -> Norm:
    """Return the best norm there is, or the sup norm where it takes too long to draw from.

    A replaced record moves the sums by a range and the count by 0, one that becomes absent by half
    a range and 1: the hull of both is smaller than the box around it.
    """
    absent = isinstance(unit.neighbours, ReplaceOne) and unit.presence == "optional"
    sizes = [step * last for step, last in zip(loss.encoding.step, loss.encoding.last, strict=True)]
    ordinary = _ORDINARY[0] < min(sizes) and max(sizes) < _ORDINARY[1]
    if not absent or loss.dim > _HULLS or not ordinary:
        return _optimal(loss, unit)
    assert loss.sums is not None
    return Hull().at(changes(loss.sums.body(unit), unit))


def _on_the_lattice(way: Way, loss: Location, unit: PrivacyUnit) -> Problem:
    """Ask for a weighing of every lattice point of the domain, or between the bounds."""
    way.refuse_norm()
    if loss.ball is not None:
        raise IncompatibleParts(
            f"{argument('mechanism', way.name)} weighs means of records in a box, and "
            f"{argument('bounds', Code(loss.ball.described))} is a ball. Use "
            f"{argument('mechanism', 'k-norm')}, or "
            f"{argument('bounds', (Code('low'), Code('high')))}."
        )
    records, answers = loss.encoding, loss.encoding.lattice
    optimal = norm_of_shape(loss.best_shape(unit, bounded=True))
    names = {"auto": optimal, "weighted-sup": optimal, "l1": L1(), "l2": L2(), "linf": LInf()}
    domain: Domain = Box.of(answers) if way.base is None else between(answers, way.base)
    if way.domain is not None:
        refuse_coefficients(way.domain.base)
        domain = way.domain.sized(loss.dim)
        points = domain.on(loss.grid)
        answers = loss.grid.between(points.first, points.last)
    return Problem(loss, named_norm(way.norm, names), domain, records, answers, unit)
