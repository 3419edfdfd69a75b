"""Delta of every norm and body: never exceeded by what one record can do, and attained."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from conformance.norms import NORMS, ROUNDED, norms
from conformance.points import Vector, corners, cuboids, inside

from kng.core.bodies import Body, Cuboid, Hull, Round, Spread, product_set
from kng.core.delta import changes, delta
from kng.core.parts import Norm
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.norms import L2, InterceptSup, LInf

UNITS = {
    "replace-one": PrivacyUnit(ReplaceOne(9)),
    "replace-one with absences": PrivacyUnit(ReplaceOne(9), presence="optional"),
    "add-remove": PrivacyUnit(AddRemove()),
    "add-remove with absences": PrivacyUnit(AddRemove(), presence="optional"),
}
SLACK = Fraction(1, 2**80)
every_unit = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
every_norm = pytest.mark.parametrize(
    ("norm", "dim", "name"),
    [pytest.param(norm, dim, name, id=f"{name}-{dim}") for (name, dim), norm in NORMS.items()],
)
Claim = Callable[[Norm, Body, PrivacyUnit], Fraction]


def hulls(dim: int) -> list[Hull]:
    """Hulls of one, two and three cuboids, some of them points, and a product set."""
    found = [Cuboid(*ends) for ends in cuboids(dim, 8, 12)]
    points = [Cuboid(piece.low, piece.low) for piece in found]
    weights = Fraction(-9, 10), Fraction(1, 10)
    return [
        Hull((found[0],)),
        Hull((found[1], found[2])),
        Hull((found[3], points[4], points[5])),
        Hull(tuple(points[6:10])),
        product_set(weights, found[10]),
    ]


def vertices(hull: Hull) -> list[Vector]:
    return [corner for piece in hull.cuboids for corner in corners(piece.low, piece.high)]


def mixed(hull: Hull, rng: np.random.Generator) -> Vector:
    """Return a random point of a hull: a mixture of a point of each cuboid."""
    parts = [inside(piece.low, piece.high, rng) for piece in hull.cuboids]
    shares = rng.integers(0, 8, len(parts))
    shares[rng.integers(len(parts))] += 1
    total = Fraction(int(shares.sum()))
    weighed = [[int(k) / total * a for a in part] for k, part in zip(shares, parts, strict=True)]
    return tuple(map(sum, zip(*weighed, strict=True)))


def differences(here: list[Vector], there: list[Vector]) -> list[Vector]:
    return [tuple(a - b for a, b in zip(u, v, strict=True)) for u in here for v in there]


def moved(scores: list[Vector], unit: PrivacyUnit) -> list[Vector]:
    """Return what one record can do to a sum of these scores, from the definition of neighbours.

    Before and after, the record has one of the scores, or 0 if it is absent or not there.
    """
    nothing = [(Fraction(0),) * len(scores[0])]
    if isinstance(unit.neighbours, AddRemove):
        return differences(scores, nothing) + differences(nothing, scores)
    states = scores + nothing if unit.presence == "optional" else scores
    return differences(states, states)


def attack(norm: Norm, dim: int, unit: PrivacyUnit, claim: Claim, slack: Fraction) -> None:
    """Fail if the changes of a record exceed what is claimed, or do not attain it."""
    rng = np.random.default_rng(11)
    for hull in hulls(dim):
        claimed = claim(norm, hull, unit)
        fitted = norm.at(changes(hull, unit))
        scores = [mixed(hull, rng) for _ in range(5)]
        assert max(map(fitted.value, moved(scores, unit))) <= claimed
        attained = max(map(fitted.value, moved(vertices(hull), unit)))
        assert attained <= claimed <= attained * (1 + slack)


@every_unit
@every_norm
def test_delta_of_hulls_is_attained_and_never_exceeded(norm, dim, name, unit):
    attack(norm, dim, unit, delta, SLACK if name in ROUNDED else Fraction(0))


@every_unit
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_the_norm_that_follows_the_changes_has_delta_one(dim, unit):
    for hull in hulls(dim):
        assert delta(NORMS["coordinate", dim], hull, unit) == 1
    assert delta(NORMS["coordinate", dim], Round(Fraction(3), dim), unit) == 1


@every_unit
@every_norm
def test_delta_of_a_ball(norm, dim, name, unit):
    rng = np.random.default_rng(12)
    body = Round(Fraction(7, 5), dim)
    fitted, claimed = norm.at(changes(body, unit)), delta(norm, body, unit)
    sphere = [_on_the_sphere(row, body.radius) for row in rng.normal(size=(8, dim))]
    assert max(map(fitted.value, moved(sphere, unit))) <= claimed * (1 + SLACK)
    one = norm.at(changes(body, UNITS["add-remove"])).largest_in_ball(Fraction(7, 5), dim)
    assert claimed == (one if name == "coordinate" or "add" in unit.neighbours.name else 2 * one)


def _on_the_sphere(row: np.ndarray, radius: Fraction) -> Vector:
    point = tuple(Fraction(float(a)) for a in row)
    length = L2().value(point)
    return tuple(radius / length * a for a in point)


@every_unit
@every_norm
def test_delta_of_a_spread(norm, dim, name, unit):
    """How far scores reach and how far two lie apart are told separately; each is measured."""
    rng = np.random.default_rng(13)
    (low, high), _ = cuboids(dim, 14, 2)
    each = Cuboid(low, high)
    half = tuple((b - a) / 2 for a, b in each.sides())
    body = Spread(each, Cuboid(tuple(-a for a in half), half))
    fitted, claimed = norm.at(changes(body, unit)), delta(norm, body, unit)
    reaches = [] if unit.presence == "always" and "replace" in unit.neighbours.name else [each]
    if "replace" in unit.neighbours.name:
        reaches.append(body.apart)
    found = [inside(piece.low, piece.high, rng) for piece in reaches for _ in range(5)]
    assert max(map(fitted.value, found)) <= claimed
    ends = [corner for piece in reaches for corner in corners(piece.low, piece.high)]
    attained = max(map(fitted.value, ends))
    assert attained <= claimed <= attained * (1 + SLACK)


def one_removed(norm: Norm, body: Body, unit: PrivacyUnit) -> Fraction:
    """Delta that has forgotten that absent records have the score 0."""
    pieces = body.scores() if isinstance(unit.neighbours, AddRemove) else body.differences()
    return max(piece.largest(norm) for piece in pieces)


def of_a_box(norm: Norm, body: Body, unit: PrivacyUnit) -> Fraction:
    """Delta of the smallest cuboid around a hull: of a Cartesian body."""
    pieces = [piece for piece in body.scores() if isinstance(piece, Cuboid)]
    low = tuple(map(min, zip(*(piece.low for piece in pieces), strict=True)))
    high = tuple(map(max, zip(*(piece.high for piece in pieces), strict=True)))
    return delta(norm, Hull((Cuboid(low, high),)), unit)


# In the sup norm a hull is no smaller than the box around it; these tell the two apart.
@pytest.mark.parametrize("name", ["l1", "hexagon", "cross", "partial sums", "intercept 5/9"])
@pytest.mark.parametrize(
    ("wrong", "unit"),
    [
        (lambda *given: delta(*given) / 2, "replace-one"),
        (lambda *given: 2 * delta(*given), "replace-one"),
        (lambda *given: delta(*given) / 2, "add-remove"),
        (lambda *given: 2 * delta(*given), "add-remove"),
        (one_removed, "replace-one with absences"),
        (of_a_box, "replace-one"),
    ],
    ids=["halved", "doubled", "halved alone", "doubled alone", "a dropped 0", "a Cartesian body"],
)
def test_wrong_deltas_are_caught(name, wrong, unit):
    norm = NORMS[name, 3]
    attack(norm, 3, UNITS[unit], delta, Fraction(0))
    with pytest.raises(AssertionError):
        attack(norm, 3, UNITS[unit], wrong, Fraction(0))


def test_a_product_set_is_not_a_cartesian_product():
    """A quantile plane at tau = 0.9 in its own norm: 1, and 13/9 for the Cartesian body."""
    tau, ones = Fraction(9, 10), (Fraction(1), Fraction(1))
    rows = Cuboid((Fraction(1), Fraction(-1)), ones)
    norm, unit = InterceptSup(1 / (2 * tau)), UNITS["replace-one"]
    body = product_set((-tau, 1 - tau), rows)
    assert delta(norm, body, unit) == 1
    assert of_a_box(norm, body, unit) == Fraction(13, 9)
    assert delta(norm, body, UNITS["replace-one with absences"]) == 1


def test_a_norm_that_is_not_monotone():
    """max(|v1 + v2|, 10 |v1 - v2|) and scores in [-2, 2]^2: 8 at the corner (4, 4), in truth 80."""
    norm, two = NORMS["cross", 2], (Fraction(2), Fraction(2))
    body = Hull((Cuboid((-two[0], -two[1]), two),))
    assert norm.value((Fraction(4), Fraction(4))) == 8
    assert delta(norm, body, UNITS["replace-one"]) == 80
    assert delta(norm, body, UNITS["add-remove"]) == 40


def test_one_hot_records():
    """Points, not boxes: under replace-one the sup norm moves by 1, and l1 by 2."""
    hot = [tuple(Fraction(int(j == k)) for j in range(3)) for k in range(3)]
    body = Hull(tuple(Cuboid(point, point) for point in hot))
    found = {name: delta(norm, body, UNITS["replace-one"]) for name, norm in norms(3).items()}
    assert (found["linf"], found["l1"]) == (1, 2)
    assert delta(LInf(), body, UNITS["add-remove"]) == 1


def test_a_constant_delta_is_not_that_of_the_union():
    """Scores that are far from 0 on both sides, at different theta: 2 each, 3 for their union."""
    here = Hull((Cuboid((Fraction(-1),), (Fraction(1),)),))
    there = Hull((Cuboid((Fraction(0),), (Fraction(2),)),))
    unit = UNITS["replace-one"]
    assert delta(LInf(), here, unit) == delta(LInf(), there, unit) == 2
    assert delta(LInf(), Hull(here.cuboids + there.cuboids), unit) == 3
