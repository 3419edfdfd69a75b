"""Events of a release: public, in one order, and as many of them whatever the records are."""

from __future__ import annotations

import logging
from fractions import Fraction

import pytest

import kng
from kng.core.events import Charged, Charging, Counting, Planned, Reading, Settled, watched_by


class Watch:
    """Writes down all it is told."""

    def __init__(self) -> None:
        self.events, self.blocks, self.passes = [], [], 0

    def told(self, event):
        self.events.append(event)

    def passed(self, records):
        self.blocks.append(records)

    def ended(self):
        self.passes += 1


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("age\n" + "".join(f"{20 + i % 50}\n" for i in range(500)))
    return path


def test_events_with_a_ledger(table, tmp_path):
    ledger, watch = kng.Ledger(tmp_path / "one.ledger", cap=1), Watch()
    with watched_by(watch):
        kng.mean(table, bounds={"age": (0, 120)}, epsilon="1/2", ledger=ledger)
    half = Fraction(1, 2)
    assert watch.events == [
        Counting(),
        Planned("mean", "k-norm", "noise", "exact", half),
        Charging(half),
        Charged(half, ledger.history()[0].sequence),
        Reading(500),
        Settled(),
    ]
    assert (watch.blocks, watch.passes) == ([500], 1)


def test_under_add_remove_nothing_is_counted(table):
    watch = Watch()
    with watched_by(watch):
        kng.mean(table, bounds={"age": (0, 120)}, epsilon=1, neighbours="add-remove")
    assert [type(event) for event in watch.events] == [Planned, Reading, Settled]
    assert watch.events[1] == Reading(None)
    assert "500" not in " ".join(map(str, watch.events))


def test_what_fails_after_the_charge_is_not_settled(table, monkeypatch):
    def fail(*_):
        raise ValueError("record 17")

    monkeypatch.setattr(kng.data.TableSource, "reduce", fail)
    watch = Watch()
    with watched_by(watch), pytest.raises(kng.KngError):
        kng.mean(table, bounds={"age": (0, 120)}, epsilon=1)
    assert watch.events[-1] == Reading(500)


def test_nobody_is_told_any_more(table):
    inner, outer = Watch(), Watch()
    with watched_by(outer):
        with watched_by(inner):
            kng.mean(table, bounds={"age": (0, 120)}, epsilon=1)
        first = list(inner.events)
        kng.mean(table, bounds={"age": (0, 120)}, epsilon=1)
    assert inner.events == first
    assert outer.events == [*first, *first]


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_the_log(table, caplog, level):
    with caplog.at_level(level, logger="kng"):
        kng.median(table, bounds={"age": (0, 120)}, epsilon=0.5, random_state=1)
    expected = [
        "counting records",
        "planned median: mechanism kng, sampler order, guarantee simulation, epsilon 0.5",
        "reading 500 records",
        "settled",
    ]
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert told == (expected if level == logging.INFO else [])


def test_a_log_that_nobody_set_up_is_silent(table, capfd):
    kng.median(table, bounds={"age": (0, 120)}, epsilon=0.5, random_state=1)
    capfd.readouterr()
    kng.median(table, bounds={"age": (0, 120)}, epsilon=0.5, random_state=1)
    assert capfd.readouterr() == ("", "")
