"""Progress: public totals, on a terminal only, and nothing that tells passes apart."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
from fractions import Fraction

import pytest
from rich.console import Console

from kng.cli.progress import Progress, progress_shown
from kng.core.events import Charged, Charging, Counting, Planned, Reading, Settled

AGE = ("--column", "age", "--bounds", "0:120", "--epsilon", "0.5")
PLANNED = Planned("median", "kng", "order", "exact", Fraction(1))
CHARGE = (Charging(Fraction(1)), Charged(Fraction(1), 2))


class Screen(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Return what was to be read, without spinner, bar and time."""
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())
        found = (re.sub(r"[^\w%, ]|\d:\d\d:\d\d", "", line) for line in re.split(r"[\r\n]+", plain))
        return [" ".join(line.split()) for line in found if line.strip()]


def shown(events, passes=()):
    """Return what is on the screen after each event and each block of a pass."""
    screen = Screen()
    progress = Progress(Console(file=screen, force_terminal=True, width=90), delay=1000)
    progress._start()
    seen = []
    for event in events:
        progress.told(event)
        seen += _now(progress, screen)
    for blocks in passes:
        for block in blocks:
            progress.passed(block)
            seen += _now(progress, screen)
        progress.ended()
        seen += _now(progress, screen)
    progress.close()
    return seen


def _now(progress, screen):
    screen.truncate(0)
    screen.seek(0)
    progress._line.refresh()
    return screen.lines()[-1:]


def test_what_is_shown_where_the_number_of_records_is_public():
    seen = shown([Counting(), PLANNED, *CHARGE, Reading(2_000_000)], [[500_000, 1_500_000]])
    assert seen == [
        "counting records",
        "preparing",
        "preparing",
        "preparing",
        "reading 2,000,000 records 0%",
        "reading 2,000,000 records 25%",
        "reading 2,000,000 records 100%",
        "drawing the answer",
    ]


def test_what_is_shown_where_it_is_private():
    for passes in ([[7]], [[100_000, 5], [3]], []):
        seen = shown([PLANNED, *CHARGE, Reading(None)], passes)
        assert set(seen[3:]) == {"reading records and drawing the answer"}


def test_passes_after_the_first_look_alike():
    one, *more = (
        shown([PLANNED, Reading(100)], [[100], *rest]) for rest in ([], [[100]], [[60, 40]] * 9)
    )
    for seen in more:
        assert seen[: len(one)] == one
        assert set(seen[len(one) :]) == {"drawing the answer"}


def test_nothing_is_left_on_the_screen():
    screen = Screen()
    progress = Progress(Console(file=screen, force_terminal=True, width=90), delay=0)
    progress.open()
    progress.told(Reading(10))
    time.sleep(0.2)
    progress.told(Settled())
    assert "reading 10 records" in screen.getvalue()
    assert screen.getvalue().rstrip("\n").endswith("\x1b[2K")  # the line is erased


def test_what_is_quick_shows_nothing():
    screen = Screen()
    progress = Progress(Console(file=screen, force_terminal=True))
    progress.open()
    progress.told(Reading(10))
    progress.close()
    progress._start()  # the timer fires too late
    assert screen.getvalue() == ""


@pytest.mark.parametrize(("quiet", "terminal"), [(True, True), (False, False)])
def test_where_it_is_not_shown(quiet, terminal, monkeypatch):
    screen = Screen()
    screen.isatty = lambda: terminal
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("kng.cli.progress.Progress", None)  # would fail if it were made
    with progress_shown(quiet=quiet):
        pass
    assert screen.getvalue() == ""


SLOW = """
import sys, time
from kng.data.text.csv_files import CsvFiles
read = CsvFiles.blocks
def slow(self, *columns):
    for block in read(self, *columns):
        time.sleep(1.3)
        yield block
CsvFiles.blocks = slow
from kng.cli.main import main
sys.exit(main())
"""


def at_a_terminal(*words, out=subprocess.PIPE):
    """Run a slow release whose stderr is a terminal."""
    here, there = os.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW, *map(str, words)],
        stdout=out,
        stderr=there,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "90"},
    )
    os.close(there)
    told = b""
    while True:
        try:
            piece = os.read(here, 4096)
        except OSError:  # Linux ends a terminal so
            piece = b""
        if not piece:
            break
        told += piece
    os.close(here)
    written = child.communicate(timeout=30)[0]
    assert child.returncode == 0
    return told.decode(), written


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_terminal_shows_it_and_a_pipe_does_not(ages):
    shown, out = at_a_terminal("median", ages, *AGE)
    assert "reading 500 records" in shown
    assert out.startswith(b"median")
    told, out = at_a_terminal("median", ages, *AGE, "--json")
    assert (told, json.loads(out)["statistic"]) == ("", "median")


def test_verbose(run, ages, ledger):
    words = ("median", ages, *AGE, "--ledger", ledger.path)
    expected = [
        "kng: counting records",
        "kng: planned median: mechanism kng, sampler order, guarantee exact, epsilon 0.5",
        "kng: charging epsilon 0.5",
        "kng: charged epsilon 0.5, ledger entry 2",
        "kng: reading 500 records",
        "kng: settled",
    ]
    assert run(*words, "--verbose").err.splitlines() == expected
    # Before the command as well; and both are once.
    again = [line.replace("entry 2", "entry 4") for line in expected]
    assert run("--verbose", *words, "--verbose").err.splitlines() == again
    assert run("median", ages, *AGE).err == ""
