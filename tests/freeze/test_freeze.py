"""Seeded draws of public calls stay what they were, bit for bit, and so do their receipts.

A draw that has to change is recorded anew by ``make freeze``, and the commit says why.
"""

from __future__ import annotations

import json

import pytest
from freeze.record import DRAWS, RECEIPTS, drawn, every_call

INTEGERS: dict[str, list[list[int]]] = json.loads(DRAWS.read_text())
WORDS: dict[str, str] = json.loads(RECEIPTS.read_text())
CALLS = every_call()


def test_what_is_frozen_can_be_called() -> None:
    assert set(INTEGERS) == set(WORDS) <= set(CALLS)


@pytest.mark.every(4)
@pytest.mark.parametrize("name", INTEGERS)
def test_draws_are_what_they_were(name: str) -> None:
    assert drawn(CALLS[name]) == (INTEGERS[name], WORDS[name])
