"""Going on with a copy: as it is, or after booking what was charged since it was made."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from kng.core.errors import LedgerError, SpecError
from kng.core.exact import exact
from kng.core.naming import argument
from kng.ledger import entries, rows
from kng.ledger.backend import Backend


def adopt(backend: Backend) -> None:
    """Accept a ledger as the newest copy of itself."""
    if not backend.exists():
        raise LedgerError(f"{backend.called} does not exist, so there is nothing to adopt.")
    with backend.adopting():
        pass


def restore(backend: Backend, spent: Any | Mapping[str, Any]) -> None:
    """Accept an older copy, and book in each account what was charged since."""
    given = _amounts(spent)
    with backend.restoring() as db:
        names = rows.account_names(db)
        if given is not None and "" in given:
            if len(names) > 1:
                raise SpecError(
                    f"{argument('spent')} must name its account, because {backend.called} has "
                    f"several: {', '.join(map(repr, names))}. Give "
                    f"{argument('spent', {names[0]: 0.5})}; what is left of the others is spent as "
                    "well."
                )
            given = dict.fromkeys(names, given[""])
        for name in given or ():
            if name not in names:
                raise SpecError(
                    f"{argument('spent')} names account {name!r}, and {backend.called} has "
                    f"{', '.join(map(repr, names))}."
                )
        for name in names:
            before = rows.read_account(db, name)
            assert before is not None  # its name was just read
            left = before.cap - before.spent
            amount = left if given is None else given.get(name, left)
            after = before.lost(amount)
            rows.spend(db, before, after)
            rows.append(db, "loss", name, entries.write_loss(amount, after.spent))


def _amounts(spent: Any | Mapping[str, Any]) -> dict[str, Fraction] | None:
    """Read amounts by account; one for the only account has no name yet."""
    if spent is None:
        return None
    stated = spent if isinstance(spent, Mapping) else {"": spent}
    found = {name: exact(value, "spent") for name, value in stated.items()}
    if any(amount < 0 for amount in found.values()):
        raise SpecError(f"{argument('spent')} must be at least 0.")
    return found
