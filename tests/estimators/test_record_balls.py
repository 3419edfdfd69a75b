"""Means of records in a ball: pulled inside for certain, Delta attained, and better than a box."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from estimators.balls_of_records import L2Ball, Lopsided, Walled

import kng
from kng.bases import HeavyTailed, Uniform
from kng.core.delta import delta
from kng.core.plan import NoisePlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.data import open_source
from kng.domains import Box, L1Ball, Whole
from kng.estimators.record_balls import WIDER, HeldRecords, held_records
from kng.losses import Location, Squared
from kng.losses.kernels.pulling import (
    Gauge,
    PulledSums,
    RoundGauge,
    SumGauge,
    WalledGauge,
    pulled,
)
from kng.mechanisms import KNorm
from kng.norms import L1, L2, LInf

MEAN = Location(Squared())
REPLACE, ADD = PrivacyUnit(ReplaceOne(1)), PrivacyUnit(AddRemove())
BALLS = {"l2": L2Ball(3, 2), "l1": L1Ball(3, 2), "polytope": Walled(4, 2)}
every_ball = pytest.mark.parametrize("name", BALLS)

GAUGES: dict[str, Gauge] = {
    "round": RoundGauge((1, 1), 9),
    "round in two steps": RoundGauge((2, 5), 500),
    "sum": SumGauge((1, 1), 5),
    "tilted": WalledGauge((((1, 1), 4), ((4, -3), 4), ((1, 0), 4))),
    "needle": WalledGauge((((1, 1), 40), ((10, -10), 13))),
}


def inside(gauge: Gauge, z: tuple[int, ...]) -> bool:
    """Membership, written out again in Python's whole numbers."""
    if isinstance(gauge, RoundGauge):
        return sum((w * v) ** 2 for w, v in zip(gauge.weights, z, strict=True)) <= gauge.limit
    if isinstance(gauge, SumGauge):
        return sum(w * abs(v) for w, v in zip(gauge.weights, z, strict=True)) <= gauge.limit
    assert isinstance(gauge, WalledGauge)
    return all(abs(sum(a * v for a, v in zip(r, z, strict=True))) <= b for r, b in gauge.walls)


@pytest.mark.parametrize("name", GAUGES)
def test_every_record_ends_up_inside_and_those_inside_stay(name: str) -> None:
    gauge = GAUGES[name]
    points = list(product(range(-60, 61), repeat=2))
    found = pulled(np.array(points, dtype=float).T, gauge).T
    for z, moved in zip(points, found.tolist(), strict=True):
        assert inside(gauge, tuple(moved))
        assert not inside(gauge, z) or tuple(moved) == z
        # Towards 0 and never across it.
        assert all(0 <= m * np.sign(v) <= abs(v) for m, v in zip(moved, z, strict=True))
    assert pulled(found.T.astype(float), gauge).T.tolist() == found.tolist()


def test_truncation_alone_leaves_a_ball_that_is_not_monotone() -> None:
    gauge = GAUGES["needle"]
    z = np.array(list(product(range(-60, 61), repeat=2)), dtype=float).T
    lengths = np.maximum(gauge.lengths(z), 1.0)
    alone = np.trunc(z / lengths).astype(np.int64)
    assert not gauge.inside(alone).all()


def test_walls_that_cancel_end_soon_and_inside() -> None:
    """A slit 2^28 times as long as wide: float64 sees nothing of its width, whole numbers do."""
    a = 2**28
    gauge = WalledGauge((((a, -a), a), ((1, 1), 2**20)))
    z = np.rint(np.random.default_rng(5).normal(size=(2, 2000)) * 2**22)
    z[1, :1000] = z[0, :1000] + np.rint(np.random.default_rng(6).normal(size=1000) * 3)
    found = pulled(z, gauge).T.tolist()
    assert all(inside(gauge, tuple(row)) for row in found)
    # Records along the slit keep their place.
    near = [abs(row[0]) for row, x in zip(found, z[0], strict=True) if abs(x) > 2**21]
    assert max(near) > 2**18


