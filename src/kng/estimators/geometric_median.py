"""The private geometric median: names become parts, and the corridor does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from kng.core.bounds import Bounds, bounds_of
from kng.core.encoding import each_column
from kng.core.errors import SpecError
from kng.core.exact import listed, positive, show
from kng.core.naming import argument, call
from kng.core.parts import Domain, Point
from kng.core.problem import Problem
from kng.core.release import Release
from kng.corridor import Answer, Stage, release
from kng.data import open_source, open_table
from kng.domains import Box
from kng.estimators.based import between, refuse_coefficients, said
from kng.estimators.declared_groups import groups_of
from kng.estimators.planned import planned
from kng.estimators.request import (
    details,
    named_norm,
    one_of,
    present_of,
    request_of,
    stated,
    table_states,
    way_of,
)
from kng.losses.distance import Distance
from kng.mechanisms import KNG, Exponential
from kng.norms import L1, L2, LInf


@table_states("bounds")
def geometric_median(
    data: Any,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    scale: Any = None,
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
    """Release a private geometric median of several columns.

    It is the point with the least sum of Euclidean distances to the records: a middle that half of
    the records cannot carry away. Its noise follows the spread of the records, not their bounds.

    Parameters
    ----------
    data : array, list, data frame, or path of a CSV file
        One row per record, two columns or more.
    bounds : (low, high), numbers or one array per end, or {column: (low, high)}
        Public range of a record. Records outside are clipped. One pair of numbers serves all
        columns of an array or a data frame.
    epsilon : number
        Privacy budget to spend.
    scale : number per column, {column: number}, or "bounds", optional
        What counts as one unit of distance in each column: the distance of a record is
        sqrt( sum_j ((x_j - theta_j) / scale_j)^2 ). Without it all columns are in one unit, their
        own, as coordinates on a map are; "bounds" takes the range of each column.
    granularity : number, optional
        Public step of the data and of the answer, in units of scale. With the true step of the data
        ties are answered exactly. Without it the widest column is read in 2**24 steps or more.
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
    mechanism : {"auto", "kng", "exponential"} or a mechanism
        "auto" is KNG. The exponential mechanism's noise follows the bounds.
    norm : {"auto", "l1", "l2", "linf"} or a norm of `kng.norms`
        How the sum of unit vectors is measured. "auto" is l2, whose ball is what one record does.
    domain : domain of `kng.domains`, optional
        Where the answer is looked for, in its units; between the bounds unless given.
    base : {"uniform", "heavy-tailed", "gaussian", "student"}, a base of `kng.bases`, or a Release
        How likely answers are before the records are seen, an earlier release for example.
        "gaussian" and "student" have half the range of each column as their scale.
    sampler : {"auto", "branch-and-bound", "hit-and-run"}
        "auto" is branch and bound, which draws exactly in up to five columns. The Markov chain is
        taken only by name.
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
        ``value`` is an array with one number per column.

    Examples
    --------
    >>> import kng
    >>> places = [(2.0, 1.0), (2.5, 1.5), (3.0, 0.5), (9.0, 9.0)] * 500
    >>> answer = kng.geometric_median(places, bounds=([0, 0], [10, 10]), epsilon=1, random_state=7)
    >>> bool(abs(answer.value[0] - 2.5) < 0.5)
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
    box = _each_column(bounds_of(bounds), data)
    names = ("auto", "kng", "exponential")
    way = way_of(mechanism, names, norm=norm, domain=domain, sampler=sampler, base=base)
    way.refuse_norm()
    one_of("sampler", way.sampler, ("auto", "branch-and-bound", "hit-and-run"))
    units = _scale(scale, box)
    distance = Distance(tuple(units))
    records = distance.encode(box, granularity, missing)
    groups = None if by is None else groups_of(by)
    source = open_source(data, records, ask.present, groups)
    unit = ask.unit(source, groups)
    loss, lattice = distance.over(records), records.lattice
    place: Domain = Box.of(lattice) if way.base is None else between(lattice, way.base)
    if way.domain is not None:
        refuse_coefficients(way.domain.base)
        place = way.domain.sized(loss.dim)
        points = place.on(loss.grid)
        lattice = loss.grid.between(points.first, points.last)
    ball = named_norm(way.norm, {"auto": L2(), "l1": L1(), "l2": L2(), "linf": LInf()})
    problem = Problem(loss, ball, place, records, lattice, unit, source.memory)
    weigh = Exponential() if way.name == "exponential" else KNG()
    plan = planned(weigh, problem, ask.epsilon, way.sampler)
    facts = {
        "unit of distance": listed(show(v) for v in units),
        **details(records, unit),
        **stated(ask.present, groups),
    }
    if base is not None:
        facts |= said(base)

    def finish(drawn: Sequence[Point]) -> Point:
        return plan.place(drawn[0])

    answer = Answer("geometric median", lattice, False, box, facts, finish, groups=groups)
    return release([Stage([plan], source)], answer, ask.ledger, ask.bits)


def _each_column(box: Bounds, data: Any) -> Bounds:
    """Spread one pair over the columns of an array, whose shape is public."""
    shape: tuple[int, ...] = getattr(data, "shape", ())
    if len(box) == 1 and box.columns is None and len(shape) == 2 and shape[1] > 1:
        box = Bounds(box.low * shape[1], box.high * shape[1])
    if len(box) < 2:
        # Data that are not there are what the caller should hear of first.
        open_table(data)
        raise SpecError(
            f"a geometric median is of two columns or more, the {argument('bounds')} describe "
            f"one. Give bounds of each, as in {argument('bounds', {'x': (0, 50), 'y': (0, 50)})}; "
            f"for one column use {call('kng.median')}."
        )
    return box


def _scale(scale: Any, box: Bounds) -> list[Fraction]:
    """Return what counts as one unit of distance in each column."""
    if scale is None:
        return [Fraction(1)] * len(box)
    if isinstance(scale, str) and scale == "bounds":
        return list(box.width)
    if isinstance(scale, str) and not any(map(str.isdigit, scale)):
        raise SpecError(
            f"{argument('scale')} must be 'bounds', or a number for each column; got {scale!r}."
        )
    return [positive(item, "scale") for item in each_column(scale, "scale", box)]
