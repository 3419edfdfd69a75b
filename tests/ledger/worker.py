"""Programs that the tests start, race and kill: ``worker.py JOB ARGUMENTS``."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
import time
import traceback
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from kng.core.errors import BudgetError, LedgerError
from kng.core.privacy import Guarantee, PrivacyEvent
from kng.ledger import Ledger, database
from kng.ledger.headfile import HeadFile


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
            time.sleep(0.01)  # whoever is busy elsewhere still loses the race
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


def share(path: str, cap: str, epsilon: str, attempts: str) -> None:
    """Race like the above, on a file that may have other names; print what was refused as well."""
    event, booked, refusals = cost(epsilon), 0, set()
    ready()
    sys.stdin.readline()
    for _ in range(int(attempts)):
        try:
            Ledger(path, cap=cap).reserve(event, parameters="{}")
            booked += 1
        except BudgetError:
            pass
        except LedgerError as error:
            refusals.add(str(error))
    print(booked, *refusals, sep="\n", flush=True)


def torn(how: str, path: str, epsilon: str) -> None:
    """Charge, and be killed when some of the pages are in the file and some are not."""
    ledger, parameters = Ledger(path), "x" * 200_000  # new pages at the end of the file
    if how == "committing":
        import resource

        # Pages are written from first to last; the one that makes the file longer kills.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(path).st_size,) * 2)
    else:
        lock = database._locked

        def cramped(*arguments: Any) -> sqlite3.Connection:
            db = lock(*arguments)
            db.execute("PRAGMA cache_size = 1")  # pages go to the file before the commit
            return db

        database._locked = cramped
        HeadFile.announce = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    ledger.reserve(cost(epsilon), parameters=parameters)


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
    with suppress(ImportError):
        import adbc_driver_postgresql.dbapi  # noqa: F401 - once, for all of the pack
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


def look(spare: str, path: str, uid: str) -> None:
    """Look at a ledger from the command line as somebody else; print the worst exit code last."""
    from kng.cli.main import main

    looks = [["budget", word, "{}"] for word in ("show", "history", "verify")]
    for words in looks:
        main([word.format(spare) for word in words])  # all is loaded while we may read it
    os.setuid(int(uid))
    print("as", os.geteuid())
    print(max(main([word.format(path) for word in words]) for words in looks), flush=True)


if __name__ == "__main__":
    jobs = {job.__name__: job for job in (race, share, torn, pack, fork, full, readonly, look)}
    jobs[sys.argv[1]](*sys.argv[2:])
