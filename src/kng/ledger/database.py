"""Transactions on a ledger file, each on a connection of its own.

A connection never outlives the call that opened it, so threads, forks and copies share nothing.

Durability: a rollback journal with synchronous=EXTRA. Every commit is synced, and so is the
directory after the journal is gone; with less, a power failure may bring the journal back and
undo a committed charge. Not WAL: its locks and its log belong to a name, so that one file under
two names was overspent twice over. The locks of the rollback journal belong to the file. Writers
take the lock first (BEGIN IMMEDIATE), because a transaction that reads before it locks may charge
a balance that is no longer there.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from kng.core.errors import LedgerError
from kng.core.naming import call
from kng.ledger import faults, names, rows, schema
from kng.ledger.audit import require_sums
from kng.ledger.headfile import Head, HeadFile

_OLDEST_SQLITE = (3, 37)  # STRICT tables
_UNWRITABLE = ("SQLITE_READONLY_DIRECTORY", "SQLITE_CANTOPEN")


def exists(path: Path) -> bool:
    """Return whether a ledger is at this path, or refuse what is there instead."""
    known = HeadFile(path).read()  # before the database, which only grows
    found = False
    if names.inode(path) is not None:
        with _snapshot(path) as db:
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
    """Look at one moment of a ledger; this needs no write access."""
    known = HeadFile(path).read()  # before the database, which only grows
    names.require_one(path)
    with _snapshot(path) as db:
        _require_ledger(db, path)
        schema.show_as_new(db)
        if known is not None:
            _require_entry(db, path, known)
        elif rows.has_charges(db) and HeadFile(path).read() is None:
            # Looked for twice: it may have come between the first look and the database.
            raise _headless(path)
        yield db


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """Change a ledger in one durable transaction, alone."""
    with _changing(path, "rw") as db:
        _require_ledger(db, path)
        _require_head(db, path)
        schema.upgrade(db)
        yield db


@contextmanager
def charging(path: Path) -> Iterator[sqlite3.Connection]:
    """Spend from a ledger, which must have one name.

    Only spending asks for it: the answer of a charge that is paid is stored even if somebody
    linked the file meanwhile.
    """
    with writing(path) as db:
        names.require_one(path)
        yield db


@contextmanager
def creating(path: Path) -> Iterator[sqlite3.Connection]:
    """Change a ledger that is made first if it is not there."""
    with _changing(path, "rwc") as db:
        names.require_one(path)
        if not _is_ledger(db, path):
            schema.create(db)
        _require_head(db, path)
        schema.upgrade(db)
        yield db


@contextmanager
def adopting(path: Path) -> Iterator[sqlite3.Connection]:
    """Look at a ledger without its head, and make the newest entry the head if all is well."""
    with _changing(path, "rw") as db:
        names.require_one(path)
        _require_ledger(db, path)
        if (known := HeadFile(path).read()) is not None:
            _require_entry(db, path, known)
        schema.show_as_new(db)
        audit(db)
        schema.upgrade(db)
        yield db


@contextmanager
def restoring(path: Path) -> Iterator[sqlite3.Connection]:
    """Change an older copy of a ledger, which may lack entries that the head names."""
    with _changing(path, "rw") as db:
        names.require_one(path)
        _require_ledger(db, path)
        schema.show_as_new(db)
        audit(db)
        schema.upgrade(db)
        yield db


def audit(db: sqlite3.Connection) -> None:
    """Refuse a ledger whose rules, chain, sums or accounts do not hold."""
    if schema.definitions(db) != schema.expected(schema.is_outdated(db)):
        raise LedgerError(
            "The tables or triggers of this ledger are not those that kng made, so rows may have "
            "been edited. Put back the newest untouched copy."
        )
    damage = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if damage != "ok":
        raise LedgerError(f"The ledger file is damaged ({damage}). Put back the newest copy.")
    require_sums(db)


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
        db.execute("PRAGMA temp_store = MEMORY")  # where nothing may be written
        yield db


@contextmanager
def _changing(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """Hold the write lock, commit what the caller wrote, and make its last entry the head."""
    opened = names.inode(path)
    with ExitStack() as stack:
        db = _locked(stack, path, mode)
        with _transaction(db):
            yield db
            names.require_same(path, opened)
            if (end := rows.last(db)) is not None:
                HeadFile(path).announce(end)
        _publish(db, path)


@contextmanager
def _snapshot(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold one moment of the file still, also where it may not be written."""
    with ExitStack() as stack:
        db = stack.enter_context(_connected(path, "rw"))  # read-only if it has to be
        try:
            _hold(db)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname not in _UNWRITABLE or not _is_resting(path):
                raise
            # Perhaps a ledger of 0.1: in WAL mode SQLite has to write before it can read.
            db = stack.enter_context(_connected(path, "ro&immutable=1"))
            _hold(db)
            if schema.had_exact_heads(db):
                raise
        with _transaction(db):
            yield db


