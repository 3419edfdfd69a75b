"""Draws on a ball have the stated law wherever its edge cuts the density, and they end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from samplers.balls import (
    MECHANISMS,
    Array,
    Setting,
    discrete,
    exponent,
    offers,
    points_of_the_ball,
    problem,
)
from samplers.laws import ALARM, p_value
from scipy.special import logsumexp

from kng.core.bits import SeededBits
from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.core.quadratic import AffineGradient
from kng.corridor import certified
from kng.mechanisms import KNG
from kng.norms import L2
from kng.samplers.real import affine, gaussian
from kng.samplers.real.envelopes.gaussian_at_edge import Anchor, GaussianAtEdge
from kng.samplers.real.envelopes.linear_programs import Guess, Sup, guesses
from kng.samplers.real.envelopes.sup_at_edge import SupAtEdge
from kng.samplers.real.space import Scale

BEST: dict[str, Any] = {"kng": affine.best, "exponential": gaussian.best}
SAMPLE = 40_000
CELLS = 12  # to a side
FINE = 1500  # points of the quadrature to a side


def line(n: int) -> tuple[Array, Array]:
    draw = np.random.default_rng(n)
    X = draw.uniform(-1, 1, (n, 1))
    return X, 0.7 * X[:, 0] + 0.25 + 0.1 * draw.normal(size=n)


def drawn(proposals: Any, seed: int) -> Array:
    bits, found, count = SeededBits(seed), [], 0
    while count < SAMPLE:
        theta, log_accept = proposals.batch(bits, SAMPLE)
        kept = theta[np.log(bits.uniforms(SAMPLE)) < log_accept]
        found.append(kept)
        count += len(kept)
    return np.concatenate(found)[:SAMPLE]


# --- envelopes, at points of the ball and not only where proposals fall --------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("block", range(8))
def test_no_envelope_is_exceeded_anywhere_in_the_ball(mechanism, block):
    """Discrete designs: ties, duplicates, estimates on vertices. 320 of them, every proposal."""
    for seed in range(40 * block, 40 * block + 40):
        setting = discrete(seed)
        plan, field = setting.build(mechanism)
        radius, rng = float(setting.radius), np.random.default_rng(seed)
        for proposals in offers(plan, field):
            near = np.zeros(len(field.vector))
            if isinstance(proposals, GaussianAtEdge):
                near = np.clip(proposals.anchor.point, -radius, radius)
            theta = points_of_the_ball(rng, len(near), radius, near)
            scale = 1 + np.abs(exponent(plan, field, theta)).max()
            assert proposals.log_acceptance(theta).max() < 1e-9 * scale, (seed, type(proposals))


@pytest.mark.parametrize("seed", range(60))
def test_no_corner_depends_on_good_weights(seed):
    """Any weights and any signs of theta make an envelope, not only those of a solved program."""
    setting, rng = discrete(seed), np.random.default_rng(seed)
    plan, field = setting.build("kng")
    sup, d = Sup.of(plan, field), len(field.vector)
    weights = rng.normal(size=d) * (rng.uniform(size=d) < 0.6)
    theta = rng.choice([-1.0, 0.0, 1.0], d)
    if not theta.any() or not weights.any():
        return
    corner = SupAtEdge.at(sup, Guess(theta, weights / np.abs(weights).sum()))
    if corner is None:
        return
    points = points_of_the_ball(rng, d, sup.radius, np.zeros(d))
    scale = 1 + sup.rate * sup.score(points).max()
    for offered in (corner, *corner.with_rooms(theta), replace(corner, boxes=len(corner.rows))):
        assert offered.log_acceptance(points).max() < 1e-9 * scale


@pytest.mark.parametrize("seed", range(60))
def test_no_tilted_draw_depends_on_a_good_anchor(seed):
    """Any point makes an envelope, and an identity: not only the minimiser over the ball."""
    setting, rng = discrete(seed), np.random.default_rng(seed)
    plan, field = setting.build("exponential")
    rate, d, radius = (
        float(plan.rate) / Scale.of(plan).bound,
        len(field.vector),
        float(setting.radius),
    )
    point = radius * rng.normal(size=d) / d * (rng.uniform(size=d) < 0.6)
    anchor = Anchor(rate * field.matrix, rate * field.vector, radius, point)
    points = points_of_the_ball(rng, d, radius, np.zeros(d))
    scale = 1 + np.abs(exponent(plan, field, points)).max()
    assert (exponent(plan, field, points) - anchor.least).min() > -1e-9 * scale
    for tilted in anchor.proposals():
        assert tilted.log_acceptance(points).max() < 1e-9 * scale


def test_a_bound_that_is_too_high_is_seen():
    """Weights above one, or a level that begins too late, exceed the score somewhere."""
    for seed in range(40):
        plan, field = discrete(seed).build("kng")
        sup = Sup.of(plan, field)
        for guess in guesses(sup):
            corner = SupAtEdge.at(sup, guess)
            if corner is None or not corner.start > 0:
                continue
            points = points_of_the_ball(
                np.random.default_rng(seed), len(field.vector), sup.radius, guess.theta
            )
            wrong = replace(corner, weights=1.2 * guess.weights)
            if wrong.log_acceptance(points).max() > 1e-3:
                return
    raise AssertionError("no corner with weights of 1.2 was seen to exceed its score")


# --- laws ----------------------------------------------------------------------------------------


def cells(plan: DensityPlan, field: AffineGradient, theta: Array, rate: float) -> float:
    """Return the p-value of draws against quadrature, in a frame that follows the ball's edge.

    Coordinates are depth = 1 - ||theta||_1 / B and place = theta_1, cut at quantiles of the draws.
    """
    radius = float(plan.problem.domain.radius)  # type: ignore[attr-defined]
    depth, place = 1 - np.abs(theta).sum(axis=1) / radius, theta[:, 1]
    # theta_1 = place, |theta_0| = B (1 - depth) - |place|, dtheta = B d(depth) d(place); the window
    # is a little wider than the draws, and what lies beyond it is too rare to count.
    near = np.linspace(0, min(1.0, 1.3 * float(depth.max())), 2 * FINE + 1)[1::2]
    margin = 0.1 * float(np.ptp(place))
    along = np.linspace(place.min() - margin, place.max() + margin, 2 * FINE + 1)[1::2]
    first = radius * (1 - near)[:, None] - np.abs(along)
    logs = []
    for side in (1.0, -1.0):
        points = np.stack([side * first, np.broadcast_to(along, first.shape)], axis=-1)
        logs.append(np.where(first > 0, -rate * exponent(plan, field, points), -np.inf))
    log_mass = np.logaddexp(*logs).ravel()
    all_depth = np.repeat(near, FINE)
    all_place = np.tile(along, FINE)
    mass = np.exp(log_mass - logsumexp(log_mass))
    inner = np.linspace(0, 1, CELLS + 1)[1:-1]
    cuts = np.quantile(depth, inner), np.quantile(place, inner)

    def cell(a: Array, b: Array) -> Array:
        return np.searchsorted(cuts[0], a) * CELLS + np.searchsorted(cuts[1], b)

    expected = np.bincount(cell(all_depth, all_place), mass, CELLS**2)
    return p_value(cell(depth, place).tolist(), dict(enumerate(expected.tolist())))


# The estimate (0.25, 0.7) against the ball of radius 0.6: a little data, and enough to make the
# density fall by a factor of exp(20) and more across the ball. Then an estimate on a vertex, and
# one a little inside it.
FLAT = np.ones(300)
PLANES = {
    "kng-outside": ("kng", Setting(*line(200), Fraction(3, 5), Fraction(4)), SupAtEdge),
    "kng-far-outside": ("kng", Setting(*line(4000), Fraction(3, 5)), SupAtEdge),
    "kng-vertex": ("kng", Setting(line(300)[0], FLAT, Fraction(1)), SupAtEdge),
    "kng-inside": ("kng", Setting(line(300)[0], FLAT, Fraction(101, 100)), SupAtEdge),
    "exponential-outside": (
        "exponential",
        Setting(*line(400), Fraction(3, 5), Fraction(4)),
        GaussianAtEdge,
    ),
    "exponential-far-outside": (
        "exponential",
        Setting(*line(4000), Fraction(3, 5), Fraction(2)),
        GaussianAtEdge,
    ),
    "exponential-vertex": ("exponential", Setting(line(300)[0], FLAT, Fraction(1)), GaussianAtEdge),
    "exponential-inside": (
        "exponential",
        Setting(line(300)[0], FLAT, Fraction(101, 100)),
        GaussianAtEdge,
    ),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", PLANES)
def test_the_law_at_the_edge_of_a_ball_is_the_stated_one(name):
    mechanism, setting, kind = PLANES[name]
    plan, field = setting.build(mechanism)
    proposals = BEST[mechanism](plan, field)
    assert isinstance(proposals, kind)
    theta = drawn(proposals, 5)
    assert cells(plan, field, theta, 1.0) > ALARM
    assert cells(plan, field, theta, 1.2) < ALARM
    assert cells(plan, field, theta, 0.8) < ALARM


# Designs in which more rows and edges meet than a corner has: there the linear program and the path
# have ties. Three coordinates; two records, or five, many times over.
TWO = np.array([[-1, -1, 1], [-1, 0, -1.0]]), np.array([-1, 0.0])
DUMMIES = np.array([[1, 0], [0, 0], [0, 1], [0, 0], [1, 1.0]]), np.array([0, 1, 0, 0, 0.0])
FACTORIAL = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)]), np.array([1, 1, 1, -1.0])
TIED = {
    "two records": Setting(*TWO, Fraction(1, 5), intercept=False, copies=60.0),
    "dummies": Setting(*DUMMIES, Fraction(1, 2), copies=20.0),
    "factorial": Setting(*FACTORIAL, Fraction(1, 2), copies=20.0),
}


def octants(plan: DensityPlan, field: AffineGradient, theta: Array) -> dict[float, float]:
    """Return p-values of draws in three coordinates against quadrature, octant by octant.

    An octant is a simplex: depth, and where a point lies on its face, are cut into five each. Keys
    are factors of the rate.
    """
    radius, parts, fine = float(plan.problem.domain.radius), 5, 60  # type: ignore[attr-defined]
    middle = (np.arange(fine) + 0.5) / fine
    depth, a, b = (v.ravel() for v in np.meshgrid(middle, middle, middle, indexing="ij"))
    # |theta| = B (1 - depth) (s, (1 - s) t, (1 - s)(1 - t)); the Jacobian is (1 - depth)^2 (1 - s).
    unit = np.column_stack([a, (1 - a) * b, (1 - a) * (1 - b)]) * (1 - depth)[:, None]
    log_volume = 2 * np.log1p(-depth) + np.log1p(-a)
    inner = np.arange(1, parts) / parts
    sizes = np.abs(theta) / radius
    length = sizes.sum(axis=1)
    own = 1 - length, sizes[:, 0] / length, sizes[:, 1] / (length - sizes[:, 0])
    # Cuts are middles between points of the grid, near quantiles of the draws.
    cuts = [np.round(np.quantile(values, inner) * fine) / fine for values in own]
    signs = (theta > 0) @ [4, 2, 1]

    def cell(values: Any) -> Array:
        found = [np.searchsorted(c, v) for c, v in zip(cuts, values, strict=True)]
        return found[0] * parts**2 + found[1] * parts + found[2]

    at, seen = cell((depth, a, b)), (signs * parts**3 + cell(own)).tolist()
    sides = [np.array([1 if octant & bit else -1 for bit in (4, 2, 1)]) for octant in range(8)]
    exponents = np.array([exponent(plan, field, radius * side * unit) for side in sides])
    found = {}
    for rate in (0.8, 1.0, 1.2):
        logs = log_volume - rate * exponents
        mass = np.exp(logs - logsumexp(logs))
        expected = np.concatenate([np.bincount(at, row, parts**3) for row in mass])
        found[rate] = p_value(seen, dict(enumerate(expected.tolist())))
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", TIED)
def test_the_law_of_tied_designs_is_the_stated_one(mechanism, name):
    plan, field = TIED[name].build(mechanism)
    found = octants(plan, field, drawn(BEST[mechanism](plan, field), 6))
    assert found[1.0] > ALARM
    assert found[1.2] < ALARM
    assert found[0.8] < ALARM


def log_normaliser(proposals: Any) -> tuple[float, float]:
    """Return log(envelope x mean acceptance) and its standard error."""
    _, log_accept = proposals.batch(SeededBits(1), 2**15)
    assert log_accept.max() < 1e-9
    accept = np.exp(log_accept)
    mean, spread = float(accept.mean()), float(accept.std())
    if not mean:
        return np.nan, np.inf
    return float(proposals.log_envelope + np.log(mean)), spread / mean / 2**7.5


@pytest.mark.every(3)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", [*TIED, "d = 2", "d = 3", "d = 5", "room", "one column twice"])
def test_every_proposal_has_the_same_normaliser(mechanism, name):
    if name in TIED:
        setting = TIED[name]
    else:
        d = int(name[-1]) if name.startswith("d =") else 4
        draw = np.random.default_rng(d)
        X = draw.uniform(-1, 1, (100, d - 1))
        truth = np.array([0.6, 0.3, 0.02, -0.2])[: d - 1]
        y = np.clip(X @ truth + 0.5 + 0.1 * draw.normal(size=100), -1, 1)
        if name == "one column twice":
            X[:, -1] = X[:, 0]
        setting = Setting(X, y, Fraction(6, 5) if name == "room" else Fraction(1, 2))
    plan, field = setting.build(mechanism)
    found = [log_normaliser(proposals) for proposals in offers(plan, field)]
    sharp = [(value, error) for value, error in found if error < 0.05]
    value, error = min(sharp, key=lambda pair: pair[1])
    assert len(sharp) >= 3
    for other, its in sharp:
        assert abs(other - value) < 5 * np.hypot(error, its) + 1e-9


# --- no stall ------------------------------------------------------------------------------------


def hard(kind: str, n: int) -> tuple[Array, Array]:
    draw = np.random.default_rng(n)
    X = draw.uniform(-1, 1, (n, 11))
    y = X @ (np.arange(11) / 11 - 0.5) / 4 + 0.1 * draw.normal(size=n)
    if kind == "dead, constant and duplicated columns":
        X[:, 1], X[:, 2], X[:, 3] = X[:, 0], 1.0, 0.0
    if kind == "all columns alike":
        X = np.repeat(X[:, :1], 11, axis=1)
    if kind == "response at one bound":
        y = np.ones(n)
    if kind == "response at one bound, columns alike":
        X, y = np.repeat(X[:, :1], 11, axis=1), np.ones(n)
    if kind == "one leverage point":
        X, y = np.zeros_like(X), -np.ones(n)
        X[0], y[0] = 1.0, 1.0
    if kind == "one slope, no error":
        y = 0.5 * X[:, 0]
    if kind == "columns nearly alike":
        apart = 2.0**-15 * draw.choice([-1, 1], (n, 10)) * (draw.uniform(size=(n, 10)) < 0.3)
        X = 0.9 * np.column_stack([X[:, 0], X[:, :1] + apart])
        y = np.sign(X[:, 1] - X[:, 0])
    if kind == "dummies":
        X = (draw.uniform(size=(n, 11)) < 0.5).astype(float)
        y = np.clip(0.5 * X[:, 0] - 0.25 * X[:, 1], -1, 1)
    if kind == "factorial":
        X = np.sign(X)
        y = np.sign(X[:, 0] + X[:, 1] + X[:, 2])
    return X, y


KINDS = (
    "ordinary",
    "dead, constant and duplicated columns",
    "all columns alike",
    "response at one bound",
    "response at one bound, columns alike",
    "one leverage point",
    "one slope, no error",
    "columns nearly alike",
    "dummies",
    "factorial",
)
RADII = ["1/1000000000", "1/10000", "1/50", "1/4", "1/2", "51/100", "1", "101/100", "6/5", "3"]


@pytest.mark.every(8)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", RADII)
def test_no_ball_stalls_the_draw(mechanism, kind, radius):
    """Fewer than 50,000 proposals a draw, and mostly fewer than 100, from five records to 10^7."""
    for n, copies in ((5, 1), (1000, 1), (1000, 10_000)):
        plan, field = Setting(*hard(kind, n), Fraction(radius), copies=copies).build(mechanism)
        _, log_accept = BEST[mechanism](plan, field).batch(SeededBits(2), 2**15)
        assert log_accept.max() < 1e-6
        assert np.exp(log_accept).mean() > 2e-5


@pytest.mark.every(3)
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("shrink", [0.97, 0.99, 1.0])
@pytest.mark.parametrize("d", [12, 24, 30])
def test_no_matrix_is_too_near_singular(mechanism, shrink, d):
    """Kahan's: every column adds much to those before, and all of them are nearly dependent."""
    c = 0.75
    upper = np.eye(d) - c * np.triu(np.ones((d, d)), 1)
    rows = [
        upper[i] * 2.0**-k
        for i in range(d)
        for k in [min(11, max(0, int(-i * np.log(shrink * (1 - c * c)) / np.log(4))))]
        for _ in range(max(1, round(16 * ((1 - c * c) * shrink) ** i * 4**k)))
    ]
    X = np.array(rows)[:, ::-1]
    y = np.clip(X.sum(axis=1), -1, 1)
    plan, field = Setting(X, y, Fraction(1), intercept=False).build(mechanism)
    _, log_accept = BEST[mechanism](plan, field).batch(SeededBits(2), 2**10)
    assert np.isfinite(log_accept.max())


def test_other_norms_are_refused_on_a_ball():
    posed = problem(2, 10, Fraction(1), L2())
    with pytest.raises(IncompatibleParts, match="sup norm"):
        certified(KNG().plan(posed, Fraction(1)), "affine")
