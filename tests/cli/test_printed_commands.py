"""Every command that docs and --help print runs as printed, on tables with the columns it names."""

from __future__ import annotations

import gzip
import io
import os
import re
import shlex
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest

from kng.cli.main import commands, main

DOCS = Path(__file__).parents[2] / "docs"
# What needs a server, a terminal or minutes; each has tests of its own.
LEFT_OUT = ("postgresql://", "kng reproduce", "kng audit", "kng demo", "kng init visits.csv`")


def of_docs() -> list[str]:
    """Return commands that stand in docs, as blocks or in tables of commands."""
    found = []
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8").replace("\\\n", "")
        found += re.findall(r"^    (kng [a-z]+ .*)$", text, re.MULTILINE)
        found += re.findall(r"^(kng [a-z]+ .*)$", text, re.MULTILINE)
        if path.name == "commands.md":
            found += re.findall(r"`(kng [a-z]+ [^`]*)`", text)
    return found


def of_help(command: click.Command = commands) -> list[str]:
    """Return the examples of --help."""
    found = re.findall(r"^ *(kng .*)$", (command.epilog or "").replace("\\\n", ""), re.MULTILINE)
    inner = command.commands.values() if isinstance(command, click.Group) else ()
    return [*found, *(line for each in inner for line in of_help(each))]


def told(line: str) -> str:
    return " ".join(line.split())


ALL = list(dict.fromkeys(map(told, [*of_docs(), *of_help()])))
KEPT = [
    line for line in ALL if "..." not in line and not any(word in f"{line}`" for word in LEFT_OUT)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with every file that is named, and a run model and median."""
    place = tmp_path_factory.mktemp("printed")
    rng = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            **{"id": range(n), "patient": np.arange(n) // 4},
            **{"age": rng.integers(18, 90, n), "visits": rng.integers(0, 9, n)},
            **{"site": rng.integers(1, 4, n), "sex": rng.choice(["F", "M"], n)},
            **{"smoker": rng.choice(["yes", "no"], n), "insured": rng.choice(["yes", "no"], n)},
            **{name: rng.integers(1, 50, n) for name in ("pay", "paid", "wages", "spending")},
            **{"income": rng.integers(0, 90_000, n), "x": rng.random(n), "y": rng.random(n)},
        }
    )
    table.loc[table["sex"] == "F", "other"] = 1
    for name in ("claims", "visits", "homes", "ages", "new", "new-visits"):
        table.to_csv(place / f"{name}.csv", index=False)
    table.to_csv(place / "survey.csv", index=False)
    table.to_parquet(place / "survey.parquet")
    table.to_parquet(place / "visits.parquet")
    table.to_csv(place / "german.csv", sep=";", decimal=",", index=False)
    (place / "claims").mkdir()
    table[["age", "paid"]].to_parquet(place / "claims" / "2025.parquet")
    with gzip.open(place / "claims.csv.gz", "wt") as file:
        table.to_csv(file, index=False)
    (place / "kng.toml").write_text(
        '[tables.visits]\nsource = "visits.csv"\nrelation = "replace-one"\n'
        "[tables.visits.columns.spending]\nbounds = [0, 500]\n"
        "[tables.visits.columns.age]\nbounds = [0, 100]\n"
    )
    (place / "questions.toml").write_text(
        'table = "visits"\nepsilon = 1\n[[question]]\nstatistic = "median"\ncolumn = "spending"\n'
    )
    return place


# The release that a receipt in a command is of.
MODEL = (
    "kng linear visits.csv --target spending --bounds age=0:100 --bounds spending=0:500 "
    "--epsilon 1 --out"
)


@pytest.mark.parametrize("line", KEPT)
def test_it_runs(line, folder, monkeypatch, capsys, tmp_path):
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    given, _, source = line.partition(" #")[0].partition(" > ")[0].partition(" < ")
    if source:
        text = Path(source.strip()).read_bytes()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    _prepare(given, capsys)
    words = shlex.split(given.split("   ")[0])
    assert main(words[1:]) == 0, capsys.readouterr().err


def _prepare(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Make what an earlier command would have left."""
    verbs = line.split()[1:3]
    ledgers = () if verbs == ["budget", "create"] else re.findall(r"\b\w+\.ledger\b", line)
    for name in ledgers:
        assert main(["budget", "create", name, "--epsilon", "9"]) == 0
    receipts = [word for word in line.split() if word.endswith(".json")]
    if verbs[0] in ("predict", "report", "verify"):
        charged = ["--ledger", "visits.ledger"] if "visits.ledger" in line else []
        for name in receipts:
            assert main([*shlex.split(MODEL)[1:], name, *charged]) == 0
    if "kng sample" in line:
        os.unlink("visits.csv")
    capsys.readouterr()