def _hold(db: sqlite3.Connection) -> None:
    db.execute("BEGIN")
    db.execute("PRAGMA user_version").fetchone()  # the first look takes the lock


def _is_resting(path: Path) -> bool:
    """Return whether nothing beside the file has to be brought in or undone first."""
    beside = (path.with_name(path.name + end) for end in ("-wal", "-journal"))
    return not any(file.exists() and file.stat().st_size for file in beside)


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """End what was begun: by a commit, or by undoing it if anything fails."""
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # the first error is the one to tell
            db.execute("ROLLBACK")
        raise


def _locked(stack: ExitStack, path: Path, mode: str) -> sqlite3.Connection:
    """Return a connection that has the write lock, with the rollback journal in use.

    kng 0.1 left files in WAL mode, perhaps with a log that a crash kept from the file. SQLite
    brings it in when it leaves that mode, for which nobody else may be connected: so between two
    attempts nobody is, each for a time of its own.
    """
    deadline = time.monotonic() + faults.BUSY_SECONDS
    while True:
        with ExitStack() as attempt:
            db = attempt.enter_context(_connected(path, mode))
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA recursive_triggers = ON")
            db.execute("BEGIN IMMEDIATE")
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                stack.push(attempt.pop_all())
                return db
            db.execute("ROLLBACK")
            names.require_one(path)  # the log of another name would be lost
            try:
                db.execute("PRAGMA journal_mode = DELETE")
                continue
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorname.startswith("SQLITE_BUSY")
                if not busy or time.monotonic() > deadline:
                    raise
        time.sleep((threading.get_native_id() % 47 + 3) / 1000)


def _is_ledger(db: sqlite3.Connection, path: Path) -> bool:
    """Return False for an empty database; refuse anything else that is not ours."""
    mark = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if mark == schema.APPLICATION_ID:
        if version not in schema.READABLE:
            raise LedgerError(
                f"{path} was written by another version of kng (format {version}; this one "
                f"reads {', '.join(map(str, schema.READABLE))}). Use the kng that wrote it, or a "
                "newer one."
            )
        return True
    if mark or version or schema.definitions(db):
        raise LedgerError(
            f"{path} is a database, but not a kng ledger. Give the path of a ledger, or make one "
            f"with {call('kng.Ledger')}."
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
            "copy, or was edited. Put back the newest copy. If that is lost, run "
            f"{call('Ledger.restore', str(path))}, which books what may have been spent since."
        )


def _require_head(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a chain whose newest entry is not the one that was written under this name.

    Under the write lock, which makes it exact: the newest entry is published, or announced by a
    program that was killed or has not come to publishing it.
    """
    file = HeadFile(path)
    known, end, announced = file.read(), rows.last(db), file.announced()
    if known is not None:
        _require_entry(db, path, known)
    if end == known:
        if end is not None and announced not in (None, end):
            # A program was killed while it wrote. SQLite has undone that, unless the journal was
            # left behind under another name; then only reading all of it can tell.
            schema.show_as_new(db)
            audit(db)
            file.withdraw()
        return
    if end is None:
        return
    if announced != end:
        if known is None and (rows.has_charges(db) or schema.had_exact_heads(db)):
            raise _headless(path)
        if known is not None and schema.had_exact_heads(db):
            raise _written_elsewhere(path, known, end)
        file.announce(end)  # kng 0.1 announced nothing; a crash left its head behind
    file.publish()


def _headless(path: Path) -> LedgerError:
    return LedgerError(
        f"{HeadFile(path).path} is missing, so nobody can tell whether {path} is the newest copy, "
        "or the same file under a second name. Use the ledger under the name and in the directory "
        "where that file is, or put it back. If it is lost and this is the newest copy, run "
        f"{call('Ledger.adopt', str(path))}."
    )


def _written_elsewhere(path: Path, known: Head, end: Head) -> LedgerError:
    return LedgerError(
        f"{path} goes on to entry {end.sequence}, but {HeadFile(path).path} ends at entry "
        f"{known.sequence}: it was written under another name or in a container that mounts the "
        "file alone, or an older .head file was put back. Use one name, and mount directories. If "
        f"no other name is in use any more, run {call('Ledger.adopt', str(path))}."
    )


def _publish(db: sqlite3.Connection, path: Path) -> None:
    """Make the newest entry the head, if it can be done right now.

    Under the write lock, so that the file never goes back. A charge that is committed must not
    fail here; who comes next publishes it before anything else.
    """
    file = HeadFile(path)
    db.execute("PRAGMA busy_timeout = 0")
    with suppress(sqlite3.OperationalError, LedgerError):
        db.execute("BEGIN IMMEDIATE")
        with _transaction(db):
            if (end := rows.last(db)) is not None and file.announced() == end:
                file.publish()
