"""One file touches random generators, so one file decides where bits come from."""

from __future__ import annotations

import ast

import pytest
from architecture.sources import imported, modules, used

HOME = "core/bits.py"
GENERATORS = {"random", "secrets", "numpy.random", "uuid", "scipy.stats", "flint.arb.random"}
MENTIONS = ("np.random.", "numpy.random.", "os.urandom", "os.getrandom", "random.")


def touched(tree: ast.AST) -> set[str]:
    """Return the random generators that a module imports or mentions."""
    names = {name for name in imported(tree) if name in GENERATORS or name.startswith("random.")}
    names |= {name for name in used(tree) if name.startswith(MENTIONS) or name == "np.random"}
    if any(name in {"os.urandom", "os.getrandom"} for name in imported(tree)):
        names.add("os.urandom")
    return names


@pytest.mark.parametrize("path", sorted(set(modules()) - {HOME}))
def test_only_core_bits_touches_a_random_generator(path):
    assert touched(modules()[path]) == set()


def test_core_bits_does_touch_them():
    # Otherwise the search above would find nothing anywhere.
    assert {"random", "os.urandom", "np.random.Generator"} <= touched(modules()[HOME])


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "from random import choice",
        "import numpy.random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "import secrets",
        "import numpy as np\nnp.random.default_rng()",
        "import os\nos.urandom(8)",
        "from os import urandom",
        "def f():\n    import random",
        "import uuid",
    ],
)
def test_the_search_finds_every_way_in(text):
    assert touched(ast.parse(text))
