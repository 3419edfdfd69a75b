"""Every command over every kind of file: the same records and bits give the same answer."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from kng.data.text import text_files

SEEDED = ("--epsilon", "2", "--seed", "7", "--json")
X, Y = ("--bounds", "age=0:120"), ("--bounds", "income=0:9000")
COMMANDS = {
    "mean": (*X, *Y),
    "quantile": (*X, "--q", "0.1", "--q", "0.9"),
    "median": ("--column", "age", "--bounds", "0:120"),
    "geomedian": (*X, *Y, "--scale", "bounds"),
    "linear": ("--target", "income", *X, *Y),
    "huber": ("--target", "income", "--threshold", "500", *X),
    "quantreg": ("--target", "income", *X, *Y),
    "expectile": ("--target", "income", *X, *Y),
    "logistic": ("--target", "insured", "--classes", "no,yes", *X),
    "poisson": ("--target", "visits", *X, "--bounds", "visits=0:20"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same table in every kind of file, whole and in three parts."""
    folder = tmp_path_factory.mktemp("files")
    draw = np.random.default_rng(3)
    age = draw.integers(20, 80, 300).astype(float)
    frame = pd.DataFrame(
        {
            "age": age,
            "income": (50 * age + draw.normal(0, 300, 300)).round(2),
            "visits": draw.poisson(3, 300),
            "insured": np.where(age > 50, "yes", "no"),
        }
    )
    text = frame.to_csv(index=False)
    (folder / "survey.csv").write_text(text)
    (folder / "survey.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "survey.tsv").write_text(frame.to_csv(index=False, sep="\t"))
    (folder / "semicolons.csv").write_text(frame.to_csv(index=False, sep=";", decimal=","))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pa.parquet.write_table(table, folder / "survey.parquet")
    with pa.ipc.new_file(str(folder / "survey.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=70)
    for kind in ("parquet", "csv"):
        (folder / kind).mkdir()
        for k in range(3):
            part = frame[100 * k : 100 * (k + 1)]
            if kind == "csv":
                part.to_csv(folder / kind / f"part-{k}.csv", index=False)
            else:
                part.to_parquet(folder / kind / f"part-{k}.parquet", index=False)
    return folder


PLACES = {
    "gzip": ("survey.csv.gz",),
    "tabs": ("survey.tsv",),
    "semicolons": ("semicolons.csv", "--separator", ";", "--decimal", ","),
    "Parquet": ("survey.parquet", "--memory-limit", "256MB", "--threads", "1"),
    "Arrow": ("survey.arrow", "--threads", "1"),
    "Parquet pattern": ("parquet/*.parquet",),
    "Parquet directory": ("parquet",),
    "any pattern": ("parquet/*",),
    "CSV pattern": ("csv/part-*.csv",),
}


def drawn(run, command, path, *words):
    done = run(command, path, *words, *COMMANDS[command], *SEEDED)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_place_gives_the_same_answer(command, run, folder, monkeypatch):
    expected = drawn(run, command, folder / "survey.csv")
    for name, (place, *words) in PLACES.items():
        assert drawn(run, command, folder / place, *words) == expected, name
    text_files._standard_input.cache_clear()
    with (folder / "survey.csv").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert drawn(run, command, "-") == expected
    text_files._standard_input.cache_clear()


def test_standard_input_in_a_process(shell, run, folder):
    text = (folder / "survey.csv").read_text()
    piped = shell("median", "-", *COMMANDS["median"], *SEEDED, input=text)
    assert (piped.code, piped.err) == (0, "")
    assert json.loads(piped.out) == drawn(run, "median", folder / "survey.csv")
