"""What a release costs in an account that was opened for another relation.

Privacy  A change that the account protects from is made of ``steps`` changes that the release
         protects from, so its epsilon counts ``steps`` times and its rho ``steps**2`` times (group
         privacy; docs/proofs/lemmas/conversion.md):

    replace-one from add-remove    2: the old record goes, the new one comes
    k records from k' < k          ceil(k / k')
    k records from k' >= k         1: fewer records are a case of more

The other way round there is nothing to count: a replace-one release may tell the number of
records, which an add-remove account protects.
"""

from __future__ import annotations

from dataclasses import dataclass

from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.core.privacy import AddRemove, PrivacyEvent, ReplaceOne


@dataclass(frozen=True, slots=True)
class Conversion:
    """How often a release counts, and why."""

    steps: int
    why: str

    def __bool__(self) -> bool:
        return self.steps > 1


def convert(
    event: PrivacyEvent, account: str, neighbours: str | None, records: int | None
) -> Conversion:
    """Return what an event counts in an account, or refuse it."""
    steps, why = 1, []
    if neighbours == AddRemove.name and event.neighbours == ReplaceOne.name:
        raise SpecError(
            f"Account {account!r} keeps the number of records private "
            f"({argument('neighbours', 'add-remove')}), and this release takes it for public "
            f"({argument('neighbours', 'replace-one')}). Release with "
            f"{argument('neighbours', 'add-remove')}. Nothing was charged."
        )
    if neighbours == ReplaceOne.name and event.neighbours == AddRemove.name:
        steps = 2
        why.append("replacing a record is removing one and adding one")
    if records is not None and event.records_per_person < records:
        groups = -(-records // event.records_per_person)
        steps *= groups
        one = event.records_per_person
        unit = "single records" if one == 1 else f"people with up to {one}"
        why.append(f"the account protects people with up to {records} records, the release {unit}")
    return Conversion(steps, " and ".join(why))
