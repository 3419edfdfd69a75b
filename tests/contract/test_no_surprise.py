"""Nothing is imported, compiled or written between charge and draw, in any public call.

Each call runs in a process that has loaded nothing but the package. The first of a kind finds no
compiled code, and the others find that of the first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import kng

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="calls run in forks")


@pytest.fixture(scope="module")
def observed(tmp_path_factory):
    """What the calls of `contract.watching` found, by their names."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "cache").mkdir()
    (folder / "records").mkdir()
    paths = [str(Path(kng.__file__).parents[1]), str(Path(__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-m", "contract.watching", str(folder / "records")],
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": os.pathsep.join(paths),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {each.pop("name"): each for each in found}


def test_nothing_happens_between_charge_and_draw_but_reading(observed):
    """In e301d72 every table was compiled for below its charge, and least squares too."""
    surprised = {name: each for name, each in observed.items() if each.get("surprises")}
    assert surprised == {}
    assert len(observed) > 40


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("geometric median", "compile expand"),
        ("mean of a long column", "compile scale_sum"),
        ("quantile regression", "compile refine"),
        ("least squares", "compile products"),
    ],
)
def test_the_first_call_of_a_kind_compiles_before_its_charge(observed, name, function):
    assert function in observed[name]["compiled"]


@pytest.mark.parametrize("name", ["Huber kng", "quantile regression again", "mean of a table"])
def test_a_later_call_finds_what_was_compiled(observed, name):
    assert observed[name]["compiled"] == []


def test_an_interrupted_compiler_costs_nothing(observed):
    """In e301d72 it compiled below the charge, which stayed."""
    assert observed["interrupted"] == {"spent": "0", "spent again": "1"}
