"""``kng sample`` writes the records of the demo, and never over a file."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest


def test_the_file_is_that_of_the_demo(run, tmp_path):
    path = tmp_path / "visits.csv"
    outcome = run("sample", path)
    assert (outcome.code, outcome.err) == (0, "")
    assert path.read_bytes() == (files("kng.cli") / "doctor_visits.csv").read_bytes()
    assert f"Wrote {path}: 20,190 records of 5,912 people" in outcome.out
    assert f"kng median {path} --column spending" in outcome.out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("taken.csv", "exists already. Choose another name."),
        ("none/visits.csv", "No such file or directory. Choose another place."),
        ("visits.parquet", "FILE must end in .csv, got"),
        ("visits", "FILE must end in .csv, got"),
        ("a\0b.csv", "not a file name. Choose another place."),
    ],
)
def test_a_place_that_does_not_serve(run, tmp_path, name, message):
    (tmp_path / "taken.csv").write_text("mine")
    outcome = run("sample", f"{tmp_path}/{name}")
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["taken.csv"]
    assert (tmp_path / "taken.csv").read_text() == "mine"


def test_half_a_file_is_taken_away(run, tmp_path, monkeypatch):
    class Full:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def write(self, content):
            self.file.write(content[:100])
            raise OSError(28, "No space left on device")

    opened = Path.open

    def opening(path, mode="r", *rest, **options):
        file = opened(path, mode, *rest, **options)
        return Full(file) if mode == "xb" else file

    monkeypatch.setattr(Path, "open", opening)
    outcome = run("sample", tmp_path / "visits.csv")
    assert outcome.code == 2
    assert "No space left on device" in outcome.err
    assert not list(tmp_path.iterdir())


def test_it_needs_a_name(run):
    outcome = run("sample")
    assert outcome.code == 2
    assert "Missing argument 'FILE'" in outcome.err


def test_help(run):
    assert "kng sample visits.csv" in run("sample", "--help").out
    assert "sample" in run("--help").out
