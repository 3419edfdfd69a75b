"""Many processes at once, and processes that are killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from kng.ledger import Ledger, State

WORKER = Path(__file__).with_name("worker.py")


def start(*arguments: object) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, str(WORKER), *map(str, arguments)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def race(kind: str, path: Path, *, cap: str, epsilon: str, attempts: int) -> int:
    """Return how many charges eight processes together got through."""
    workers = [start("race", kind, path, cap, epsilon, attempts) for _ in range(8)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    booked = [int(worker.communicate(timeout=100)[0]) for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    return sum(booked)


def test_eight_processes_charge_exactly_what_fits(path) -> None:
    # 33 charges of 0.3 fit a cap of 10; eight processes also race to create the file.
    assert race("kng", path, cap="10", epsilon="3/10", attempts=20) == 33
    ledger = Ledger(path)
    assert ledger.spent == Fraction(99, 10)
    assert len(ledger.history()) == 33
    ledger.verify()


def test_a_long_race_ends_at_the_cap(path) -> None:
    assert race("kng", path, cap="1", epsilon="1/301", attempts=50) == 301
    ledger = Ledger(path)
    assert (ledger.spent, ledger.remaining) == (1, 0)
    ledger.verify()


def test_the_race_catches_a_ledger_that_looks_before_it_locks(path) -> None:
    """The harness above can fail: the naive twin overspends in it."""
    for attempt in range(5):
        place = path.with_name(f"naive-{attempt}.db")
        if race("naive", place, cap="1", epsilon="1/301", attempts=50) > 301:
            return
    pytest.fail("the naive ledger never overspent, so the race is too tame to prove anything")


def lines(journal: Path) -> set[int]:
    text = journal.read_text() if journal.exists() else ""
    return {int(line) for line in text.split("\n")[:-1]}


def test_kill_nine_at_random_moments(tmp_path) -> None:
    """Fifty kills, on five ledgers, from before the file exists to the middle of its life."""
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    epsilon, cap = Fraction(1, 1000), Fraction(1000)
    charges = burnt = 0
    for number in range(5):
        path, journal = tmp_path / f"{number}.db", tmp_path / f"{number}.journal"
        for turn in range(2):
            workers = [start("loop", path, cap, epsilon, journal) for _ in range(5)]
            for worker in workers:
                assert worker.stdout.readline() == "ready\n"
            if turn == 1:  # on a slow machine too, somebody gets to work before it is over
                wait_for(lambda journal=journal: lines(journal), workers)
            for worker in rng.sample(workers, 5):
                time.sleep(rng.uniform(0, 0.06))
                assert worker.poll() is None, "a worker failed on its own"
                worker.kill()
            for worker in workers:
                worker.communicate()
            if not path.exists() or path.stat().st_size == 0:
                assert not lines(journal)
                continue
            ledger = Ledger(path, cap=cap)
            ledger.verify()
            history = ledger.history()
            released = {entry.sequence for entry in history if entry.state is State.RELEASED}
            published = lines(journal)
            assert published <= {entry.sequence for entry in history}  # no charge was lost
            assert released <= published
            assert all(ledger.release_of(k) == f"release {k}" for k in sorted(released)[-5:])
            assert ledger.spent == epsilon * len(history) <= ledger.cap
        charges += len(history)
        burnt += len(history) - len(released)
        litter = {file.name for file in tmp_path.glob(f"{number}.db*")}
        assert litter <= {f"{number}.db{end}" for end in ("", ".head", ".head.new")}
    assert charges > 50
    assert burnt > 0  # some were hit between the charge and the release


def wait_for(condition, workers) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "nothing was released in 30 seconds"
        assert all(worker.poll() is None for worker in workers), "a worker failed on its own"
        time.sleep(0.01)
