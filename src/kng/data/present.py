"""Which records of a table have a part in an answer; the others are absent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Present:
    """What is stated of records that count, for one release.

    ``where`` is a condition on columns of the table; records for which it does not hold are absent.
    ``person`` names the column of ids: of each person at most ``max_records`` records count. What a
    missing cell does is said column by column, by the encoding.
    """

    where: str | None = None
    person: str | None = None
    max_records: int | None = None


ALL = Present()
