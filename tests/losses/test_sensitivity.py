"""Sensitivities are attacked (no pair exceeds them) and attained (some pair reaches them).

The score is production's own, read through the ingestion door. A bound that is attacked only could
be twice too large, and one that is attained only could be too small; both together pin it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from audit.oracle import (
    ADD,
    RELATIONS,
    REPLACE,
    Dataset,
    Setting,
    datasets,
    encoding,
    field_of,
    pairs,
    sizes,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from kng.core.delta import Delta, changes, delta
from kng.core.parts import Norm, Point
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.losses import Location, Pinball, Squared
from kng.losses.location_sum import LocationSum
from kng.mechanisms import KNG, Exponential, KNorm
from kng.norms import L1, LInf, WeightedSup

PLENTY = settings(max_examples=120, deadline=None, derandomize=True)

LOSSES = {
    "squared": Location(Squared()),
    **{
        f"pinball-{q}": Location(Pinball(Fraction(q))) for q in ("0.1", "0.5", "0.9", "0.99", "1/3")
    },
}
MECHANISMS = {"gradient": KNG(), "value": Exponential()}


def scores(setting: Setting, dataset: Dataset) -> Sequence[Fraction]:
    field = field_of(setting.plan(len(dataset)), dataset)
    return [field.score((theta,)) for theta in range(setting.last[0] + 1)]


def bound(setting: Setting, theta: int) -> Fraction:
    """Return Delta(theta) for the whole unit, as the plan uses it."""
    return setting.plan(1).delta_at((theta,))


@pytest.mark.parametrize("records_per_person", [1, 2])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("score", MECHANISMS)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("last", "values"), [(1, (0, 1)), (4, (-2, 1, 2, 3, 7)), (7, (0, 3, 7))])
def test_no_neighbouring_pair_exceeds_the_sensitivity(
    last: int,
    values: tuple[int, ...],
    name: str,
    score: str,
    relation: str,
    records_per_person: int,
) -> None:
    setting = Setting(
        LOSSES[name], MECHANISMS[score], relation, Fraction(1), (last,), records_per_person
    )
    universe = datasets(values, sizes(relation))
    table = {d: scores(setting, d) for d in universe}
    bounds = [bound(setting, theta) for theta in range(last + 1)]
    for a, b in pairs(universe, relation, records_per_person):
        for left, right, largest in zip(table[a], table[b], bounds, strict=True):
            assert abs(left - right) <= largest, (a, b)


def change(setting: Setting, left: Dataset, right: Dataset, theta: int) -> Fraction:
    return abs(scores(setting, left)[theta] - scores(setting, right)[theta])


def zeros(n: int) -> Dataset:
    return ((0,),) * n


@pytest.mark.parametrize("last", [1, 5])
@pytest.mark.parametrize("q", ["0.01", "0.1", "0.5", "0.9", "0.99"])
def test_pinball_gradient_attains_its_sensitivity(q: str, last: int) -> None:
    tau = Fraction(q)
    replace = Setting(Location(Pinball(tau)), KNG(), REPLACE, Fraction(1), (last,))
    # All records below theta, one of them moves above: the count falls by one towards tau n.
    n = 200
    left, right = zeros(n), (*zeros(n - 1), (last,))
    theta = last if last == 1 else last - 1
    if last == 1:  # no lattice point lies strictly between the two values
        left, right, theta = ((1,),) * n, (*zeros(1), *((1,),) * (n - 1)), 0
    assert change(replace, left, right, theta) == bound(replace, theta) == 1
    add = Setting(Location(Pinball(tau)), KNG(), ADD, Fraction(1), (last,))
    below, above = change(add, (), ((0,),), last), change(add, (), ((last,),), 0)
    assert max(below, above) == bound(add, 0) == max(tau, 1 - tau)


@pytest.mark.parametrize("last", [1, 5])
@pytest.mark.parametrize("q", ["0.01", "0.1", "0.5", "0.9", "0.99"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_pinball_value_attains_its_sensitivity(relation: str, q: str, last: int) -> None:
    setting = Setting(Location(Pinball(Fraction(q))), Exponential(), relation, Fraction(1), (last,))
    if relation == REPLACE:
        largest = max(change(setting, zeros(1), ((last,),), theta) for theta in (0, last))
    else:
        largest = max(change(setting, (), ((x,),), last - x) for x in (0, last))
    assert largest == bound(setting, 0)


@pytest.mark.parametrize("last", [1, 5, 6])
def test_squared_gradient_attains_its_sensitivity_at_every_theta(last: int) -> None:
    replace = Setting(Location(Squared()), KNG(), REPLACE, Fraction(1), (last,))
    add = Setting(Location(Squared()), KNG(), ADD, Fraction(1), (last,))
    for theta in range(last + 1):
        # Away from its zero the size of the gradient moves with the sum.
        others = zeros(5) if 2 * theta >= last else ((last,),) * 5
        moved = change(replace, (*others, (0,)), (*others, (last,)), theta)
        assert moved == bound(replace, theta) == last
        farthest = max(change(add, (), ((x,),), theta) for x in (0, last))
        assert farthest == bound(add, theta) == max(theta, last - theta)


@pytest.mark.parametrize("relation", RELATIONS)
def test_squared_value_attains_its_sensitivity(relation: str) -> None:
    setting = Setting(Location(Squared()), Exponential(), relation, Fraction(1), (6,))
    base = zeros(1) if relation == REPLACE else ()
    assert change(setting, base, ((6,),), 0) == bound(setting, 0) == 18


@pytest.mark.every(2)
@PLENTY
@given(data=st.data())
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("score", MECHANISMS)
@pytest.mark.parametrize("kind", ["squared", "pinball"])
def test_random_neighbours_never_exceed_the_sensitivity(
    kind: str, score: str, relation: str, data: st.DataObject
) -> None:
    last = data.draw(st.sampled_from([1, 2, 9, 1000, 2**20, 2**44]), label="last")
    record = st.one_of(
        st.sampled_from([0, last]), st.integers(0, last), st.integers(-last, 2 * last)
    )
    tau = data.draw(st.fractions(Fraction(1, 1000), Fraction(999, 1000)), label="tau")
    loss = Location(Squared() if kind == "squared" else Pinball(tau))
    k = data.draw(st.integers(1, 3), label="records per person")
    common = data.draw(st.lists(record, min_size=1, max_size=12), label="common")
    gone = data.draw(st.lists(record, max_size=k), label="gone")
    if relation == REPLACE:
        come = data.draw(st.lists(record, min_size=len(gone), max_size=len(gone)), label="come")
    else:
        come = data.draw(st.lists(record, max_size=k - len(gone)), label="come")
    # Where a score can change: at records, beside them, and at the ends.
    near = [min(max(x + e, 0), last) for x in (*common, *gone, *come) for e in (-1, 0, 1)]
    theta = data.draw(st.one_of(st.sampled_from([0, last, *near]), st.integers(0, last)))
    setting = Setting(loss, MECHANISMS[score], relation, Fraction(1), (last,), k)
    values = []
    for extra in (gone, come):
        dataset = tuple(sorted((x,) for x in (*common, *extra)))
        values.append(field_of(setting.plan(len(dataset)), dataset).score((theta,)))
    assert abs(values[0] - values[1]) <= bound(setting, theta)


# --- several columns: every norm -----------------------------------------------------------------

WIDTHS = (Fraction(2), Fraction(3))
NORMS: dict[str, Norm] = {"l1": L1(), "linf": LInf(), "weighted-sup": WeightedSup(WIDTHS)}
CORNER = (2, 3)


def protected(relation: str) -> PrivacyUnit:
    return PrivacyUnit(ReplaceOne(1) if relation == REPLACE else AddRemove())


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", NORMS)
def test_squared_gradient_of_two_columns_is_bounded_and_attained_in_every_norm(
    name: str, relation: str
) -> None:
    norm, loss = NORMS[name], Location(Squared()).over(encoding(CORNER))
    grid = list(product(range(CORNER[0] + 1), range(CORNER[1] + 1)))

    def gradient(record: Point, theta: Point) -> tuple[Fraction, ...]:
        return tuple(Fraction(t - x) for x, t in zip(record, theta, strict=True))

    nothing = (Fraction(0), Fraction(0))
    for theta in grid:
        sides = [gradient(x, theta) for x in grid]
        others = sides if relation == REPLACE else [nothing]
        largest = max(
            norm.value(tuple(a - b for a, b in zip(u, v, strict=True)))
            for u in sides
            for v in others
        )
        body = loss.body(loss.grid.region(theta, theta))
        assert largest == delta(norm, body, protected(relation))


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_bound_over_a_box_of_theta_holds_at_each_of_its_points(relation: str) -> None:
    loss = Location(Squared()).over(encoding((7,)))
    moved = Delta(LInf(), protected(relation), loss.body, loss.smallest)
    for a in range(8):
        for b in range(a, 8):
            region = loss.grid.region((a,), (b,))
            inside = [moved.over(loss.grid.region((k,), (k,))) for k in range(a, b + 1)]
            assert moved.over(region) == max(inside)
            assert moved.under(region) <= min(inside)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "norm",
    [L1(), LInf(), lambda widths: WeightedSup(widths)],
    ids=["l1", "linf", "weighted-sup"],
)
@pytest.mark.parametrize(
    ("last", "values"),
    [((4,), (-2, 1, 2, 3, 9)), ((2, 3), ((0, 0), (2, 0), (-4, 9), (1, 1), (9, 9)))],
    ids=["line", "plane"],
)
def test_the_sum_moves_by_its_sensitivity_and_no_more(
    last: Point, values: tuple[Any, ...], norm: Norm | Callable[..., Norm], relation: str
) -> None:
    loss, unit = LocationSum(encoding(last)), protected(relation)
    (piece,) = changes(loss.body(unit), unit)
    widths = tuple(max(abs(a), abs(b)) for a, b in piece.sides())
    steps = loss.steps(unit)
    norm = norm(widths) if callable(norm) else norm
    setting = Setting(Location(Squared()), KNorm(), relation, Fraction(1), last, norm=norm)
    universe = datasets(values, sizes(relation, 3))
    sums = {d: field_of(setting.noise_plan(max(len(d), 1)), d).total for d in universe}
    moves = [
        tuple(h * (y - x) for h, x, y in zip(steps, sums[a], sums[b], strict=True))
        for a, b in pairs(universe, relation)
    ]
    assert max(norm.value(move) for move in moves) == setting.noise_plan(1).sensitivity
    for j, width in enumerate(widths):
        assert max(abs(move[j]) for move in moves) == width


def test_a_person_with_k_records_has_k_sensitivities() -> None:
    for k in (1, 2, 7):
        assert PrivacyUnit(ReplaceOne(9), k).group(Fraction(3, 2)) == k * Fraction(3, 2)
