"""The time left is told when it can be known, and is then about right."""

from __future__ import annotations

import pytest

from kng.cli.pace import Pace, _words


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def told(startup, tasks):
    """Yield the estimate after each task beside the truth; a task is a cost and its seconds."""
    clock = Clock()
    pace = Pace(sum(cost for cost, _ in tasks), clock)
    end = startup + sum(seconds for _, seconds in tasks)
    clock.now = startup
    for cost, seconds in tasks:
        clock.now += seconds
        pace.forward(cost)
        yield pace.left(), end - clock.now


@pytest.mark.parametrize("startup", [0, 34, 600])
def test_starting_and_compiling_do_not_count(startup):
    """On 0.1 (e301d72) a job of one minute, half of it compiling, had "about 0:11:13 left"."""
    estimates = list(told(startup, [(60, 0.36)] * 40 + [(160, 0.96)] * 20))
    assert all(left is None for left, _ in estimates[:6])
    known = [(left, true) for left, true in estimates if left is not None]
    assert len(known) > 45
    assert all(abs(left - true) <= 1e-6 * true + 1e-9 for left, true in known)


def test_costs_that_are_off_are_forgotten():
    """Small tasks take three times what their cost says; the later ones what it says."""
    estimates = list(told(30, [(1, 3)] * 50 + [(1, 1)] * 50))
    assert all(left is None or left <= 3.01 * true + 1e-9 for left, true in estimates)
    left, true = estimates[-2]
    assert left == pytest.approx(true, rel=0.05)


@pytest.mark.parametrize("costs", [[1], [1, 99], [0.001, 100, 0.001], [5] * 3])
def test_few_tasks(costs):
    assert next(left for left, _ in told(5, [(cost, cost) for cost in costs])) is None
    for left, true in told(5, [(cost, cost) for cost in costs]):
        assert left is None or left == pytest.approx(true)


def test_nothing_to_do():
    assert Pace(0).share == 1
    assert Pace(0).left() is None
    assert Pace(1).tell() == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "5 seconds"), (12, "10 seconds"), (54, "55 seconds"), (55, "1 minute"),
        (149, "2 minutes"), (3500, "58 minutes"), (3599, "1.0 hours"), (9000, "2.5 hours"),
    ],
)  # fmt: skip
def test_words(seconds, words):
    assert _words(seconds) == words
