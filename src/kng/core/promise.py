"""What a table's holder has promised for every release from it: the relation and the account."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from kng.core.errors import SpecError

_PLACES = str, os.PathLike


@dataclass(frozen=True, slots=True)
class Promise:
    """The declared relation, and the ledger or its path; None is not declared."""

    relation: str | None = None
    ledger: Any = None

    def require(self, neighbours: str, ledger: Any) -> None:
        """Refuse a release under another relation, or one that another account or none pays for."""
        if self.relation not in (None, neighbours):
            raise SpecError(
                f"The table is declared with relation {self.relation!r}, and the release asks for "
                f"neighbours={neighbours!r}. Use neighbours={self.relation!r}, or change the "
                "declaration."
            )
        if self.ledger is None or same_account(self.ledger, ledger):
            return
        raise SpecError(
            f"The table is declared with {_called(self.ledger)}, and the release asks for "
            f"{_called(ledger)}. Leave out ledger=, or change the declaration."
        )


@runtime_checkable
class Account(Protocol):
    """A ledger that can tell itself from others; `kng.Ledger` is one."""

    account: str

    def is_account(self, other: Any) -> bool:
        """Tell whether another ledger spends from this account, or a path or address is its own."""
        ...


def same_account(declared: Any, asked: Any) -> bool:
    """Tell whether two are one account, however they are given."""
    for one, other in ((asked, declared), (declared, asked)):
        if isinstance(one, Account):
            return one.is_account(other)
    if isinstance(declared, _PLACES) and isinstance(asked, _PLACES):
        return _place(declared) == _place(asked)
    return declared is asked


def _place(place: Any) -> str:
    """Return a path in one way, and an address as it is."""
    return str(place) if "://" in str(place) else str(Path(place).resolve())


def _called(ledger: Any) -> str:
    """Return what a message calls an account; an address may hold a password."""
    if ledger is None:
        return "none"
    place = getattr(ledger, "called", ledger)
    if not isinstance(place, _PLACES) or "://" in str(place):
        return "another ledger"
    account = getattr(ledger, "account", "default")
    named = "" if account == "default" else f", account {account!r}"
    return f"the ledger {Path(place).name!r}{named}"
