"""Statistics of records for which a condition holds: answers, exact privacy losses, refusals."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kng

COLUMNS = {"pay": (0, 3), "hours": (-1, 1)}
# Every record there is: a value, and whether the condition holds for it.
UNIVERSE = [(x, kept) for x in range(4) for kept in ("yes", "no")]


def frame(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(18, 90, n), "sex": rng.choice(["F", "M"], n)})
    table["pay"] = rng.normal(30, 5, n) + 20 * (table["sex"] == "F")
    table["visits"] = rng.normal(10, 2, n)
    return table


STATISTICS = {
    "mean": lambda data, **o: kng.mean(data, bounds={"pay": (0, 100)}, **o),
    "two means": lambda data, **o: kng.mean(data, bounds={"pay": (0, 100), "visits": (0, 20)}, **o),
    "median": lambda data, **o: kng.median(data, bounds={"pay": (0, 100)}, **o),
    "quartiles": lambda d, **o: kng.quantile(d, [0.25, 0.75], bounds={"pay": (0, 100)}, **o),
    "geometric median": lambda data, **o: kng.geometric_median(
        data, bounds={"pay": (0, 100), "visits": (0, 20)}, **o
    ),
}


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_absent_records_have_no_part_in_the_answer(statistic, neighbours, tmp_path):
    """The answer at a large epsilon is that of the records that remain, from every container."""
    table = frame()
    ask, left = STATISTICS[statistic], table[(table["sex"] == "F") & (table["age"] >= 40)]
    options = {"epsilon": 1000, "neighbours": neighbours, "random_state": 1}
    where = "sex = 'F' and age >= 40"
    found = ask(table, where=where, **options)
    expected = ask(left, **options)
    assert np.allclose(found.value, expected.value, atol=0.3)
    assert found.details["where"].startswith(where)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    places = [dict(table), pl.DataFrame(table), pl.LazyFrame(table), pa.table(table)]
    for data in (*places, tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert ask(data, where=where, **options).integers == found.integers


@pytest.mark.parametrize("statistic", STATISTICS)
def test_no_record_at_all_is_answered(statistic):
    found = STATISTICS[statistic](frame(), where="age > 1000", epsilon=1)
    assert np.isfinite(found.value).all()


def caught(module: str, monkeypatch: Any, call: Any) -> tuple[Any, Any]:
    """Return the plan of a release and a way to read data for it, without releasing."""
    seen: dict[str, Any] = {}

    def stop(stages: Any, *_: Any) -> None:
        seen["stage"] = stages[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module(f"kng.estimators.{module}"), "release", stop)
    with pytest.raises(KeyboardInterrupt):
        call()
    monkeypatch.undo()
    (plan,) = seen["stage"].plans
    return plan, seen["stage"].source


def datasets(relation: str, n: int) -> list[tuple[Any, ...]]:
    sizes = [n] if relation == "replace-one" else range(1, n + 1)
    return [d for m in sizes for d in combinations_with_replacement(UNIVERSE, m)]


def neighbours_of(found: list[tuple[Any, ...]], relation: str) -> Any:
    for a, b in product(found, repeat=2):
        extra, lost = list(a), []
        for record in b:
            if record in extra:
                extra.remove(record)
            else:
                lost.append(record)
        changed = (len(extra), len(lost))
        if changed == (1, 1) if relation == "replace-one" else changed == (1, 0):
            yield a, b


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_privacy_loss_of_a_mean_is_at_most_epsilon_and_attained(relation, monkeypatch):
    """Noise has density exp(-rate ||u||), so the loss is rate times the norm of a change."""
    n, epsilon = 2, 1.0

    def read(dataset: Any) -> Any:
        table = pd.DataFrame(list(dataset), columns=["pay", "kept"])
        plan, source = caught(
            "mean",
            monkeypatch,
            lambda: kng.mean(
                table, bounds={"pay": (0, 3)}, granularity=1, where="kept = 'yes'",
                neighbours=relation, epsilon=1,
            ),
        )  # fmt: skip
        return plan, plan.read(source, [plan])[0].total

    found = {dataset: read(dataset) for dataset in datasets(relation, n)}
    losses = []
    for a, b in neighbours_of(list(found), relation):
        plan, one, other = *found[a], found[b][1]
        change = [h * (x - y) for h, x, y in zip(plan.steps, one, other, strict=True)]
        losses.append(float(plan.rate * plan.problem.norm.value(change)))
    assert len(losses) > 20
    assert max(losses) <= epsilon
    assert max(losses) > 0.999 * epsilon


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_the_privacy_loss_of_a_quantile_is_at_most_epsilon_and_near_it(q, relation, monkeypatch):
    epsilon = 8.0

    def logs(dataset: Any) -> Any:
        table = pd.DataFrame(list(dataset), columns=["pay", "kept"])
        plan, source = caught(
            "quantile",
            monkeypatch,
            lambda: kng.quantile(
                table, q, bounds={"pay": (0, 3)}, granularity=1, where="kept = 'yes'",
                neighbours=relation, epsilon=epsilon,
            ),
        )  # fmt: skip
        (field,) = plan.read(source, [plan])
        gamma = np.array([float(plan.exponent((k,), field.score((k,)))) for k in range(4)])
        return -gamma - np.log(np.exp(-gamma).sum())

    found = {dataset: logs(dataset) for dataset in datasets(relation, 3)}
    pairs = list(neighbours_of(list(found), relation))
    losses = [np.abs(found[a] - found[b]).max() for a, b in pairs]
    assert max(losses) <= epsilon * (1 + 1e-12)
    assert max(losses) > 0.4 * epsilon


def test_a_mean_calibrated_without_absences_would_leak():
    """One record that becomes absent moves the count, too: half a range and 1, not 0."""
    table = frame()
    found = kng.mean(table, bounds={"pay": (0, 100)}, where="sex = 'F'", epsilon=1)
    plain = kng.mean(table, bounds={"pay": (0, 100)}, missing=50, epsilon=1)
    assert "Hull" in found.law.norm or "Polytope" in found.law.norm
    assert found.law != plain.law


@pytest.mark.parametrize(
    ("data", "where", "says"),
    [
        ([1.0, 2.0], "age > 3", "no column names"),
        (frame(), "wage > 3", "not a column"),
        (frame(), "age >", "ends where"),
        (frame(), 3, "must be a text"),
    ],
)
def test_what_cannot_be_a_condition_is_refused_before_the_charge(data, where, says, tmp_path):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=1)
    bounds = (0, 9) if isinstance(data, list) else {"pay": (0, 9)}
    with pytest.raises(kng.KngError, match=says):
        kng.median(data, bounds=bounds, where=where, epsilon=1, ledger=ledger)
    assert ledger.spent == 0
