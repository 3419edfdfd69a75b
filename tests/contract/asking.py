"""How the tests here ask: one call per public function, and data that notice being read."""

from __future__ import annotations

from typing import Any

import kng

RECORDS = [1.0, 2.0, 3.0, 4.0, 6.0]


def quantile(data: Any, **options: Any) -> kng.Release:
    """Ask for one quantile, unless the test says which."""
    return kng.quantile(data, options.pop("q", 0.3), **options)


STATISTICS = {"mean": kng.mean, "quantile": quantile, "median": kng.median}


def ask(statistic: str, data: Any, **options: Any) -> kng.Release:
    """Call a public function with bounds and an epsilon unless the test gives others.

    An option that is ``...`` is left out of the call altogether.
    """
    given = {"bounds": (0, 10), "epsilon": 1, **options}
    given = {name: value for name, value in given.items() if value is not ...}
    return STATISTICS[statistic](data, **given)


class Watched(list):
    """A list that writes down, in a journal, every time it is looked at."""

    def __init__(self, records: Any, journal: list[str]) -> None:
        super().__init__(records)
        self.journal = journal

    def __len__(self) -> int:
        self.journal.append("len")
        return super().__len__()

    def __getitem__(self, at: Any) -> Any:
        self.journal.append("records")
        return super().__getitem__(at)

    def __iter__(self) -> Any:
        self.journal.append("records")
        return super().__iter__()

    def __contains__(self, item: object) -> bool:
        self.journal.append("records")
        return super().__contains__(item)


class WatchedLedger(kng.Ledger):
    """A real ledger that writes its own steps into the same journal."""

    journal: list[str]

    def reserve(self, event: Any, *, parameters: str, dataset: Any = None) -> Any:
        booking = super().reserve(event, parameters=parameters, dataset=dataset)
        self.journal.append("reserve")
        return booking

    def settle(self, charge: Any, payload: str) -> None:
        self.journal.append("settle")
        super().settle(charge, payload)


def watched_ledger(path: Any, journal: list[str]) -> WatchedLedger:
    """Open a watched ledger whose journal is the given list."""
    ledger = WatchedLedger(path, cap=2**20)
    ledger.journal = journal
    return ledger
