"""``base=``: words, parts and earlier releases, in the units of theta; and what is refused."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import kng
from kng.bases import Density, Earlier, Gaussian, HeavyTailed, Student
from kng.core.errors import IncompatibleParts, SpecError, SpecTypeError
from kng.domains import Box, L1Ball, Whole
from kng.estimators.based import on_design
from kng.losses import Linear, Location, Pinball, Squared

RNG = np.random.default_rng(3)
LINE = {"bounds": (0, 10), "epsilon": 1}
PLANE = {"bounds_X": (0, 10), "bounds_y": (-4, 4), "epsilon": 1}
AGES = RNG.normal(6, 1, 60)
X = RNG.uniform(0, 10, (60, 1))
Y = 0.3 * X[:, 0] - 1 + RNG.normal(0, 0.2, 60)


@pytest.mark.parametrize("base", ["uniform", "heavy-tailed", "gaussian", "student", Gaussian(2, 6)])
def test_every_function_takes_a_base(base):
    answers = [
        kng.median(AGES, base=base, **LINE),
        kng.mean(AGES, base=base, mechanism="kng", **LINE),
        kng.mean(AGES, base=base, mechanism="exponential", granularity=0.1, **LINE),
        kng.geometric_median(
            np.c_[AGES, AGES[::-1]], bounds=(0, 10), epsilon=1, base=base, granularity=0.1
        ),
    ]
    for answer in answers:
        assert answer.guarantee == "exact"
        assert answer.details["base"] == (
            base if isinstance(base, str) else "Gaussian(2, centre=6)"
        )


def test_regressors_take_a_base_in_units_of_y():
    named = kng.QuantileRegressor(base="gaussian", **PLANE).fit(X, Y)
    assert named.release_.guarantee == "exact"
    # Half the range of y is 4, the unit of the standardised response.
    assert "base=Gaussian(1)" in named.release_.law.domain
    for made in (
        kng.LinearRegression(mechanism="kng", base=Student(8), **PLANE),
        kng.LinearRegression(mechanism="exponential", base=Student(8), coef_bound=8, **PLANE),
        kng.HuberRegressor(mechanism="kng", threshold=4, base=Student(8), **PLANE),
    ):
        assert "base=Student(2, 3)" in made.fit(X, Y).release_.law.domain
        assert made.release_.guarantee == "exact"


def test_a_base_draws_to_its_centre():
    pulled = [kng.median([5], base=Gaussian(0.1, 8), **LINE).value for _ in range(20)]
    assert abs(np.mean(pulled) - 8) < 0.2


def test_densities_hold_the_base_once():
    half = Location(Pinball(0.5))
    facts = {"bounds": (0, 10), "epsilon": 1, "grid": 11, "public": True, "granularity": 1}
    plain = kng.KNG(half, domain=Box(0, 10, base=Density(edges=[0, 10], weights=[1])))
    weighed = kng.KNG(half, domain=Box(0, 10, base=Gaussian(2, 3)))
    apart = weighed.density(AGES, **facts).log_density - plain.density(AGES, **facts).log_density
    np.testing.assert_allclose(apart, -((np.arange(11) - 3) ** 2) / 8, atol=1e-9)


def test_an_earlier_release_is_where_a_location_starts():
    last = kng.median(AGES, **LINE)
    base = Earlier(last)
    assert base.student == Student.at(last.exact_value, (F(1, 2),), F(3))
    assert kng.median(AGES, base=last, **LINE).details["base"] == "an earlier release (median)"
    assert Box(0, 10, 1, base=last).base == base
    noisy = kng.mean(AGES, **LINE)
    # sqrt(2) range / (epsilon n) of noise, and range / (2 sqrt(n))
    expected = 10 * np.sqrt(2) / 60 + 10 / (2 * np.sqrt(60))
    assert float(Earlier(noisy).student.place.scale[0]) == pytest.approx(expected)
    assert Earlier(noisy, scale=2, freedom=5).student.place.scale == (F(2),)


@pytest.mark.parametrize("intercept", [True, False])
def test_an_earlier_fit_becomes_effects_by_the_new_design(intercept):
    options = {**PLANE, "fit_intercept": intercept}
    last = kng.QuantileRegressor(**options).fit(X, Y).release_
    model = kng.QuantileRegressor(base=last, **{**options, "bounds_X": (0, 20)})
    plan_design = model._design(model._in_memory(X, Y)[0])
    box = on_design(Box(-16, 16, base=last), Linear(Pinball(0.5), intercept=intercept), plan_design)
    slope = float(last.value[-1])
    # coefficient times half a range of the new bounds, or the farther bound
    assert float(box.base.place.centre[-1]) == pytest.approx(slope * (10 if intercept else 20))
    if intercept:
        middle = float(last.value[0]) + slope * 10
        assert float(box.base.place.centre[0]) == pytest.approx(middle)
    assert float(box.base.place.scale[0]) == pytest.approx(0.4)
    assert model.fit(X, Y).release_.guarantee == "exact"


def test_releases_that_cannot_be_a_base():
    last = kng.median(AGES, **LINE)
    seeded = kng.median(AGES, random_state=1, **LINE)
    fit = kng.QuantileRegressor(**PLANE).fit(X, Y).release_
    pair = np.c_[AGES, AGES]
    for made, told in (
        (lambda: Earlier(seeded), "simulation cannot be a base measure"),
        (lambda: kng.median(AGES, base=seeded, **LINE), "simulation cannot"),
        (lambda: kng.geometric_median(pair, bounds=(0, 10), epsilon=1, base=last), "1 number, and"),
        (lambda: kng.mean(pair, mechanism="kng", **LINE | {"bounds": ([0, 0], [9, 9])}, base=fit),
         "coefficients of a linear model"),
        (lambda: kng.KNG(Location(Squared()), domain=Box([0, 0], [9, 9], base=fit)).plan(
            bounds=([0, 0], [9, 9]), epsilon=1), "coefficients of a linear model"),
        (lambda: kng.QuantileRegressor(base=last, **PLANE).fit(X, Y), "1 number, and theta has 2"),
    ):  # fmt: skip
        with pytest.raises(IncompatibleParts, match=told):
            made()


@pytest.mark.parametrize(
    ("made", "error", "told"),
    [
        (lambda: Gaussian(0), SpecError, "scale of Gaussian must be greater than 0"),
        (lambda: Gaussian([1, -1]), SpecError, "scale of Gaussian must be greater than 0"),
        (lambda: Gaussian("wide"), SpecError, "scale of Gaussian must be a number"),
        (lambda: Gaussian(1, centre=float("nan")), SpecError, "centre of Gaussian"),
        (lambda: Gaussian([1, 2], centre=[1, 2, 3]), SpecError, "2 numbers and centre has 3"),
        (lambda: Gaussian([]), SpecError, "0 numbers"),
        (lambda: Student(1, 0), SpecError, "freedom must be greater than 0"),
        (lambda: Student(0), SpecError, "scale of Student"),
        (lambda: HeavyTailed(0), SpecError, "freedom must be a whole number"),
        (lambda: Density(), SpecError, "needs a function, or edges"),
        (lambda: Density(3), SpecTypeError, "is not a function of theta"),
        (lambda: Density(edges=[0, 1], weights=[0]), SpecError, "weights of Density must be"),
        (lambda: Density(edges=[0, 1, 2], weights=[1, -1]), SpecError, "must be greater than 0"),
        (lambda: Density(edges=[0, 1, 1], weights=[1, 1]), SpecError, "must be increasing"),
        (lambda: Density(edges=[0, 1, 2], weights=[1]), SpecError, "2 cells"),
        (lambda: Density(edges=[[0, 1], [0, 1]], weights=[[1, 2]]), SpecError, "1 x 1 cells"),
        (lambda: Density(max, edges=[0, 1], weights=[1]), SpecError, "not both"),
        (lambda: Density(max, grid=0), SpecError, "grid of Density"),
        (lambda: Earlier(3.5), SpecTypeError, "takes a kng.Release"),
        (lambda: Box(0, 1, 2, base=Gaussian([1, 1, 1])), IncompatibleParts, "3 coordinates, and"),
        (lambda: Box(0, 1, 1, base=3), SpecTypeError, "3 is not a base"),
        (lambda: Box(0, 2, 1, base=Density(edges=[0, 1], weights=[1])), IncompatibleParts,
         "does not cover the domain"),
        (lambda: Box(0, 1, 2, base=Density(edges=[0, 1], weights=[1])), IncompatibleParts,
         "1 coordinates, and theta has 2"),
        (lambda: Box(0, 1, 3, base=Density(max, grid=64)), IncompatibleParts, "at most 65536"),
        (lambda: Box(0, 1, 1, base=Density(lambda t: t, grid=4)), SpecError, "one finite log"),
        (lambda: Box(0, 1, 1, base=Density(lambda t: t[:, 0] * np.nan, grid=4)), SpecError,
         "one finite log density for each of the 4 rows"),
        (lambda: Whole(base=Density(lambda t: t[:, 0])), IncompatibleParts, "no finite mass"),
        (lambda: kng.median([1], base="normal", **LINE), SpecError, "base must be one of"),
        (lambda: kng.median([1], base=7, **LINE), SpecError, "base must be one of"),
        (lambda: kng.median([1], base=object, **LINE), SpecTypeError, "is the class object"),
        (lambda: kng.median([1], base="gaussian", domain=Box(0, 1), **LINE), SpecError,
         "state it in the domain|State it in the domain"),
        (lambda: kng.median([1], base="gaussian", sampler="order", **LINE), IncompatibleParts,
         "sampler='order' does not serve"),
        (lambda: kng.mean([1], base="gaussian", **LINE), IncompatibleParts, "adds noise"),
        (lambda: kng.LinearRegression(base="gaussian", **PLANE).fit(X, Y), IncompatibleParts,
         "Use mechanism='kng' or 'exponential'"),
        (lambda: kng.LinearRegression(base="uniform", mechanism="kng", **PLANE).fit(X, Y),
         IncompatibleParts, "no finite mass"),
        (lambda: kng.LinearRegression(base="gaussian", mechanism="kng", **PLANE).fit(
            np.ones((60, 6)), Y), IncompatibleParts, "up to 5 coefficients.*hit-and-run"),
        (lambda: kng.HuberRegressor(threshold=1, base="gaussian", **PLANE).fit(X, Y),
         IncompatibleParts, "adds noise"),
        (lambda: kng.ObjectivePerturbation(
            Linear(Squared()), domain=L1Ball(4, base=Gaussian(1))).plan(**PLANE),
         IncompatibleParts, "has no base measure"),
        (lambda: kng.KNG(Location(Pinball(0.5)), domain=Whole()).plan(**LINE), IncompatibleParts,
         "Whole"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(made, error, told):
    with pytest.raises(error, match=told):
        made()


def test_a_base_of_ones_own_serves_and_is_never_called_proved():
    class Peaked:
        even = False
        finite = True
        limits = None

        def fitted(self, region):
            return self

        def scaled(self, factor):
            return self

        def exponent(self, theta):
            return 50 * sum(abs(v - 7) for v in theta)

        def exponent_bounds(self, low, high):
            inside = (low <= 7) & (high >= 7)
            ends = np.abs(low - 7), np.abs(high - 7)
            near = np.where(inside, 0, np.minimum(*ends)).sum(axis=1)
            return 50 * near * (1 - 1e-9), 50 * np.maximum(*ends).sum(axis=1) * (1 + 1e-9)

        def log_density(self, theta):
            return -50 * np.abs(theta - 7).sum(axis=1)

    found = kng.median([1, 2], base=Peaked(), **LINE)
    assert abs(found.value - 7) < 0.5
    assert found.guarantee == "ideal"
    assert "callers-parts" in found.assumptions
