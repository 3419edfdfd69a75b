"""An older copy that is put back is refused, and restored without un-spending anything."""

from __future__ import annotations

import shutil
import subprocess
from fractions import Fraction as F
from pathlib import Path

import pytest
from ledger.mounts import may_mount

from kng.core.errors import BudgetError, LedgerError
from kng.ledger import Ledger
from kng.ledger.headfile import HeadFile


@pytest.fixture
def older(path, event, tmp_path) -> Ledger:
    """0.3 charged, copied, 0.4 more charged, and the copy put back."""
    ledger = Ledger(path, cap=1)
    ledger.settle(ledger.reserve(event("0.3"), parameters="{}"), "x")
    shutil.copy2(path, tmp_path / "backup")
    ledger.settle(ledger.reserve(event("0.4"), parameters="{}"), "y")
    shutil.copy2(tmp_path / "backup", path)
    return ledger


def test_it_is_refused(older, path) -> None:
    for use in (lambda: Ledger(path), lambda: older.spent, lambda: Ledger.adopt(path)):
        with pytest.raises(LedgerError, match=r"older copy.*Ledger\.restore"):
            use()


def test_restored_without_a_word_it_is_spent(older, path, event) -> None:
    ledger = Ledger.restore(path)
    assert (ledger.spent, ledger.remaining) == (1, 0)
    with pytest.raises(BudgetError, match="is spent"):
        ledger.reserve(event("0.001"), parameters="{}")
    assert HeadFile(path).read().hash == ledger.head
    ledger.verify()


def test_restored_by_its_receipts_it_goes_on(older, path, event) -> None:
    ledger = Ledger.restore(path, spent="0.4")
    ledger.reserve(event("0.3"), parameters="{}")
    with pytest.raises(BudgetError):
        ledger.reserve(event("0.001"), parameters="{}")
    assert len(ledger.history()) == 2
    ledger.verify()


def test_a_whole_ledger_may_book_a_loss_too(path, event) -> None:
    ledger = Ledger(path, cap=1)
    Ledger.restore(path, spent=0)
    assert ledger.remaining == 1
    Ledger.restore(path, spent="1/3")
    assert ledger.remaining == F(2, 3)
    ledger.verify()


@pytest.mark.skipif(not may_mount(), reason="needs the right to mount")
def test_a_full_disk_charges_nothing(tmp_path: Path, event) -> None:
    """A file system of its own that is full, not a limit on one file."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], check=True)
    try:
        ledger = Ledger(place / "a.ledger", cap=1)
        ledger.reserve(event(), parameters="{}")
        charge = ledger.reserve(event(), parameters="{}")
        (place / "ballast").write_bytes(b"")
        with pytest.raises(OSError), (place / "ballast").open("wb", buffering=0) as file:  # noqa: PT012
            while True:
                file.write(bytes(4096))
        for use in (
            lambda: ledger.reserve(event(), parameters="x" * 20_000),
            lambda: ledger.settle(charge, "x" * 20_000),
        ):
            with pytest.raises(LedgerError, match=r"full|room"):
                use()
        assert ledger.spent == F(1, 5)
        ledger.verify()
        (place / "ballast").unlink()
        ledger.settle(charge, "x" * 20_000)
        ledger.reserve(event(), parameters="x" * 20_000)
        ledger.verify()
    finally:
        subprocess.run(["umount", place], check=True)
