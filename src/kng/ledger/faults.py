"""What SQLite's errors mean to someone who holds a ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kng.core.errors import LedgerError
from kng.core.naming import call

BUSY_SECONDS = 60.0

# By the beginning of SQLite's name for the error, the first that fits.
_MEANINGS = (
    (
        "SQLITE_BUSY",
        "another program has held {path} for {seconds:.0f} seconds. Wait for it to finish, or "
        "close the tool that has the file open.",
    ),
    (
        "SQLITE_READONLY_ROLLBACK",
        "the last charge to {path} was cut short, and undoing it needs write access. Look at it "
        "once as somebody who may write to the file and its directory.",
    ),
    (
        "SQLITE_READONLY_DBMOVED",
        "{path} was moved or replaced while it was in use; nothing was written. Put back the "
        "newest copy, and do not move a ledger while programs use it.",
    ),
    (
        "SQLITE_READONLY",
        "{path} cannot be written. Make the file and its directory writable.",
    ),
    ("SQLITE_FULL", "the disk that holds {path} is full. Make room on it."),
    (
        "SQLITE_NOTADB",
        "{path} is not a kng ledger. Give the path of a ledger, or make one with "
        + call("kng.Ledger")
        + ".",
    ),
    (
        "SQLITE_CORRUPT",
        "{path} is damaged. Put back the newest untouched copy, together with its .head file and "
        "its -journal file, if there is one.",
    ),
    (
        "SQLITE_CANTOPEN",
        "{path} cannot be opened. Check that its directory exists and may be written to.",
    ),
    (
        "SQLITE_PERM",
        "{path} may not be opened. Check who owns the file and its directory.",
    ),
    (
        "SQLITE_IOERR",
        "reading or writing {path} failed ({error}). Check the disk; a ledger must be on a local "
        "one.",
    ),
    (
        "SQLITE_CONSTRAINT",
        "{path} refused an entry that breaks its own rules ({error}). Run "
        + call("verify()")
        + " on it.",
    ),
)


@contextmanager
def told_plainly(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one sentence about the ledger."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        for beginning, meaning in _MEANINGS:
            if name.startswith(beginning):
                text = meaning.format(path=path, seconds=BUSY_SECONDS, error=error)
                break
        else:
            text = (
                f"{path} cannot be used ({error}). Check that it is a ledger, and run "
                f"{call('verify()')}."
            )
        raise LedgerError(text[0].upper() + text[1:]) from error
