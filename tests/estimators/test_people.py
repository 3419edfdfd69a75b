"""At most so many records of a person: which, what that costs, and what it does not depend on."""

from __future__ import annotations

import json
from fractions import Fraction
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kng
from kng.core.errors import SchemaError, SpecError
from kng.data.engine import Asked
from kng.data.people import PeopleEngine, Person
from kng.data.registry import open_table

ASK = {"bounds": {"pay": (0, 100)}, "person": "id", "max_records": 2}


def visits(people: int = 300, seed: int = 5) -> pd.DataFrame:
    """Most people have one record, some have dozens of far larger ones."""
    rng = np.random.default_rng(seed)
    rows = [(f"p{i}", float(rng.normal(20, 3)), "a") for i in range(people)]
    rows += [(f"q{i}", float(rng.normal(80, 3)), "b") for i in range(10) for _ in range(100)]
    table = pd.DataFrame(rows, columns=["id", "pay", "kind"])
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)


def shown(table: Any, most: int, columns: tuple[int, ...] = (1,)) -> list[tuple[Any, ...]]:
    engine = open_table(table)
    assert engine is not None
    person = Person.of("id", most, engine.columns(), "t")
    people = PeopleEngine(engine, person, None)
    people.prepare(Asked(columns))
    rows = [row for block in people.blocks(Asked(columns)) for row in np.hstack(block.numbers)]
    return sorted(map(tuple, rows))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_nobody_counts_more_often_than_stated(relation):
    """10 people with 100 records each would be three quarters of all records."""
    options = {"epsilon": 2000, "neighbours": relation, "random_state": 1}
    table = visits()
    assert float(kng.median(table, **ASK, **options)) < 30
    assert float(kng.median(table, bounds=ASK["bounds"], **options)) > 70
    truth = (300 * 20 + 20 * 80) / 320
    assert abs(float(kng.mean(table, **ASK, **options)) - truth) < 1.5


