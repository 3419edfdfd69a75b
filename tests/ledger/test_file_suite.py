"""The suite of all ledgers, on files."""

import pytest
from ledger.suite import *  # noqa: F403


@pytest.fixture
def place(path):
    return path


def test_any_object_of_the_protocol_pays() -> None:
    """A ledger of one's own: charged before the answer is stored, and given the release."""
    from types import SimpleNamespace

    import kng

    told = []

    class Own:
        def reserve(self, event, *, parameters, dataset=None):
            told.append(("reserve", event.epsilon))
            return SimpleNamespace(sequence=1, epsilon=event.epsilon, payload=None)

        def settle(self, charge, payload) -> None:
            told.append(("settle", kng.Release.from_json(payload).value))

    answer = kng.median([1, 2, 3], bounds=(0, 10), granularity=1, epsilon=1, ledger=Own())
    assert told == [("reserve", 1), ("settle", answer.value)]
