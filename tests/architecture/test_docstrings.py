"""Every part of the formula says where it is from, why it is private and what it costs."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

import pytest
from architecture.sources import CHECKOUT, modules, texts

PACKAGES = ["losses", "norms", "bases", "domains", "mechanisms"]
LABELS = ["Paper", "Privacy", "Cost"]


def parts() -> list[Any]:
    """Return the classes that a package promises, and every class that draws."""
    promised = [
        getattr(package, name)
        for package in (importlib.import_module(f"kng.{name}") for name in PACKAGES)
        for name in package.__all__
    ]
    drawing = [
        part
        for path in modules()
        if path.startswith("samplers/") and not path.endswith("__init__.py")
        for module in [importlib.import_module("kng." + path[:-3].replace("/", "."))]
        for part in vars(module).values()
        if isinstance(part, type)
        and part.__module__ == module.__name__
        and hasattr(part, "certify")
    ]
    return promised + drawing


def labels(text: str | None) -> list[str]:
    """Return the labels that a docstring has, in their order, each followed by something."""
    return re.findall(rf"^ *({'|'.join(LABELS)})  +\S", text or "", flags=re.MULTILINE)


@pytest.mark.parametrize("part", parts(), ids=lambda part: f"{part.__module__}.{part.__name__}")
def test_every_part_has_its_three_labels(part):
    module = sys.modules[part.__module__]
    assert labels(part.__doc__) == LABELS or labels(module.__doc__) == LABELS
    assert part.__doc__.splitlines()[0].endswith(".")


def test_there_are_parts_of_every_kind():
    kinds = {part.__module__.split(".")[1] for part in parts()}
    assert kinds == {*PACKAGES, "samplers"}


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