def test_kernels_travel() -> None:
    kernel = PulledSums(GAUGES["tilted"], (7, 7))
    again = pickle.loads(pickle.dumps(kernel))
    batch = np.array([[9.0, 1.0], [7.0, 7.0], [3.0, 13.0]])
    assert again.partial(batch) == kernel.partial(batch)
    both = [kernel.partial(batch[:1]), kernel.partial(batch[1:])]
    assert kernel.merge(*both) == kernel.merge(*both[::-1]) == kernel.partial(batch)
    assert kernel.merge(kernel.zero(), kernel.partial(batch)) == kernel.partial(batch)


def test_fine_steps_keep_the_direction_and_almost_reach_the_edge() -> None:
    rng = np.random.default_rng(3)
    z = np.rint(rng.normal(size=(5, 500)) * 2.0 ** rng.integers(20, 34, 500))
    gauge = RoundGauge((1,) * 5, 2**52)
    found = pulled(z, gauge)
    lengths = np.sqrt((z**2).sum(axis=0)) / 2.0**26
    aim = z / np.maximum(lengths, 1.0)
    assert np.abs(found - aim).max() <= 1.0
    assert (lengths > 1).sum() > 200
    assert (lengths <= 1).sum() > 100


@pytest.mark.parametrize("name", GAUGES)
def test_a_record_is_pulled_alike_alone_and_among_others(name: str) -> None:
    z = np.rint(np.random.default_rng(1).normal(size=(2, 301)) * 40)
    together = pulled(z, GAUGES[name])
    for k in range(z.shape[1]):
        assert pulled(z[:, k : k + 1], GAUGES[name])[:, 0].tolist() == together[:, k].tolist()
    assert pulled(z[:, ::-1], GAUGES[name])[:, ::-1].tolist() == together.tolist()


def plan_of(held: HeldRecords, unit: PrivacyUnit, norm: Any = None) -> NoisePlan:
    ball = norm or held.norm_for(counted=unit is ADD)
    whole, loss = Whole(held.loss.dim, base=Uniform()), held.loss
    problem = Problem(loss, ball, whole, loss.encoding, held.answers(1), unit)
    return KNorm().plan(problem, Fraction(1))


def made(domain: Any) -> HeldRecords:
    held = held_records(domain, None, 1, None, MEAN)
    assert held is not None
    return held


def total(held: HeldRecords, unit: PrivacyUnit, rows: list[tuple[int, ...]]) -> tuple[int, ...]:
    sums = held.loss.sums
    assert sums is not None
    table = np.array(rows, dtype=float).reshape(len(rows), held.loss.dim)
    return sums.read(open_source(table, held.loss.encoding), unit, L2()).total


@every_ball
@pytest.mark.parametrize("norm", [None, L1(), L2(), LInf()], ids=["own", "l1", "l2", "linf"])
@pytest.mark.parametrize("unit", [REPLACE, ADD], ids=["replace-one", "add-remove"])
def test_the_loss_of_every_pair_of_records_is_at_most_epsilon(
    name: str, norm: Any, unit: PrivacyUnit
) -> None:
    """Records far outside are among them; the log ratio of densities is rate ||shift||."""
    held = made(BALLS[name])
    plan = plan_of(held, unit, norm)
    rows = [*product(range(-4, 5), repeat=2), (90, 1), (-30, 30), (17, -300)]
    sums = [total(held, unit, [row]) for row in rows]
    shifts: list[tuple[int, ...]] = sums
    if unit is REPLACE:
        shifts = [tuple(a - b for a, b in zip(x, y, strict=True)) for x in sums for y in sums]
    else:  # one record beside none
        assert total(held, unit, []) == (0, 0, 0)
    used = plan.problem.norm
    steps = plan.steps
    worst = max(
        plan.rate * used.value([h * s for h, s in zip(steps, shift, strict=True)])
        for shift in set(shifts)
    )
    assert worst <= 1 + Fraction(1, 2**80)
    # Corners of the balls of l1 and of the round one lie on the lattice, so Delta is attained. In
    # other norms the round ball beside a count is bounded by a larger one.
    round_ones = (None, L2(), LInf()) if unit is REPLACE else (None, L2())
    if name == "l1" or (name == "l2" and norm in round_ones):
        assert worst >= 1 - Fraction(1, 2**50)
    else:
        assert worst > Fraction(2, 3)


