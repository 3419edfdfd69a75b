"""Runs keep what is finished, go on where they stopped, and repeat exactly."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import time
from math import log, log10, sqrt
from pathlib import Path
from statistics import fmean, stdev

import pytest

import kng
from kng.core.errors import SpecError
from kng.reproduce import run as runner
from kng.reproduce.experiment import PROBE, Measured, Task
from kng.reproduce.figure1 import Figure1
from kng.reproduce.program import program
from kng.reproduce.run import Run, processors
from kng.reproduce.summary import Row, fact, last_slopes, table, write_csv

METHODS = ("non-private", "kng-derived")
SMALL = Figure1(sizes=(30, 60), replicates=3, methods=METHODS)


class Counting:
    """An experiment that notes what it is asked to do, and may be interrupted."""

    name = "counting"

    def __init__(self, replicates=4, stop=None, shift=0.1):
        self.replicates, self.stop, self.shift, self.done = replicates, stop, shift, []

    def tasks(self):
        return [Task(10, k) for k in range(self.replicates)]

    def cost(self, task):
        return 1.0

    def measure(self, task, seed):
        if task.replicate == self.stop:
            raise KeyboardInterrupt
        if task != PROBE:
            self.done.append(task)
        return Measured({"a": seed + task.replicate + self.shift}, {"R": 2.0})


def go(run, jobs=1):
    return list(run.go(jobs))


def test_a_run_yields_every_task_and_keeps_it(tmp_path):
    run = Run(SMALL, 3, tmp_path)
    assert go(run) == SMALL.tasks()
    found = run.finished()
    assert sorted(found) == SMALL.tasks()
    assert found[Task(60, 2)] == SMALL.measure(Task(60, 2), 3)  # through the file, bit by bit


def test_an_interrupted_run_goes_on(tmp_path):
    stopped = Counting(stop=2)
    with pytest.raises(KeyboardInterrupt):
        go(Run(stopped, 1, tmp_path))
    assert len(Run(stopped, 1, tmp_path).finished()) == 2
    again = Counting()
    assert go(Run(again, 1, tmp_path)) == again.tasks()[2:]
    assert [task.replicate for task in again.done] == [2, 3]
    assert Run(again, 1, tmp_path).missing() == []
    third = Counting(replicates=6)
    go(Run(third, 1, tmp_path))
    assert [task.replicate for task in third.done] == [4, 5]


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_line_that_was_cut_off_is_done_again(tmp_path, cut):
    run = Run(Counting(), 1, tmp_path)
    go(run)
    whole = run.path.read_bytes()
    run.path.write_bytes(whole[:-cut])
    again = Counting()
    go(Run(again, 1, tmp_path))
    assert again.done == ([Task(10, 3)] if cut > 1 else [])
    assert run.finished() == {t: Counting().measure(t, 1) for t in Counting().tasks()}


@pytest.mark.parametrize(("seed", "shift"), [(2, 0.1), (1, 0.2)])
def test_lines_of_another_seed_or_program_are_refused(tmp_path, seed, shift):
    go(Run(Counting(), 1, tmp_path))
    other = Counting(shift=shift)
    reason = "it has the seed 1" if seed == 2 else "gives other results here"
    with pytest.raises(SpecError, match=rf"holds another run than this one: .*{reason}.*--out"):
        go(Run(other, seed, tmp_path))
    assert other.done == []


def test_last_digits_of_another_machine_are_no_other_program(tmp_path):
    go(Run(Counting(), 1, tmp_path))
    other = Counting(replicates=5, shift=0.1 * (1 + 1e-13))
    go(Run(other, 1, tmp_path))
    assert [task.replicate for task in other.done] == [4]


def test_lines_of_a_program_that_has_changed_are_refused(tmp_path, monkeypatch):
    """Also where no small task shows the change, such as one for large n alone."""
    go(Run(Counting(), 1, tmp_path))
    monkeypatch.setattr(runner, "program", lambda: "another")
    with pytest.raises(SpecError, match="the source of the program has changed since"):
        go(Run(Counting(), 1, tmp_path))


@pytest.mark.parametrize("line", ["[]", "no json", '{"experiment": "counting", "seed": 1}'])
def test_a_first_line_that_is_none_is_refused(tmp_path, line):
    run = Run(Counting(), 1, tmp_path)
    run.path.write_text(line + "\n")
    with pytest.raises(SpecError, match="not one that this version writes"):
        go(run)


def test_the_hash_of_the_program_changes_with_its_source(tmp_path, monkeypatch):
    root = Path(kng.__file__).parent
    shutil.copytree(root, tmp_path / "kng", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kng, "__file__", str(tmp_path / "kng" / "__init__.py"))
    digest = program.__wrapped__
    before = digest()
    assert before == program()
    for name, same in (
        ("samplers/real/affine.py", False),
        ("reproduce/figure1.py", False),
        ("core/bits.py", False),
        ("reproduce/picture.py", True),
        ("cli/reproduce.py", True),
    ):
        path = tmp_path / "kng" / name
        whole = path.read_text()
        path.write_text(whole + "# changed\n")
        assert (digest() == before) == same, name
        path.write_text(whole)


def test_a_parent_that_is_killed_takes_its_workers_with_it(tmp_path):
    """No worker outlives a parent that could not say goodbye."""
    script = tmp_path / "sleeping.py"
    script.write_text(SLEEPING)
    parent = subprocess.Popen([sys.executable, script, tmp_path])
    try:
        at_work = _eventually(lambda: len(found := list(tmp_path.glob("*.worker"))) == 2 and found)
    finally:
        parent.kill()
        parent.wait()
    assert at_work
    assert _eventually(lambda: not any(_alive(int(path.stem)) for path in at_work))


SLEEPING = """
import os, sys, time
from pathlib import Path
from kng.reproduce.experiment import PROBE, Measured, Task
from kng.reproduce.run import Run

