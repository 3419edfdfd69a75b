"""Groups: every pair of neighbours of tiny tables, whose records may move between groups.

A record is a group and a value; group 0 is none of the declared ones, where a record is absent.
The draws of groups are independent, so the joint loss is the sum of the groups' losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from audit.oracle import (
    ADD,
    PRECISION,
    RELATIONS,
    REPLACE,
    Dataset,
    Setting,
    encoding,
    ends,
    exponents,
    field_of,
    noise_law,
    pairs,
    pmf,
    rescaled,
)
from flint import ctx

from kng.bases import Uniform
from kng.core.delta import changes
from kng.core.plan import DensityPlan, NoisePlan
from kng.core.privacy import AddRemove, PrivacyUnit, RemoveAndAdd
from kng.corridor import certified
from kng.domains import Whole
from kng.losses import Location, Pinball, Squared
from kng.losses.location_sum import LocationSum
from kng.mechanisms import KNG, KNorm
from kng.norms import CoordinateSup

ONE = Fraction(1)
LAST = (40,)
MEAN = Location(Squared())
Loss = Callable[[Dataset, Dataset], Fraction]


def unit_of(relation: str, k: int = 1) -> PrivacyUnit:
    return PrivacyUnit(RemoveAndAdd(9) if relation == REPLACE else AddRemove(), k)


def quantile_plan(q: str, relation: str, epsilon: Fraction = ONE, k: int = 1) -> DensityPlan:
    problem = Setting(Location(Pinball(q)), KNG(), ADD, epsilon, LAST).problem(0)
    plan = certified(KNG().plan(replace(problem, unit=unit_of(relation, k)), epsilon))
    assert isinstance(plan, DensityPlan)
    return plan


def mean_plan(relation: str, epsilon: Fraction = ONE, k: int = 1) -> NoisePlan:
    unit = unit_of(relation, k)
    norm = CoordinateSup().at(changes(LocationSum(encoding(LAST)).body(unit), unit))
    setting = Setting(MEAN, KNorm(), ADD, epsilon, LAST, norm=norm)
    problem = replace(setting.problem(0, Whole(1, base=Uniform())), unit=unit)
    plan = certified(KNorm().plan(problem, epsilon))
    assert isinstance(plan, NoisePlan)
    return plan


def loss_of(plan: DensityPlan | NoisePlan) -> Loss:
    """Return the largest |log ratio| of one group's answer, an upper bound at 256 bits."""
    if isinstance(plan, NoisePlan):
        law, total = noise_law(plan), cache(lambda d: field_of(plan, d).total)
        return cache(
            lambda a, b: law.loss(tuple(y - x for x, y in zip(total(a), total(b), strict=True)))
        )
    gammas = cache(lambda d: exponents(plan, d))

    @cache
    def largest(a: Dataset, b: Dataset) -> Fraction:
        with ctx.workprec(PRECISION):
            both = zip(pmf(gammas(a)), pmf(gammas(b)), strict=True)
            return max(ends(abs((x / y).log()))[1] for x, y in both)

    return largest


def worst(losses: Sequence[Loss], relation: str, values: Sequence[int], n: int, k: int = 1):
    """Return the largest joint loss over all neighbours of up to n records."""
    groups = range(len(losses) + 1)
    records = sorted(product(groups, values))
    sizes = (n,) if relation == REPLACE else range(n + 1)
    tables = tuple(d for m in sizes for d in combinations_with_replacement(records, m))

    def members(table: Dataset, group: int) -> Dataset:
        return tuple((value,) for at, value in table if at == group)

    return max(
        sum(loss(members(a, g), members(b, g)) for g, loss in enumerate(losses, start=1))
        for a, b in pairs(tables, relation, k)
    )


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("groups", [2, 3])
def test_means_of_groups_cost_epsilon_and_no_less(groups: int, relation: str, k: int) -> None:
    losses = [loss_of(mean_plan(relation, ONE, k))] * groups
    assert worst(losses, relation, (0, 40), 2, k) == 1


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("q", ["0.5", "0.9"])
def test_quantiles_of_groups_cost_at_most_epsilon_and_nearly_all_of_it(
    q: str, groups: int, relation: str
) -> None:
    losses = [loss_of(quantile_plan(q, relation))] * groups
    found = worst(losses, relation, (-3, 1, 39), 3 if groups == 2 else 2)
    assert found <= 1
    # Few records cannot do more at an outer quantile; ten can, below.
    assert found > Fraction("0.9" if q == "0.5" else "0.45")


@pytest.mark.parametrize("relation", RELATIONS)
def test_people_whose_records_lie_in_several_groups_cost_at_most_epsilon(relation: str) -> None:
    losses = [loss_of(quantile_plan("0.5", relation, ONE, 2))] * 2
    assert Fraction("0.9") < worst(losses, relation, (-3, 1, 39), 4, 2) <= 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_unequal_budgets_cost_the_largest(relation: str) -> None:
    """A replaced record that stays in its group costs all of that group's budget."""
    shares = (ONE, Fraction(1, 2), Fraction(1, 4))
    means = [loss_of(mean_plan(relation, share)) for share in shares]
    assert worst(means, relation, (0, 40), 2) == 1
    assert (shares[0] + shares[1]) / 2 < 1  # what only records that move would cost
    quantiles = [loss_of(quantile_plan("0.9", relation, share)) for share in shares[:2]]
    assert worst(quantiles, relation, (1, 39), 3) <= 1


def test_a_record_that_moves_costs_half_of_each_budget() -> None:
    loss, other = loss_of(mean_plan(REPLACE)), loss_of(mean_plan(REPLACE, Fraction(1, 2)))
    left, entered = loss(((40,),), ()), other((), ((0,),))
    assert (left, entered) == (Fraction(1, 2), Fraction(1, 4))


# --- seeded bugs ---------------------------------------------------------------------------------


def test_a_delta_of_one_at_an_outer_quantile_is_caught() -> None:
    """The replace-one Delta: a record that moves at q = 0.9 costs 1.8 epsilon."""
    honest = quantile_plan("0.9", REPLACE)
    assert honest.delta_at((0,)) == Fraction("1.8")
    wrong = rescaled(honest, Fraction(1, 2) / honest.delta.over(honest.problem.domain.region()))
    assert wrong.delta_at((0,)) == 1
    # Ten records at 1 and a long gap above them: a record at 40 enters one such group and leaves
    # another.
    few, more = ((1,),) * 10, (*((1,),) * 10, (40,))
    assert Fraction("0.97") < loss_of(honest)(few, more) + loss_of(honest)(more, few) <= 1
    found = loss_of(wrong)(few, more) + loss_of(wrong)(more, few)
    assert Fraction("1.7") < found <= Fraction("1.8")


def test_the_add_remove_release_at_all_of_epsilon_is_caught() -> None:
    losses = [loss_of(mean_plan(ADD))] * 2
    assert worst(losses, REPLACE, (0, 40), 2) == 2


def test_a_published_group_size_is_caught() -> None:
    """With the size of a group known, its sum alone tells two tables apart for certain."""
    honest = loss_of(mean_plan(REPLACE))

    def leaking(a: Dataset, b: Dataset) -> Fraction:
        return honest(a, b) if len(a) == len(b) else Fraction(10**6)

    assert worst([honest] * 2, REPLACE, (0, 40), 2) <= 1
    assert worst([leaking] * 2, REPLACE, (0, 40), 2) > 10**6
