"""A ledger in a PostgreSQL database: transactions, each on a connection of its own.

Writers lock the one row of ``kng_ledger.ledger`` first, so that they come one after the other and
see everything that was committed before: no two of them charge the same balance. A commit returns
when it is on disk (``synchronous_commit``; a server with ``fsync = off`` promises nothing).

A restored server un-spends budget like a restored file. Where the ledger lives is part of it: the
server, its timeline, the database and the table. A dump that was read back, a server that was set
back to a point in time and a standby that was promoted have another home, and are refused until
somebody adopts or restores the ledger there. A cold copy of all of the server's files has the same
home; only a head that was written down elsewhere finds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from kng.core.errors import LedgerError
from kng.core.naming import call
from kng.core.postgres import connected, server_of, text_of
from kng.ledger import faults, postgres_schema, rows
from kng.ledger.audit import require_sums

_HOME = """
SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE s.system_identifier::text || '/'
  || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/'
  || (SELECT oid::text FROM pg_catalog.pg_database WHERE datname = current_database()) || '/'
  || 'kng_ledger.entry'::regclass::oid::text END
FROM pg_control_system() s
"""
# One number for all who might make a ledger at the same time: "kng$" in bytes.
_CREATION = int.from_bytes(b"kng$", "big")

# By the beginning of the server's code for the error, the first that fits.
_MEANINGS = (
    ("55P03", "another program has held {name} for {seconds:.0f} seconds. Wait for it to finish."),
    ("25006", "{name} cannot be written: the server or this user may only read."),
    ("42501", "this user may not do that in {name} ({said}). Ask its owner for the rights."),
    ("53100", "the disk of {name} is full. Make room on it."),
    (
        "23",
        "{name} refused an entry that breaks its own rules ({said}). Run "
        + call("verify()")
        + " on it.",
    ),
    ("XX", "{name} is damaged ({said}). Put back the newest copy."),
)


class Rows:
    """What a statement gave."""

    def __init__(self, found: Sequence[tuple[Any, ...]]) -> None:
        self._found = iter(found)

    def fetchone(self) -> Any:
        """Return the next row, or None."""
        return next(self._found, None)

    def __iter__(self) -> Iterator[Any]:
        return self._found


class Session:
    """A connection on which transactions are begun and ended by hand."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Rows:
        """Run one statement, with ``?`` for every value."""
        numbers = iter(range(1, len(values) + 1))
        text = re.sub(r"\?", lambda _: f"${next(numbers)}", statement) if values else statement
        with self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(text, tuple(values) if values else None)
            return Rows(cursor.fetchall() if cursor.description else [])


