"""Every row of the map names what implements it, by names that are there; so does the citation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kng
from kng.cli.reproduce import reproduce

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "paper-map.md"
CITATION = ROOT / "CITATION.cff"

pytestmark = pytest.mark.skipif(not MAP.exists(), reason="no checkout around the tests")


def rows():
    """Yield the rows whose second cell is a public name."""
    tables = MAP.read_text(encoding="utf-8").split("## Notes")[0].split("| paper | public name |")
    for table in tables[1:]:
        for line in table.splitlines()[2:]:
            if line.startswith("|"):
                yield [cell.strip() for cell in line.strip("|").split(" | ")]


def test_every_row_has_a_public_name_that_is_there():
    found = list(rows())
    assert len(found) > 30
    for paper, public, *_ in found:
        if public == "*not built yet*":
            continue
        names = re.findall(r"\bkng((?:\.[A-Za-z_]\w*)+)", public)
        commands = re.findall(r"kng reproduce (\w+)", public)
        assert names or commands, paper
        assert set(commands) <= set(reproduce.commands)
        for name in names:
            part = kng
            for word in name.strip(".").split("."):
                part = getattr(part, word)  # or the row names nothing


def test_files_and_folders_of_the_map_are_there():
    for paper, _, inside, tests, _ in rows():
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", inside):
            assert (ROOT / "src" / "kng" / name).exists(), (paper, name)
        for name in re.findall(r"`(tests/\w+)`", tests):
            assert (ROOT / name).is_dir(), (paper, name)


def test_notes_that_are_pointed_to_are_there():
    text = MAP.read_text(encoding="utf-8")
    tables, notes = text.split("## Notes")
    asked = {int(n) for n in re.findall(r"\[(\d+)\]", tables)}
    assert asked == {int(n) for n in re.findall(r"\*\*\[(\d+)\]", notes)}


def test_the_citation_names_the_paper_and_the_software():
    text = CITATION.read_text(encoding="utf-8")
    assert text.startswith("cff-version: 1.2.0\n")
    for words in (
        "The kng developers",
        "KNG: The K-Norm Gradient Mechanism",
        "family-names: Reimherr",
        "family-names: Awan",
        "arXiv:1905.09436",
        "year: 2019",
    ):
        assert words in text
