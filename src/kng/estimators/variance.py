"""The private variance of a column."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kng.core.bounds import bounds_of
from kng.core.delta import changes
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import SpecError
from kng.core.exact import whole
from kng.core.lattice import Lattice
from kng.core.naming import Code, argument
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.release import Release
from kng.data import open_source
from kng.estimators.count_plans import plan_variance
from kng.estimators.declared_groups import groups_of
from kng.estimators.noisy_sums import noisy_plan, one_column, released
from kng.estimators.plans import with_plan
from kng.estimators.request import details, present_of, request_of, stated, table_states
from kng.losses.second_moments import SecondMoments
from kng.norms import Hull

# Steps between the bounds if no granularity is given, in powers of two, and between variances.
_BITS, _FINE = 20, 2**40


@with_plan(plan_variance)
@table_states("bounds", "granularity")
def variance(
    column: Any,
    *,
    bounds: Any = None,
    epsilon: Any = None,
    ddof: int = 1,
    granularity: Any = None,
    missing: Any = "drop",
    where: Any = None,
    by: Any = None,
    neighbours: str = "replace-one",
    n_max: int | None = None,
    records_per_person: int = 1,
    person: str | None = None,
    max_records: int | None = None,
    ledger: Any = None,
    random_state: Any = None,
) -> Release:
    """Release the private variance of a column.

    The sums of a column and of its squares are drawn together, measured from the middle of the
    bounds, in the best norm for both.

    Parameters
    ----------
    column : array, list or series; or a table whose column ``bounds`` name
        One entry or row per record.
    bounds : (low, high), or {column: (low, high)}
        Public range of a record. Records outside are clipped. The noise grows with the square of
        the range.
    epsilon : number
        Privacy budget to spend.
    ddof : int
        The sum of squares around the mean is divided by n - ddof: 1 as in pandas, R and SQL's
        var_samp, 0 as in NumPy and var_pop.
    granularity : number, optional
        Public step of the data, such as 1 for whole years.
    missing : "drop" or a number
        What becomes of a record with a missing cell. "drop" leaves it out, and how many are left
        out stays private.
    where : str, optional
        A condition on columns of a table; other records are left out. docs/conditions.md.
    by : {column: levels}, optional
        Declared groups, such as {"sex": ["F", "M"]}: one answer for each, together for epsilon.
        docs/groups.md.
    neighbours : {"replace-one", "add-remove"}
        Whether the number of records is public (one record replaced) or private.
    n_max : int, optional
        Public bound on the number of records under add-remove.
    records_per_person : int
        How many records one person may have; the guarantee is per person.
    person, max_records : str and int, optional
        The column that says whose a record is, and how many records of each person are used at
        most. docs/people.md.
    ledger : Ledger or path, optional
        Account to charge before the data are read.
    random_state : int, optional
        Makes the release repeatable. It is then a simulation: do not publish it; ledgers reject it.

    Returns
    -------
    Release
        ``value`` is at least 0, in squared units of the column. docs/counts.md.

    Examples
    --------
    >>> import kng
    >>> ages = [31, 45, 28, 60, 39] * 200
    >>> answer = kng.variance(ages, bounds=(0, 100), epsilon=1, random_state=7)
    >>> bool(110 < answer.value < 150)
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
    box, divisor = one_column(bounds_of(bounds), "variance"), whole(ddof, "ddof", 0)
    records = encoding_of(box, granularity=granularity, missing=missing, bits=_BITS)
    groups = None if by is None else groups_of(by)
    source = open_source(column, records, ask.present, groups)
    unit = ask.unit(source, groups)
    if isinstance(unit.neighbours, ReplaceOne) and unit.neighbours.n <= divisor:
        raise SpecError(
            f"A variance with {argument('ddof', Code(str(divisor)))} needs at least {divisor + 1} "
            f"records, and there are {unit.neighbours.n}. Give a smaller ddof."
        )
    plan = plan_for(divisor, records, unit, ask.epsilon)
    facts = {
        "divided by": _divisor(divisor),
        **details(records, unit),
        **stated(ask.present, groups),
    }
    return released("variance", plan, source, box, facts=facts, ask=ask, groups=groups)


def plan_for(ddof: int, records: Encoding, unit: PrivacyUnit, epsilon: Fraction) -> NoisePlan:
    """Plan a variance; public facts only."""
    sums = SecondMoments(records, ddof)
    norm = Hull(sums.directions(unit)).at(changes(sums.body(unit), unit))
    answers = Lattice((Fraction(0),), (sums.most / _FINE,), (_FINE,))
    return noisy_plan(sums, norm, answers, records, unit=unit, epsilon=epsilon)


def _divisor(ddof: int) -> str:
    return f"n - {ddof}" if ddof else "n"
