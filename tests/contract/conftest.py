from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

import kng
from kng.core import provenance

# The same examples in every run, on every machine.
settings.register_profile("kng-fixed", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("kng-fixed")

# A ledger waits for the disk at every charge; in memory these tests take a third of the time.
_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The same second for all releases of a test, so that their receipts can be compared."""
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    monkeypatch.setattr(provenance, "now", lambda: noon)


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
    options = {"bounds": ([0, 0], [1, 1]), "epsilon": 1, "random_state": 0}
    kng.mean(np.zeros((2, 2)), **options)
    kng.mean(np.zeros((2, 2)), granularity=0.3, **options)
    kng.mean([[0, 0], [1, 1]], **options)
    model = {"bounds_y": (0, 5), "epsilon": 1, "random_state": 0}
    for bounds in (([-1, -1], [1, 1]), ([0, -5], [5, 0])):
        for X in (np.zeros((2, 2)), [[0.0, 0.0], [1.0, 1.0]]):
            kng.LinearRegression(bounds_X=bounds, **model).fit(X, [0.0, 1.0])
            kng.HuberRegressor(bounds_X=bounds, threshold=1, **model).fit(X, [0.0, 1.0])
