"""Where a ledger is kept: a file, or a server."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kng.core.errors import SpecError, SpecTypeError
from kng.ledger import database
from kng.ledger.rows import Connection

Transaction = AbstractContextManager[Connection]

SCHEMES = ("postgresql://", "postgres://")


class Backend(Protocol):
    """Transactions on a ledger; each has a connection of its own, and is durable or undone."""

    @property
    def called(self) -> str:
        """What messages call it; holds no password."""
        ...

    @property
    def place(self) -> str:
        """What opens it again."""
        ...

    def reading(self) -> Transaction:
        """Look at one moment of it; needs no write access."""
        ...

    def writing(self) -> Transaction:
        """Change it, alone."""
        ...

    def charging(self) -> Transaction:
        """Spend from it, alone."""
        ...

    def creating(self) -> Transaction:
        """Change it, and make it first if it is not there."""
        ...

    def adopting(self) -> Transaction:
        """Accept it as the newest copy, after reading all of it."""
        ...

    def restoring(self) -> Transaction:
        """Change an older copy, after reading all of it."""
        ...

    def exists(self) -> bool:
        """Return whether a ledger is there, or refuse what is there instead."""
        ...

    def audit(self, db: Connection) -> None:
        """Refuse a ledger whose rules, chain or sums do not hold."""
        ...


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A ledger in a file."""

    path: Path

    @property
    def called(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def place(self) -> str:
        """The path."""
        return str(self.path)

    def reading(self) -> Transaction:
        """Look at one moment of it."""
        return database.reading(self.path)

    def writing(self) -> Transaction:
        """Change it, alone."""
        return database.writing(self.path)

    def charging(self) -> Transaction:
        """Spend from it, alone."""
        return database.charging(self.path)

    def creating(self) -> Transaction:
        """Change it, and make it first if it is not there."""
        return database.creating(self.path)

    def adopting(self) -> Transaction:
        """Accept it as the newest copy."""
        return database.adopting(self.path)

    def restoring(self) -> Transaction:
        """Change an older copy."""
        return database.restoring(self.path)

    def exists(self) -> bool:
        """Return whether a ledger is there."""
        return database.exists(self.path)

    def audit(self, db: Any) -> None:
        """Read all of it."""
        database.audit(db)


def backend_of(place: Any) -> Backend:
    """Return where a path or an address leads; nothing is opened."""
    if isinstance(place, str) and place.lower().startswith(SCHEMES):
        # Imported here: a driver is needed for addresses alone.
        from kng.ledger.postgres import PostgresServer

        return PostgresServer(place)
    if not isinstance(place, str | os.PathLike) or isinstance(place, bytes):
        raise SpecTypeError(f"path must name a file, got {type(place).__name__}.")
    try:
        # One name per file: through a link, the head file must be found as well.
        return SqliteFile(Path(place).resolve())
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise SpecError(f"path must name a file, got {place!r} ({error}).") from error