def test_deltas_in_closed_form() -> None:
    """2 r by the ball's own norm; with a count sqrt(r^2 + w^2), r + w, and 1."""
    r = Fraction(3)
    for name, own in (("l2", L2()), ("l1", L1())):
        held = made(BALLS[name])
        assert plan_of(held, REPLACE).sensitivity == 2 * r
        assert held.norm == own
    w = made(BALLS["l2"]).loss.sums.count_unit  # type: ignore[union-attr]
    assert float(w) == pytest.approx(3 / 2**0.25, rel=1e-3)
    assert float(plan_of(made(BALLS["l2"]), ADD).sensitivity) == pytest.approx(
        float(r * r + w * w) ** 0.5
    )
    v = made(BALLS["l1"]).loss.sums.count_unit  # type: ignore[union-attr]
    assert plan_of(made(BALLS["l1"]), ADD).sensitivity == r + v
    held = made(BALLS["polytope"])
    assert plan_of(held, REPLACE).sensitivity == 2 * held.ball.radius
    assert plan_of(held, ADD).sensitivity == 1
    absent = PrivacyUnit(ReplaceOne(5), presence="optional")
    sums = made(BALLS["l2"]).loss.sums
    assert sums is not None
    assert delta(L2(), sums.body(absent), absent) == 2 * r


def test_a_ball_that_is_read_as_its_box_is_caught() -> None:
    """The box around an l2 ball of radius 3 has corners at 3 sqrt(2): its loss exceeds epsilon."""
    held = made(BALLS["l2"])
    plan = plan_of(held, REPLACE)
    corner = [Fraction(3), Fraction(3)]
    assert plan.rate * plan.problem.norm.value([2 * v for v in corner]) > Fraction(14, 10)


@every_ball
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("n", [1, 2, 500])
def test_means_lie_in_the_ball_and_near_the_truth(name: str, neighbours: str, n: int) -> None:
    ball = BALLS[name]
    X = np.random.default_rng(n).normal(size=(n, 2)) * 0.3 + 0.4
    held = made(ball)
    for seed in range(15):
        ask: dict[str, Any] = {"epsilon": 2, "neighbours": neighbours, "random_state": seed}
        answer = kng.mean(X, bounds=ball, **ask)
        assert held.norm.value(answer.exact_value) <= held.ball.radius
        if n == 500:
            assert np.abs(answer.value - X.mean(axis=0)).max() < 0.3


def test_no_records_are_no_error_where_their_number_is_private() -> None:
    answer = kng.mean(np.empty((0, 2)), bounds=BALLS["l2"], epsilon=1, neighbours="add-remove")
    assert np.isfinite(answer.value).all()
    with pytest.raises(kng.KngError, match="empty"):
        kng.mean(np.empty((0, 2)), bounds=BALLS["l2"], epsilon=1)


def test_hostile_cells_raise_nothing() -> None:
    rows = [[np.nan, 1], [np.inf, -np.inf], [None, "text"], [1e300, -1e-300], [1], "row", [2, 1]]
    held = held_records(BALLS["l2"], rows, None, 0, MEAN)
    assert held is not None
    answer = kng.mean(rows, bounds=BALLS["l2"], epsilon=1, random_state=3)
    assert np.isfinite(answer.value).all()
    sums = held.loss.sums
    assert sums is not None
    found = [sums.read(open_source([row], held.loss.encoding), REPLACE, L2()).total for row in rows]
    step = float(held.loss.encoding.step[0])
    seen = np.array(found) * step
    assert seen[0] == pytest.approx([0, 1])
    # Infinities are clipped to a box first, so that they keep a direction.
    assert seen[1] == pytest.approx([3 / 2**0.5, -3 / 2**0.5])
    assert seen[2].tolist() == [0, 0]
    assert seen[3] == pytest.approx([3, 0])
    assert seen[4].tolist() == [0, 0]
    assert seen[6] == pytest.approx([2, 1])


