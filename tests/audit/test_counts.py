"""Counts, proportions, histograms, sums and variances: the privacy loss of every neighbouring pair.

Noise has density exp(-rate ||u||), so the largest loss is rate times the norm of a change, exactly:
on a lattice it is attained, and rounding a continuous law only loses. What is enumerated are tiny
data sets through the public functions, up to the plan and what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from itertools import combinations_with_replacement, product
from typing import Any

import pandas as pd
import pytest

import kng
from kng.core.plan import NoisePlan
from kng.estimators import noisy_sums
from kng.losses.location_sum import LocationSum
from kng.norms import L1, WeightedSup

RELATIONS = ("replace-one", "add-remove")
# What a record can be: a number between -1 and 3, and whether a condition holds for it.
NUMBERS = (-1, 0, 1, 2, 3)
HELD = [(x, kept) for x in NUMBERS for kept in ("yes", "no")]
ALL = [(x, "yes") for x in NUMBERS]

Ask = Callable[..., kng.Release]
COUNTS: dict[str, Ask] = {
    "count": lambda d, **o: kng.count(d, **{"where": "x >= 1", **o}),
    "all": lambda d, **o: kng.count(d, **o),
    "proportion": lambda d, **o: kng.proportion(d, of="x >= 1", **o),
    "levels": lambda d, **o: kng.histogram(d, levels={"x": [0, 1, 2]}, **o),
    "edges": lambda d, **o: kng.histogram(d, edges={"x": [0, 1, 3]}, **o),
    "all edges": lambda d, **o: kng.histogram(d, edges={"x": ["-inf", 1, 2, "inf"]}, **o),
    "other": lambda d, **o: kng.histogram(d, levels={"x": [1, 2]}, other="else", **o),
    "sum": lambda d, **o: kng.sum(d, bounds={"x": (-1, 3)}, granularity=1, **o),
    "sum above": lambda d, **o: kng.sum(d, bounds={"x": ("1/2", 2)}, granularity="1/4", **o),
    "variance": lambda d, **o: kng.variance(d, bounds={"x": (-1, 3)}, granularity=1, **o),
}


# Under replace-one the number of all records is public.
NAMES = [name for name in COUNTS if name != "all"]


class Caught(Exception):
    """What a release would have been."""


def planned(ask: Ask, dataset: Any, relation: str, where: str | None, **options: Any) -> Any:
    """Return the plan for a data set, and what it reads."""

    def stop(stages: Any, *_: Any) -> None:
        raise Caught(stages[0])

    groups = options.pop("groups", 0)
    table = pd.DataFrame(list(dataset), columns=["x", "kept"])
    table["x"] = table["x"].astype(float if options.pop("floats", False) else int)
    given = {} if where is None else {"where": where}
    before, noisy_sums.release = noisy_sums.release, stop
    try:
        ask(table, neighbours=relation, epsilon=1, **given, **options)
    except Caught as caught:
        (stage,) = caught.args
        (plan,) = stage.plans
        if groups:
            each = [stage.source.group(at) for at in range(groups)]
            return plan, [plan.read(source, [plan])[0].total for source in each]
        return plan, plan.read(stage.source, [plan])[0].total
    finally:
        noisy_sums.release = before
    raise AssertionError("nothing was released")


def datasets(universe: list[Any], relation: str) -> list[tuple[Any, ...]]:
    sizes = [2] if relation == "replace-one" else [1, 2]
    return [d for n in sizes for d in combinations_with_replacement(universe, n)]


def pairs(found: list[tuple[Any, ...]], relation: str) -> Iterator[tuple[Any, Any]]:
    wanted = (1, 1) if relation == "replace-one" else (1, 0)
    for a, b in product(found, repeat=2):
        extra, lost = list(a), []
        for record in b:
            extra.remove(record) if record in extra else lost.append(record)
        if (len(extra), len(lost)) == wanted:
            yield a, b


def worst(found: dict[Any, Any], relation: str, norm: Any = None, delta: Any = None) -> Fraction:
    """Return the largest loss of a pair; in another norm and at another Delta, if given."""
    losses = []
    for a, b in pairs(list(found), relation):
        (plan, one), (_, other) = found[a], found[b]
        plan = plan if delta is None else replace(plan, sensitivity=Fraction(delta))
        change = [h * (x - y) for h, x, y in zip(plan.steps, one, other, strict=True)]
        losses.append(plan.rate * (norm or plan.problem.norm).value(change))
    assert len(losses) > 20
    return max(losses)


def read(
    name: str, relation: str, universe: list[Any], where: str | None, **options: Any
) -> dict[Any, tuple[NoisePlan, Any]]:
    found = datasets(universe, relation)
    return {d: planned(COUNTS[name], d, relation, where, **options) for d in found}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_the_loss_of_every_neighbouring_pair_is_epsilon_at_most_and_attained(name, relation):
    """Whole numbers cannot be missing: only the bins or the condition make records absent."""
    found = read(name, relation, ALL, None)
    assert worst(found, relation) == 1
    always = name in ("proportion", "all edges", "other", "sum", "sum above", "variance")
    unit = next(iter(found.values()))[0].problem.unit
    assert unit.presence == ("always" if always else "optional")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "count"])
def test_absent_records_are_paid_for(name, relation):
    found = read(name, relation, HELD, "kept = 'yes'")
    assert worst(found, relation) == 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_missing_cells_are_paid_for(name, relation):
    """Floats can be missing, so a record may be absent in every statistic."""
    found = read(name, relation, [*ALL, (float("nan"), "yes")], None, floats=True)
    assert all(plan.problem.unit.presence == "optional" for plan, _ in found.values())
    assert worst(found, relation) == 1


def test_persons_pay_for_each_record():
    found = read("levels", "replace-one", ALL, None, records_per_person=3)
    assert worst(found, "replace-one") == Fraction(1, 3)


GROUPS = [(x, kept) for x in (-1, 1, 3) for kept in ("yes", "no", "none")]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_records_that_change_their_group_are_paid_for(name, relation):
    """Losses of all groups add up; a record may move from one to another, or into none."""
    by = {"kept": ["yes", "no"]}
    ask = COUNTS["all"] if name == "count" else COUNTS[name]
    found = {
        d: planned(ask, d, relation, None, by=by, groups=2) for d in datasets(GROUPS, relation)
    }
    losses = []
    for a, b in pairs(list(found), relation):
        (plan, ones), (_, others) = found[a], found[b]
        changes = [
            [h * (x - y) for h, x, y in zip(plan.steps, one, other, strict=True)]
            for one, other in zip(ones, others, strict=True)
        ]
        norm = plan.problem.norm
        losses.append(sum((plan.rate * norm.value(change) for change in changes), Fraction(0)))
    assert max(losses) == 1


def test_all_records_are_counted_under_add_remove():
    found = {d: planned(COUNTS["all"], d, "add-remove", None) for d in datasets(ALL, "add-remove")}
    assert {len(d): total for d, (_, total) in found.items()} == {1: (1,), 2: (2,)}
    assert worst(found, "add-remove") == 1


def test_a_histogram_calibrated_as_if_records_came_and_went_would_leak():
    """l1 with Delta 1 is right under add-remove; a replaced record leaves one bin for another."""
    found = read("levels", "replace-one", ALL, None)
    assert worst(found, "replace-one", norm=L1(), delta=1) == 2


def test_a_sum_calibrated_by_its_range_would_leak_where_records_may_be_absent():
    found = read("sum above", "replace-one", HELD, "kept = 'yes'")
    assert worst(found, "replace-one", delta=Fraction(3, 2)) == Fraction(4, 3)


def test_a_variance_calibrated_without_its_count_would_leak():
    """The norm of records that all count, and 1 more for the count: a record that goes costs 2."""
    found = read("variance", "replace-one", HELD, "kept = 'yes'")
    plain = read("variance", "replace-one", ALL, None)
    norm = next(iter(plain.values()))[0].problem.norm

    class Without:
        value = staticmethod(lambda change: norm.value(change[:2]) + abs(change[2]))

    assert worst(found, "replace-one", norm=Without()) > Fraction(5, 4)


def test_a_sum_over_a_count_in_the_weighted_sup_norm_has_delta_2(monkeypatch):
    """Half a width and 1 are what a record that becomes absent does, not one that is replaced."""
    table = pd.DataFrame({"x": [0, 1, 1], "kept": ["yes", "no", "yes"]})
    seen = []
    home = import_module("kng.estimators.mean")
    monkeypatch.setattr(home, "release", lambda stages, *_: seen.append(stages[0]))
    kng.mean(table, bounds={"x": (0, 1)}, granularity=1, where="kept = 'yes'", epsilon=1)
    (plan,) = seen[0].plans
    assert isinstance(plan.problem.loss.sums, LocationSum)
    seeded = WeightedSup((Fraction(1, 2), Fraction(1)))
    replaced = (Fraction(1), Fraction(0))
    assert replace(plan, sensitivity=Fraction(1)).rate * seeded.value(replaced) == 2
    assert plan.rate * plan.problem.norm.value(replaced) == 1
