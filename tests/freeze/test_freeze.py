"""Seeded draws of public calls stay what they were, bit for bit.

A draw that has to change is recorded anew by ``make freeze``, and the commit says why.
"""

from __future__ import annotations

import json

import pytest
from freeze.calls import calls
from freeze.record import DRAWS, drawn

FROZEN = json.loads(DRAWS.read_text())
CALLS = dict(calls())


def test_every_call_is_frozen() -> None:
    assert set(FROZEN) == set(CALLS)


@pytest.mark.parametrize("name", FROZEN)
def test_draws_are_what_they_were(name: str) -> None:
    assert drawn(CALLS[name]) == FROZEN[name]
