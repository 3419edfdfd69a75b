"""The newest entry of the chain, kept beside the database.

Restoring an old copy of a database un-spends budget, and nothing inside the copy can tell. The
head file can: it names the newest entry, and a chain that does not contain it has lost something.
A chain that goes on beyond it was written under another name, where another head file was kept.

Order makes this free of false alarms. All of it happens under the ledger's write lock:

    announce   <ledger>.head.new names the entry that is about to be written
    commit     the entry is in the database
    publish    <ledger>.head.new becomes <ledger>.head

So the newest entry is always the one in ``.head`` or the one in ``.head.new``, whenever a program
was killed; and ``.head`` never names an entry that the database lacks. Readers take no such lock:
they read ``.head`` before the database, which only grows, and ask that it contains the entry.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kng.core.errors import LedgerError
from kng.core.naming import call

_LINE = re.compile(rb"([1-9][0-9]{0,17}) ([0-9a-f]{64})\n")


@dataclass(frozen=True, slots=True)
class Head:
    """One place in the chain."""

    sequence: int
    hash: str


@dataclass(frozen=True, slots=True)
class HeadFile:
    """``<ledger>.head``: one line, the sequence and the hash of the newest entry."""

    ledger: Path

    @property
    def path(self) -> Path:
        """Where the head is kept."""
        return self.ledger.with_name(self.ledger.name + ".head")

    @property
    def _next(self) -> Path:
        # One fixed name: writers hold the ledger's write lock, and a crash leaves no litter.
        return self.ledger.with_name(self.ledger.name + ".head.new")

    def read(self) -> Head | None:
        """Return the last known head, or None where no file is."""
        try:
            line = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be read ({error.strerror}).") from error
        head = _parse(line)
        if head is None:
            raise LedgerError(
                f"{self.path} is not the head of a ledger. Put the file back that kng wrote; if it "
                f"is lost, remove this one and run {call('Ledger.adopt')}."
            )
        return head

    def announced(self) -> Head | None:
        """Return the entry that was about to be written last, if it is not published."""
        try:
            return _parse(self._next.read_bytes())
        except OSError:
            return None

    def announce(self, head: Head) -> None:
        """Name the entry that is about to be committed, durably."""
        try:
            with open(self._next, "wb") as file:
                file.write(f"{head.sequence} {head.hash}\n".encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise LedgerError(
                f"{self._next} cannot be written ({error.strerror}), so nothing was written. "
                "Make room on the disk, or the directory writable."
            ) from error

    def publish(self) -> None:
        """Make the announced entry the head, in one step."""
        try:
            os.replace(self._next, self.path)
            _sync_directory(self.path.parent)
        except OSError as error:
            raise LedgerError(
                f"{self.path} cannot be written ({error.strerror}), so nothing was charged. The "
                "ledger itself is whole; make the file and its directory writable."
            ) from error

    def withdraw(self) -> None:
        """Forget an announced entry that was never committed."""
        with suppress(OSError):
            self._next.unlink()


def _parse(line: bytes) -> Head | None:
    match = _LINE.fullmatch(line)
    return None if match is None else Head(int(match[1]), match[2].decode("ascii"))


def _sync_directory(directory: Path) -> None:
    """Make a rename survive a power failure, where the system lets a directory be opened."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
