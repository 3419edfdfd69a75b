"""Ctrl-C: what is said depends on whether a charge had been made, and a charge stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from fractions import Fraction

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

import kng
from kng.cli.interrupts import ChargeWatch
from kng.core.events import Charged, Charging, Counting, Planned, Reading, Settled
from kng.data.interruptible import called, streamed

HALF = Fraction(1, 2)
PLANNED = Planned("median", "kng", "order", "exact", HALF)
CHARGED = Charged(HALF, 7)
AFTER = "Interrupted after the charge: epsilon 0.5 stays spent, as entry 7 of the ledger."


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ((), "Interrupted; nothing was charged."),
        ((Counting(), PLANNED), "Interrupted; nothing was charged."),
        ((PLANNED, Reading(3)), "Interrupted; nothing was charged."),  # no ledger
        ((PLANNED, Charging(HALF)), "Interrupted while the charge was made;"),
        ((PLANNED, Charging(HALF), CHARGED), AFTER),
        ((PLANNED, Charging(HALF), CHARGED, Reading(None)), AFTER),
        ((PLANNED, CHARGED, Settled()), "epsilon 0.5 stays spent. Read the answer with: kng"),
        ((PLANNED, CHARGED, Settled(), PLANNED), "Interrupted; nothing was charged."),
    ],
)
def test_what_is_said(events, words):
    watch = ChargeWatch()
    for event in events:
        watch.told(event)
    assert words in watch.tell()


def written(kind: str, folder):
    """Return a file whose passes take a second or more."""
    path = folder / f"long.{kind}"
    if kind == "csv":
        path.write_bytes(b"a,b\n" + b"12.25,30.5\n0.125,99.75\n77.5,1.0\n" * 1_500_000)
    else:
        cells = pa.array([12.25, 0.125, 77.5, 30.5] * 1_000_000)
        pa.parquet.write_table(pa.table({"a": cells, "b": cells[::-1]}), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_real_interrupt_in_a_long_pass(kind, tmp_path, ledger):
    # A runner in the background ignores Ctrl-C and its children inherit that, so ask for it again.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from kng.cli.main import main; sys.exit(main())"
    )
    words = ("--target", "b", "--bounds", "a=0:100", "--threshold", "2", "--epsilon", "0.5")
    data = (written(kind, tmp_path), "--ledger", ledger.path, "--verbose")
    command = [sys.executable, "-c", program, "huber", *map(str, data), *words]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = []
    for line in child.stderr:
        told.append(line)
        if line.startswith("kng: reading"):
            break
    child.send_signal(signal.SIGINT)
    out, rest = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, "")
    said = "Error: Interrupted after the charge: epsilon 0.5 stays spent, as entry 2 of the ledger."
    assert rest.strip() == said, "".join(told)
    (entry,) = ledger.history()
    assert (entry.state, ledger.spent) == ("charged", HALF)


def interrupt_soon() -> threading.Timer:
    """Send this process Ctrl-C in a moment."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.fixture
def interruptible():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


# Hours of work, in which DuckDB itself does not listen.
_SQUARE = "FROM range(1000000) a, range(1000000) b"
COUNTED = f"SELECT (a.range * b.range) % 97 AS x, count(*) AS n {_SQUARE} GROUP BY 1"
FILTERED = f"SELECT a.range AS x {_SQUARE} WHERE (a.range * b.range) % 1000003 = -1"


@pytest.mark.parametrize("query", [COUNTED, FILTERED], ids=["counted", "filtered"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_query_of_duckdb_ends(query, relation, interruptible, ledger):
    table = duckdb.connect().sql(query)
    timer = interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        kng.mean(table, bounds={"x": (0, 97)}, epsilon=1, neighbours=relation, ledger=ledger)
    timer.join()
    # Counting comes before the charge, reading after it.
    assert ledger.spent == (relation == "add-remove")


def test_what_a_thread_returns_and_raises():
    assert called(lambda: 5, lambda: None) == 5
    assert list(streamed(lambda: iter("abc"), lambda: None)) == ["a", "b", "c"]
    with pytest.raises(ZeroDivisionError):
        called(lambda: 1 / 0, lambda: None)