FOLDER = Path(sys.argv[1])

class Sleeping:
    name = "sleeping"

    def tasks(self):
        return [Task(10, k) for k in range(4)]

    def measure(self, task, seed):
        if task != PROBE:
            (FOLDER / f"{os.getpid()}.worker").touch()
            time.sleep(600)
        return Measured({"a": 1.0}, {})

if __name__ == "__main__":
    list(Run(Sleeping(), 1, FOLDER).go(2))
"""


def _alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")  # ended, and not yet collected by process 1
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


def _eventually(found, patience=60.0):
    end = time.monotonic() + patience
    while not (result := found()) and time.monotonic() < end:
        time.sleep(0.05)
    return result


def test_an_empty_file_is_a_fresh_start(tmp_path):
    run = Run(Counting(), 1, tmp_path)
    run.path.touch()
    go(run)
    assert len(run.finished()) == 4


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SpecError, match=r"--out .*file cannot be written to"):
        go(Run(Counting(), 1, tmp_path / "file"))


def test_two_processes_give_the_same_table(tmp_path):
    one, two = Run(SMALL, 9, tmp_path / "one"), Run(SMALL, 9, tmp_path / "two")
    go(one)
    assert sorted(go(two, jobs=2)) == SMALL.tasks()
    assert table("figure2", one.finished()) == table("figure2", two.finished())


def test_the_seed_decides(tmp_path):
    rows = []
    for seed in (1, 1, 2):
        run = Run(SMALL, seed, tmp_path / f"{len(rows)}")
        go(run)
        rows.append(table("figure2", run.finished()))
    assert rows[0] == rows[1]
    assert all(a.mean_error != b.mean_error for a, b in zip(rows[0], rows[2], strict=True))


def test_the_heading_says_what_the_lines_are(tmp_path):
    run = Run(Counting(), 8, tmp_path)
    go(run)
    heading = json.loads(run.path.read_text().splitlines()[0])
    assert heading == {
        "experiment": "counting",
        "seed": 8,
        "program": program(),
        "probe": {"a": 8.1},
    }


def test_averages_and_their_errors():
    values = [1.0, 2.0, 4.0]
    found = {Task(100, k): Measured({"m": v}, {"R": 3 + k}) for k, v in enumerate(values)}
    [row] = table("figure1", found)
    assert row.mean_error == pytest.approx(7 / 3)
    assert (row.figure, row.method, row.n, row.replicates) == ("figure1", "m", 100, 3)
    assert row.log10_mean_error == pytest.approx(log10(7 / 3))
    assert row.log10_se == pytest.approx(stdev(values) / sqrt(3) / fmean(values) / log(10))
    [scale] = fact("R", found)
    assert scale.mean_error == 4


def test_slopes_are_over_the_last_decade():
    rows = [
        Row("f", "m", n, 9, 0.0, height, 0.03) for n, height in ((10, 5), (100, 1), (1000, 0.5))
    ]
    [slope] = last_slopes(rows)
    assert (slope.start, slope.end, slope.slope) == (100, 1000, -0.5)
    assert slope.se == pytest.approx(0.03 * sqrt(2))


def test_the_csv_has_the_columns_that_were_asked_for(tmp_path):
    run = Run(SMALL, 3, tmp_path)
    go(run)
    rows = table("figure2", run.finished())
    write_csv(tmp_path / "figure2.csv", rows)
    text = (tmp_path / "figure2.csv").read_text()
    assert text.splitlines()[0] == "figure,method,n,replicates,mean_error,log10_mean_error,log10_se"
    with (tmp_path / "figure2.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert len(read) == len(rows) == 2 * len(METHODS)
    assert float(read[3]["mean_error"]) == rows[3].mean_error


def test_processors():
    assert processors() >= 1
