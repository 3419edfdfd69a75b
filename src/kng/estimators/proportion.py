"""The private share of records for which something holds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from kng.core.encoding import Encoding
from kng.core.errors import SpecError
from kng.core.lattice import Lattice
from kng.core.naming import argument
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit
from kng.core.release import Release
from kng.data.bins import Levels
from kng.data.counting import codes, open_binned, open_judged
from kng.estimators.count_plans import plan_proportion
from kng.estimators.declared_groups import groups_of
from kng.estimators.noisy_sums import count_norm, most_records, noisy_plan, released
from kng.estimators.plans import with_plan
from kng.estimators.request import present_of, records_stated, request_of, stated, table_states
from kng.losses.location_sum import counted
from kng.losses.share import Share

# True before false.
_TRUTH = Levels((1.0, 0.0))
_REMEDY = f"Say what the share is of, as in {argument('of', 'smoker = 1')}."
# Where the number of present records is private there is no n for n-ths.
_FINE = 2**40


@with_plan(plan_proportion)
@table_states()
def proportion(
    column: Any,
    *,
    of: Any = None,
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
    """Release the private share of records for which a column is true, or a condition holds.

    Parameters
    ----------
    column : array, list or series of booleans or of 0 and 1; with ``of`` a table
        One entry or row per record. Entries that are neither 0 nor 1 are missing.
    of : str, optional
        A condition on columns of a table, such as "smoker = 'yes'": the share is that of the
        records for which it holds, among those for which it holds or fails. docs/conditions.md.
    epsilon : number
        Privacy budget to spend.
    missing : "drop", 0 or 1
        What becomes of a record with a missing cell. "drop" leaves it out, and how many are left
        out stays private; 0 and 1 count it. With ``of`` only "drop": a condition can say itself
        what is missing.
    where : str, optional
        A condition on columns of a table: only records for which it holds are looked at.
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
        ``value`` lies between 0 and 1. docs/counts.md.

    Examples
    --------
    >>> import kng
    >>> table = {"smoker": ["yes", "no", "no", "no"] * 250}
    >>> answer = kng.proportion(table, of="smoker = 'yes'", epsilon=1, random_state=7)
    >>> bool(0.2 < answer.value < 0.3)
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
    records, groups = codes(2), None if by is None else groups_of(by)
    instead = _instead(missing)
    if of is None:
        source = open_binned(
            column, (_TRUTH, instead), records, ask.present, groups, remedy=_REMEDY
        )
    elif instead is not None:
        raise SpecError(
            f"{argument('missing')} must be 'drop' beside of. Say in the condition what is "
            "missing, as in of=\"smoker = 'yes' or smoker is missing\"."
        )
    else:
        source = open_judged(column, of, records, ask.present, groups)
    unit = ask.unit(source, groups)
    facts = {
        **({} if of is None else {"of": of}),
        **({} if instead is None else {"missing counts as": str(1 - instead)}),
        **records_stated(unit),
        **stated(ask.present, groups),
    }
    plan = plan_for(records, unit, ask.epsilon)
    return released("proportion", plan, source, records.bounds, facts=facts, ask=ask, groups=groups)


def plan_for(records: Encoding, unit: PrivacyUnit, epsilon: Fraction) -> NoisePlan:
    """Plan a proportion; public facts only."""
    parts = _FINE if counted(unit) else most_records(unit)
    answers = Lattice((Fraction(0),), (Fraction(1, parts),), (parts,))
    return noisy_plan(Share(), count_norm(unit), answers, records, unit=unit, epsilon=epsilon)


def _instead(missing: Any) -> int | None:
    """Read what a missing cell counts as; None if its record is absent."""
    if isinstance(missing, str) and missing == "drop":
        return None
    if str(missing) in ("0", "1", "True", "False"):
        return 0 if str(missing) in ("1", "True") else 1
    raise SpecError(
        f"{argument('missing')} must be 'drop', 0 or 1 for a proportion; got {missing!r}."
    )
