"""Every loss: its bodies hold every score, and its fields are what they say."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from conformance.bounded import NORMS, ROWS, UNITS, Row, Theta
from conformance.test_linear_fields import ACCELERATED as PLANES

from kng.core.bodies import Ball, Cuboid
from kng.core.delta import Delta, delta
from kng.core.errors import IncompatibleParts
from kng.core.parts import Norm
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.regions import Region
from kng.domains import Box, LatticeBox
from kng.losses.accelerators import ACCELERATORS, accelerator_of
from kng.losses.distance import Distance
from kng.losses.fields.distance_field import read_distance
from kng.losses.fields.location_field import read_location
from kng.losses.kernels.held import Held
from kng.losses.location import Location
from kng.losses.pointwise.squared import Squared
from kng.norms import L2


@pytest.fixture(params=ROWS)
def row(request) -> Row:
    return ROWS[request.param]


def holds(piece: Cuboid | Ball, vector) -> bool:
    if isinstance(piece, Ball):
        return sum(v * v for v in vector) <= piece.radius**2
    return all(a <= v <= b for (a, b), v in zip(piece.sides(), vector, strict=True))


def around(row: Row, rng: np.random.Generator) -> tuple[Region, list[Theta]]:
    """Return a region of the domain, and some of its points."""
    one, other = row.point(rng), row.point(rng)
    low = tuple(map(min, one, other))
    high = tuple(map(max, one, other)) if rng.random() < 0.8 else low
    points = [low, high] + [
        tuple(int(rng.integers(a, b + 1)) for a, b in zip(low, high, strict=True)) for _ in range(3)
    ]
    return row.loss.grid.region(low, high), [row.loss.grid.theta(k) for k in points]


def test_a_body_holds_every_score_and_difference_over_regions_and_at_points(row):
    rng = np.random.default_rng(1)
    for _ in range(30):
        region, thetas = around(row, rng)
        for theta in thetas:
            for where in (region, Region.at(theta)):
                body, values = row.loss.body(where), row.loss.values(where)
                (each,), (apart,) = body.scores(), body.differences()
                (value,), (gap,) = values.scores(), values.differences()
                found = [row.plain(theta, record) for record in row.draw(rng, 6)]
                for u, rho in found:
                    assert holds(each, u)
                    assert holds(value, [rho])
                    for v, other in found:
                        assert holds(apart, [a - b for a, b in zip(u, v, strict=True)])
                        assert holds(gap, [rho - other])


def test_what_is_attained_is_attained(row):
    if not row.attained:
        pytest.skip("not said of this loss")
    rng, sup = np.random.default_rng(2), NORMS["sup"]
    for _ in range(20):
        theta = row.loss.grid.theta(row.point(rng))
        body = row.loss.body(Region.at(theta))
        corners = [row.plain(theta, r)[0] for r in ((0,) * len(theta), row.records.last)]
        assert delta(sup, body, UNITS[1]) == max(sup.value(u) for u in corners)
        gap = [a - b for a, b in zip(*corners, strict=True)]
        assert delta(sup, body, UNITS[0]) == sup.value(gap)


@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.neighbours.name}-{u.presence}")
def test_the_smallest_body_reaches_no_farther_than_any_of_a_region(row, unit):
    rng = np.random.default_rng(3)
    for _ in range(30):
        region, thetas = around(row, rng)
        for norm in NORMS.values():
            ask = Delta(norm, unit, row.loss.body, row.loss.smallest)
            assert ask.under(region) > 0
            for theta in thetas:
                assert ask.under(region) <= ask.over(Region.at(theta)) <= ask.over(region)
                here = Region.at(theta)
                assert ask.under(here) == ask.over(here)


@dataclass(frozen=True)
class Plan:
    """What a loss asks of a plan."""

    row: Row
    norm: Norm
    weighs: str = "gradient"
    unit: PrivacyUnit = UNITS[0]
    depth: int = 10**6

    @property
    def problem(self):
        return SimpleNamespace(
            loss=self.loss, norm=self.norm, unit=self.unit, domain=Box(0, 1, self.loss.dim)
        )

    @property
    def loss(self):
        return self.row.loss

    @property
    def grid(self):
        return self.row.loss.grid

    @property
    def domain(self):
        return LatticeBox(self.row.first, self.row.last)

    def measure(self, theta, vector):
        return self.norm.value(vector)

    def exponent(self, theta, score):
        return score

    def score_at(self, theta, exponent):
        return exponent


def fields(row: Row, records):
    """Return generic fields of these records in every norm, and of their value."""
    source = Held(np.array(records, dtype=float).reshape(len(records), -1))
    read = {"location": read_location, "distance": read_distance}[row.loss.model]
    if isinstance(row.loss, Distance):
        for load in row.loss.loaders(SimpleNamespace(offers={"enclosed"})):
            load()
    plans = [Plan(row, norm) for norm in NORMS.values()]
    *scores, value = read(source, [*plans, Plan(row, NORMS["sup"], "value")])
    return dict(zip(NORMS, scores, strict=True)), value


def totals(row: Row, theta: Theta, records):
    """Return the sums of scores and values by their definitions."""
    found = [row.plain(theta, record) for record in records]
    return [sum(v) for v in zip(*(u for u, _ in found), strict=True)], sum(r for _, r in found)


def test_scores_are_their_definitions(row):
    rng = np.random.default_rng(4)
    records = row.draw(rng, 40)
    scores, value = fields(row, records)
    spare = 40 * row.steps * len(row.first)
    for _ in range(25):
        point = row.point(rng)
        vector, rho = totals(row, row.loss.grid.theta(point), records)
        for name, field in scores.items():
            assert abs(field.score(point) - NORMS[name].value(vector)) <= spare
        assert rho - spare <= value.score(point) <= rho


def test_expansions_hold_at_every_point_of_a_box(row):
    rng = np.random.default_rng(5)
    records = row.draw(rng, 40)
    scores, value = fields(row, records)
    field = scores["sup"]
    for _ in range(24):
        one, other = row.point(rng), row.point(rng)
        low, high = np.minimum(one, other), np.maximum(one, other)
        small = np.minimum(low + rng.integers(0, 9, len(low)), row.last)
        high = [low, small, small, high][rng.integers(4)]
        centre, half = np.array([(low + high) / 2]), np.array([(high - low) / 2])
        wide, high_value = field.expand(centre, half), value.expand(centre, half)
        inside = [tuple(map(int, low)), tuple(map(int, high))] + [
            tuple(int(rng.integers(a, b + 1)) for a, b in zip(low, high, strict=True))
            for _ in range(6)
        ]
        for point in inside:
            vector = field.vector(point)
            for found, expansion in ((vector, wide), ([value.score(point)], high_value)):
                least, most = expansion.bounds(half)
                for k, number in enumerate(found):
                    line = Fraction(expansion.value[0, k]) + sum(
                        Fraction(expansion.slope[0, k, j]) * (p - Fraction(centre[0, j]))
                        for j, p in enumerate(point)
                    )
                    assert abs(number - line) <= Fraction(expansion.out[0, k])
                    assert Fraction(least[0, k]) <= number <= Fraction(most[0, k])


def test_a_line_has_one_valley_and_its_mode(row):
    if len(row.first) > 1:
        pytest.skip("several columns")
    rng = np.random.default_rng(6)
    for n in (1, 2, 7):
        scores, _ = fields(row, row.draw(rng, n))
        field = scores["sup"]
        found = [field.score((k,)) for k in range(row.first[0], row.last[0] + 1)]
        mode = field.mode() - row.first[0]
        assert found[mode] == min(found)
        assert found[mode::-1] == sorted(found[: mode + 1])
        assert found[mode:] == sorted(found[mode:])


def test_the_mean_beyond_its_bounds_with_absent_records():
    """Facts: an absent record has the score 0, so one beyond the bounds moves the sum by more."""
    row = ROWS["mean"]
    far = row.loss.grid.theta(row.last)  # 9.7, bounds (-1, 9)
    body = row.loss.body(Region.at(far))
    sup = NORMS["sup"]
    replaced, added = PrivacyUnit(ReplaceOne(5)), PrivacyUnit(AddRemove())
    absent = PrivacyUnit(ReplaceOne(5), presence="optional")
    assert delta(sup, body, replaced) == 10
    assert delta(sup, body, added) == delta(sup, body, absent) == Fraction("10.7")
    inside = row.loss.body(Region.at((Fraction(4),)))
    assert delta(sup, inside, absent) == 10
    assert delta(sup, inside, added) == 5


def test_no_bound_is_refused_where_it_is_needed():
    loss = ROWS["mean"].loss
    everywhere = loss.body(Region.everything(1))
    assert delta(NORMS["sup"], everywhere, UNITS[0]) == 10
    for unit in UNITS[1:]:
        with pytest.raises(IncompatibleParts, match=r"Location\(squared\).*unbounded domain"):
            delta(NORMS["sup"], everywhere, unit)
    with pytest.raises(IncompatibleParts, match="unbounded domain"):
        loss.values(Region.everything(1))
    assert delta(NORMS["sup"], ROWS["quantile"].loss.body(Region.everything(1)), UNITS[1]) > 0
    with pytest.raises(IncompatibleParts, match="over"):
        _ = Location(Squared()).dim


ACCELERATED = {
    "quantile": ("gradient", "ranks on a line"),
    "quantile value": ("value", "running sums on a line"),
    "mean": ("gradient", "sums on a line"),
    "mean value": ("value", "squares on a line"),
    "distance": ("gradient", "l2 distances"),
    "distance value": ("value", "l2 distances"),
}


def test_every_accelerator_is_compared():
    compared = {name for _, name in ACCELERATED.values()} | set(PLANES.values())
    assert compared == {each.name for each in ACCELERATORS}


@pytest.mark.parametrize("unit", UNITS, ids=lambda u: f"{u.neighbours.name}-{u.presence}")
@pytest.mark.parametrize("case", ACCELERATED)
def test_accelerators_give_the_scores_of_the_generic_fields(case, unit):
    row, (weighs, name) = ROWS[case.removesuffix(" value")], ACCELERATED[case]
    rng = np.random.default_rng(7)
    records = row.draw(rng, 5)
    source = Held(np.array(records, dtype=float))
    norm = NORMS["sup" if "line" in name else "l2"]
    plan = Plan(row, norm, weighs, unit)
    assert row.loss.accelerator(plan) == name
    (fast,) = row.loss.read(source, [plan])
    read = {"location": read_location, "distance": read_distance}[row.loss.model]
    (generic,) = read(source, [plan])
    assert type(fast) is not type(generic)
    ties = 0
    for _ in range(40):
        point = row.point(rng)
        found, expected = fast.score(point), generic.score(point)
        if weighs == "gradient" and point in records:  # the distance of 0 to all subgradients
            ties += 1
            assert found <= expected + 1e-6
        elif name == "l2 distances":
            assert abs(found - expected) <= 1e-6
        else:
            assert found == expected
    if weighs == "gradient" and case != "distance":
        assert ties


def test_accelerators_serve_by_what_parts_state():
    row = ROWS["distance"]
    assert accelerator_of([Plan(row, NORMS["l2"])]) is not None
    assert accelerator_of([Plan(row, L2(weights=(1, 2)))]) is None
    assert accelerator_of([Plan(row, NORMS["l1"])]) is None
    assert accelerator_of([Plan(ROWS["means"], NORMS["sup"])]) is None
    assert accelerator_of([Plan(ROWS["huber"], NORMS["sup"])]) is None


def test_one_valley_is_said_of_lines_where_it_is_proved():
    sup = NORMS["sup"]
    for name in ("mean", "quantile", "huber", "distance on a line"):
        assert ROWS[name].loss.one_valley(Plan(ROWS[name], sup))
    for name in ("mean", "quantile"):
        assert ROWS[name].loss.one_valley(Plan(ROWS[name], sup, "value"))
    assert not ROWS["huber"].loss.one_valley(Plan(ROWS["huber"], sup, "value"))
    assert not ROWS["means"].loss.one_valley(Plan(ROWS["means"], sup))


def test_distances_refuse_what_is_not_exact():
    row = ROWS["fine distance"]
    step = row.records.step[0]
    with pytest.raises(IncompatibleParts, match=r"2\*\*25"):
        row.loss.body(Region.between((Fraction(0),) * 2, (step * 2**25,) * 2))
    with pytest.raises(IncompatibleParts, match="same step"):
        Distance().over(ROWS["means"].records)
    with pytest.raises(IncompatibleParts, match="unbounded domain"):
        row.loss.values(Region.everything(2))
