"""The suite of all ledgers, on files."""

import pytest
from ledger.suite import *  # noqa: F403


@pytest.fixture
def place(path):
    return path