def test_a_record_outside_keeps_its_direction_within_the_wider_box() -> None:
    held = held_records(BALLS["l2"], None, None, None, MEAN)
    assert held is not None
    sums = held.loss.sums
    assert sums is not None
    step = float(held.loss.encoding.step[0])
    for x in ([30.0, 40.0], [-3.0 * WIDER, 1.0], [0.3, -0.4]):
        [a, b] = sums.read(open_source([x], held.loss.encoding), REPLACE, L2()).total
        length = max(np.hypot(*x) / 3, 1.0)
        assert [a * step, b * step] == pytest.approx([v / length for v in x], abs=1e-6)


def test_receipts_show_the_ball() -> None:
    answer = kng.mean(np.zeros((9, 2)), bounds=L2Ball(3, 2), epsilon=1, random_state=1)
    text = str(answer)
    assert "bounds" in text
    assert "L2Ball(3)" in text
    assert "record ball" not in text
    again = kng.Release.from_json(answer.to_json())
    assert str(again) == text
    assert answer.law.norm == "L2()"
    assert answer.law.delta == "6"
    assert answer.bounds.high == (3, 3)


@every_ball
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_the_mechanism_put_together_gives_the_same_draw(name: str, neighbours: str) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2)) * 4
    ask: dict[str, Any] = {"bounds": BALLS[name], "epsilon": 1, "neighbours": neighbours}
    made_of_parts = kng.KNorm(MEAN)
    again = made_of_parts.release(X, random_state=2, **ask)
    assert again.value.tolist() == kng.mean(X, random_state=2, **ask).value.tolist()
    assert again.law == kng.mean(X, random_state=2, **ask).law
    plan = made_of_parts.plan(n=40, **ask)
    assert plan.guarantee.value == "exact"
    assert (plan.predicted_error is None) == (neighbours == "add-remove")


def test_other_mechanisms_and_losses_refuse_a_ball() -> None:
    median = Location(kng.losses.Pinball(0.5))
    for made_of_parts in (kng.KNG(MEAN, domain=Box(0, 1)), kng.KNG(median, domain=Box(0, 1))):
        with pytest.raises(kng.KngError, match=r"bounds=L1Ball\(2, dim=2\) is a ball.*Location"):
            made_of_parts.plan(bounds=L1Ball(2, dim=2), epsilon=1)
    with pytest.raises(kng.KngError, match="KNorm needs an estimate"):
        kng.KNorm(median).plan(bounds=L1Ball(2, dim=2), epsilon=1)
    with pytest.raises(kng.KngError, match="how many columns"):
        kng.KNorm(MEAN).plan(bounds=L1Ball(2), epsilon=1)
    plan = kng.KNorm(MEAN).plan(bounds=Box(-1, 1, dim=2), epsilon=1)
    assert plan.law == kng.KNorm(MEAN).plan(bounds=([-1, -1], [1, 1]), epsilon=1).law


def test_the_order_of_records_changes_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2)) * 4
    ask: dict[str, Any] = {"bounds": BALLS["polytope"], "epsilon": 1, "random_state": 2}
    assert kng.mean(X, **ask).value.tolist() == kng.mean(X[::-1], **ask).value.tolist()


def test_a_box_is_a_pair_of_bounds() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (40, 2))
    ask: dict[str, Any] = {"epsilon": 1, "random_state": 2}
    same = kng.mean(X, bounds=([-1, -1], [1, 1]), **ask).value.tolist()
    assert kng.mean(X, bounds=Box(-1, 1), **ask).value.tolist() == same
    assert kng.mean(X, bounds=Box([-1, -1], [1, 1]), **ask).value.tolist() == same