def test_every_container_shows_the_same_records(tmp_path):
    table = visits()
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    options = {"epsilon": 5, "random_state": 3, **ASK}
    found = kng.median(table, **options).integers
    places = [dict(table), pl.DataFrame(table), pl.LazyFrame(table), pa.table(table)]
    for data in (*places, tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert kng.median(data, **options).integers == found


@pytest.mark.parametrize("kind", ["text", "whole", "mixed"])
def test_which_records_are_shown_depends_on_that_person_alone(kind):
    """Other people's records, and where any of them stand, move nobody's choice."""
    rng = np.random.default_rng(0)
    names: list[Any] = [f"p{i}" for i in range(20)] if kind == "text" else list(range(20))
    if kind == "mixed":
        names = [str(i) if i % 2 else i for i in range(20)]
    mine = [(names[0], float(v)) for v in rng.integers(0, 1000, 9)]
    others = [(names[1 + i % 19], float(v)) for i, v in enumerate(rng.integers(0, 1000, 200))]

    def of_mine(rows: list[Any]) -> list[Any]:
        ids = pd.array([row[0] for row in rows], dtype=object if kind != "whole" else "int64")
        everything = shown(pd.DataFrame({"id": ids, "pay": [row[1] for row in rows]}), 4)
        rest = [row for row in rows if row[0] != names[0]]
        ids = pd.array([row[0] for row in rest], dtype=object if kind != "whole" else "int64")
        without = shown(pd.DataFrame({"id": ids, "pay": [row[1] for row in rest]}), 4)
        for row in without:
            everything.remove(row)
        return everything

    first = of_mine([*mine, *others])
    assert len(first) == 4
    for seed in range(6):
        rows = [*mine, *others[: 30 * seed]]
        rng.shuffle(rows)  # type: ignore[arg-type]
        rows = [(name if kind != "whole" else int(name), float(v)) for name, v in rows]
        assert of_mine(rows) == first


def test_every_pair_of_neighbours_differs_in_few_records():
    """All tables of two people with up to three records: one changes, k rows go and k come."""
    records = [(x,) for x in (1.0, 2.0, 3.0)]
    own = [c for m in range(4) for c in product(records, repeat=m)]

    def rows(mine: Any, other: Any) -> list[Any]:
        table = pd.DataFrame(
            [("a", x) for (x,) in mine] + [("b", x) for (x,) in other], columns=["id", "pay"]
        )
        return shown(table.astype({"pay": float}), 2)

    fixed = [((1.0,), (2.0,), (2.0,)), ((3.0,),), ()]
    for other in fixed:
        base = rows((), other)
        for mine in own:
            found = rows(mine, other)
            for row in base:
                found.remove(row)  # the other person's are all still there
            assert len(found) == min(2, len(mine))


def test_a_choice_by_position_would_be_caught(monkeypatch):
    """The seeded fault: keep the first records of the whole table, not of each person."""
    import kng.data.people as people

    def first(cells: Any, most: int) -> Any:
        return people.Cells(
            [c[: 4 * most] for c in cells.numbers], [], (None, cells.ids[1].slice(0, 4 * most))
        )

    monkeypatch.setattr(people, "shown", first)
    with pytest.raises((AssertionError, ValueError)):
        test_which_records_are_shown_depends_on_that_person_alone("text")


def test_records_without_an_id_are_absent():
    ids = ["a", None, "", "b", np.nan]
    table = pd.DataFrame({"id": ids, "pay": [1.0, 2, 3, 4, 5]})
    assert shown(table, 3) == [(1.0,), (4.0,)]
    numbers = pd.DataFrame(
        {"id": [1.0, np.nan, 2.0**53, np.inf, 2.5, 7], "pay": [1.0, 2, 3, 4, 5, 6]}
    )
    assert shown(numbers, 3) == [(1.0,), (6.0,)]


def test_a_condition_is_looked_at_first():
    """Records for which it does not hold take nobody's place."""
    table = pd.DataFrame(
        {"id": ["a"] * 50 + ["b"] * 50, "pay": np.arange(100.0), "year": [2020] * 10 + [2021] * 90}
    )
    found = kng.mean(
        table, bounds={"pay": (0, 100)}, where="year = 2020", person="id", max_records=10,
        epsilon=5000, random_state=1,
    )  # fmt: skip
    assert abs(float(found) - 4.5) < 0.5


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_unit_is_a_person_with_so_many_records(relation):
    found = kng.median(visits(), epsilon=1, neighbours=relation, **ASK)
    assert found.event.records_per_person == 2
    assert found.event.neighbours == relation
    assert "at most 2 records" in found.details["person"]
    assert found.details["records"] == "private"
    # Two records may go and two others come, in whatever number: Delta is that of four changes.
    once = kng.median([1.0] * 5, bounds=(0, 2), epsilon=1, neighbours="add-remove")
    rows = 4 if relation == "replace-one" else 2
    assert Fraction(found.law.rate) == Fraction(once.law.rate) / rows


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_exact_privacy_loss_of_a_person(relation, monkeypatch):
    """All records of one person change, from none to three; the others' stay."""
    module = import_module("kng.estimators.quantile")
    epsilon, most = 2.0, 2
    own = [c for m in range(4) for c in product((0.0, 1.0, 2.0), repeat=m)]
    own = sorted({tuple(sorted(c)) for c in own})
    law: dict[Any, Any] = {}
    seen: dict[str, Any] = {}

    def stop(stages: Any, *_: Any) -> None:
        seen["stage"] = stages[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "release", stop)
    for mine in own:
        rows = [("a", x) for x in mine] + [("b", 1.0), ("c", 2.0), ("c", 0.0)]
        table = pd.DataFrame(rows, columns=["id", "pay"])
        with pytest.raises(KeyboardInterrupt):
            kng.quantile(
                table, 0.7, bounds={"pay": (0, 2)}, granularity=1, person="id", max_records=most,
                epsilon=epsilon, neighbours=relation,
            )  # fmt: skip
        (plan,) = seen["stage"].plans
        (field,) = plan.read(seen["stage"].source, [plan])
        gamma = np.array([float(plan.exponent((k,), field.score((k,)))) for k in range(3)])
        law[mine] = -gamma - np.log(np.exp(-gamma).sum())
    pairs = product(own, repeat=2) if relation == "replace-one" else (((), c) for c in own)
    losses = [np.abs(law[a] - law[b]).max() for a, b in pairs]
    assert max(losses) <= epsilon * (1 + 1e-12)
    assert max(losses) > 0.2 * epsilon


def test_neighbours_leave_the_same_receipt(tmp_path):
    def seen(at: int, rows: list[tuple[str, float]]) -> Any:
        table = pd.DataFrame([*rows, *[("x", 1.0), ("y", 2.0)] * 20], columns=["id", "pay"])
        ledger = kng.Ledger(tmp_path / f"{at}.ledger", cap=1)
        receipt = json.loads(kng.median(table, epsilon=1, ledger=ledger, **ASK).to_json())
        for private in ("value", "integers", "provenance"):  # each has a ledger of its own
            receipt.pop(private, None)
        (entry,) = ledger.history()
        return receipt, entry.parameters, entry.epsilon

    first = seen(0, [("a", 5.0)])
    assert seen(1, []) == first
    assert seen(2, [("a", float(v)) for v in range(50)]) == first


@pytest.mark.parametrize("most", [1, 3])
def test_the_receipt_protects_a_person_and_never_a_record(most):
    """With one record of each, another one of the same person takes its place: two rows change."""
    first = pd.DataFrame({"id": ["a"], "pay": [1.0]})
    values = [row for row in np.arange(2.0, 40) if shown(_two(row), 1) != [(1.0,)]]
    assert values  # a record that is added drives out the one that was used
    found = kng.mean(
        first, bounds=ASK["bounds"], person="id", max_records=most, epsilon=1,
        neighbours="add-remove",
    )  # fmt: skip
    assert "(one person with all their records added or removed)" in str(found)
    assert "one record" not in str(found)


def _two(other: float) -> pd.DataFrame:
    return pd.DataFrame({"id": ["a", "a"], "pay": [1.0, other]})


def test_a_dataset_is_the_same_to_a_ledger_with_and_without_people(tmp_path):
    """No other account pays for it, and no stored answer is that of another file."""
    for name, pay in {"t": 10.0, "u": 90.0}.items():
        table = pd.DataFrame({"id": range(30), "pay": pay})
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    options: dict[str, Any] = {"epsilon": 1, **ASK}
    first = kng.Ledger(tmp_path / "a.ledger", cap=9, account="first")
    other = kng.Ledger(tmp_path / "a.ledger", cap=9, account="other")
    kng.median(tmp_path / "t.csv", bounds=ASK["bounds"], epsilon=1, ledger=first)
    for by in ({}, {"by": {"id": [1, 2]}}):
        with pytest.raises(SpecError, match="charged to account 'first'"):
            kng.median(tmp_path / "t.csv", ledger=other, **options, **by)
    key = first.request("k")
    kng.median(tmp_path / "t.csv", ledger=key, **options)
    with pytest.raises(SpecError, match="another dataset"):
        kng.median(tmp_path / "u.csv", ledger=key, **options)


@pytest.mark.parametrize("condition", [None, "x > 0.5", "x > 7"])
@pytest.mark.parametrize("model", [kng.LogisticRegression, kng.PoissonRegressor])
def test_models_that_read_people_anew_each_time_are_answered(model, condition):
    """More records are stated than memory holds; how many rows there are is nobody's to ask."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, 60)
    table = pd.DataFrame({"id": np.arange(60) // 3, "x": x, "y": (x > 0.4).astype(float)})
    own = {"classes": [0, 1]} if model is kng.LogisticRegression else {"bounds_y": (0, 5)}
    fitted = model(
        epsilon=50, bounds_X=(0, 1), neighbours="add-remove", n_max=10**10, person="id",
        max_records=2, where=condition, **own,
    ).fit(table, target="y", features=["x"])  # fmt: skip
    assert np.isfinite(fitted.coef_).all()


def test_models_limit_people_too():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, 3000)
    table = pd.DataFrame({"id": np.arange(3000), "x": x, "y": 2 * x + rng.normal(0, 0.1, 3000)})
    loud = pd.DataFrame({"id": 9999, "x": rng.uniform(0, 1, 3000), "y": -4.0})
    both = pd.concat([table, loud], ignore_index=True)
    model = kng.LinearRegression(
        epsilon=2000, bounds_X=(0, 1), bounds_y=(-5, 5), person="id", max_records=1
    )
    assert abs(model.fit(both, target="y", features=["x"]).coef_[0] - 2) < 0.1
    assert model.release_.event.records_per_person == 1


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"person": "id"}, SpecError, "max_records is missing"),
        ({"max_records": 3}, SpecError, "person is missing"),
        ({"person": "id", "max_records": 0}, SpecError, "max_records"),
        ({"person": 3, "max_records": 1}, SpecError, "name of the column"),
        ({"person": "nobody", "max_records": 1}, SchemaError, "no column"),
        ({"person": "id", "max_records": 2, "records_per_person": 2}, SpecError, "Leave"),
    ],
)
def test_what_cannot_be_is_refused_and_costs_nothing(options, error, says, tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=1)
    with pytest.raises(error, match=says):
        kng.median(visits(), bounds={"pay": (0, 100)}, epsilon=1, ledger=ledger, **options)
    with pytest.raises(SchemaError, match="no column names"):
        kng.median([1.0, 2.0], bounds=(0, 100), person="id", max_records=1, epsilon=1)
    assert ledger.spent == 0
