"""Answers for groups: every pair of tiny tables whose records may move between groups.

A record is a group and a value; group 0 is none of the declared ones, where a record is absent.
The draws of groups are independent, so the joint loss is the sum of the groups' losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

from flint import ctx

from kng.audit.oracle import (
    PRECISION,
    Setting,
    Verdict,
    encoding,
    ends,
    exponents,
    field_of,
    noise_loss,
    pmf,
)
from kng.audit.universe import ADD, REPLACE, Dataset, pairs
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

LAST = (40,)
Loss = Callable[[Dataset, Dataset], Fraction]


def unit_of(relation: str, k: int = 1) -> PrivacyUnit:
    """Return who is protected where a record may move: its removal and its addition."""
    return PrivacyUnit(RemoveAndAdd(9) if relation == REPLACE else AddRemove(), k)


def quantile_plan(q: str, unit: PrivacyUnit, epsilon: Fraction) -> DensityPlan:
    """Return the plan of a quantile in each group."""
    problem = Setting(Location(Pinball(q)), KNG(), ADD, epsilon, LAST).problem(0)
    plan = certified(KNG().plan(replace(problem, unit=unit), epsilon))
    assert isinstance(plan, DensityPlan)
    return plan


def mean_plan(unit: PrivacyUnit, epsilon: Fraction) -> NoisePlan:
    """Return the plan of a mean in each group."""
    norm = CoordinateSup().at(changes(LocationSum(encoding(LAST)).body(unit), unit))
    setting = Setting(Location(Squared()), KNorm(), ADD, epsilon, LAST, norm=norm)
    problem = replace(setting.problem(0, Whole(1, base=Uniform())), unit=unit)
    plan = certified(KNorm().plan(problem, epsilon))
    assert isinstance(plan, NoisePlan)
    return plan


def loss_of(plan: DensityPlan | NoisePlan) -> Loss:
    """Return the largest |log ratio| of one group's answer, an upper bound at 256 bits."""
    if isinstance(plan, NoisePlan):
        total = cache(lambda d: field_of(plan, d).total)
        return cache(
            lambda a, b: noise_loss(plan, [y - x for x, y in zip(total(a), total(b), strict=True)])
        )
    gammas = cache(lambda d: exponents(plan, d))

    @cache
    def largest(a: Dataset, b: Dataset) -> Fraction:
        with ctx.workprec(PRECISION):
            both = zip(pmf(gammas(a)), pmf(gammas(b)), strict=True)
            return max(ends(abs((x / y).log()))[1] for x, y in both)

    return largest


def worst(
    losses: Sequence[Loss], relation: str, values: Sequence[int], n: int, epsilon: Fraction
) -> Verdict:
    """Return the largest joint loss over all neighbours of up to n records."""
    records = sorted(product(range(len(losses) + 1), values))
    sizes = (n,) if relation == REPLACE else range(n + 1)
    tables = tuple(d for m in sizes for d in combinations_with_replacement(records, m))

    def members(table: Dataset, group: int) -> Dataset:
        return tuple((value,) for at, value in table if at == group)

    def joint(pair: tuple[Dataset, Dataset]) -> Fraction:
        a, b = pair
        each = (loss(members(a, g), members(b, g)) for g, loss in enumerate(losses, start=1))
        return sum(each, Fraction(0))

    witness = max(pairs(tables, relation), key=joint)
    largest = joint(witness)
    return Verdict(epsilon, largest, largest, 2 * largest, witness)
