"""A call is followed through few files: no more than `benchmarks/walk.py` allows it."""

from __future__ import annotations

import pytest

import kng
from benchmarks.walk import CALLS, walk


@pytest.mark.parametrize("name", CALLS)
def test_a_call_enters_few_files(name: str) -> None:
    files = walk(CALLS[name].run)
    assert len(files) <= CALLS[name].most, "\n".join(files)


def test_a_walk_names_files_and_functions() -> None:
    files = walk(CALLS["median"].run)
    assert "median" in files["estimators/quantile.py"]
    assert not any(path.startswith("cli/") for path in files)
    assert walk(lambda: kng.__version__) == {}
