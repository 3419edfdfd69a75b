"""What a table's holder has promised for every release from it: the relation and the account."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kng.core.errors import SpecError


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
        if self.ledger is None or _place(ledger) == _place(self.ledger):
            return
        other = "none" if ledger is None else f"{_place(ledger).name!r}"  # type: ignore[union-attr]
        raise SpecError(
            f"The table is declared with the ledger {_place(self.ledger).name!r}, and the release "  # type: ignore[union-attr]
            f"asks for {other}. Leave out ledger=, or change the declaration."
        )


def _place(ledger: Any) -> Path | None:
    """Return where an account is, however it is given."""
    if ledger is None:
        return None
    return Path(getattr(ledger, "path", ledger)).resolve()
