"""Samples are read once, however many tests look at them."""

from __future__ import annotations

import pytest
from reproduce.predictions import moments

from kng.reproduce.algorithm1 import Sample


@pytest.fixture
def kept(monkeypatch):
    """Let experiments keep the moments of their samples."""
    monkeypatch.setattr(Sample, "moments", lambda sample: moments(sample))
