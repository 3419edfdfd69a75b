"""One ledger, one name.

SQLite locks the file itself, so that programs wait for each other whatever they call it. But the
journal that undoes a transaction which was cut short, and the head file, are found by name. Under
a second name they are missed: a charge could be undone after somebody built on it. So a file with
two names is refused. Hard links are counted by the file system; a file that was bind-mounted by
itself, as containers do with ``-v ledger:/ledger``, lies on another mount than its directory.

Where that cannot be seen (no ``/proc``), and where a ledger was renamed, the head file tells: see
``headfile.py``.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from kng.core.errors import LedgerError


@dataclass(frozen=True, slots=True)
class Inode:
    """Which file a name stands for."""

    device: int
    number: int


def inode(path: Path) -> Inode | None:
    """Return the regular file at a path, or None; refuse what is there instead."""
    found = _look(path)
    return None if found is None else Inode(found.st_dev, found.st_ino)


def require_one(path: Path) -> None:
    """Refuse a ledger that has another name, if it is there at all."""
    found = _look(path)
    if found is None:
        return
    if found.st_nlink > 1:
        raise LedgerError(
            f"{path} has {found.st_nlink} names (hard links). Charges made under one name may be "
            "lost under another, so nothing was charged. Remove all names but one; keep the one "
            f"that has its .head file beside it. find DIRECTORY -samefile {path} lists them."
        )
    if _mounted_by_itself(path):
        raise LedgerError(
            f"{path} is mounted as a single file, away from its journal and its .head file, so "
            "charges could be lost and nothing was charged. Mount the directory that holds the "
            "ledger instead."
        )


def require_same(path: Path, opened: Inode | None) -> None:
    """Refuse to commit to a file that no longer has its name."""
    if opened is not None and inode(path) != opened:
        raise LedgerError(
            f"{path} was moved or replaced while it was in use; nothing was written. Put back "
            "the newest copy, and do not move a ledger while programs use it."
        )


def _look(path: Path) -> os.stat_result | None:
    try:
        found = path.lstat()  # paths are resolved when a ledger is opened; a link came later
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"{path} cannot be opened ({error.strerror}).") from error
    if stat.S_ISLNK(found.st_mode):
        raise LedgerError(f"{path} became a link after it was opened. Open the ledger anew.")
    if not stat.S_ISREG(found.st_mode):
        raise LedgerError(f"{path} is a directory or a device. Give the path of a file.")
    return found


def _mounted_by_itself(path: Path) -> bool:
    """Return whether the file is a mount point; False where the system does not tell."""
    if sys.platform != "linux":
        return False
    try:
        return _mount(path) != _mount(path.parent)
    except OSError:
        return False


def _mount(path: Path) -> bytes | None:
    if sys.platform != "linux":
        return None
    # O_PATH only names the file. Closing any other descriptor of it would give up the locks that
    # this process holds on it, in whatever thread.
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        lines = Path(f"/proc/self/fdinfo/{descriptor}").read_bytes().splitlines()
    finally:
        os.close(descriptor)
    return next((line for line in lines if line.startswith(b"mnt_id:")), None)
