"""Private counts of records in declared bins."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kng.core.encoding import Encoding
from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit
from kng.core.release import Fact, Release
from kng.data.counting import codes, open_binned
from kng.estimators.count_plans import plan_histogram
from kng.estimators.declared_bins import bins_of
from kng.estimators.declared_groups import groups_of
from kng.estimators.noisy_sums import (
    bins_stated,
    count_lattice,
    count_norm,
    most_records,
    noisy_plan,
    released,
)
from kng.estimators.plans import with_plan
from kng.estimators.request import present_of, records_stated, request_of, stated, table_states
from kng.losses.tally import Tally

_REMEDY = (
    f"Name it, as in {argument('levels', {'sex': ['F', 'M']})} or "
    f"{argument('edges', {'age': [0, 18, 65, 120]})}."
)


@with_plan(plan_histogram)
@table_states("levels")
def histogram(
    column: Any,
    *,
    edges: Any = None,
    levels: Any = None,
    other: Any = None,
    epsilon: Any = None,
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
    """Release private counts of the records in each of several bins.

    Parameters
    ----------
    column : array, list or series; or a table whose column ``edges`` or ``levels`` name
        One entry or row per record.
    edges : list of numbers, or {column: list}
        Numbers that grow, such as [0, 18, 65, 120] for the bins [0, 18), [18, 65) and [65, 120].
        The last bin holds its upper end. Numbers outside are left out; with -inf first and inf
        last there are none.
    levels : list of texts or of numbers, or {column: list}
        The values to count, such as ["F", "M"]. Records with another value are left out, unless
        ``other`` counts them. Levels are never learned from the data.
    other : str, optional
        Name of one more bin, for all values that are none of the levels.
    epsilon : number
        Privacy budget to spend, for all bins together.
    missing : "drop", or a value that has a bin
        What becomes of a record with a missing cell. "drop" leaves it out.
    where : str, optional
        A condition on columns of a table; other records are left out. docs/conditions.md.
    by : {column: levels}, optional
        Declared groups, such as {"sex": ["F", "M"]}: one answer for each, together for epsilon.
        docs/groups.md.
    neighbours : {"replace-one", "add-remove"}
        Whether the number of records is public (one record replaced) or private. Noise is about
        half as large under add-remove.
    n_max : int, optional
        Public bound on the number of records under add-remove; no count exceeds it.
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
        ``value`` is an array of whole numbers from 0 on, one for each bin; ``release["F"]`` and
        ``release.to_frame()`` know their names. docs/counts.md.

    Examples
    --------
    >>> import kng
    >>> answer = kng.histogram(["F", "M", "F"] * 300, levels=["F", "M"], epsilon=1, random_state=7)
    >>> bool(580 < answer["F"] < 620)
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
    bins = bins_of(edges, levels, other, missing)
    groups = None if by is None else groups_of(by)
    records = codes(len(bins.names), bins.column)
    source = open_binned(
        column, (bins.rule, bins.instead), records, ask.present, groups, remedy=_REMEDY
    )
    unit = ask.unit(source, groups)
    facts: dict[str, Fact] = {"bins": bins.names, **bins_stated(unit), **records_stated(unit)}
    if bins.instead is not None:
        facts["missing counts as"] = bins.names[bins.instead]
    facts |= stated(ask.present, groups)
    plan = plan_for(len(bins.names), records, unit, ask.epsilon)
    return released("histogram", plan, source, records.bounds, facts=facts, ask=ask, groups=groups)


def plan_for(bins: int, records: Encoding, unit: PrivacyUnit, epsilon: Fraction) -> NoisePlan:
    """Plan counts in so many bins; public facts only."""
    if not Tally(bins).drawn(unit):
        raise SpecError(
            f"One bin holds all records, and under {argument('neighbours', 'replace-one')} their "
            "number is public: there is nothing to count. Declare more bins, or use "
            f"{argument('neighbours', 'add-remove')}."
        )
    answers = count_lattice(bins, most_records(unit))
    return noisy_plan(Tally(bins), count_norm(unit), answers, records, unit=unit, epsilon=epsilon)