@dataclass(frozen=True, slots=True, repr=False)
class PostgresServer:
    """A ledger in a database; an address that names none uses the user's own."""

    place: str

    @property
    def called(self) -> str:
        """The server and its database, without the password."""
        base = ""
        if server_of(self.place) != "the server":
            base = urlsplit(self.place).path.strip("/")
        return f"database {base!r} of {server_of(self.place)}" if base else server_of(self.place)

    def exists(self) -> bool:
        """Return whether the database holds a ledger."""
        with self._transaction("READ ONLY") as db:
            return _version(db) is not None

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Look at one moment of the ledger."""
        with self._transaction("ISOLATION LEVEL REPEATABLE READ READ ONLY") as db:
            self._require_ledger(db)
            self._require_home(db)
            yield db

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Change the ledger, alone."""
        with self._locked() as db:
            self._require_home(db)
            yield db

    def charging(self) -> Any:
        """Spend from the ledger, alone."""
        return self.writing()

    @contextmanager
    def creating(self) -> Iterator[Session]:
        """Change the ledger, which is made first if it is not there."""
        with self._transaction("") as db:
            db.execute(f"SELECT pg_advisory_xact_lock({_CREATION})")
            if _version(db) is None:
                for statement in postgres_schema.STATEMENTS:
                    db.execute(statement)
                ((home,),) = db.execute(_HOME)
                db.execute(
                    "INSERT INTO kng_ledger.ledger (version, home) VALUES (?, ?)",
                    (postgres_schema.VERSION, home),
                )
            self._lock(db)
            self._require_home(db)
            yield db

    @contextmanager
    def restoring(self) -> Iterator[Session]:
        """Change a copy after reading all of it; from then on it lives here."""
        with self._locked() as db:
            self.audit(db)
            ((home,),) = db.execute(_HOME)
            db.execute("UPDATE kng_ledger.ledger SET home = ?", (home,))
            yield db

    def adopting(self) -> Any:
        """Accept a copy as the newest one."""
        return self.restoring()

    def audit(self, db: rows.Connection) -> None:
        """Refuse a ledger whose rules, chain or sums do not hold."""
        if {row[0] for row in db.execute(postgres_schema.RULES)} != postgres_schema.EXPECTED:
            raise LedgerError(
                "The triggers of this ledger are not those that kng made, so rows may have been "
                "edited. Put back the newest untouched copy."
            )
        require_sums(db)

    @contextmanager
    def _locked(self) -> Iterator[Session]:
        with self._transaction("") as db:
            self._require_ledger(db)
            self._lock(db)
            yield db

    def _lock(self, db: Session) -> None:
        """Wait until nobody else writes."""
        db.execute(f"SET LOCAL lock_timeout = {int(1000 * faults.BUSY_SECONDS)}")
        db.execute("SELECT version FROM kng_ledger.ledger FOR UPDATE")
        ((durable,),) = db.execute("SHOW synchronous_commit")
        if durable in ("off", "local"):
            db.execute("SET LOCAL synchronous_commit = on")

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[Session]:
        """Begin on a connection of its own; commit, or undo what was done if anything fails."""
        connection = connected(self.place, failure=LedgerError, autocommit=True)
        with self._told_plainly():
            try:
                db = Session(connection)
                db.execute(f"BEGIN {kind}")
                db.execute("SET LOCAL client_min_messages = error")
                db.execute("SET LOCAL standard_conforming_strings = on")
                db.execute("SET LOCAL search_path = kng_ledger, pg_catalog")
                yield db
                db.execute("COMMIT")
            finally:
                with suppress(Exception):  # what was not committed is undone with the connection
                    connection.close()

    @contextmanager
    def _told_plainly(self) -> Iterator[None]:
        """Turn an error of the server into one sentence about the ledger."""
        from adbc_driver_postgresql import dbapi

        try:
            yield
        except dbapi.Error as error:
            details = {text_of(key): text_of(value) for key, value in error.details}
            code = details.get("PG_DIAG_SQLSTATE", "")
            said = details.get("PG_DIAG_MESSAGE_PRIMARY", "the connection was lost")
            meaning = next((text for start, text in _MEANINGS if code.startswith(start)), None)
            if meaning is None:
                # A commit whose answer is lost may have been made.
                meaning = (
                    "{name} could not be used ({said}). Whether a charge was made shows in "
                    + call("history()")
                    + "; a request with a key may be made again."
                )
            text = meaning.format(name=self.called, said=said, seconds=faults.BUSY_SECONDS)
            raise LedgerError(text[0].upper() + text[1:]) from None

    def _require_ledger(self, db: Session) -> None:
        version = _version(db)
        if version is None:
            raise LedgerError(
                f"{self.called} holds no ledger: the one that was here is gone. Put it back."
            )
        if version != postgres_schema.VERSION:
            raise LedgerError(
                f"The ledger in {self.called} was written by another version of kng (format "
                f"{version}; this one reads {postgres_schema.VERSION}). Use a newer kng."
            )

    def _require_home(self, db: Session) -> None:
        """Refuse a copy; on a standby, which cannot be written, there is nothing to compare."""
        ((known, home),) = db.execute(
            f"SELECT l.home, h.home FROM kng_ledger.ledger l, ({_HOME}) h (home)"
        )
        if home not in (None, known):
            raise LedgerError(
                f"The ledger in {self.called} is a copy: it was made on another server, database "
                "or timeline, and charges made since the copy are missing. Use the original. If "
                f"it is lost, run {call('Ledger.restore')}, which books what may have been spent "
                f"since, or {call('Ledger.adopt')} if nothing was."
            )


def _version(db: Session) -> int | None:
    """Return the format of the ledger, or None where there is none."""
    ((there,),) = db.execute("SELECT to_regclass('kng_ledger.ledger') IS NOT NULL")
    if not there:
        return None
    found = db.execute("SELECT version FROM kng_ledger.ledger").fetchone()
    return None if found is None else int(found[0])
