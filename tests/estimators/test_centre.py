"""A public guess of the coefficients: read in the caller's units, drawn to, and never required."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from estimators.fitting import model, table
from estimators.test_refusals import NOT_NUMBERS, ours, refused

import kng

WAYS = ["linear", "linear objective", "huber", "huber auto", "huber ball"]
GUESS = (0.5, -0.25, 0.75)
NARROW = {"bounds_X": ([2, -1], [3, 4]), "bounds_y": (10, 20), "random_state": 0}


@pytest.mark.parametrize("way", ["huber", "huber ball"])
@pytest.mark.parametrize("intercept", [True, False])
def test_without_budget_the_answer_moves_with_the_guess(way, intercept):
    """At a tiny epsilon the ridge outweighs the records."""
    X, y = table(20)
    guess = np.array(GUESS[: 2 + intercept])

    def mean(centre):
        options = {"coef_bound": 400} if way == "huber ball" else {}
        options |= {"epsilon": 0.01, "fit_intercept": intercept, "centre": centre}
        fits = [model(way, **options, random_state=seed).fit(X, y) for seed in range(40)]
        return np.mean([np.atleast_1d(fit.release_.value) for fit in fits], axis=0)

    # The same noise with and without, so that the difference is the centre alone.
    assert np.allclose(mean(guess) - mean(None), guess, rtol=0.2, atol=0.05)


@pytest.mark.parametrize("way", ["linear objective", "huber"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_guess_is_in_the_caller_s_units(way, intercept):
    """A response that lies on the guess exactly stays there: neither data nor ridge pull away."""
    rng = np.random.default_rng(1)
    X = rng.uniform([2, -1], [3, 4], (2000, 2))
    plane = np.array([11.0, 1.5, 0.5] if intercept else [4.5, 1.0])
    y = X @ plane[-2:] + (plane[0] if intercept else 0.0)
    bound = {"coef_bound": 40} if way == "linear objective" else {}
    options = {**NARROW, **bound, "epsilon": 1000, "fit_intercept": intercept}
    near = model(way, **options, centre=plane).fit(X, y)
    assert np.allclose(np.atleast_1d(near.release_.value), plane, atol=0.1)


def test_an_earlier_answer_helps():
    """Few new records, many old ones: the second wave is drawn to the first."""
    errors = {"none": [], "first wave": []}
    truth = np.array([0.0, 2.0, -1.0, 1.0])
    for seed in range(20):
        rng = np.random.default_rng(seed)

        def wave(n, rng=rng):
            X = rng.uniform(-1, 1, (n, 3))
            return X, X @ truth[1:] + 0.3 * rng.normal(size=n)

        given = {"epsilon": 0.5, "threshold": 0.5, "bounds_X": (-1, 1), "random_state": seed}
        first = kng.HuberRegressor(**given).fit(*wave(20_000))
        later = wave(300)
        for name, centre in (("none", None), ("first wave", first.release_.value)):
            second = kng.HuberRegressor(**given, centre=centre).fit(*later)
            errors[name].append(np.linalg.norm(np.array(second.release_.value) - truth))
    assert np.mean(errors["first wave"]) < 0.75 * np.mean(errors["none"])


@pytest.mark.parametrize("way", ["linear objective", "huber"])
def test_the_receipt_states_it(way):
    X, y = table()
    release = model(way, centre=["1/2", 0.25, -1], random_state=0).fit(X, y).release_
    assert release.details["centre"] == "0.5, 0.25, -1"
    assert "centre" in str(release)


def test_auto_takes_the_mechanism_that_has_a_centre():
    X, y = table()
    fit = kng.LinearRegression(
        epsilon=1, bounds_X=(-1, 1), bounds_y=(-2, 2), coef_bound=3, centre=GUESS, random_state=0
    ).fit(X, y)
    assert fit.release_.mechanism == "objective"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "centre", [1, (1, 2), (1, 2, 3, 4), "abc", [[1, 2, 3]], (1, 2, 1e9), (), {"a": 1}, *NOT_NUMBERS]
)
def test_bad_centres_are_refused(way, centre, ledger):
    ours(refused(way, ledger, "centre", centre=centre))


@pytest.mark.parametrize("number", NOT_NUMBERS)
def test_bad_numbers_in_a_centre_are_refused(number, ledger):
    ours(refused("huber", ledger, "centre", centre=(0, number, 0)))


@pytest.mark.parametrize("way", ["linear ball kng", "linear exponential"])
def test_other_mechanisms_have_no_ridge_to_centre(way, ledger):
    ours(refused(way, ledger, "objective", centre=GUESS))


@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
def test_nor_has_huber_s_box(mechanism, ledger):
    ours(refused("huber", ledger, "objective", centre=GUESS, mechanism=mechanism))


def test_least_squares_by_name_needs_a_bound_for_it(ledger):
    ours(refused("linear", ledger, "coef_bound", centre=GUESS, mechanism="objective"))


def test_the_inverse_of_the_units_is_exact():
    for fit_intercept in (True, False):
        design = model("linear", fit_intercept=fit_intercept, **NARROW)._design(
            kng.estimators.public_facts.Columns(2, None)
        )
        value = tuple(Fraction(k, 7) for k in range(1, design.dim + 1))
        assert design.units.inverse(design.units(value)) == value
