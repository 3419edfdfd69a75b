"""The private number of records."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kng.core.encoding import Encoding
from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.release import Release
from kng.data import ALL
from kng.data.counting import codes, open_there
from kng.estimators.count_plans import plan_count
from kng.estimators.declared_groups import groups_of
from kng.estimators.noisy_sums import (
    count_lattice,
    count_norm,
    most_records,
    noisy_plan,
    released,
)
from kng.estimators.plans import with_plan
from kng.estimators.request import present_of, records_stated, request_of, stated, table_states
from kng.losses.tally import Tally


@with_plan(plan_count)
@table_states()
def count(
    data: Any,
    *,
    epsilon: Any = None,
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
    """Release how many records there are, or for how many a condition holds.

    Parameters
    ----------
    data : array, list, series, data frame, path, address or `kng.Table`
        One row per record.
    epsilon : number
        Privacy budget to spend.
    where : str, optional
        A condition on columns of a table, such as "age >= 40 and sex = 'F'". Under
        neighbours="replace-one" the number of all records is public, so a condition is needed.
        docs/conditions.md.
    by : {column: levels}, optional
        Declared groups, such as {"sex": ["F", "M"]}: one answer for each, together for epsilon.
        docs/groups.md.
    neighbours : {"replace-one", "add-remove"}
        Whether the number of records is public (one record replaced) or private.
    n_max : int, optional
        Public bound on the number of records under add-remove; no answer exceeds it.
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
        ``value`` is a whole number from 0 on. docs/counts.md.

    Examples
    --------
    >>> import kng
    >>> table = {"age": [31, 45, 28, 60, 39] * 200}
    >>> answer = kng.count(table, where="age >= 40", epsilon=1, random_state=7)
    >>> bool(380 < answer.value < 420)
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
    groups = None if by is None else groups_of(by)
    if ask.present == ALL and groups is None and ask.neighbours == ReplaceOne.name:
        raise SpecError(
            f"Under {argument('neighbours', 'replace-one')} the number of records is public, so "
            "counting them costs no epsilon: take it from the data. To count some of them give "
            f"{argument('where', 'age >= 40')}; to keep the number of all private use "
            f"{argument('neighbours', 'add-remove')}."
        )
    records = codes(1)
    source = open_there(data, records, ask.present, groups)
    unit = ask.unit(source, groups)
    facts = {**records_stated(unit), **stated(ask.present, groups)}
    plan = plan_for(records, unit, ask.epsilon)
    return released("count", plan, source, records.bounds, facts=facts, ask=ask, groups=groups)


def plan_for(records: Encoding, unit: PrivacyUnit, epsilon: Fraction) -> NoisePlan:
    """Plan a count; public facts only."""
    answers = count_lattice(1, most_records(unit))
    return noisy_plan(Tally(1), count_norm(unit), answers, records, unit=unit, epsilon=epsilon)
