"""Fits without an intercept, within bounds that are not symmetric around 0."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from estimators.fitting import WAYS, model
from scipy.optimize import minimize

import kng
from kng.core.design import across, from_zero
from kng.estimators.public_facts import Columns

LOW, HIGH = np.array([0.0, 18.0]), np.array([10.0, 90.0])
COEF = np.array([1.5, -0.3])
BOUNDS_Y = (-30, 15)
THRESHOLD = 0.8
# The exponential mechanism's noise falls with the root of epsilon only.
TOLERANCE = {"linear exponential": 0.05, "quantile exponential": 0.1}


def survey(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Return covariates that reach beyond their bounds, and a plane through 0 with heavy tails."""
    draw = np.random.default_rng(5)
    X = draw.uniform(LOW - 1, HIGH + 1, (n, 2))
    return X, np.clip(X, LOW, HIGH) @ COEF + 0.5 * draw.standard_t(3, n)


def fitted(way: str, X: np.ndarray, y: np.ndarray, **options: Any) -> Any:
    given: dict[str, Any] = {"bounds_X": (LOW, HIGH), "bounds_y": BOUNDS_Y, "fit_intercept": False}
    if "coef_bound" in WAYS[way][1]:
        given["coef_bound"] = 60
    if "threshold" in WAYS[way][1]:
        given["threshold"] = THRESHOLD
    return model(way, **{"random_state": 0, **given, **options}).fit(X, y)


def expected(way: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the fit of somebody else, on clipped records."""
    X = np.clip(X, LOW, HIGH)
    if way.startswith("quantile"):
        return np.asarray(sm.QuantReg(np.clip(y, *BOUNDS_Y), X).fit(q=0.5).params)
    if way.startswith("linear"):
        return np.asarray(np.linalg.lstsq(X, np.clip(y, *BOUNDS_Y), rcond=None)[0])

    def loss(coef: np.ndarray) -> float:
        r = np.abs(y - X @ coef) / THRESHOLD
        return float(np.where(r <= 1, r * r / 2, r - 0.5).sum())

    options = {"xatol": 1e-9, "fatol": 1e-9, "maxiter": 5000, "maxfev": 5000}
    return np.asarray(minimize(loss, COEF, method="Nelder-Mead", options=options).x)


def apart(one: np.ndarray, other: np.ndarray) -> float:
    """Compare predictions over the whole box, in the units of y."""
    corners = np.array(np.meshgrid(*zip(LOW, HIGH, strict=True))).reshape(2, -1).T
    return float(np.abs(corners @ (one - other)).max())


@pytest.mark.parametrize("way", WAYS)
def test_with_next_to_no_noise_it_is_the_plain_fit_in_the_caller_s_units(way):
    X, y = survey()
    found = fitted(way, X, y, epsilon=10**5)
    assert found.intercept_ == 0
    assert apart(found.coef_, expected(way, X, y)) < TOLERANCE.get(way, 0.01)


def test_so_is_huber_by_kng():
    X, y = survey()
    found = fitted("huber", X, y, epsilon=200, mechanism="kng")
    assert found.release_.sampler == "branch-and-bound"
    assert apart(found.coef_, expected("huber", X, y)) < 0.05


@pytest.mark.parametrize("quantile", [0.1, 0.9])
def test_outer_quantiles_at_an_ordinary_epsilon(quantile):
    X, y = survey(20000)
    clipped = np.clip(X, LOW, HIGH)
    plain = sm.QuantReg(y, clipped).fit(q=quantile).params
    found = fitted("quantile", X, y, quantile=quantile, epsilon=1)
    assert apart(found.coef_, np.asarray(plain)) < 0.3


@pytest.mark.parametrize("way", WAYS)
def test_units_of_covariates_and_response_do_not_matter(way):
    X, y = survey(60)
    plain = fitted(way, X, y)
    options = {name: 8 * v for name, v in (("coef_bound", 60), ("threshold", THRESHOLD))
               if name in WAYS[way][1]}  # fmt: skip
    bounds_y = tuple(8 * v for v in BOUNDS_Y)
    same = fitted(way, 16 * X, 8 * y, bounds_X=(16 * LOW, 16 * HIGH), bounds_y=bounds_y, **options)
    assert same.release_.integers == plain.release_.integers
    assert np.allclose(16 * same.coef_, 8 * plain.coef_, rtol=1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_records_are_clipped_to_the_caller_s_own_bounds(way):
    """Not to -M .. M, of which the sensitivity knows nothing."""
    X, y = survey(60)
    inside = fitted(way, np.clip(X, LOW, HIGH), y)
    X = np.where(X <= LOW, -1e9, X)
    assert fitted(way, X, y).release_.integers == inside.release_.integers
    assert inside.release_.bounds.low[:2] == (0, 18)
    assert inside.release_.bounds.high[:2] == (10, 90)


@pytest.mark.parametrize("way", WAYS)
def test_symmetric_bounds_are_what_they_were(way):
    """One column of symmetric bounds beside one that is not keeps its integers."""
    kind, options = WAYS[way]
    design = kind(
        bounds_X=([-3, 0], [3, 1]), bounds_y=(-2, 2), fit_intercept=False, **options
    )._design(Columns(2))
    three = Fraction(3)
    assert across(-three, three, 2**16) == from_zero(-three, three, 2**16)
    assert (design.records.bounds.low[0], design.records.bounds.high[0]) == (-3, 3)
    assert design.offsets[0] == design.spans[0] == design.records.last[0] == 2**16
    assert (design.offsets[1], design.spans[1], design.records.last[1]) == (0, 2**16, 2**15)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"bounds_X": (0, 0)}, "low < high"),
        ({"bounds_X": ([0, 5], [1, 5])}, "low < high"),
        ({"bounds_X": (10**6, 10**6 + 1)}, "distance from 0"),
        ({"bounds_X": np.array([[0, 10**9], [1, 10**9 + 1]])}, r"\(1000000000, 1000000001\)"),
        ({"bounds_y": (0, 0)}, "low < high"),
    ],
    ids=str,
)
def test_what_cannot_be_measured_from_zero_is_refused_before_the_charge(way, bounds, words, ledger):
    X, y = survey(20)
    with pytest.raises(kng.KngError, match=words):
        fitted(way, X, y, random_state=None, ledger=ledger, **bounds)
    assert ledger.spent == 0


@pytest.mark.parametrize("way", ["linear", "quantile"])
def test_a_response_too_far_from_zero_is_refused_before_the_charge(way, ledger):
    X, y = survey(20)
    far = (10**9, 10**9 + 1)
    with pytest.raises(kng.KngError, match="distance from 0"):
        fitted(way, X, y, random_state=None, ledger=ledger, bounds_y=far)
    assert ledger.spent == 0


@pytest.mark.parametrize("way", [way for way in WAYS if "coef_bound" in WAYS[way][1]])
@pytest.mark.parametrize("bound", [0.5, 5, 60])
def test_coefficients_stay_within_the_bound_as_it_is_documented(way, bound):
    # sum_j |coef_j| max(|low_j|, |high_j|) <= coef_bound
    X, y = survey(80)
    for seed in range(5):
        found = fitted(way, X, y, coef_bound=bound, random_state=seed)
        assert np.abs(found.coef_) @ HIGH <= bound + 1e-6
