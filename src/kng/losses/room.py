"""Whether all records may be brought home: decided from public numbers, before the charge.

How many of them a search has to look at depends on the records, so memory is planned for all. What
does not fit is read where it is (`fields.cell_field`) or refused, whatever the records are. Where
nobody has stated a number of records they are brought home.
"""

from __future__ import annotations

from kng.core.errors import SpecError
from kng.core.privacy import PrivacyUnit

# Bytes that a record and each of its numbers take where covers of boxes search among them: rows,
# residuals, an order, and lists of what is open, with the copies that sorting makes.
_RECORD, _NUMBER = 32, 16
# Times the numbers of a record, where no compiled cover keeps them in half the size.
GENERIC = 2
_GIGABYTE = 2**30
_FOUR = 4


def needed(unit: PrivacyUnit, numbers: int) -> int:
    """Return the bytes that records of so many numbers take at home; 0 if nobody said how many."""
    return (unit.neighbours.stated or 0) * (_RECORD + _NUMBER * numbers)


def fits(unit: PrivacyUnit, numbers: int, memory: int) -> bool:
    """Tell whether all records may be brought home."""
    return needed(unit, numbers) <= memory


def held(unit: PrivacyUnit, numbers: int, memory: int) -> bool:
    """Tell whether all records may be held, each number in four bytes and the response in eight.

    A quarter of the memory is for them.
    """
    return (unit.neighbours.stated or 0) * _FOUR * (numbers + 1) <= memory // _FOUR


def refuse_large(unit: PrivacyUnit, numbers: int, memory: int, instead: str) -> None:
    """Refuse records that do not fit and that no pass can replace."""
    if fits(unit, numbers, memory):
        return
    wanted = -(-needed(unit, numbers) // _GIGABYTE)
    raise SpecError(
        f"{unit.neighbours.stated:,} records are looked at together here and may take {wanted} GB, "
        f"more than memory_limit, which is {memory / _GIGABYTE:.3g} GB. Give "
        f"kng.Table(data, memory_limit='{wanted}GB'), or {instead}."
    )
