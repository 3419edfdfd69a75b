"""Copies, pickles, threads and forks spend from one account."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kng.core.errors import BudgetError, KngError
from kng.ledger import Ledger

WORKER = Path(__file__).with_name("worker.py")


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda ledger: pickle.loads(pickle.dumps(ledger))],
)
def test_a_copy_reopens_the_account(path, event, duplicate) -> None:
    Ledger(path, cap=5)
    ledger = Ledger(path, cap=1, account="b")
    twin = duplicate(ledger)
    assert twin is not ledger
    assert twin == ledger
    assert hash(twin) == hash(ledger)
    twin.reserve(event("0.6"), parameters="{}")
    with pytest.raises(BudgetError):
        ledger.reserve(event("0.6"), parameters="{}")
    ledger.settle(
        pickle.loads(
            pickle.dumps(ledger.reserve(event("0.4"), parameters="")),
        ),
        "x",
    )
    assert twin.remaining == 0


def test_a_pickle_holds_a_path_that_means_the_same_everywhere(path, monkeypatch) -> None:
    monkeypatch.chdir(path.parent)
    ledger = Ledger("budget.db", cap=1)
    frozen = pickle.dumps(ledger)
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert pickle.loads(frozen).path == path.resolve()


def test_a_copy_of_a_ledger_that_is_gone_is_refused(path) -> None:
    ledger = Ledger(path, cap=1)
    for file in path.parent.iterdir():
        file.unlink()
    with pytest.raises(KngError):
        copy.deepcopy(ledger)


def test_a_link_is_the_same_ledger(path, event) -> None:
    ledger = Ledger(path, cap=1)
    path.with_name("link.db").symlink_to(path)
    link = Ledger(path.with_name("link.db"))
    link.reserve(event(), parameters="{}")
    assert link == ledger
    assert ledger.spent == event().epsilon


def test_ledgers_of_other_accounts_differ(path) -> None:
    one, two = Ledger(path, cap=1), Ledger(path, cap=1, account="b")
    assert one != two
    assert one != str(path)
    assert repr(two) == f"Ledger({str(path)!r}, account='b')"


def test_scikit_learn_clones_it(path) -> None:
    base = pytest.importorskip("sklearn.base")

    class Estimator(base.BaseEstimator):
        def __init__(self, ledger=None) -> None:
            self.ledger = ledger

    ledger = Ledger(path, cap=1)
    assert base.clone(Estimator(ledger=ledger)).ledger == ledger


def test_threads_share_a_ledger(path, event) -> None:
    ledger = Ledger(path, cap=2)

    def release(k: int) -> int:
        try:
            charge = ledger.reserve(event("0.1"), parameters="{}")
        except BudgetError:
            return 0
        ledger.settle(charge, str(k))
        return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(release, range(40))) == 20
    assert ledger.spent == 2
    ledger.verify()


def run(*arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, str(WORKER), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_share_a_ledger(path) -> None:
    assert run("fork", str(path)) == "13/5"


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_full_disk_is_told_and_charges_nothing(path, tenth) -> None:
    said = run("full", str(path))
    assert said.startswith(("The disk that holds", "Reading or writing"))
    ledger = Ledger(path)
    assert ledger.spent == tenth
    ledger.verify()


@pytest.mark.skipif(sys.platform == "win32", reason="needs permissions")
def test_a_read_only_ledger_is_told(tmp_path_factory) -> None:
    import shutil
    import tempfile

    place = Path(tempfile.mkdtemp())
    try:
        place.chmod(0o755)
        said = run("readonly", str(place / "budget.db")).splitlines()
    finally:
        place.chmod(0o755)
        shutil.rmtree(place)
    assert len(said) == 2
    assert all("writable" in line or "written" in line for line in said), said