def test_columns_are_counted_where_the_ball_does_not_say() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (40, 3))
    assert kng.mean(X, bounds=L1Ball(2), epsilon=1).value.shape == (3,)
    assert kng.mean({"a": X[:, 0], "b": X[:, 1]}, bounds=L1Ball(2), epsilon=1).value.shape == (2,)
    assert kng.mean(X[:, 0], bounds=L1Ball(2), epsilon=1).scalar


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ({"bounds": L1Ball(2), "data": [[1, 2]]}, r"L1Ball\(2\) does not say how many columns"),
        ({"bounds": L1Ball(2, dim=3)}, "3 columns, as the bounds do; got an array of shape n x 2"),
        ({"bounds": L1Ball(2, base=HeavyTailed())}, "no base measure"),
        ({"bounds": Lopsided(2, 2)}, "Lopsided is not a ball around 0"),
        ({"bounds": Whole(2)}, "Whole.* is not a ball around 0"),
        ({"bounds": L1Ball(2), "mechanism": "kng"}, r"mechanism='kng'.*L1Ball\(2\)"),
        ({"bounds": L1Ball(2), "mechanism": "exponential"}, r"'exponential'.*L1Ball\(2\)"),
        ({"bounds": L1Ball(2), "granularity": 3}, r"granularity 3 is larger than L1Ball\(2\)"),
        ({"bounds": L1Ball(2), "granularity": 1e-12}, "granularity"),
        ({"bounds": L1Ball(2), "granularity": [1, 1, 1]}, "granularity must be one number"),
        ({"bounds": L1Ball(2), "missing": 99}, "missing must lie inside"),
        ({"bounds": L1Ball(2), "domain": Box(0, 1)}, "without a domain"),
        ({"bounds": L1Ball}, "pair"),
        ({"bounds": L2Ball(3, 2), "granularity": ["1/1000003", "1/999983"]}, "too fine|2\\*\\*44"),
        ({"bounds": Walled(1, 2), "granularity": 1}, "granularity"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_and_named(call: dict[str, Any], says: str) -> None:
    data = call.pop("data", np.zeros((5, 2)))
    with pytest.raises(kng.KngError, match=says):
        kng.mean(data, epsilon=1, **call)


@pytest.mark.parametrize("dim", [5, 10])
def test_a_ball_beats_its_box(dim: int) -> None:
    """Directions at random, length 3: the same records, in an l2 ball and in the box around it."""
    X = np.random.default_rng(dim).normal(size=(200, dim))
    X *= 3 / np.sqrt((X * X).sum(axis=1, keepdims=True))
    truth = X.mean(axis=0)

    def error(bounds: Any) -> float:
        answers = [kng.mean(X, bounds=bounds, epsilon=1, random_state=k).value for k in range(120)]
        return float(np.sqrt((np.square(np.array(answers) - truth)).sum(axis=1).mean()))

    box = error((np.full(dim, -3), np.full(dim, 3)))
    # sqrt(d (d + 1)) against sqrt(d (d + 1) (d + 2) / 3), in units of 2 r / (n epsilon).
    assert error(L2Ball(3, dim)) < box * (3 / (dim + 2)) ** 0.5 * 1.15


def test_random_polytopes_in_three_coordinates() -> None:
    rng = random.Random(4)
    for _ in range(5):
        rows = tuple(tuple(rng.randint(-4, 4) for _ in range(3)) for _ in range(5))
        domain = type("Tilted", (Walled,), {"rows": rows})(5, 3)
        if np.linalg.matrix_rank(np.array(rows)) < 3:
            continue
        held = held_records(domain, None, "1/8", None, MEAN)
        assert held is not None
        sums = held.loss.sums
        assert sums is not None
        X = [[rng.uniform(-20, 20) for _ in range(3)] for _ in range(50)]
        for row in X:
            z = sums.read(open_source([row], held.loss.encoding), REPLACE, L2()).total
            assert held.norm.value([Fraction(v, 8) for v in z]) <= 5
