"""Linear models: a body holds every score and is attained; constants are those that were proved."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil

import numpy as np
import pytest

from kng.core.bodies import Body, Cuboid, Reaching
from kng.core.bounds import Bounds
from kng.core.delta import changes
from kng.core.design import Design, across, from_zero
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lattice import Lattice
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.regions import Region
from kng.core.shapes import facets_of
from kng.losses.linear import Linear
from kng.losses.linear_encoding import encoded
from kng.losses.pointwise.expectile import Expectile
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.logistic import Logistic
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.squared import Squared
from kng.norms import L1, InterceptSup, LInf

F = Fraction
UNITS = {
    "replace-one": PrivacyUnit(ReplaceOne(10)),
    "add-remove": PrivacyUnit(AddRemove(10)),
    "absent": PrivacyUnit(ReplaceOne(10), presence="optional"),
}
TWO_SIDED, ONE_SIDED, ACROSS = ((F(-1), F(1)), (F(0), F(10)), (F(-3), F(10)))


def design_of(columns, response, intercept: bool, scale=None, steps=2**16) -> Design:
    cut = across if intercept else from_zero
    lows, highs = zip(*columns, strict=True)
    return Design(encoded(Bounds(lows, highs), cut(*response, steps), cut), intercept, scale)


def lattice_of(dim: int, reach: int, step: Fraction) -> Lattice:
    return Lattice((-reach * step,) * dim, (step,) * dim, (2 * reach,) * dim)


def measured(norm, body: Body, unit: str) -> Fraction:
    """Delta in a norm that grows with every |v_j|: at the farthest corner, or along each axis."""
    found = []
    for piece in changes(body, UNITS[unit]):
        assert isinstance(piece, Cuboid | Reaching)
        facets = facets_of(norm.shape, len(piece.sides()))
        if isinstance(piece, Reaching) and facets:
            found.append(max(map(piece.reach, facets)))
            continue
        found.append(norm.value([max(abs(a), abs(b)) for a, b in piece.sides()]))
    return max(found)


def growth_of(design: Design, relation: str) -> Fraction:
    """The longest interval that a column fills, of the response too, and at least 1."""
    if relation == "add-remove":
        return F(1)
    return max(F(1), *(high - low for low, high in design.ends))


def widths_of(theta, design: Design, relation: str) -> list[Fraction]:
    """How far one record moves each coordinate of the gradient of least squares."""
    total = 1 + sum(map(abs, theta))
    if relation == "add-remove":
        return [total] * len(theta)
    found = []
    for j, a in enumerate(map(abs, theta)):
        rest = total - a
        if 2 * a <= rest or (design.intercept and j == 0):
            width = 2 * rest
        else:
            width = a + rest + rest * rest / (4 * a)
        longest = 2 if design.intercept else growth_of(design, relation)
        fixed = design.intercept and j == 0
        found.append(width if fixed else min(width, longest * total))
    return found


# Constants as they were proved before.


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tau", [F(1, 2), F(9, 10), F(1, 4)])
@pytest.mark.parametrize("columns", [[TWO_SIDED], [ONE_SIDED, TWO_SIDED], [ONE_SIDED], [ACROSS]])
def test_quantile_planes_have_the_constants_of_their_proof(intercept, tau, columns):
    design = design_of(columns, TWO_SIDED, intercept, steps=2**24)
    answers = lattice_of(design.dim, 1000, F(1, 2**10))
    jitter = F(1, 2**12)
    loss = Linear(Pinball(tau), intercept=intercept).over(design, answers, jitter)
    norms = [LInf()]
    if intercept:
        norms.append(InterceptSup(1 / (2 * max(tau, 1 - tau))))
    body, larger = loss.body(Region.everything(design.dim)), max(tau, 1 - tau)
    ones = (F(1),) * design.dim
    for norm in norms:
        # one side of a plane: z changes by its width; opposite sides: by 1 in every coordinate
        two = max(norm.value(ones), larger * norm.value(design.widths))
        assert measured(norm, body, "replace-one") == two
        assert measured(norm, body, "add-remove") == larger * norm.value(ones)
    assert measured(norms[-1], body, "absent") == measured(norms[-1], body, "replace-one")
    region = Region.between(answers.units((0,) * design.dim), answers.units((1700,) * design.dim))
    # predictions of at most R, a shift and a unit by which y' was rounded up
    reach = design.dim * F(1000, 2**10) + jitter / 2 + F(1, 2**26)
    least, most = design.ends[-1]
    value = measured(LInf(), loss.values(region), "replace-one")
    assert value == max(tau * (reach + most), (1 - tau) * (reach - least))


@pytest.mark.parametrize(
    ("far", "reach", "step"),
    [
        (F(2), 8, F(1, 4)),
        (F(1, 16), 2, F(1, 64)),
        (F(2**10), 2, F(1, 4)),
        (F(5, 3), 7, F(1, 3)),
        (F(2), 2**27, F(1, 2**24)),
    ],
)
@pytest.mark.parametrize("intercept", [True, False])
def test_huber_has_the_constants_of_its_proof(far, reach, step, intercept):
    threshold = F(1, 2)
    steps = ceil(2**21 * far / threshold)
    design = design_of([TWO_SIDED], (-far, far), intercept, threshold, steps)
    d = design.dim
    answers = lattice_of(d, reach, step)
    loss = Linear(Huber(threshold), intercept=intercept).over(design, answers)
    body = loss.body(Region.everything(d))
    assert measured(LInf(), body, "replace-one") == 2
    assert measured(LInf(), body, "add-remove") == 1
    assert measured(LInf(), body, "absent") == 2
    region = Region.between((-reach * step,) * d, (reach * step,) * d)
    # R + Y - 1/2, or half its square; Y is cut off where every plane is a threshold away
    largest = d * reach * step + min(far / threshold, d * (reach + 1) * step + 2)
    stated = largest**2 / 2 if largest <= 1 else largest - F(1, 2)
    value = measured(LInf(), loss.values(region), "add-remove")
    steps = F(2**41, 2 ** int(largest).bit_length())
    assert abs(value - stated) <= F(1, 2**15)
    if far != F(5, 3):  # whose whole numbers of x't are rounded
        assert value == max(ceil(stated * steps), 1) / steps


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("columns", [[TWO_SIDED], [ONE_SIDED], [ONE_SIDED, ACROSS]])
@pytest.mark.parametrize("response", [TWO_SIDED, ONE_SIDED])
def test_least_squares_has_the_constants_of_its_proof(intercept, columns, response):
    design = design_of(columns, response, intercept)
    loss = Linear(Squared(), intercept=intercept).over(design)
    rng = np.random.default_rng(0)
    for relation in ("replace-one", "add-remove"):
        for _ in range(20):
            scale = rng.choice([0, 0.1, 1, 5], design.dim)
            theta = tuple(F(v) for v in np.round(rng.normal(size=design.dim) * scale, 3).tolist())
            widths = widths_of(theta, design, relation)
            body = loss.body(Region.at(theta))
            (piece,) = changes(body, UNITS[relation])
            found = [max(abs(a), abs(b)) for a, b in piece.sides()]
            assert found == widths
            floats = loss.widths(np.array([theta], dtype=float), UNITS[relation])[0]
            assert floats == pytest.approx([float(w) for w in widths], rel=1e-13)
            assert list(loss.smallest(Region.at(theta)).differences()[0].sides()) == list(
                body.differences()[0].sides()
            )
        for bound in (F(1, 3), F(1), F(7)):
            ball = Region.ball(bound, design.dim)
            stated = growth_of(design, relation) * (1 + bound)
            if design.dim == 1:  # no other coefficient takes a part of the ball
                (stated,) = widths_of((bound,), design, relation)
            assert loss.growth(UNITS[relation]) == growth_of(design, relation)
            body = loss.body(ball)
            (piece,) = changes(body, UNITS[relation])
            assert LInf().largest(piece.around.low, piece.around.high) == stated
            # Along the axes it is no farther, and as far where columns reach both of their ends.
            found = measured(LInf(), body, relation)
            assert stated / 2 <= found <= stated
            assert found == stated or any(low > -1 or high < 1 for low, high in design.ends)
            value = measured(LInf(), loss.values(ball), relation)
            assert value == (1 + bound) ** 2 / 2


def test_absent_records_and_the_intercept_of_least_squares():
    design = design_of([TWO_SIDED], TWO_SIDED, True)
    loss = Linear(Squared()).over(design)
    for first, slope in product((F(-8), F(0), F(1, 2), F(8)), (F(0), F(3, 2))):
        body = loss.body(Region.at((first, slope)))
        sides = [piece.sides()[0] for piece in changes(body, UNITS["absent"])]
        rest = 1 + abs(slope)
        wanted = max(2 * rest, 1 + abs(first) + abs(slope))
        assert max(max(abs(a), abs(b)) for a, b in sides) == wanted


# Witnesses.


def test_record_corners_are_not_score_corners():
    """Least squares, d = 1, theta = 3: record corners give 2, the truth is 4.083."""
    design = design_of([TWO_SIDED], TWO_SIDED, False)
    body = Linear(Squared(), intercept=False).over(design).body(Region.at((F(3),)))
    assert measured(LInf(), body, "replace-one") == 4 + F(1, 12)


def test_least_squares_in_l1_is_bounded_by_the_box_of_widths():
    design = design_of([TWO_SIDED, TWO_SIDED], TWO_SIDED, False)
    loss = Linear(Squared(), intercept=False).over(design)
    theta = (F(3), F(1, 5))
    assert measured(L1(), loss.body(Region.at(theta)), "replace-one") == F(1232, 100)
    found = scores_of(loss, theta, np.random.default_rng(2))
    signed = found @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert 9.59 < (signed.max(axis=0) - signed.min(axis=0)).max() < 9.61


def test_a_constant_is_the_largest_over_theta_and_not_that_of_the_union():
    """One-sided least squares, d = 1, B = 1: 2, where the union of all scores is 3 wide."""
    design = design_of([ONE_SIDED], ONE_SIDED, False)
    loss = Linear(Squared(), intercept=False).over(design)
    assert measured(LInf(), loss.body(Region.ball(F(1), 1)), "replace-one") == 2


def test_a_product_set_is_not_a_cartesian_product():
    design = design_of([TWO_SIDED], TWO_SIDED, True)
    body = Linear(Pinball(F(9, 10))).over(design).body(Region.everything(2))
    assert measured(InterceptSup(F(5, 9)), body, "replace-one") == 1


def test_an_unbounded_score_on_an_unbounded_domain_is_refused():
    loss = Linear(Squared()).over(design_of([TWO_SIDED], TWO_SIDED, True))
    everything = Region.everything(2)
    for ask in (loss.body, loss.smallest, loss.values):
        with pytest.raises(IncompatibleParts, match=r"squared.*unbounded.*L1Ball"):
            ask(everything)
    assert measured(LInf(), loss.body(Region.at((F(10**6), F(0)))), "replace-one") == 2 + 2 * 10**6


def test_what_would_not_stay_exact_is_refused():
    design = design_of([TWO_SIDED], TWO_SIDED, True, steps=2**24)
    with pytest.raises(IncompatibleParts, match="step"):
        Linear(Pinball(F(1, 2))).over(design, lattice_of(2, 2**40, F(1, 2**38)))
    loss = Linear(Pinball(F(1, 2))).over(design, lattice_of(2, 2**10, F(1, 2**10)))
    beyond = Region.between((F(-2), F(0)), (F(0), F(1)))
    for ask in (loss.body, loss.values):
        with pytest.raises(IncompatibleParts, match="beyond"):
            ask(beyond)
    with pytest.raises(IncompatibleParts, match="over"):
        _ = Linear(Squared()).dim
    with pytest.raises(SpecError, match="centred"):
        Linear(Pinball(F(1, 2))).over(design, Lattice((F(0),) * 2, (F(1),) * 2, (2, 2)))
    with pytest.raises(SpecError, match="intercept"):
        Linear(Squared(), intercept=False).over(design)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("p", [Squared(), Pinball(F(3, 4)), Huber(F(1, 2))], ids=lambda p: p.name)
def test_a_formula_encodes_records_and_finds_its_lattice(p, intercept):
    bounds = Bounds((F(-1), F(0)), (F(3), F(10)))
    formula = Linear(p, intercept=intercept)
    for weighs in ("gradient", "value"):
        design = formula.encode(bounds, (F(-2), F(5)), weighs)
        answers = formula.lattice(design, F(4))
        loss = formula.over(design, answers)
        assert loss.grid.theta((0,) * loss.dim) == (0,) * loss.dim
        region = Region.between((F(-4),) * loss.dim, (F(4),) * loss.dim)
        for body in (loss.body(region), loss.values(region)):
            assert measured(LInf(), body, "absent") > 0
        assert (loss.jitter > 0) == (p.name == "pinball")
    if p.name == "squared":
        assert formula.lattice(design, None) == design.lattice
    else:
        with pytest.raises(IncompatibleParts, match="coef_bound"):
            formula.lattice(design, None)
        with pytest.raises(SpecError, match="bounded by 1/256"):
            formula.lattice(design, F(1, 300))
    if p.name == "huber":
        assert formula.encode(bounds, None).half_y == F(1, 2)
    with pytest.raises(SpecError, match="bounds_y"):
        formula.encode(bounds, None, "value")


# Bodies against records.


def losses() -> dict[str, Linear]:
    shapes = {
        "both": ([TWO_SIDED, TWO_SIDED], TWO_SIDED, True),
        "through 0": ([TWO_SIDED, ACROSS], TWO_SIDED, False),
        "one sign": ([ONE_SIDED], ONE_SIDED, False),
    }
    functions = {"squared": Squared(), "pinball": Pinball(F(3, 4)), "expectile": Expectile(F(1, 4))}
    found = {
        f"{name}, {shape}": Linear(p, intercept=parts[2]).over(design_of(*parts))
        for (name, p), (shape, parts) in product(functions.items(), shapes.items())
    }
    design = design_of([TWO_SIDED], (F(-5), F(5)), True, F(1, 2), 2**20)
    return {**found, "huber": Linear(Huber(F(1, 2))).over(design)}


def psi_of(loss: Linear, eta, y):
    p = loss.pointwise
    if isinstance(p, Pinball):
        return (y <= eta) - float(p.tau)
    if isinstance(p, Huber):
        return np.clip(eta - y, -1, 1)
    left, right = map(float, p.sides)
    return np.where(eta > y, right, left) * (eta - y)


def scores_of(loss: Linear, theta, rng) -> np.ndarray:
    """Scores of corners, of random records, and of records with an inner optimum z = T / 2a."""
    design = loss.design
    ends = [(float(a), float(b)) for a, b in design.ends[:-1]]
    low_y, high_y = map(float, loss.ends)
    if loss.pointwise.sides is None:  # a bounded psi promises the same for every y
        low_y, high_y = -1000.0, 1000.0
    p = len(ends)
    corners = np.array(list(product(*ends)))
    chosen = np.array([rng.choice(3, p) for _ in range(300)])
    inner = rng.uniform([a for a, _ in ends], [b for _, b in ends], (300, p))
    middle = np.where(
        chosen == 0, [a for a, _ in ends], np.where(chosen == 1, [b for _, b in ends], inner)
    )
    rows = [corners, middle]
    for j in range(p):
        grid = np.linspace(*ends[j], 2001)
        for corner in corners:
            line = np.repeat(corner[None], len(grid), axis=0)
            line[:, j] = grid
            rows.append(line)
    z = np.concatenate(rows)
    if design.intercept:
        z = np.column_stack([np.ones(len(z)), z])
    responses = [
        np.full(len(z), low_y),
        np.full(len(z), high_y),
        rng.uniform(low_y, high_y, len(z)),
    ]
    t = np.array([float(v) for v in theta])
    return np.concatenate([psi_of(loss, z @ t, y)[:, None] * z for y in responses])


@pytest.mark.parametrize("name", sorted(losses()))
def test_a_body_holds_every_score_and_is_attained_in_the_sup_norm(name):
    loss, rng = losses()[name], np.random.default_rng(1)
    one_sided = "one sign" in name or "through 0" in name
    for trial in range(12):
        scale = rng.choice([0.1, 1.0, 4.0], loss.dim)
        theta = tuple(F(v) for v in np.round(rng.normal(size=loss.dim) * scale, 2).tolist())
        wide = F(1, 4) if trial % 2 else F(2)
        region = Region.between(tuple(v - wide for v in theta), tuple(v + wide for v in theta))
        found = scores_of(loss, theta, rng)
        reach = np.abs(found).max(axis=0)
        apart = found.max(axis=0) - found.min(axis=0)
        for body in (loss.body(Region.at(theta)), loss.body(region)):
            for sizes, pieces in ((reach, body.scores()), (apart, body.differences())):
                held = [
                    max(float(max(map(abs, piece.sides()[j]))) for piece in pieces)
                    for j in range(loss.dim)
                ]
                assert (sizes <= np.array(held) * (1 + 1e-12)).all()
        body = loss.body(Region.at(theta))
        least, most = loss.smallest(region), loss.body(region)
        for unit, norm in product(UNITS, (LInf(), L1())):
            at = measured(norm, body, unit)
            assert measured(norm, least, unit) <= at <= measured(norm, most, unit)
        if not one_sided and "expectile" not in name:
            assert apart.max() >= 0.999 * float(measured(LInf(), body, "replace-one"))
            assert reach.max() >= 0.999 * float(measured(LInf(), body, "add-remove"))


def test_what_no_theta_falls_below_where_intercepts_have_nothing_in_common():
    loss = Linear(Squared()).over(design_of([TWO_SIDED], TWO_SIDED, True))
    region = Region.between((F(-9), F(1)), (F(9), F(2)))
    least = measured(LInf(), loss.smallest(region), "add-remove")
    assert 0 <= least <= measured(LInf(), loss.body(Region.at((F(0), F(1)))), "add-remove")
    near = Region.between((F(-1, 9), F(1)), (F(1, 9), F(10, 9)))
    assert measured(LInf(), loss.smallest(near), "add-remove") > 0


def test_labels_are_left_as_they_are_with_an_intercept_too():
    for intercept in (True, False):
        formula = Linear(Logistic(), intercept=intercept)
        design = formula.encode(Bounds((F(0),), (F(10),)), (F(0), F(1)))
        assert design.records.last[-1] == 1
        assert (design.half_y, design.middles[-1], design.ends[-1]) == (1, 0, (0, 1))
        theta = (F(2),) * design.dim  # log-odds at the middle of the covariate, or at 0
        slope = F(2, 5) if intercept else F(1, 5)
        assert design.units(theta) == ((0, slope) if intercept else (slope,))
