"""Transactions on a ledger file, each on a connection of its own.

A connection never outlives the call that opened it, so threads, forks and copies share nothing.

Durability: WAL with synchronous=EXTRA, which in WAL mode is FULL (every commit is synced), and in
the rollback mode that a ledger is created in, syncs the directory too; NORMAL may forget a
committed charge in a power failure. Writers take the lock first (BEGIN IMMEDIATE), because a
transaction that reads before it locks may charge a balance that is no longer there.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from kng.core.errors import LedgerError
from kng.ledger import faults, rows, schema
from kng.ledger.headfile import Head, HeadFile

_OLDEST_SQLITE = (3, 37)  # STRICT tables


def exists(path: Path) -> bool:
    """Return whether a ledger is at this path, or refuse what is there instead."""
    known = HeadFile(path).read()  # before the database, which only grows
    found = False
    if _is_file(path):
        with _connected(path, "rw") as db, _transaction(db, "BEGIN"):
            found = _is_ledger(db, path)
    if known is not None and not found:
        raise LedgerError(
            f"{path} holds no ledger, but {HeadFile(path).path} says that one with "
            f"{known.sequence} entries was here. Put the ledger back: starting again would "
            "forget what was spent."
        )
    return found


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Look at one moment of a ledger."""
    known = HeadFile(path).read()  # before the database, which only grows
    with _connected(path, "rw") as db, _transaction(db, "BEGIN"):
        _require_ledger(db, path)
        if known is not None:
            _require_entry(db, path, known)
        elif rows.has_charges(db) and HeadFile(path).read() is None:
            # Looked for twice: it may have come between the first look and the database.
            raise _headless(path)
        yield db


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Change a ledger in one durable transaction, alone."""
    with _connected(path, "rw") as db:
        with _transaction(db, "BEGIN IMMEDIATE"):
            _require_ledger(db, path)
            _require_head(db, path)
            yield db
            HeadFile(path).rehearse()
        _publish(db, path)
        _prefer_wal(db)


@contextmanager
def creating(path: Path) -> Iterator[sqlite3.Connection]:
    """Change a ledger that is made first if it is not there."""
    with _connected(path, "rwc") as db:
        with _transaction(db, "BEGIN IMMEDIATE"):
            if not _is_ledger(db, path):
                schema.create(db)
            _require_head(db, path)
            yield db
            HeadFile(path).rehearse()
        _publish(db, path)
        _prefer_wal(db)


@contextmanager
def adopting(path: Path) -> Iterator[sqlite3.Connection]:
    """Look at a ledger without a head file, and give it one if the caller is content."""
    with _connected(path, "rw") as db:
        with _transaction(db, "BEGIN IMMEDIATE"):
            _require_ledger(db, path)
            if (known := HeadFile(path).read()) is not None:
                _require_entry(db, path, known)
            yield db
        _publish(db, path)


@contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise LedgerError(
            f"A ledger needs SQLite 3.37 or newer; this Python has {sqlite3.sqlite_version}. "
            "Use a newer Python."
        )
    with (
        faults.told_plainly(path),
        closing(
            sqlite3.connect(
                f"{path.as_uri()}?mode={mode}",
                uri=True,
                timeout=faults.BUSY_SECONDS,
                isolation_level=None,
            )
        ) as db,
    ):
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA recursive_triggers = ON")
        yield db


@contextmanager
def _transaction(db: sqlite3.Connection, begin: str) -> Iterator[None]:
    db.execute(begin)
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # the first error is the one to tell
            db.execute("ROLLBACK")
        raise


def _prefer_wal(db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        # Someone may be reading just now. Then the slower mode stays, which is as durable.
        with suppress(sqlite3.OperationalError):
            db.execute("PRAGMA journal_mode = WAL")


def _is_file(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise LedgerError(f"{path} cannot be opened ({error.strerror}).") from error
    if not stat.S_ISREG(mode):
        raise LedgerError(f"{path} is a directory or a device. Give the path of a file.")
    return True


def _is_ledger(db: sqlite3.Connection, path: Path) -> bool:
    """Return False for an empty database; refuse anything else that is not ours."""
    mark = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if mark == schema.APPLICATION_ID:
        if version != schema.VERSION:
            raise LedgerError(
                f"{path} was written by another version of kng (format {version}; this one "
                f"reads {schema.VERSION}). Use the kng that wrote it, or a newer one."
            )
        return True
    if mark or version or schema.definitions(db):
        raise LedgerError(
            f"{path} is a database, but not a kng ledger. Give the path of a ledger, or of a new "
            "file for one."
        )
    return False


def _require_ledger(db: sqlite3.Connection, path: Path) -> None:
    if not _is_ledger(db, path):
        raise LedgerError(f"{path} is empty: the ledger that was here is gone. Put it back.")


def _require_entry(db: sqlite3.Connection, path: Path, known: Head) -> None:
    """Refuse a chain that has lost an entry we know of."""
    if rows.hash_at(db, known.sequence) != known.hash:
        file = HeadFile(path).path
        raise LedgerError(
            f"{path} does not contain entry {known.sequence} that {file} names: it is an older "
            f"copy, or was edited. Put back the newest copy. If that is lost, remove {file.name} "
            "and call Ledger.adopt, knowing that what was spent since is then forgotten."
        )


def _require_head(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a chain that has lost its head; under the write lock."""
    file = HeadFile(path)
    if (known := file.read()) is not None:
        _require_entry(db, path, known)
    elif rows.has_charges(db):
        raise _headless(path)
    elif (end := rows.last(db)) is not None:
        # A crash came between opening the account and its head. The file must be there before the
        # first charge, or a crash after that one would look like a lost file.
        file.write(end)


def _headless(path: Path) -> LedgerError:
    return LedgerError(
        f"{path} has charges, but {HeadFile(path).path} is missing, so nobody can tell whether it "
        "is the newest copy. Put that file back; if this is the newest copy, call "
        f"Ledger.adopt({str(path)!r})."
    )


def _publish(db: sqlite3.Connection, path: Path) -> None:
    """Bring the head file up to the newest entry, which may be another process's.

    Under the write lock, so that the file never goes back.
    """
    file = HeadFile(path)
    with _transaction(db, "BEGIN IMMEDIATE"):
        known, end = file.read(), rows.last(db)
        if end is not None and (known is None or known.sequence < end.sequence):
            file.write(end)
