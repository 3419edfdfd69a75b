"""The public surface: pinned, documented, and loaded only when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import kng

NAMES = [
    "KNG",
    "ExpectileRegressor",
    "Exponential",
    "HuberRegressor",
    "KNorm",
    "KngError",
    "Ledger",
    "LinearRegression",
    "LogisticRegression",
    "ObjectivePerturbation",
    "PoissonRegressor",
    "QuantileRegressor",
    "Release",
    "Table",
    "__version__",
    "bases",
    "check",
    "columns",
    "count",
    "domains",
    "geometric_median",
    "histogram",
    "losses",
    "mean",
    "median",
    "norms",
    "proportion",
    "quantile",
    "sum",
    "variance",
]


def in_a_new_process(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def test_the_public_names_are_these():
    assert kng.__all__ == NAMES
    assert dir(kng) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there_and_documented(name):
    thing = getattr(kng, name)
    assert isinstance(thing, str) or thing.__doc__


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="module 'kng' has no attribute 'utils'"):
        kng.utils  # noqa: B018


def test_importing_kng_loads_next_to_nothing():
    loaded = in_a_new_process("import sys, kng; print(*sys.modules)").split()
    ours = {name for name in loaded if name.split(".")[0] == "kng"}
    assert ours == {"kng", "kng.core", "kng.core.version"}
    heavy = {"numpy", "flint", "pandas", "scipy", "sklearn", "click", "sqlite3", "pyarrow"}
    assert not heavy & {name.split(".")[0] for name in loaded}


def test_a_release_loads_neither_pandas_nor_scipy_nor_scikit_learn():
    program = (
        "import sys, kng; kng.mean([1, 2], bounds=(0, 4), epsilon=1);"
        "kng.median([1, 2], bounds=(0, 4), epsilon=1); print(*sys.modules)"
    )
    loaded = {name.split(".")[0] for name in in_a_new_process(program).split()}
    assert "numpy" in loaded
    assert not loaded & {"pandas", "scipy", "sklearn", "pyarrow", "click", "matplotlib", "numba"}


def test_a_star_import_brings_the_public_names():
    program = (
        "from kng import *; print(*sorted(n for n in dir() if n[0] != '_' or n == '__version__'))"
    )
    assert in_a_new_process(program).split() == sorted(NAMES)
