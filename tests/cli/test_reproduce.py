"""``kng reproduce``: tables, pictures, silence, time left, and what goes wrong."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import pytest

from kng.cli import reproduce as command
from kng.reproduce import figure1, figure2, theorem
from kng.reproduce.run import Run
from kng.samplers.chains.metropolis import Metropolis

COLUMNS = "figure,method,n,replicates,mean_error,log10_mean_error,log10_se"
SMALL = ("--jobs", "1", "--seed", "4")


@pytest.fixture
def small(monkeypatch):
    """Replace the experiments by ones of a second, and tell no progress however slow it is."""
    monkeypatch.setattr(command, "_EVERY", float("inf"))
    monkeypatch.setattr(figure2, "CHAIN", Metropolis(50))
    monkeypatch.setattr(figure2, "TUNED", Metropolis(50, tuning=25))
    monkeypatch.setattr(figure2, "Figure2", partial(figure2.Figure2, sizes=(10, 100), replicates=3))
    for zoom in ("zoom", "quick_zoom"):
        near = replace(getattr(figure1, zoom)(), sizes=(50, 200), replicates=2)
        monkeypatch.setattr(figure1, zoom, lambda near=near: near)
    monkeypatch.setattr(figure1, "Figure1", partial(figure1.Figure1, sizes=(50, 500), replicates=2))
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
    assert "own settings" not in outcome.out
    if name != "theorem":
        assert (folder / f"{name}.sizes.csv").read_text().startswith("method,reference,n,records,")
        assert "as a multiple of n" in outcome.out


def test_the_zoom_comes_with_figure_1(run, small, tmp_path):
    outcome = run("reproduce", "figure1", *SMALL, "--out", tmp_path)
    for suffix in ("csv", "versus.csv", "png", "svg"):
        assert (tmp_path / f"figure1-zoom.{suffix}").is_file()
    assert "Mean error over that of objective perturbation on the same records" in outcome.out


OWN = ("--n", "60", "--n", "20", "--replicates", "2", "--epsilon", "1/2")


@pytest.mark.every(3)
@pytest.mark.parametrize(
    ("name", "words", "file", "title"),
    [
        (
            "figure2",
            ("--tau", "0.9", *OWN),
            "figure2-n60_20-replicates2-tau0.9-epsilon1over2",
            "own settings: τ = 0.9; ε = 1/2; n = 60, 20; 2 replicates",
        ),
        (
            "figure2",
            ("--truth", "0,1,-1", "--n", "40", "--replicates", "1"),
            "figure2-n40-replicates1-truth0_1_-1",
            "d = 3",
        ),
        (
            "figure1",
            ("--dim", "4", *OWN),
            "figure1-n60_20-replicates2-dim4-epsilon1over2",
            "Figure 1: linear regression, d = 4, ε = 0.5",
        ),
        (
            "theorem",
            ("--n", "200", "--replicates", "1", "--epsilon", "2"),
            "theorem-n200-replicates1-epsilon2",
            "own settings: ε = 2; n = 200; 1 replicate",
        ),
    ],
)
def test_own_settings_say_so_and_write_files_of_their_own(run, tmp_path, name, words, file, title):
    outcome = run("reproduce", name, "--jobs", "1", "--out", tmp_path, *words)
    assert outcome.code == 0, outcome.err
    assert title in outcome.out
    assert "own settings" in outcome.out
    assert (tmp_path / f"{file}.csv").is_file()
    assert (tmp_path / f"{file}.png").is_file()
    assert {path.name.partition(file)[0] for path in tmp_path.iterdir()} == {""}


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        ("figure1", ("--n", "0"), "--n must be a whole number between 24 and 1,000,000,000 here"),
        ("figure2", ("--n", "ten"), "--n must be a whole number between 4 and 10,000,000 here"),
        ("figure2", ("--tau", "2"), "--tau must lie strictly between 0 and 1, got '2'"),
        ("figure2", ("--tau", "half"), "--tau must lie strictly between 0 and 1, got 'half'"),
        ("figure1", ("--tau", "0.5"), "--tau is for figure2: least squares has no quantile."),
        ("figure2", ("--dim", "0"), "--dim must be a whole number between 2 and 5 here, got '0'"),
        ("figure2", ("--dim", "6"), "--dim must be a whole number between 2 and 5 here, got '6'"),
        ("figure1", ("--epsilon", "-1"), "--epsilon must be a positive number, got '-1'"),
        ("figure1", ("--epsilon", "1e9"), "--epsilon must lie between 0.001 and 1000 here"),
        ("figure2", ("--truth", "0;1"), "--truth must be two coefficients or more with commas"),
        ("figure2", ("--truth", "0,nan"), "--truth must be two coefficients or more with commas"),
        ("figure2", ("--truth", "0,1,2,3,4,5"), "--truth may have 5 coefficients here, got 6"),
        (
            "figure2",
            ("--truth", "0,1", "--dim", "3"),
            "--dim 3 and a --truth of 2 coefficients differ; give one of them.",
        ),
        ("figure1", ("--replicates", "0"), "--replicates must be a whole number between 1 and"),
        ("theorem", ("--dim", "3"), "--dim is for figure1 and figure2"),
        ("theorem", ("--n", "50"), "--n must be a whole number between 100 and"),
        ("errata", ("--n", "5"), "--n is not for errata: every witness has numbers of its own."),
        ("errata", ("--epsilon", "2"), "--epsilon is not for errata"),
    ],
)
def test_bad_settings(run, tmp_path, name, words, message):
    outcome = run("reproduce", name, "--out", tmp_path / "out", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "out").exists()


def test_a_long_list_of_settings_is_a_short_name():
    from kng.reproduce.settings import Settings

    many = Settings(n=tuple(str(100 + k) for k in range(60)), pace="quick")
    name = many.figure2().name
    assert name.startswith("figure2-quick-n100_101_")
    assert len(name) < 110
    other = Settings(n=tuple(str(101 + k) for k in range(60)), pace="quick").figure2().name
    assert other != name


def test_the_same_seed_gives_the_same_bytes(run, small, tmp_path):
    for folder in ("a", "b"):
        run("reproduce", "figure2", *SMALL, "--out", tmp_path / folder)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert len(names) == 6
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


@pytest.mark.parametrize("name", ["figure2", "theorem"])
def test_a_quick_run_leaves_the_files_of_a_full_one_alone(run, small, tmp_path, name, monkeypatch):
    module = {"figure2": figure2, "theorem": theorem}[name]
    full = {"figure2": "Figure2", "theorem": "Theorem"}[name]
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
    command += ["--n", "10", "--n", "100", "--replicates", "6"]
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
    assert "figure2-quick-n10_100-replicates6  [" in text
    assert "100%" in text
    assert re.search(r"about \d+ (seconds|minutes?) left", text)
    quick = figure2.Figure2(sizes=(10, 100), replicates=6, name="figure2-quick-n10_100-replicates6")
    assert Run(quick, 190509436, tmp_path).finished()
    assert not list(tmp_path.glob("figure2.*"))  # a full run's files would be left alone


def _read(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end has closed
        return b""
