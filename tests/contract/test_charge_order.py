"""Charge first, read second, draw third, settle last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from contract.asking import RECORDS, STATISTICS, Watched, WatchedLedger, ask, watched_ledger

import kng
from kng.core.errors import BudgetError, PrivateZoneError
from kng.data import TableSource

RELATIONS = ["replace-one", "add-remove"]
# So large that an answer tells which records were read.
CERTAIN = 2**18


class WatchedNumber(float):
    """A number that writes into the journal when a reader asks what it is."""

    journal: list[str]

    def __float__(self) -> float:
        self.journal.append("records")
        return super().__float__()


def numbers(journal: list[str]) -> list[WatchedNumber]:
    made = [WatchedNumber(x) for x in RECORDS]
    for number in made:
        number.journal = journal
    return made


def objects(cells: list[Any]) -> np.ndarray:
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_records_are_looked_at_only_between_reserve_and_settle(statistic, relation, books):
    journal: list[str] = []
    ledger = watched_ledger(books / "a.ledger", journal)
    release = ask(statistic, Watched(RECORDS, journal), ledger=ledger, neighbours=relation)
    assert journal.count("reserve") == journal.count("settle") == 1
    at, end = journal.index("reserve"), journal.index("settle")
    before, between, after = journal[:at], journal[at + 1 : end], journal[end + 1 :]
    assert "records" in between
    assert set(before) <= ({"len"} if relation == "replace-one" else set())
    assert after == []
    (entry,) = ledger.history()
    assert ledger.release_of(entry.sequence) == release.to_json()


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "container",
    [
        pytest.param(list, id="list"),
        pytest.param(tuple, id="tuple"),
        pytest.param(objects, id="array"),
        pytest.param(lambda cells: objects(cells)[:, None], id="table"),
        pytest.param(lambda cells: pd.Series(objects(cells)), id="series"),
        pytest.param(lambda cells: pd.DataFrame({"a": objects(cells)}), id="frame"),
        pytest.param(lambda cells: {"a": cells}, id="mapping"),
    ],
)
def test_no_cell_is_read_before_the_charge(statistic, relation, container, books):
    journal: list[str] = []
    data = container(numbers(journal))
    journal.clear()  # building the container is the caller's business
    ledger = watched_ledger(books / "a.ledger", journal)
    ask(statistic, data, ledger=ledger, neighbours=relation)
    assert journal[0] == "reserve"
    assert journal[-1] == "settle"
    assert journal[1:-1].count("records") >= len(RECORDS)


class Switching(kng.Ledger):
    """A ledger that changes the data in the moment of the charge."""

    change: Any

    def reserve(self, event: Any, *, parameters: str, dataset: Any = None) -> Any:
        booking = super().reserve(event, parameters=parameters, dataset=dataset)
        self.change()
        return booking


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_answer_is_about_the_data_at_the_charge_and_later(statistic, relation, books):
    # Whatever had been read before would show in an answer with next to no noise.
    ledger = Switching(books / "a.ledger", cap=2**20)
    records = [2.0] * 40
    array = np.full(40, 2.0)

    def change() -> None:
        records[:] = [7.0] * (40 if relation == "replace-one" else 70)
        array[:] = 7.0

    ledger.change = change
    for data in (records, array):
        release = ask(
            statistic, data, epsilon=CERTAIN, granularity=1, ledger=ledger, neighbours=relation
        )
        assert release.value == 7.0
        records[:], array[:] = [2.0] * 40, 2.0


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_file_that_changes_is_not_read_on(statistic, relation, books):
    # All passes see the same records, the count included; the charge stays.
    ledger, file = Switching(books / "a.ledger", cap=10), books / "data.csv"
    file.write_text("a\n" + "2.0\n" * 40)
    ledger.change = lambda: file.write_text("a\n" + "7.0\n" * 70)
    with pytest.raises(PrivateZoneError, match="the charge stays"):
        ask(statistic, file, ledger=ledger, neighbours=relation)
    assert ledger.spent == 1


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_records_are_counted_before_the_charge_only_where_their_number_is_public(
    statistic, kind, relation, books, monkeypatch
):
    journal: list[str] = []
    count, reduce = TableSource.count, TableSource.reduce
    monkeypatch.setattr(
        TableSource, "count", lambda self: (journal.append("count"), count(self))[1]
    )
    monkeypatch.setattr(
        TableSource, "reduce", lambda self, k: (journal.append("records"), reduce(self, k))[1]
    )
    file = books / "data.csv"
    file.write_text("a\n" + "\n".join(map(str, RECORDS)))
    ledger = watched_ledger(books / "a.ledger", journal)
    ask(statistic, RECORDS if kind == "memory" else file, ledger=ledger, neighbours=relation)
    before = journal[: journal.index("reserve")]
    assert before == (["count"] if relation == "replace-one" else [])
    assert "records" in journal[len(before) :]


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_private_number_of_records_changes_nothing_before_the_charge(statistic, books):
    # Everything the ledger is told, and the plan's public parts, for 0 to 200 000 records.
    told = []
    for n in (0, 1, 5, 200_000):

        class Told(kng.Ledger):
            def reserve(self, event: Any, *, parameters: str, dataset: Any = None) -> Any:
                told.append((event, parameters))
                raise BudgetError("enough", requested=event.epsilon, remaining=event.epsilon)

        with pytest.raises(BudgetError, match="enough"):
            ask(
                statistic,
                np.zeros(n),
                neighbours="add-remove",
                ledger=Told(books / "a.ledger", cap=5),
            )
    assert len(told) == 4
    assert all(one == told[0] for one in told)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_without_a_ledger_nothing_is_written(statistic, books, monkeypatch):
    monkeypatch.chdir(books)
    ask(statistic, RECORDS)
    assert list(books.iterdir()) == []


def test_a_watched_ledger_is_a_real_one(books):
    journal: list[str] = []
    ledger = watched_ledger(books / "a.ledger", journal)
    kng.mean(RECORDS, bounds=(0, 10), epsilon=1, ledger=ledger)
    assert isinstance(ledger, WatchedLedger)
    assert kng.Ledger(books / "a.ledger").spent == 1
