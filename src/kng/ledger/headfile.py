"""The last known head of the chain, kept beside the database.

Restoring an old copy of a database un-spends budget, and nothing inside the copy can tell. The
head file can: it names the newest entry, and a chain that does not contain it has lost something.

Order makes this free of false alarms. The file is written after the commit, so it never names an
entry that the database lacks; and it is read before the database, which only grows. A crash
between commit and write leaves the file behind, which is allowed; the next write catches up.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from kng.core.errors import LedgerError

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
    def _fresh(self) -> Path:
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
        match = _LINE.fullmatch(line)
        if match is None:
            raise LedgerError(
                f"{self.path} is not the head of a ledger. Put the file back that kng wrote; if "
                "it is lost, remove this one and call Ledger.adopt."
            )
        return Head(int(match[1]), match[2].decode("ascii"))

    def write(self, head: Head) -> None:
        """Replace the file, durably and in one step; under the ledger's write lock."""
        try:
            with open(self._fresh, "wb") as file:
                file.write(f"{head.sequence} {head.hash}\n".encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(self._fresh, self.path)
            _sync_directory(self.path.parent)
        except OSError as error:
            raise LedgerError(
                f"{self.path} cannot be written ({error.strerror}). The ledger itself is whole; "
                "make the file writable."
            ) from error

    def rehearse(self) -> None:
        """Find out that the file cannot be written before a charge, rather than after it."""
        try:
            self._fresh.write_bytes(b"0" * 100)
        except OSError as error:
            raise LedgerError(
                f"{self._fresh} cannot be written ({error.strerror}), so nothing was written. "
                "Make room on the disk, or the directory writable."
            ) from error


def _sync_directory(directory: Path) -> None:
    """Make a rename survive a power failure, where the system lets a directory be opened."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
