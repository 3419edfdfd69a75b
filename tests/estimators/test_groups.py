"""Statistics of declared groups: answers, exact privacy losses through the whole path, refusals."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kng
from kng.core.errors import IncompatibleParts
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.data import grouped
from kng.estimators.request import Request

RELATIONS = ["replace-one", "add-remove"]
BY = {"sex": ["F", "M"], "site": [2, 0, 5]}


def frame(n: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"age": rng.integers(18, 90, n), "sex": rng.choice(["F", "M", "?"], n)})
    table["site"] = rng.integers(0, 4, n)
    table["pay"] = rng.normal(30, 5, n) + 20 * (table["sex"] == "F") + 5 * table["site"]
    table["visits"] = rng.normal(10, 2, n) + table["site"]
    table["smokes"] = rng.random(n) < 0.3
    table.loc[::11, "pay"] = np.nan
    return table


STATISTICS = {
    "mean": lambda data, **o: kng.mean(data, bounds={"pay": (0, 100)}, **o),
    "two means": lambda data, **o: kng.mean(data, bounds={"pay": (0, 100), "visits": (0, 20)}, **o),
    "median": lambda data, **o: kng.median(data, bounds={"pay": (0, 100)}, **o),
    "quartiles": lambda d, **o: kng.quantile(d, [0.25, 0.75], bounds={"pay": (0, 100)}, **o),
    "one by one": lambda d, **o: kng.quantile(
        d, [0.75, 0.25], bounds={"pay": (0, 100)}, sampler="order", **o
    ),
}


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_large_epsilon_gives_what_pandas_gives(relation):
    table = frame()
    options = {"epsilon": 100_000, "neighbours": relation, "by": BY, "where": "age >= 30"}
    left = table[table["age"] >= 30]
    for levels, found in zip(
        product(*BY.values()),
        kng.mean(table, bounds={"pay": (0, 100), "visits": (0, 20)}, **options).value,
        strict=True,
    ):
        group = left[(left["sex"] == levels[0]) & (left["site"] == levels[1])].dropna()
        if levels[1] != 5:
            assert np.allclose(found, group[["pay", "visits"]].mean(), atol=1e-3)
    medians = kng.median(table, bounds={"pay": (0, 100)}, **options).to_frame()
    expected = left.groupby(["sex", "site"])["pay"].quantile(0.5, interpolation="lower")
    above = left.groupby(["sex", "site"])["pay"].quantile(0.5, interpolation="higher")
    for _, row in medians[medians["site"] != 5].iterrows():
        key = row["sex"], row["site"]
        assert expected[key] - 1e-3 <= row["median"] <= above[key] + 1e-3


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_first_group_is_the_add_remove_release_of_its_records(statistic, relation):
    """Under replace-one at half of epsilon: the same bits give the same draw."""
    table, ask = frame(), STATISTICS[statistic]
    found = ask(table, by={"sex": ["M", "F"]}, epsilon=2, neighbours=relation, random_state=4)
    alone = table[table["sex"] == "M"]
    share = 1 if relation == "replace-one" else 2
    # At least as many records as there are in the table: a noisy count is cut there.
    n_max = len(table) if relation == "replace-one" else None
    single = ask(alone, epsilon=share, neighbours="add-remove", n_max=n_max, random_state=4)
    assert found.integers[: len(single.integers)] == single.integers
    assert found.event.epsilon == 2
    assert found.neighbours == relation
    assert found.law.rate == single.law.rate
    assert found.law.delta == single.law.delta


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_container_and_every_order_give_the_same_draw(statistic, tmp_path):
    table = frame()
    ask, options = STATISTICS[statistic], {"by": BY, "epsilon": 1, "random_state": 1}
    found = ask(table, **options)
    assert len(found.value) == 6
    table.to_parquet(tmp_path / "t.parquet")
    table.to_csv(tmp_path / "t.csv", index=False)
    mixed = table.sample(frac=1, random_state=0).astype({"sex": object})
    places = [mixed, pl.DataFrame(table), pa.table(table)]
    for data in (*places, tmp_path / "t.parquet", tmp_path / "t.csv"):
        assert ask(data, **options).integers == found.integers


@pytest.mark.parametrize("statistic", ["median", "quartiles", "two means"])
def test_groups_that_do_not_fit_into_memory_are_read_one_by_one(statistic, monkeypatch):
    ask, options = STATISTICS[statistic], {"by": BY, "epsilon": 1, "random_state": 1}
    found = ask(frame(), **options)
    passes = []
    run = grouped.GroupedTable._run
    monkeypatch.setattr(
        grouped.GroupedTable, "_run", lambda self, k: passes.append(type(k)) or run(self, k)
    )
    assert ask(frame(), **options).integers == found.integers
    assert len(passes) == 1  # one pass for six groups
    monkeypatch.setattr(grouped, "_CODE", 2**29)
    passes.clear()
    assert ask(frame(), **options).integers == found.integers
    assert len(passes) > 6 or statistic == "two means"


def test_truth_values_and_texts_for_them_are_levels():
    table = frame()
    found = kng.mean(
        table, bounds={"visits": (0, 20)}, by={"smokes": [True, False]}, epsilon=10_000
    )
    expected = table.groupby("smokes")["visits"].mean()
    assert np.allclose(found.value, [expected[True], expected[False]], atol=1e-2)
    assert found.names == ("True", "False")
    words = {"smokes": ["true", "False"]}
    again = kng.mean(table, bounds={"visits": (0, 20)}, by=words, epsilon=10_000)
    assert np.allclose(found.value, again.value, atol=1e-2)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_an_empty_group_has_the_law_of_no_records(statistic):
    found = STATISTICS[statistic](frame(), by={"sex": ["nobody"]}, epsilon=1)
    assert np.isfinite(found.value).all()
    assert not found.scalar
    assert len(found.value) == 1


def test_sums_of_long_whole_numbers_are_exact():
    """Steps up to 2**44, which float64 cannot add many of."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 2**17)
    batch = rng.integers(0, 2**44, (2**17, 2)).astype(float)
    counts, sums = grouped.GroupSums((2**44, 2**44), 3).partial(batch, codes)
    for at in range(3):
        rows = batch[codes == at]
        assert counts[at] == len(rows)
        assert [each[at] for each in sums] == [sum(map(int, column)) for column in rows.T]


