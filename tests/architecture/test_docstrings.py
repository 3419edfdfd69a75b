"""Every part of the formula says where it is from, why it is private and what it costs."""

from __future__ import annotations

import importlib
import re
import sys

import pytest
from architecture.sources import CHECKOUT, texts

PACKAGES = ["losses", "norms", "domains", "mechanisms", "samplers"]
LABELS = ["Paper", "Privacy", "Cost"]
PARTS = [
    (package, name)
    for package in PACKAGES
    for name in importlib.import_module(f"kng.{package}").__all__
]


def labels(text: str | None) -> list[str]:
    """Return the labels that a docstring has, in their order, each followed by something."""
    return re.findall(rf"^ *({'|'.join(LABELS)})  +\S", text or "", flags=re.MULTILINE)


@pytest.mark.parametrize(("package", "name"), PARTS, ids=".".join)
def test_every_part_has_its_three_labels(package, name):
    part = getattr(importlib.import_module(f"kng.{package}"), name)
    module = sys.modules[part.__module__]
    assert labels(part.__doc__) == LABELS or labels(module.__doc__) == LABELS
    assert part.__doc__.splitlines()[0].endswith(".")


def test_labels_are_found_only_where_they_are():
    assert labels("Text.\n\n    Paper    x.\n    Privacy  y.\n    Cost     z.\n") == LABELS
    assert labels("Paper is mentioned.\n    Privacy  y.") == ["Privacy"]
    assert labels(None) == []


def cited() -> list[tuple[str, str]]:
    return sorted(
        {
            (path, note)
            for path, text in texts().items()
            for note in re.findall(r"docs/[\w/.-]+\.md", text)
        }
    )


@pytest.mark.parametrize(("path", "note"), cited(), ids=lambda part: part.replace("/", "-"))
def test_every_document_that_the_code_cites_exists(path, note):
    assert (CHECKOUT / note).is_file(), f"src/kng/{path} cites {note}"


def test_the_code_cites_proofs():
    assert len({note for _, note in cited() if note.startswith("docs/proofs/")}) >= 8
