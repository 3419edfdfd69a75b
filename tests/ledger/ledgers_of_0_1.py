"""Makes ``ledgers_of_0_1.zip`` again, with kng 0.1 (commit e301d72) on the path, under Linux.

    git worktree add /tmp/kng-0.1 e301d72
    PYTHONPATH=/tmp/kng-0.1/src python tests/ledger/ledgers_of_0_1.py

``clean.ledger``    cap 1, two charges of 0.1, the first settled
``crashed.ledger``  the same, then killed: charges that are only in the log, the last of them not
                    yet in the head file, and half of one that was not committed
"""

from __future__ import annotations

import os
import signal
import sqlite3
import tempfile
import zipfile
from fractions import Fraction
from pathlib import Path

from kng.core.privacy import Guarantee, PrivacyEvent
from kng.ledger import Ledger, database

TENTH = Fraction(1, 10)
EVENT = PrivacyEvent(TENTH, TENTH, "kng", "replace-one", 1, Guarantee.EXACT)


def used(path: Path) -> Ledger:
    ledger = Ledger(path, cap=1)
    ledger.settle(ledger.reserve(EVENT, parameters="{}"), "answer 2")
    ledger.reserve(EVENT, parameters="{}")
    return ledger


def crash(path: Path) -> None:
    """Leave a log behind: an onlooker keeps it from being brought in, then comes kill -9."""
    ledger = used(path)
    onlooker = sqlite3.connect(path)
    onlooker.execute("SELECT * FROM entry").fetchone()
    ledger.reserve(EVENT, parameters="in the log")
    database._publish = lambda *_: None
    ledger.reserve(EVENT, parameters="in the log, not in the head")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA cache_size = 1")  # pages go to the log before the commit
    db.execute("BEGIN IMMEDIATE")
    db.execute("CREATE TABLE unfinished AS SELECT zeroblob(60000) AS half")
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        used(place / "clean.ledger")
        if os.fork() == 0:
            crash(place / "crashed.ledger")
        os.wait()
        files = sorted(place.iterdir())
        archive = Path(__file__).with_suffix(".zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            for file in files:
                made.write(file, file.name)
        print(*((file.name, file.stat().st_size) for file in files), sep="\n")
        print(archive, archive.stat().st_size)