def test_a_release_with_groups_is_easy_to_use():
    table = frame()
    release = kng.quantile(
        table, [0.25, 0.75], bounds={"pay": (0, 100)}, by={"sex": ["F", "M"]}, epsilon=1
    )
    again = kng.Release.from_json(release.to_json())
    assert again == release
    assert again.groups == release.groups
    assert release.value.shape == (2, 2)
    assert release.names == ("F: 0.25", "F: 0.75", "M: 0.25", "M: 0.75")
    assert release["M: 0.75"] == release.value[1, 1]
    shown = release.to_frame()
    assert list(shown.columns) == ["sex", "0.25", "0.75"]
    assert list(shown["sex"]) == ["F", "M"]
    head, first, second, blank, *facts = repr(release).splitlines()
    assert head.split() == ["sex", "0.25", "0.75"]
    assert (first.split()[0], second.split()[0], blank) == ("F", "M", "")
    assert any(line.startswith("by ") and "sex (F, M)" in line for line in facts)
    assert "<td" in release._repr_html_()
    single = kng.median(table, bounds={"pay": (0, 100)}, by=BY, epsilon=1)
    assert list(single.to_frame().columns) == ["sex", "site", "median"]
    assert single["F, 2"] == single.value[0]


def test_a_column_that_is_grouped_by_and_averaged_keeps_both_names():
    release = kng.mean(
        frame(), bounds={"site": (0, 3), "age": (0, 99)}, by={"site": [0, 1]}, epsilon=100
    )
    assert list(release.to_frame().columns) == ["site", "mean of site", "age"]


@pytest.mark.parametrize("damage", ['{"sex": []}', '{"sex": ["F", null]}', "[]", '{"sex": "F"}'])
def test_a_damaged_declaration_is_no_release(damage):
    release = kng.median(frame(), bounds={"pay": (0, 9)}, by={"sex": ["F", "M"]}, epsilon=1)
    text = release.to_json().replace('{"sex": ["F", "M"]}', damage)
    assert text != release.to_json()
    with pytest.raises(kng.KngError):
        kng.Release.from_json(text)


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ({}, "by names no column"),
        ("sex", "by must name columns"),
        ({"sex": []}, "no levels"),
        ({"sex": "F"}, "must be a list"),
        ({"sex": ["F", "F "]}, "'F' twice"),
        ({"site": [1, True]}, "twice"),
        ({"site": [1, float("nan")]}, "finite"),
        ({"sex": ["F", None]}, "all be texts"),
        ({"sex": ["F", 1]}, "all be texts"),
        ({"sex": [""]}, "empty"),
        ({"gender": ["F"]}, "no column named 'gender'"),
        ({"site": ["F", "M"]}, "holds numbers, and its levels are texts"),
        ({"sex": [0, 1]}, "holds text, and its levels are numbers"),
        ({"smokes": ["yes", "no"]}, "holds booleans, and its levels are texts"),
        ({"site": range(2**16)}, "groups; the most"),
    ],
)
def test_what_cannot_be_groups_is_refused_before_the_charge(by, says, tmp_path):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=1)
    for ask in (kng.mean, kng.median):
        with pytest.raises(kng.KngError, match=says):
            ask(frame(20), bounds={"pay": (0, 9)}, by=by, epsilon=1, ledger=ledger)
    assert ledger.spent == 0


def test_data_and_bounds_without_names_are_refused():
    with pytest.raises(kng.KngError, match="no column names"):
        kng.mean([1.0, 2.0], bounds=(0, 9), by={"sex": ["F"]}, epsilon=1)
    with pytest.raises(kng.KngError, match="bounds must name their columns"):
        kng.mean(frame(), bounds=(0, 9), by={"sex": ["F"]}, epsilon=1)


