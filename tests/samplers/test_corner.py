"""Draws beside a ball that leaves the estimate out have the stated law, and end."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from samplers.laws import ALARM, p_value
from scipy.special import logsumexp

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.errors import IncompatibleParts
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.regression import AffineField, CoefficientPlan, Regression
from kng.data import open_regression
from kng.domains import L1Ball
from kng.estimators.regression import encoded
from kng.losses import LeastSquares
from kng.mechanisms import KNG, Exponential
from kng.norms import L2, LInf
from kng.samplers import affine, gaussian
from kng.samplers.affine import Affine
from kng.samplers.corner import Corner, Nearest
from kng.samplers.tilted import Anchor, Tilted

SAMPLE = 40_000
CELLS = 12  # to a side
FINE = 1500  # points of the quadrature to a side


def problem(d: int, records: int, radius: Fraction, norm: Any) -> Regression:
    span = (Fraction(-1), Fraction(1), Fraction(1, 2**15))
    covariates = Bounds((Fraction(-1),) * (d - 1), (Fraction(1),) * (d - 1))
    design = Design(encoded(covariates, span), True)
    unit = PrivacyUnit(ReplaceOne(records))
    return Regression(LeastSquares(), norm, L1Ball(d, radius), design, unit)


def fitted(X: np.ndarray, y: np.ndarray, radius: Fraction) -> tuple[Regression, AffineField]:
    posed = problem(X.shape[1] + 1, len(X), radius, LInf())
    source = open_regression(X, y, posed.design.records)
    return posed, LeastSquares().read_affine(source, posed.design)


def line(n: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(n)
    X = draw.uniform(-1, 1, (n, 1))
    return X, 0.7 * X[:, 0] + 0.25 + 0.1 * draw.normal(size=n)


MECHANISMS: dict[str, tuple[Any, Any, type]] = {
    "kng": (KNG(), affine.best, Corner),
    "exponential": (Exponential(), gaussian.best, Tilted),
}
# The estimate (0.25, 0.7) against the ball of radius 0.6: a little data, and enough to make the
# density fall by a factor of exp(20) and more across the ball.
CASES = [("kng", 200, 4), ("kng", 4000, 1), ("exponential", 400, 4), ("exponential", 4000, 2)]


def exponent(plan: CoefficientPlan, field: AffineField, theta: np.ndarray) -> np.ndarray:
    """Return the plan's exponent, written out from the paper and not from the sampler."""
    if plan.score == "gradient":
        largest = np.abs(theta @ field.matrix - field.vector).max(axis=-1)
        return float(plan.rate) / plan.scale.bound * largest
    form = ((theta @ field.matrix) * theta).sum(axis=-1) / 2 - theta @ field.vector
    return float(plan.rate) / plan.scale.bound * form


def drawn(proposals: Any, seed: int) -> np.ndarray:
    bits, found, count = SeededBits(seed), [], 0
    while count < SAMPLE:
        theta, log_accept = proposals.batch(bits, SAMPLE)
        kept = theta[np.log(bits.uniforms(SAMPLE)) < log_accept]
        found.append(kept)
        count += len(kept)
    return np.concatenate(found)[:SAMPLE]


def cells(plan: CoefficientPlan, field: AffineField, theta: np.ndarray, rate: float) -> float:
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

    def cell(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.searchsorted(cuts[0], a) * CELLS + np.searchsorted(cuts[1], b)

    expected = np.bincount(cell(all_depth, all_place), mass, CELLS**2)
    return p_value(cell(depth, place).tolist(), dict(enumerate(expected.tolist())))


@pytest.mark.parametrize(("mechanism", "n", "epsilon"), CASES)
def test_the_law_beside_the_ball_is_the_stated_one(mechanism, n, epsilon):
    chosen, best, kind = MECHANISMS[mechanism]
    posed, field = fitted(*line(n), Fraction(3, 5))
    plan = chosen.plan(posed, Fraction(epsilon))
    proposals = best(plan, field)
    assert isinstance(proposals, kind)
    theta = drawn(proposals, 5)
    assert cells(plan, field, theta, 1.0) > ALARM
    assert cells(plan, field, theta, 1.2) < ALARM
    assert cells(plan, field, theta, 0.8) < ALARM


@pytest.mark.parametrize("d", [2, 3, 5])
def test_every_proposal_has_the_same_normaliser(d):
    draw = np.random.default_rng(d)
    X = draw.uniform(-1, 1, (100, d - 1))
    truth = np.array([0.6, 0.3, 0.02, -0.2])[: d - 1]
    posed, field = fitted(X, X @ truth + 0.5 + 0.1 * draw.normal(size=100), Fraction(1, 2))

    def log_normaliser(proposals: Any) -> tuple[float, float]:
        """Return log(envelope x mean acceptance) and its standard error."""
        _, log_accept = proposals.batch(SeededBits(1), 2**18)
        assert log_accept.max() < 1e-9
        accept = np.exp(log_accept)
        mean, spread = float(accept.mean()), float(accept.std())
        return float(proposals.log_envelope + np.log(mean)), spread / mean / 2**9

    def agree(one: Any, other: Any) -> None:
        (a, da), (b, db) = log_normaliser(one), log_normaliser(other)
        assert max(da, db) < 0.05
        assert abs(a - b) < 5 * np.hypot(da, db)

    plan = KNG().plan(posed, Fraction(1))
    corner = Corner.at(plan, field, Nearest.of(field, 0.5))
    assert corner is not None
    agree(corner, affine.Proposals.best(plan, field, 0.0))
    plan = Exponential().plan(posed, Fraction(1))
    split = gaussian.GaussianProposals.best(plan, field)
    anchor = Anchor.beside(split.precision, split.vector, 0.5)
    assert anchor is not None
    for tilted in anchor.proposals():
        agree(tilted, split)


def hard(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(n)
    X = draw.uniform(-1, 1, (n, 11))
    y = X @ (np.arange(11) / 11 - 0.5) / 4 + 0.1 * draw.normal(size=n)
    if kind == "dead, constant and duplicated columns":
        X[:, 1], X[:, 2], X[:, 3] = X[:, 0], 1.0, 0.0
    if kind == "response at one bound":
        y = np.ones(n)
    if kind == "one leverage point":
        X, y = np.zeros_like(X), -np.ones(n)
        X[0], y[0] = 1.0, 1.0
    return X, y


KINDS = (
    "ordinary",
    "dead, constant and duplicated columns",
    "response at one bound",
    "one leverage point",
)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radius", [Fraction(1, 50), Fraction(1, 4), Fraction(1, 2), Fraction(3)])
def test_no_ball_stalls_the_draw(mechanism, kind, radius):
    chosen, best, _ = MECHANISMS[mechanism]
    for n in (5, 100, 1000, 10_000, 100_000):
        posed, field = fitted(*hard(kind, n), radius)
        proposals = best(chosen.plan(posed, Fraction(1)), field)
        _, log_accept = proposals.batch(SeededBits(2), 2**15)
        assert log_accept.max() < 1e-6
        # Fewer than 100,000 proposals a draw, by the tenth of a sample that this bound allows.
        assert np.exp(log_accept).mean() > 1e-5


def test_other_norms_are_refused_on_a_ball():
    posed = problem(3, 10, Fraction(1), L2())
    with pytest.raises(IncompatibleParts, match="sup norm"):
        Affine().certify(KNG().plan(posed, Fraction(1)))
