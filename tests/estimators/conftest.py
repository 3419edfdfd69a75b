from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from estimators.fitting import EACH, PAIRS, model
from hypothesis import settings

import kng

# The same examples in every run, on every machine.
settings.register_profile("kng-fixed", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("kng-fixed")

# A ledger waits for the disk at every charge; in memory these tests take a third of the time.
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.fixture
def books():
    """An empty folder for ledgers."""
    with tempfile.TemporaryDirectory(dir=_MEMORY) as folder:
        yield Path(folder)


@pytest.fixture
def ledger(books):
    """A real account with room for every test here."""
    return kng.Ledger(books / "test.ledger", cap=2**20)


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Compile the loops that read tables once: their compiler writes to a log of its own."""
    X, y = np.zeros((4, 2)), np.zeros(4)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    for way in EACH:
        for bounds in (PAIRS[2], ([-1, -0.3], [1, 0.3])):
            for table in (X, np.asfortranarray(X), X.tolist(), frame, pd.DataFrame(X)):
                model(way, bounds_X=bounds).fit(table, y)
