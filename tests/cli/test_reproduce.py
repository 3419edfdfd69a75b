"""``kng reproduce``: tables, pictures, silence, time left, and what goes wrong."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import time
from functools import partial

import pytest

from kng.cli import reproduce as command
from kng.reproduce import figure1, figure2, theorem
from kng.reproduce.run import Run

COLUMNS = "figure,method,n,replicates,mean_error,log10_mean_error,log10_se"
SMALL = ("--jobs", "1", "--seed", "4")


@pytest.fixture
def small(monkeypatch):
    """Replace the experiments by ones of a second, and tell no progress however slow it is."""
    monkeypatch.setattr(command, "_EVERY", float("inf"))
    monkeypatch.setattr(figure1, "Figure1", partial(figure1.Figure1, sizes=(50, 500), replicates=2))
    monkeypatch.setattr(figure2, "Figure2", partial(figure2.Figure2, sizes=(10, 100), replicates=3))
    tiny = partial(theorem.Theorem, sizes=(2000, 20_000), replicates=2, draws=100)
    monkeypatch.setattr(theorem, "Theorem", tiny)


@pytest.mark.parametrize("name", ["figure1", "figure2", "theorem"])
def test_files_and_table(run, small, tmp_path, name):
    outcome = run("reproduce", name, *SMALL, "--out", tmp_path / "new" / "folder")
    assert (outcome.code, outcome.err) == (0, "")  # silent but for the result: no terminal
    folder = tmp_path / "new" / "folder"
    with (folder / f"{name}.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == [
        "figure",
        "method",
        "n",
        "replicates",
        "mean_error",
        "log10_mean_error",
        "log10_se",
    ]
    assert {row[0] for row in rows[1:]} == {name}
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / f"{name}.svg").read_text()
    assert "slope" in outcome.out
    for suffix in ("csv", "slopes.csv", "png", "svg"):
        assert f"{name}.{suffix}" in outcome.out


def test_the_same_seed_gives_the_same_bytes(run, small, tmp_path):
    for folder in ("a", "b"):
        run("reproduce", "figure2", *SMALL, "--out", tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert len(names) == 5
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_errata(run, tmp_path):
    outcome = run("reproduce", "errata", "--quick", "--out", tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    with (tmp_path / "errata.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 15
    assert max(len(line) for line in outcome.out.splitlines() if "wrote" not in line) <= 88 + 30
    assert (tmp_path / "errata.md").read_text().startswith("| where | printed |")


def test_interrupted_and_resumed(run, small, tmp_path, monkeypatch):
    whole = figure2.Figure2.func.measure
    done = []

    def measure(self, task, seed):
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(task)
        return whole(self, task, seed)

    monkeypatch.setattr(figure2.Figure2.func, "measure", measure)
    outcome = run("reproduce", "figure2", *SMALL, "--out", tmp_path)
    assert outcome.code == 130
    assert "Interrupted. 4 of 6 replicates are kept in" in outcome.err
    assert "charge" not in outcome.err
    assert "the same command goes on from there" in outcome.err
    monkeypatch.setattr(figure2.Figure2.func, "measure", whole)
    assert run("reproduce", "figure2", *SMALL, "--out", tmp_path).code == 0
    assert len((tmp_path / "figure2.replicates.jsonl").read_text().splitlines()) == 1 + 6


@pytest.mark.parametrize("name", ["figure1", "figure2", "theorem"])
def test_without_matplotlib_it_says_so_before_any_work(run, small, tmp_path, monkeypatch, name):
    """On 0.1 (e301d72) the whole experiment ran first, and the exit code was 2."""
    for module in [module for module in sys.modules if module.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    outcome = run("reproduce", name, *SMALL, "--out", tmp_path / "out")
    assert outcome.code == 5
    assert "pip install 'kng[reproduce]'" in outcome.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--jobs", "0"), "--jobs must be a whole number of at least 1, got '0'"),
        (("--jobs", "many"), "--jobs must be a whole number of at least 1, got 'many'"),
        (("--seed", "-1"), "--seed must be a whole number of at least 0, got '-1'"),
        (("--seed", "1.5"), "--seed must be a whole number of at least 0, got '1.5'"),
    ],
)
@pytest.mark.parametrize("name", ["figure1", "errata"])
def test_bad_options(run, tmp_path, name, words, message):
    outcome = run("reproduce", name, "--out", tmp_path / "out", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "out").exists()


def test_out_must_be_a_folder(run, tmp_path):
    (tmp_path / "file").write_text("mine")
    for name in ("figure1", "errata"):
        outcome = run("reproduce", name, "--out", tmp_path / "file")
        assert outcome.code == 2
        assert "--out must name a folder" in outcome.err
    assert (tmp_path / "file").read_text() == "mine"


def test_another_seed_in_the_same_folder(run, small, tmp_path):
    run("reproduce", "figure2", *SMALL, "--out", tmp_path)
    outcome = run("reproduce", "figure2", "--jobs", "1", "--seed", "5", "--out", tmp_path)
    assert outcome.code == 2
    assert "holds another run than this one" in outcome.err


@pytest.mark.parametrize("name", ["figure1", "figure2", "theorem"])
def test_a_quick_run_leaves_the_files_of_a_full_one_alone(run, small, tmp_path, name, monkeypatch):
    module = {"figure1": figure1, "figure2": figure2, "theorem": theorem}[name]
    full = {"figure1": "Figure1", "figure2": "Figure2", "theorem": "Theorem"}[name]
    assert run("reproduce", name, *SMALL, "--out", tmp_path).code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    tiny = getattr(module, full)
    monkeypatch.setattr(module, full, lambda **given: tiny(**tiny.keywords | _named(given)))
    assert run("reproduce", name, *SMALL, "--quick", "--out", tmp_path).code == 0
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert before.items() <= after.items()
    assert {file for file in after if file not in before} == {
        file.replace(name, f"{name}-quick") for file in before
    }


def _named(given):
    return {key: value for key, value in given.items() if key == "name"}


def test_without_a_terminal_a_line_comes_now_and_then(run, small, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_EVERY", 0.0)
    outcome = run("reproduce", "figure2", *SMALL, "--out", tmp_path)
    lines = outcome.err.splitlines()
    assert len(lines) == 6 - 1  # the last task ends the run
    told = r"figure2: \d+% done(, about (\d+ (seconds|minutes)|1 minute) left)?"
    assert all(re.fullmatch(told, line) for line in lines)
    assert "left" in lines[-1]


def test_help(run):
    text = run("reproduce", "--help").out
    assert all(name in text for name in ("figure1", "figure2", "theorem", "errata"))
    assert "--quick" in run("reproduce", "figure1", "--help").out


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_quick_figure_on_a_terminal_shows_the_time_left(tmp_path):
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "kng.cli.main", "reproduce", "figure2", "--quick"]
    start = time.monotonic()
    with subprocess.Popen(
        [*command, "--jobs", "1", "--out", str(tmp_path)],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    ) as child:
        os.close(theirs)
        seen = b""
        while chunk := _read(ours):
            seen += chunk
    os.close(ours)
    assert child.returncode == 0
    assert time.monotonic() - start < 60
    text = seen.decode()
    assert "figure2-quick  [" in text
    assert "100%" in text
    assert re.search(r"about \d+ (seconds|minutes?) left", text)
    quick = figure2.Figure2(sizes=(10,), replicates=20, name="figure2-quick")
    assert Run(quick, 190509436, tmp_path).finished()
    assert not list(tmp_path.glob("figure2.*"))  # a full run's files would be left alone


def _read(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end has closed
        return b""
