"""Transactions that are cut in two, and what the ledger is called afterwards.

The journal that undoes such a transaction is found by name. Whatever is renamed, linked or mounted
before anybody looks again: no charge is lost, and none fits that is over the cap.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from ledger.mounts import WITH_PROC, WITHOUT_PROC, may_mount, mounting
from ledger.test_names import WORKER

from kng.core.errors import BudgetError, LedgerError
from kng.ledger import Ledger
from kng.ledger.headfile import HeadFile

PAGE = 4096

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


@pytest.fixture(params=["committing", "spilled"])
def torn(request, path, event) -> Path:
    """A ledger with cap 1, four charges of 0.1, and a fifth that was killed in the middle."""
    ledger = Ledger(path, cap=1)
    for _ in range(4):
        ledger.settle(ledger.reserve(event(), parameters="{}"), "x")
    before = path.read_bytes()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    killed = subprocess.run(
        [sys.executable, str(WORKER), "torn", request.param, str(path), "1/10"], env=environment
    )
    assert killed.returncode in (-signal.SIGKILL, -signal.SIGXFSZ)
    assert path.read_bytes()[: len(before)] != before
    assert any(journal(path).read_bytes()[:8])  # it is to be rolled back
    return path


def journal(path: Path) -> Path:
    return path.with_name(path.name + "-journal")


def spend(path: Path, event) -> int:
    """Charge 0.1 as often as the ledger lets us."""
    booked = 0
    while True:
        try:
            Ledger(path).reserve(event(), parameters="{}")
        except (BudgetError, LedgerError):
            return booked
        booked += 1


def test_under_its_own_name_it_is_undone(torn, event) -> None:
    ledger = Ledger(torn)
    assert (len(ledger.history()), ledger.spent) == (4, 4 * event().epsilon)
    ledger.verify()
    assert spend(torn, event) == 6
    ledger.verify()


def test_renamed_alone_it_waits_for_its_old_name(torn, event) -> None:
    other = torn.with_name("other.db")
    torn.rename(other)
    assert spend(other, event) == 0
    other.rename(torn)
    assert spend(torn, event) == 6


def test_renamed_with_its_head_and_without_its_journal(torn, event) -> None:
    ends, other = ("", ".head", ".head.new"), torn.with_name("other.db")
    moves = [(torn.with_name(torn.name + end), other.with_name(other.name + end)) for end in ends]
    for old, new in moves:
        if old.exists():
            old.rename(new)
    elsewhere = spend(other, event)
    for old, new in moves:
        if new.exists():
            new.rename(old)
    assert 4 + elsewhere + spend(torn, event) <= 10


def test_renamed_with_all_its_files_it_is_undone(torn, event) -> None:
    other = torn.with_name("other.db")
    for file in list(torn.parent.glob(torn.name + "*")):
        file.rename(file.with_name(file.name.replace(torn.name, other.name)))
    assert spend(other, event) == 6
    Ledger(other).verify()


def test_linked_it_waits_for_its_only_name(torn, event) -> None:
    other = torn.with_name("other.db")
    os.link(torn, other)
    assert spend(other, event) == spend(torn, event) == 0
    torn.unlink()
    assert spend(other, event) == 0
    os.link(other, torn)
    other.unlink()
    assert spend(torn, event) == 6


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
@pytest.mark.parametrize("seen", [WITH_PROC, WITHOUT_PROC])
def test_mounted_alone_it_waits_for_its_own_name(torn, event, seen) -> None:
    second = torn.parent / "container" / torn.name
    second.parent.mkdir()
    second.touch()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    worker = [sys.executable, str(WORKER)]
    said = subprocess.run(
        [*mounting(torn, second, seen), *worker, "share", str(second), "1", "1/10", "3"],
        env=environment,
        input="go\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[:2] == ["ready", "0"]
    assert len(said) == 3
    assert spend(torn, event) == 6


def test_any_half_of_a_transaction_is_refused_or_counts_what_was_charged(
    path, event, tmp_path
) -> None:
    """Every set of pages that can have reached the file, without the journal.

    A half-written charge may show or not; those before it are never lost.
    """
    ledger = Ledger(path, cap=1)
    for _ in range(8):
        ledger.reserve(event(), parameters="{}")
    before, known = path.read_bytes(), HeadFile(path).path.read_bytes()
    ledger.reserve(event(), parameters="x" * 2 * PAGE)
    after, announced = path.read_bytes(), HeadFile(path).path.read_bytes()
    pages = [
        start
        for start in range(0, len(after), PAGE)
        if before[start : start + PAGE] != after[start : start + PAGE]
    ]
    assert 6 <= len(pages) <= 9
    place = tmp_path / "moved.db"
    accepted = 0
    for written in product([False, True], repeat=len(pages)):
        image = bytearray(before)
        for start, is_written in zip(pages, written, strict=True):
            if is_written:
                image.extend(bytes(max(0, start + PAGE - len(image))))
                image[start : start + PAGE] = after[start : start + PAGE]
        for remnant in (None, announced):
            for file in tmp_path.glob("moved.db*"):
                file.unlink()
            place.write_bytes(image)
            HeadFile(place).path.write_bytes(known)
            if remnant is not None:
                place.with_name("moved.db.head.new").write_bytes(remnant)
            booked = spend(place, event)
            assert 8 + booked <= 10
            accepted += booked > 0
    assert 0 < accepted < 2 ** len(pages)  # most are refused, but not what is whole
