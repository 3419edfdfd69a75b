"""Many processes at once, and processes that are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from kng.ledger import Entry, Ledger, State

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


def race(
    kind: str,
    path: Path,
    *,
    cap: str,
    epsilon: str,
    attempts: int,
    meanwhile: Callable[[], None] = lambda: None,
) -> int:
    """Return how many charges eight processes together got through."""
    workers = [start("race", kind, path, cap, epsilon, attempts) for _ in range(8)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    meanwhile()
    patience = 100 + attempts
    booked = [int(worker.communicate(timeout=patience)[0]) for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    return sum(booked)


def test_eight_processes_charge_exactly_what_fits(path, thorough) -> None:
    hammer(path, 10_000 if thorough else 160)


def hammer(place: object, attempts: int) -> None:
    """Make so many attempts by eight processes, of which one in five fits."""
    # Charges of 0.3 do not fill the cap; the processes also race to create the ledger.
    fit = attempts // 5
    cap = Fraction(3, 10) * fit + Fraction(1, 10)
    assert race("kng", place, cap=str(cap), epsilon="3/10", attempts=attempts // 8) == fit
    ledger = Ledger(place)
    history = ledger.history()
    assert len(history) == fit
    assert ledger.spent == sum(entry.epsilon for entry in history) == cap - Fraction(1, 10)
    ledger.verify()


def test_a_long_race_ends_at_the_cap_and_alarms_no_onlooker(path) -> None:
    ledger, looks = Ledger(path, cap=1), []

    def look() -> None:
        deadline = time.monotonic() + 60
        while ledger.remaining and time.monotonic() < deadline:
            ledger.verify()
            looks.append(len(ledger.history()))

    booked = race("kng", path, cap="1", epsilon="1/151", attempts=25, meanwhile=look)
    assert booked == 151
    assert looks == sorted(looks)
    assert (ledger.spent, ledger.remaining) == (1, 0)
    ledger.verify()


def test_the_race_catches_a_ledger_that_looks_before_it_locks(path) -> None:
    """The harness above can fail: the naive twin overspends in it."""
    for attempt in range(5):
        place = path.with_name(f"naive-{attempt}.db")
        if race("naive", place, cap="10", epsilon="3/10", attempts=20) > 33:
            return
    pytest.fail("the naive ledger never overspent, so the race is too tame to prove anything")


def lines(journal: Path) -> set[int]:
    text = journal.read_text() if journal.exists() else ""
    return {int(line) for line in text.split("\n")[:-1]}


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and kill")
def test_kill_nine_at_random_moments(tmp_path, thorough) -> None:
    """Ten kills each on five ledgers, or twenty: before the file exists, and in its middle."""
    ledgers = 20 if thorough else 5
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    epsilon, cap = Fraction(1, 1000), Fraction(1000)
    kills = charges = burnt = 0
    with start("pack", 5, cap, epsilon) as pack:
        assert pack.stdout.readline() == "ready\n"
        for number in range(ledgers):
            path, journal = tmp_path / f"{number}.db", tmp_path / f"{number}.journal"
            for wait in (0, 8):  # first at the opening of the ledger, then in the middle
                kills += hunt(pack, path, journal, wait, rng)
                if path.exists() and path.stat().st_size:
                    history = check(Ledger(path, cap=cap), lines(journal), epsilon)
                else:
                    assert not lines(journal)
            charges += len(history)
            burnt += sum(entry.state is State.CHARGED for entry in history)
        pack.stdin.close()
    assert (kills, pack.returncode) == (10 * ledgers, 0)
    assert charges >= 8 * ledgers
    assert burnt > 0  # some were hit between the charge and the release


def hunt(
    pack: subprocess.Popen[str], path: Path, journal: Path, wait: int, rng: random.Random
) -> int:
    """Start five loops, wait for so many releases, kill them one by one."""
    print(path, journal, file=pack.stdin, flush=True)
    pids = [int(pid) for pid in pack.stdout.readline().split()]
    enough, deadline = len(lines(journal)) + wait, time.monotonic() + 30
    while len(lines(journal)) < enough and time.monotonic() < deadline:
        time.sleep(0.005)
    for pid in pids:
        time.sleep(rng.uniform(0, 0.05))
        os.kill(pid, signal.SIGKILL)
    print(file=pack.stdin, flush=True)
    assert set(pack.stdout.readline().split()) == {"-9"}, "a worker failed on its own"
    return len(pids)


def check(ledger: Ledger, published: set[int], epsilon: Fraction) -> list[Entry]:
    """No charge lost, no release without a charge, nothing over the cap, and all of it sealed."""
    ledger.verify()
    history = ledger.history()
    released = {entry.sequence for entry in history if entry.state is State.RELEASED}
    assert released <= published <= {entry.sequence for entry in history}
    assert ledger.spent == epsilon * len(history) <= ledger.cap
    for sequence in sorted(released)[-3:]:
        assert ledger.release_of(sequence) == f"release {sequence}"
    allowed = {ledger.path.name + end for end in ("", ".head", ".head.new", "-journal")}
    assert {file.name for file in ledger.path.parent.glob(ledger.path.name + "*")} <= allowed
    journal = ledger.path.with_name(ledger.path.name + "-journal")  # of the opening, or of its kill
    assert not journal.exists() or not any(journal.read_bytes()[:8]), "it could be rolled back"
    return history
