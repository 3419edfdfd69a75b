"""Slopes and secants of pointwise functions: attacked between the ends, attained at one of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from kng.core.bits import SeededBits
from kng.losses import Expectile, Huber, Logistic, Pinball
from kng.losses.pointwise.function import Interval
from kng.losses.pointwise.sloped import Sloped
from kng.norms import L1, L2, InterceptSup, LInf, WeightedSup
from kng.norms.forms import largest_over_box

FUNCTIONS = [Logistic(), Huber(0.7), Expectile(0.2), Expectile(0.9)]


def places(size: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    eta = rng.normal(0, 3, size)
    reach = np.exp(rng.uniform(-16, 2, size))
    return eta, reach, rng.choice([0.0, 1.0], size)


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_slopes_and_secants_are_least_at_an_end(function: Sloped) -> None:
    eta, reach, y = places()
    least, secant = function.least_slopes(eta, reach, y)
    middle, _ = function.curve(eta, y)
    best_slope, best_secant = np.full(len(eta), np.inf), np.full(len(eta), np.inf)
    for share in np.linspace(-1, 1, 201):
        psi, slope = function.curve(eta + share * reach, y)
        best_slope = np.minimum(best_slope, slope)
        if share:
            best_secant = np.minimum(best_secant, (psi - middle) / (share * reach))
    # Secants over so little lose digits: a few 2**-53 of psi over a hundredth of the reach.
    lost = 1e-13 * (1 + np.abs(eta)) / reach + 1e-12
    assert (least <= best_slope).all()
    np.testing.assert_allclose(least, best_slope)  # attained
    assert (secant <= best_secant + lost).all()
    long = reach > 1e-4
    np.testing.assert_allclose(secant[long], best_secant[long], atol=1e-7)
    assert (secant >= least).all()


@pytest.mark.parametrize("function", FUNCTIONS, ids=repr)
def test_the_curve_is_the_function(function: Sloped) -> None:
    eta, _, y = places(100)
    psi, slope = function.curve(eta, y)
    unit = Fraction(1, 2**20)
    span = Interval(Fraction(-20), Fraction(20))
    stepped = function.stepped(unit, span, span)
    whole = stepped.psi(np.rint(eta * 2**20), y * 2**20) * float(stepped.psi_step)
    np.testing.assert_allclose(psi, whole, atol=1e-5)
    rise = function.curve(eta + 1e-6, y)[0] - function.curve(eta - 1e-6, y)[0]
    np.testing.assert_allclose(rise / 2e-6, slope, atol=1e-5)


def test_a_slope_with_two_tops_would_not_do() -> None:
    """Ends alone would promise a secant that is not the least."""

    def psi(x: float) -> float:
        return min(x, 0.1) + max(x - 1, 0)

    assert min(psi(10) / 10, 0.9) > psi(1) / 1


def test_functions_that_jump_are_not_sloped() -> None:
    assert not isinstance(Pinball(0.5), Sloped)
    assert all(isinstance(function, Sloped) for function in FUNCTIONS)


NORMS = [
    LInf(),
    LInf(weights=(1, 2, 0.5)),
    WeightedSup((1, 3, 2)),
    L1(),
    L1(weights=(1, 2, 0.5)),
    L2(),
    L2(weights=(1, 2, 0.5)),
    InterceptSup(Fraction(1, 2)),
    InterceptSup(Fraction(4, 5)),
    InterceptSup(1),
]


@pytest.mark.parametrize("norm", NORMS, ids=repr)
def test_forms_are_largest_somewhere_on_the_ball(norm: LInf) -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        root = rng.normal(size=(3, 3))
        matrix = root @ root.T
        claimed = norm.largest_form(matrix)
        points = rng.normal(size=(4000, 3)) * np.exp(rng.normal(0, 1, (4000, 3)))
        # Extreme points of every ball here are multiples of these.
        corners = np.array(list(product((-1.0, 1.0), repeat=3)))
        sides = ((1, 1, 1), (1, 0.5, 2), (1, 3, 2), (0, 1, 1))
        points = np.vstack([points, np.eye(3), *(corners * side for side in sides)])
        points = points / norm.lengths(points)[:, None]
        forms = np.einsum("ij,ij->i", points @ matrix, points)
        assert forms.max() <= claimed * (1 + 1e-12)
        assert forms.max() >= claimed * (0.98 if isinstance(norm, L2) else 1 - 1e-12)


def test_forms_in_many_coordinates_are_bounded() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(18, 18))
    matrix = root @ root.T
    signs = np.sign(rng.normal(size=(5000, 18)))
    claimed = largest_over_box(matrix, np.ones(18))
    assert np.einsum("ij,ij->i", signs @ matrix, signs).max() <= claimed
    inner = largest_over_box(matrix[:16, :16], np.ones(16))
    assert inner <= claimed <= float(np.abs(matrix).sum())


@pytest.mark.parametrize("slope", [Fraction(1, 2), Fraction(4, 5), Fraction(1)])
def test_directions_of_the_norm_with_an_intercept_have_the_cone_measure(slope: Fraction) -> None:
    norm, d, size = InterceptSup(slope), 4, 40_000
    found = norm.directions(SeededBits(1), size, d)
    np.testing.assert_allclose(norm.lengths(found), 1)
    # A uniform point of the ball is a direction times U**(1/d), whose mean square is d / (d + 2).
    squares = (found**2).mean(axis=0) * d / (d + 2)
    np.testing.assert_allclose(squares, norm.second_moments(d), rtol=0.03)
    box = 2 * SeededBits(2).uniforms(size, d) - 1
    box[:, 1:] /= float(slope)
    share = (norm.lengths(box) <= 1).mean()
    whole = 2.0**d / float(slope) ** (d - 1)
    assert np.exp(norm.log_volume(d)) == pytest.approx(share * whole, rel=0.03)
