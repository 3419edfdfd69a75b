"""What the README prints runs as printed, in an empty directory.

On 0.1 (e301d72) its commands read a file that did not exist.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, shell):
    """A directory in which the commands have run, and shown what is printed below them."""
    place = tmp_path_factory.mktemp("readme")
    run = []
    for block in blocks("console"):
        _, *parts = block.replace("\\\n", "").split("$ ")
        for part in parts:
            line, *printed = part.rstrip().splitlines()
            words = shlex.split(line)
            assert words[0] == "kng"
            done = shell(*words[1:], cwd=place)
            assert done.code == 0, (line, done.err)
            shown = [_masked(text) for text in done.out.splitlines()]
            missing = [text for text in printed if text != "..." and _masked(text) not in shown]
            assert not missing
            run.append(words[1])
    assert run == ["sample", "budget", "mean", "plan", "median", "huber", "budget"]
    return place


def _masked(line: str) -> str:
    """Return a line without the noise of its numbers."""
    return re.sub(r"[\d.]+ ± [\d.]+", "±", line).replace(" ", "")


def test_the_page_and_its_picture_are_there(folder):
    assert "Mean of visits by coinsurance" in (folder / "answer.html").read_text()
    picture = (ROOT / "docs" / "page.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 200_000
    assert "](docs/page.png)" in README


def test_the_commands_spend_the_budget_they_create(folder, shell):
    shown = shell("budget", "show", "visits.ledger", cwd=folder).out
    assert re.search(r"remaining +0\b", shown), shown


def test_the_lines_of_python_run(folder):
    code = "".join(blocks("python"))  # later lines use names of earlier ones
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_it_says_where_kng_is():
    assert ".venv/bin/kng" in README
    assert "source $(BIN)/activate" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_demo_s_environment_draws_figures():
    """On 0.1 `kng reproduce` failed for lack of matplotlib in the environment of `make demo`."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--editable '.[reproduce]'" in makefile
