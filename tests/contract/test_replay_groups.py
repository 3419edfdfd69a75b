"""Replay with groups: neighbouring tables that differ in a record's group leave the value alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pandas as pd
import pytest
from contract.test_replay import RELATIONS, Repeated, outlet, rows

import kng
from kng.core.release import Release

TABLE = pd.DataFrame(
    {"pay": [1.0, 2.0, 3.0, 4.0, 4.0, 6.0], "sex": ["F", "M", "F", "M", "M", "F"]}
).astype(object)
# What one record may be turned into: of another group, of none, or without a level or a number.
RECORDS = [(1.0, "M"), (9.0, "F"), (1.0, "x"), (1.0, None), (None, "M"), (1.0, 7), ("F", "F")]
BY = {"sex": ["F", "M", "X"]}

ASKED: dict[str, Callable[..., kng.Release]] = {
    "mean": kng.mean,
    "median": kng.median,
    "quantiles": lambda data, **o: kng.quantile(data, [0.9, 0.1], **o),
    "mean by kng": lambda data, **o: kng.mean(data, mechanism="kng", granularity=1, **o),
}


def neighbours_of(relation: str) -> list[pd.DataFrame]:
    """Return tables one record away."""
    rest = TABLE.iloc[1:] if relation == "replace-one" else TABLE
    found = [
        pd.concat([pd.DataFrame([record], columns=TABLE.columns), rest]).astype(object)
        for record in RECORDS
    ]
    return found if relation == "replace-one" else [TABLE.iloc[1:], *found]


@pytest.mark.parametrize("statistic", ASKED)
@pytest.mark.parametrize("relation", RELATIONS)
def test_nothing_but_the_value_leaves_groups(statistic, relation, capfd, caplog, tmp_path):
    options = {"bounds": {"pay": (0, 10)}, "epsilon": 1, "neighbours": relation, "by": BY}
    ask = ASKED[statistic]
    expected = outlet(ask, TABLE, capfd, caplog, random_state=5, **options)
    assert isinstance(expected, dict), "the pattern of the comparison is an answer"
    for data in neighbours_of(relation):
        assert outlet(ask, data, capfd, caplog, random_state=5, **options) == expected
    # A file, whose cells nothing declares.
    path = tmp_path / "t.csv"
    TABLE.to_csv(path, index=False)
    expected = outlet(ask, path, capfd, caplog, random_state=5, **options)
    for data in neighbours_of(relation):
        data.to_csv(path, index=False)
        assert outlet(ask, path, capfd, caplog, random_state=5, **options) == expected


def test_the_ledger_keeps_one_epsilon_and_no_size(tmp_path, monkeypatch):
    seen = []
    for at, data in enumerate([TABLE, *neighbours_of("replace-one")]):
        ledger = kng.Ledger(tmp_path / f"{at}.ledger", cap=1)
        monkeypatch.setattr("kng.estimators.request.bits_of", lambda _: Repeated(5))
        kng.mean(data, bounds={"pay": (0, 10)}, epsilon=1, by=BY, ledger=ledger)
        seen.append(rows(ledger))
        assert ledger.spent == 1
        assert ledger.neighbours == "replace-one"
    assert all(one == seen[0] for one in seen)


def test_a_group_size_on_the_receipt_is_caught(monkeypatch, capfd, caplog):
    """A seeded bug: the number of records of the first group among the facts."""

    def leaking(stages: Any, answer: Any, *rest: Any) -> Release:
        size = stages[0].source.group(0).sums()[0]
        answer.details["records"] = f"{size} in the first group"
        return released(stages, answer, *rest)

    mean_module = import_module("kng.estimators.mean")
    released = mean_module.release
    monkeypatch.setattr(mean_module, "release", leaking)
    options = {"bounds": {"pay": (0, 10)}, "epsilon": 1, "by": BY, "random_state": 5}
    expected = outlet(kng.mean, TABLE, capfd, caplog, **options)
    moved = outlet(kng.mean, neighbours_of("replace-one")[0], capfd, caplog, **options)
    assert moved != expected


def test_a_receipt_names_no_number_that_a_group_has():
    """Every number on a receipt of 7 records in groups of 5 and 2 is public."""
    table = pd.DataFrame({"pay": [1.0] * 7, "sex": ["F"] * 5 + ["M"] * 2})
    release = kng.mean(table, bounds={"pay": (0, 9)}, epsilon=1, by={"sex": ["F", "M"]})
    written = json.loads(release.to_json())
    del written["value"], written["integers"]
    assert written["details"]["records"].startswith("7 (public)")
    assert written["by"] == {"sex": ["F", "M"]}
    assert len(written["lattice"]["step"]) == 2
