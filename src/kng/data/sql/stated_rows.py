"""How many rows of a query one record can add or remove: what the caller has to state."""

from __future__ import annotations

from typing import Any, Protocol

from kng.core.errors import SpecError
from kng.core.exact import whole
from kng.core.naming import argument


class Query(Protocol):
    """What is known of a query without running it."""

    @property
    def keeps_rows(self) -> bool:
        """Whether every record is one row, whatever it holds."""
        ...


def rows_per_record(query: Query, stated: Any) -> int | None:
    """Return what is stated; None where every record is one row, whatever it holds."""
    if query.keeps_rows:
        if stated is not None:
            raise SpecError(
                f"{argument('rows_per_record')} means nothing here: each record is one "
                "row. Leave it out."
            )
        return None
    if stated is None:
        raise SpecError(
            f"The query can drop or multiply rows. State {argument('rows_per_record')}, how many "
            "of its rows one record of its tables adds or removes at most, and use "
            f"{argument('neighbours', 'add-remove')}."
        )
    return whole(stated, "rows_per_record", 1)
