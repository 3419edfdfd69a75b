"""Run the command line, in this process or in one of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kng.cli.main import main
from kng.ledger import Ledger


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Call main() here: quick, and as the console script does."""

    def call(*words: object) -> Outcome:
        capfd.readouterr()
        code = main([str(word) for word in words])
        outcome = Outcome(code, *capfd.readouterr())
        assert "Traceback" not in outcome.out + outcome.err
        assert "\x0e" not in outcome.out + outcome.err  # a reference that nobody worded
        return outcome

    return call


@pytest.fixture(scope="session")
def shell() -> Run:
    """Start a process of its own, as a user does."""

    def call(*words: object, **options: object) -> Outcome:
        command = [sys.executable, "-m", "kng.cli.main", *map(str, words)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=50, check=False, **options
        )
        assert "Traceback" not in done.stdout + done.stderr
        assert "\x0e" not in done.stdout + done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def ages(tmp_path: Path) -> Path:
    """A survey with two columns and 500 records."""
    path = tmp_path / "survey.csv"
    rows = (f"{20 + i % 50},{1000 * (i % 7)}" for i in range(500))
    path.write_text("\n".join(["age,income", *rows]) + "\n")
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """An untouched budget of 1."""
    return Ledger(tmp_path / "budget.ledger", cap=1)
