"""One file under two names is not overspent.

On 0.1 (commit e301d72) the races below book 78 charges under a cap of 40: WAL keeps its locks and
its log by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ledger.mounts import WITH_PROC, WITHOUT_PROC, may_mount, mounting

from kng.core.errors import LedgerError
from kng.ledger import Ledger, database, names
from kng.ledger.headfile import HeadFile

WORKER = Path(__file__).with_name("worker.py")

needs_mounts = pytest.mark.skipif(not may_mount(), reason="needs the right to mount")


def share(
    *shares: tuple[list[str], Path], attempts: int = 25, cap: str = "40", epsilon: str = "1"
) -> tuple[int, set[str]]:
    """Race for a cap, a process per share; return how many were booked, and all refusals."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    workers = [
        subprocess.Popen(
            [*prefix, sys.executable, str(WORKER), "share", str(path), cap, epsilon, str(attempts)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for prefix, path in shares
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    said = [worker.communicate(timeout=100)[0].splitlines() for worker in workers]
    return sum(int(lines[0]) for lines in said), {line for lines in said for line in lines[1:]}


def attack(*shares: tuple[list[str], Path]) -> tuple[int, set[str]]:
    """Charge once under every name, which gives each a head where it can, then race on all."""
    counts, refusals = zip(*(share(one, attempts=1) for one in shares), strict=True)
    booked, more = share(*shares, *shares)
    return sum(counts) + booked, more.union(*refusals)


@pytest.fixture
def second(path) -> Path:
    """Another directory, as of a container, with an empty file to be mounted on."""
    place = path.parent / "container" / path.name
    place.parent.mkdir()
    place.touch()
    return place


def test_four_processes_and_a_hard_link(path) -> None:
    ledger, other = Ledger(path, cap=40), path.with_name("other.db")
    os.link(path, other)
    booked, refusals = attack(([], other), ([], path))
    assert booked == 0
    assert all("has 2 names (hard links)" in text for text in refusals)
    other.unlink()
    assert share(*[([], path)] * 4) == (40, set())
    ledger.verify()


def test_a_link_is_found_at_the_charge_and_not_only_at_the_opening(path, event) -> None:
    ledger = Ledger(path, cap=1)
    charge = ledger.reserve(event(), parameters="{}")
    os.link(path, path.with_name("other.db"))
    with pytest.raises(LedgerError, match=r"has 2 names.*nothing was charged"):
        ledger.reserve(event(), parameters="{}")
    ledger.settle(charge, "paid before")  # the answer of a paid charge is not lost
    for use in (lambda: ledger.spent, ledger.verify, lambda: Ledger.adopt(path)):
        with pytest.raises(LedgerError, match="has 2 names"):
            use()
    path.with_name("other.db").unlink()
    assert ledger.release_of(charge.sequence) == "paid before"
    assert ledger.spent == event().epsilon


def test_without_counting_links_the_head_finds_the_other_name(path, event, monkeypatch) -> None:
    """As on a file system that counts no links."""
    monkeypatch.setattr(names, "require_one", lambda _: None)
    ledger, other = Ledger(path, cap=40), path.with_name("other.db")
    os.link(path, other)
    with pytest.raises(LedgerError, match="or the same file under a second name"):
        Ledger(other).reserve(event(), parameters="{}")
    shutil.copy(HeadFile(path).path, HeadFile(other).path)
    Ledger(other).reserve(event(), parameters="{}")
    with pytest.raises(LedgerError, match=r"goes on to entry 2, but .* ends at entry 1"):
        ledger.reserve(event(), parameters="{}")


def test_a_ledger_written_under_another_name_can_be_adopted(path, event) -> None:
    ledger = Ledger(path, cap=1)
    old = HeadFile(path).path.read_bytes()
    ledger.reserve(event(), parameters="{}")
    HeadFile(path).path.write_bytes(old)
    with pytest.raises(LedgerError, match="goes on to entry 2"):
        ledger.reserve(event(), parameters="{}")
    assert Ledger.adopt(path).spent == event().epsilon
    ledger.reserve(event(), parameters="{}")


@needs_mounts
@pytest.mark.parametrize(
    ("seen", "says"),
    [(WITH_PROC, "is mounted as a single file"), (WITHOUT_PROC, "under a second name")],
)
def test_four_processes_and_a_file_mounted_alone(path, second, seen, says) -> None:
    ledger = Ledger(path, cap=40)
    booked, refusals = attack((mounting(path, second, seen), second), ([], path))
    assert booked == len(ledger.history()) == 40
    assert [says in text for text in refusals] == [True]
    ledger.verify()


@needs_mounts
def test_four_processes_and_a_file_mounted_alone_with_a_copied_head(path, second) -> None:
    """The worst case: nothing shows the mount, and both names have a head. One name wins."""
    ledger = Ledger(path, cap=40)
    shutil.copy(HeadFile(path).path, HeadFile(second).path)
    booked, refusals = attack((mounting(path, second, WITHOUT_PROC), second), ([], path))
    assert booked <= 40
    assert all("goes on to entry" in text for text in refusals)
    ledger = Ledger.adopt(path)
    assert ledger.spent == booked
    ledger.verify()


@needs_mounts
def test_a_mounted_directory_is_the_same_ledger(path, second) -> None:
    ledger = Ledger(path, cap=40)
    inside = mounting(path.parent, second.parent)
    assert attack((inside, second), ([], path)) == (40, set())
    ledger.verify()


def test_a_ledger_renamed_without_its_head_is_refused(path, event) -> None:
    """Even with no charge yet; on 0.1 it was taken for a crash at the opening."""
    ledger, other = Ledger(path, cap=1), path.with_name("other.db")
    path.rename(other)
    with pytest.raises(LedgerError, match=r"other\.db\.head is missing"):
        Ledger(other).reserve(event(), parameters="{}")
    other.rename(path)
    ledger.reserve(event(), parameters="{}")


def test_a_ledger_replaced_during_a_charge_is_told(path, event, monkeypatch) -> None:
    ledger, lock = Ledger(path, cap=1), database._locked
    ledger.reserve(event(), parameters="{}")

    def replaced(*arguments):
        db = lock(*arguments)
        shutil.copy(path, path.with_name("copy.db"))
        path.with_name("copy.db").rename(path)
        return db

    monkeypatch.setattr(database, "_locked", replaced)
    with pytest.raises(LedgerError, match="moved or replaced"):
        ledger.reserve(event(), parameters="{}")
    monkeypatch.undo()
    assert len(ledger.history()) == 1


def test_a_ledger_that_became_a_link_is_told(path, event) -> None:
    ledger = Ledger(path, cap=1)
    path.rename(path.with_name("other.db"))
    path.symlink_to(path.with_name("other.db"))
    with pytest.raises(LedgerError, match="became a link"):
        ledger.reserve(event(), parameters="{}")


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are looked up on Linux only")
def test_looking_for_mounts_keeps_the_locks_of_this_process(path) -> None:
    """Closing an ordinary descriptor of a file gives up every lock that a process has on it."""
    ledger = Ledger(path, cap=1)
    attempt = (
        "import sqlite3, sys\n"
        "try: sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')\n"
        "except sqlite3.OperationalError as error: print(error)"
    )
    with database.writing(path):
        names.require_one(path)
        names.require_same(path, names.inode(path))
        said = subprocess.run(
            [sys.executable, "-c", attempt, str(path)], capture_output=True, text=True, check=True
        ).stdout
    assert said == "database is locked\n"
    ledger.verify()
