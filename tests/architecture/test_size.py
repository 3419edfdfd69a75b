"""One idea a file: none is longer than four hundred lines."""

from __future__ import annotations

import pytest
from architecture.sources import texts

MOST = 400
# Being taken apart.
LONGER = {"core/protocols.py"}


@pytest.mark.parametrize("path", sorted(set(texts()) - LONGER))
def test_no_file_has_more_than_four_hundred_lines(path):
    assert texts()[path].count("\n") <= MOST
