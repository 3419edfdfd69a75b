from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
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
    """Compile the loop that reads tables once: its compiler writes to a log of its own."""
    options = {"bounds": ([0, 0], [1, 1]), "epsilon": 1, "random_state": 0}
    kng.mean(np.zeros((2, 2)), **options)
    kng.mean(np.zeros((2, 2)), granularity=0.3, **options)
    kng.mean([[0, 0], [1, 1]], **options)
