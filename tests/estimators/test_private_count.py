"""Add-remove: the number of records is private, and nothing before the charge depends on it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimators.fitting import EACH, PAIRS, WAYS, WatchedNumber, model, table, watched

import kng
from kng.core.errors import BudgetError
from kng.data import TableSource

RELATIONS = ["replace-one", "add-remove"]


class WatchedLedger(kng.Ledger):
    """A real ledger that writes its steps into a journal."""

    journal: list[str]

    def reserve(self, event: Any, *, parameters: str, dataset: Any = None) -> Any:
        booking = super().reserve(event, parameters=parameters, dataset=dataset)
        self.journal.append("reserve")
        return booking

    def settle(self, charge: Any, payload: str) -> None:
        self.journal.append("settle")
        super().settle(charge, payload)


def watched_ledger(path: Any, journal: list[str]) -> WatchedLedger:
    ledger = WatchedLedger(path, cap=100)
    ledger.journal = journal
    return ledger


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_records_are_counted_before_the_charge_only_where_their_number_is_public(
    way, relation, books, monkeypatch
):
    journal: list[str] = []
    count, reduce = TableSource.count, TableSource.reduce
    monkeypatch.setattr(
        TableSource, "count", lambda self: (journal.append("count"), count(self))[1]
    )
    monkeypatch.setattr(
        TableSource, "reduce", lambda self, k: (journal.append("records"), reduce(self, k))[1]
    )
    ledger = watched_ledger(books / "a.ledger", journal)
    model(way, neighbours=relation, ledger=ledger).fit(*table())
    before = journal[: journal.index("reserve")]
    assert before == (["count"] if relation == "replace-one" else [])
    assert "records" in journal[len(before) :]
    assert journal[-1] == "settle"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["array", "list", "frame"])
def test_no_cell_is_read_before_the_charge(way, relation, kind, books):
    journal: list[str] = []
    X, y = (watched(part, journal) for part in table(10))
    if kind == "list":
        X, y = X.tolist(), y.tolist()
    if kind == "frame":
        X, y = pd.DataFrame(X, columns=["a", "b"]), pd.Series(y)
    journal.clear()  # building the container is the caller's business
    ledger = watched_ledger(books / "a.ledger", journal)
    model(way, bounds_X=PAIRS[2], neighbours=relation, ledger=ledger).fit(X, y)
    assert journal[0] == "reserve"
    assert journal[-1] == "settle"
    assert journal[1:-1].count("records") >= 30
    assert isinstance(y[0], WatchedNumber)


@pytest.mark.parametrize("way", WAYS)
def test_a_private_number_of_records_changes_nothing_before_the_charge(way, books):
    # Everything the ledger is told, for 0 to 200 000 records.
    told = []
    for n in (0, 1, 5, 200_000):

        class Told(kng.Ledger):
            def reserve(self, event: Any, *, parameters: str, dataset: Any = None) -> Any:
                told.append((event, parameters))
                raise BudgetError("enough", requested=event.epsilon, remaining=event.epsilon)

        with pytest.raises(BudgetError, match="enough"):
            model(
                way, neighbours="add-remove", ledger=Told(books / "a.ledger", cap=5), n_max=10**6
            ).fit(np.zeros((n, 3)), np.zeros(n))
    assert len(told) == 4
    assert all(one == told[0] for one in told)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "nobody",
    [
        pytest.param(np.empty((0, 3)), id="array"),
        pytest.param(np.empty((0, 3), dtype=object), id="objects"),
        pytest.param(pd.DataFrame({"a": [], "b": [], "c": []}), id="frame"),
        pytest.param([], id="list"),
    ],
)
def test_no_records_are_answered(way, nobody, ledger):
    # scikit-learn's check of a smallest number of records is switched off under add-remove.
    made = model(way, bounds_X=PAIRS[3], neighbours="add-remove", ledger=ledger)
    fitted = made.fit(nobody, np.empty(0))
    assert np.all(np.isfinite(fitted.coef_))
    assert fitted.coef_.shape == (3,)
    assert (ledger.spent, ledger.neighbours) == (1, "add-remove")


@pytest.mark.parametrize("way", EACH)
def test_no_records_are_refused_where_their_number_is_public(way, ledger):
    for X in (np.empty((0, 3)), pd.DataFrame({"a": [], "b": [], "c": []})):
        with pytest.raises(ValueError, match=r"minimum of 1|at least one"):
            model(way, ledger=ledger).fit(X, np.empty(0))
    assert ledger.spent == 0


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_records_are_answered(way, relation, n, ledger):
    X, y = table(n, 3)
    fitted = model(way, neighbours=relation, ledger=ledger).fit(X, y)
    assert np.all(np.isfinite(fitted.coef_))
    assert ledger.spent == 1


@pytest.mark.parametrize("way", WAYS)
def test_the_receipt_does_not_tell_a_private_number(way):
    X, y = table(7919)
    release = model(way, neighbours="add-remove").fit(X, y).release_
    assert "private" in release.details["records"]
    assert "7919" not in repr(release).split("\n", 1)[1]


@pytest.mark.parametrize("way", WAYS)
def test_a_public_limit_is_no_secret_and_changes_no_draw(way):
    X, y = table()
    some, more = (
        model(way, neighbours="add-remove", n_max=n_max, random_state=1).fit(X, y).release_
        for n_max in (100, 10**6)  # more would not fit into memory, and are read otherwise
    )
    assert some.integers == more.integers


@pytest.mark.parametrize("way", WAYS)
def test_the_answer_is_about_the_data_at_the_charge_and_later(way, books):
    # What had been read before the charge would show in an answer with next to no noise.
    X, y = table(300)
    options = {"epsilon": 500, "coef_bound": ...} if way == "huber" else {"epsilon": 500}

    class Switching(kng.Ledger):
        def reserve(self, event: Any, *, parameters: str, dataset: Any = None) -> Any:
            booking = super().reserve(event, parameters=parameters, dataset=dataset)
            y[:] = -y
            return booking

    before = model(way, **options).fit(X, y).coef_
    after = model(way, ledger=Switching(books / "a.ledger", cap=500), **options).fit(X, y).coef_
    assert np.allclose(after, -before, atol=0.1)
    assert np.abs(before).max() > 0.5