# --- the exact privacy loss, through the whole path ----------------------------------------------

GROUPS = {2: ["a", "b"], 3: ["a", "b", "c"]}


def caught(module: str, monkeypatch: Any, call: Any) -> tuple[Any, Any]:
    """Return the plan and the source of a release that is stopped before it is made."""
    seen: dict[str, Any] = {}

    def stop(stages: Any, *_: Any) -> None:
        seen["stage"] = stages[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module(f"kng.estimators.{module}"), "release", stop)
    with pytest.raises(KeyboardInterrupt):
        call()
    monkeypatch.undo()
    return seen["stage"].plans[0], seen["stage"].source


def neighbours_of(found: Any, relation: str) -> Any:
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


def tables(relation: str, levels: list[str], values: Any, n: int) -> Any:
    universe = list(product(values, [*levels, "other"]))
    for m in [n] if relation == "replace-one" else range(1, n + 1):
        yield from combinations_with_replacement(universe, m)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("groups", [2, 3])
def test_means_of_groups_lose_epsilon_and_no_more(groups, relation, monkeypatch):
    """Noise has density exp(-rate ||u||): a group's loss is rate times the norm of its change."""
    levels = GROUPS[groups]

    def read(dataset: Any) -> Any:
        table = pd.DataFrame(list(dataset), columns=["pay", "kind"])
        plan, source = caught(
            "mean",
            monkeypatch,
            lambda: kng.mean(
                table, bounds={"pay": (0, 3)}, granularity=1, by={"kind": levels},
                neighbours=relation, epsilon=1,
            ),
        )  # fmt: skip
        return plan, [plan.read(source.group(g), [plan])[0].total for g in range(groups)]

    found = {d: read(d) for d in tables(relation, levels, (0, 3), 2)}
    losses = []
    for a, b in neighbours_of(found, relation):
        plan, one, other = *found[a], found[b][1]
        changes = [
            [h * (x - y) for h, x, y in zip(plan.steps, left, right, strict=True)]
            for left, right in zip(one, other, strict=True)
        ]
        losses.append(sum(plan.rate * plan.problem.norm.value(change) for change in changes))
    assert len(losses) > 20
    assert max(losses) == 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("q", "floor"), [(0.5, 0.9), (0.9, 0.45)])
def test_quantiles_of_groups_lose_at_most_epsilon(q, floor, relation, monkeypatch):
    """A long gap between records lets one of them move much mass; tests/audit has 0.97 at 0.9."""

    def logs(dataset: Any) -> Any:
        table = pd.DataFrame(list(dataset), columns=["pay", "kind"])
        plan, source = caught(
            "quantile",
            monkeypatch,
            lambda: kng.quantile(
                table, q, bounds={"pay": (0, 40)}, granularity=1, by={"kind": GROUPS[2]},
                neighbours=relation, epsilon=1,
            ),
        )  # fmt: skip
        found = []
        for g in range(2):
            (field,) = plan.read(source.group(g), [plan])
            gamma = np.array([float(plan.exponent((k,), field.score((k,)))) for k in range(41)])
            found.append(-gamma - np.log(np.exp(-gamma).sum()))
        return found

    found = {d: logs(d) for d in tables(relation, GROUPS[2], (-3, 1, 39), 3)}
    losses = [
        sum(np.abs(x - y).max() for x, y in zip(found[a], found[b], strict=True))
        for a, b in neighbours_of(found, relation)
    ]
    assert floor < max(losses) <= 1 + 1e-12


def test_a_plan_for_records_that_stay_is_refused(monkeypatch):
    """A Delta for replace-one (1.8 epsilon at q = 0.9) stops before the charge."""

    def stays(self: Request, source: Any, groups: Any = None) -> PrivacyUnit:
        return PrivacyUnit(ReplaceOne(source.count()), 1, source.presence)

    monkeypatch.setattr(Request, "unit", stays)
    with pytest.raises(IncompatibleParts, match="never move"):
        kng.quantile(frame(), 0.9, bounds={"pay": (0, 9)}, by={"sex": ["F"]}, epsilon=1)


def test_the_range_of_the_loss_grows_with_the_groups_that_one_unit_can_change():
    def width(groups: int, k: int) -> Fraction:
        by = {"site": list(range(groups))}
        release = kng.median(
            frame(), bounds={"pay": (0, 9)}, by=by, epsilon=1, records_per_person=k
        )
        assert release.event.epsilon == 1
        return release.event.width - 1

    each = width(1, 1)
    assert 0 < each < Fraction(1, 10**10)
    assert (width(2, 1), width(9, 1), width(9, 2), width(3, 2)) == (
        2 * each, 2 * each, 4 * each, 3 * each,
    )  # fmt: skip
    noise = kng.mean(frame(), bounds={"pay": (0, 9)}, by=BY, epsilon=1)
    assert noise.event.width == 2
