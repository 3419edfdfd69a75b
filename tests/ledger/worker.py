"""Programs that the tests start, race and kill: ``worker.py JOB ARGUMENTS``."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
from contextlib import closing
from fractions import Fraction
from pathlib import Path

from kng.core.errors import BudgetError, LedgerError
from kng.core.privacy import Guarantee, PrivacyEvent
from kng.ledger import Ledger


def cost(epsilon: str) -> PrivacyEvent:
    number = Fraction(epsilon)
    return PrivacyEvent(number, number, "kng", "replace-one", 1, Guarantee.EXACT)


class Naive:
    """What a ledger must not be: look first, then write."""

    def __init__(self, path: str, cap: str) -> None:
        self.path, self.cap = path, Fraction(cap)
        with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db:
            db.execute("CREATE TABLE IF NOT EXISTS charge (epsilon TEXT)")

    def reserve(self, event: PrivacyEvent, *, parameters: str) -> None:
        with closing(sqlite3.connect(self.path, timeout=60, isolation_level=None)) as db:
            spent = sum(Fraction(row[0]) for row in db.execute("SELECT epsilon FROM charge"))
            if spent + event.epsilon > self.cap:
                raise BudgetError("over", requested=event.epsilon, remaining=self.cap - spent)
            db.execute("INSERT INTO charge VALUES (?)", (str(event.epsilon),))


def ready() -> None:
    print("ready", flush=True)


def race(kind: str, path: str, cap: str, epsilon: str, attempts: str) -> None:
    """Charge as often as told, from the moment that all are ready; print the successes."""
    event, booked = cost(epsilon), 0
    ready()
    sys.stdin.readline()
    ledger = Naive(path, cap) if kind == "naive" else Ledger(path, cap=cap)
    for _ in range(int(attempts)):
        try:
            ledger.reserve(event, parameters="{}")
            booked += 1
        except BudgetError:
            pass
    print(booked, flush=True)


def loop(path: str, cap: str, epsilon: str, journal: str) -> None:
    """Release forever: charge, publish to a journal outside the ledger, settle."""
    event = cost(epsilon)
    file = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    ledger = Ledger(path, cap=cap)
    while True:
        charge = ledger.reserve(event, parameters="{}")
        os.write(file, f"{charge.sequence}\n".encode())
        os.fsync(file)
        ledger.settle(charge, f"release {charge.sequence}")


def pack(size: str, cap: str, epsilon: str) -> None:
    """Start a pack of loops for every line of input, and tell how they ended after the next."""
    ready()
    for line in sys.stdin:
        path, journal = line.split()
        pids = []
        for _ in range(int(size)):
            pid = os.fork()
            if pid == 0:
                try:
                    loop(path, cap, epsilon, journal)
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(1)
            pids.append(pid)
        print(*pids, flush=True)
        sys.stdin.readline()  # until then the dead keep their numbers
        print(*(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids), flush=True)


def fork(path: str) -> None:
    """Charge on both sides of forks, with the ledger opened before them."""
    ledger = Ledger(path, cap=10)
    ledger.reserve(cost("1/10"), parameters="parent")
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            for _ in range(5):
                ledger.settle(ledger.reserve(cost("1/10"), parameters="child"), "x")
            os._exit(0)
        children.append(child)
    for _ in range(5):
        ledger.reserve(cost("1/10"), parameters="parent")
    if any(os.waitpid(child, 0)[1] for child in children):
        raise SystemExit("a child failed")
    ledger.verify()
    print(ledger.spent, flush=True)


def full(path: str) -> None:
    """Charge while no file may grow any more; print what is said."""
    import resource

    ledger = Ledger(path, cap=10)
    ledger.reserve(cost("1/10"), parameters="")
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, resource.RLIM_INFINITY))
    try:
        ledger.reserve(cost("1/10"), parameters="x" * 2**17)
    except LedgerError as error:
        print(error, flush=True)


def readonly(path: str) -> None:
    """Charge as somebody who may not write; print what is said."""
    Ledger(path, cap=10).reserve(cost("1/10"), parameters="")
    os.chmod(Path(path).parent, 0o555)
    os.chmod(path, 0o444)
    if os.geteuid() == 0:
        os.setuid(65534)
    for attempt in (
        lambda: Ledger(path).reserve(cost("1/10"), parameters=""),
        lambda: Ledger(path + ".other", cap=1),
    ):
        try:
            attempt()
        except LedgerError as error:
            print(error, flush=True)


if __name__ == "__main__":
    jobs = {job.__name__: job for job in (race, pack, fork, full, readonly)}
    jobs[sys.argv[1]](*sys.argv[2:])
