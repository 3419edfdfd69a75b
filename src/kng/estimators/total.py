"""The private sum of a column."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kng.core.bounds import bounds_of
from kng.core.encoding import Encoding, encoding_of
from kng.core.lattice import Lattice
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit
from kng.core.release import Release
from kng.data import open_source
from kng.estimators.count_plans import plan_sum
from kng.estimators.declared_groups import groups_of
from kng.estimators.noisy_sums import most_records, noisy_plan, one_column, released
from kng.estimators.plans import with_plan
from kng.estimators.request import details, present_of, request_of, stated, table_states
from kng.losses.column_total import ColumnTotal
from kng.norms import LInf

# Steps between the bounds if no granularity is given, in powers of two, as for a mean.
_BITS = 32


@with_plan(plan_sum)
@table_states("bounds", "granularity")
def sum(
    column: Any,
    *,
    bounds: Any = None,
    epsilon: Any = None,
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
    """Release the private sum of a column.

    Parameters
    ----------
    column : array, list or series; or a table whose column ``bounds`` name
        One entry or row per record.
    bounds : (low, high), or {column: (low, high)}
        Public range of a record. Records outside are clipped.
    epsilon : number
        Privacy budget to spend.
    granularity : number, optional
        Public step of the data and of the answer, such as 0.01 for cents.
    missing : "drop" or a number
        What becomes of a record with a missing cell. "drop" leaves it out: it adds nothing.
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
        ``value`` is in the units of the column. docs/counts.md.

    Examples
    --------
    >>> import kng
    >>> answer = kng.sum([3, 5, 4] * 300, bounds=(0, 10), epsilon=1, random_state=7)
    >>> bool(3500 < answer.value < 3700)
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
    box = one_column(bounds_of(bounds), "sum")
    records = encoding_of(box, granularity=granularity, missing=missing, bits=_BITS)
    groups = None if by is None else groups_of(by)
    source = open_source(column, records, ask.present, groups)
    unit = ask.unit(source, groups)
    plan = plan_for(records, unit, ask.epsilon)
    # What is loaded may depend on a number that is public, never on the records that came.
    source.prepare_sums(unit.neighbours.stated or 0)
    facts = {**details(records, unit), **stated(ask.present, groups)}
    return released("sum", plan, source, box, facts=facts, ask=ask, groups=groups)


def plan_for(records: Encoding, unit: PrivacyUnit, epsilon: Fraction) -> NoisePlan:
    """Plan a sum; public facts only."""
    sums = ColumnTotal(records)
    low, high = sums.between(most_records(unit), unit)
    (step,) = sums.steps(unit)
    answers = Lattice((low,), (step,), (int((high - low) / step),))
    return noisy_plan(sums, LInf(), answers, records, unit=unit, epsilon=epsilon)
