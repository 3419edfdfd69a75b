"""What release_ promises: the tier, the parts, and what they take for granted."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from estimators.fitting import WAYS, model, table

import kng
from kng.core.privacy import Assumption, Guarantee
from kng.core.smoothing import EXTRA_RANGE

DRAWN_BY = {
    "linear": ("objective", "perturbed"),
    "linear kng": ("kng", "affine"),
    "linear ball kng": ("kng", "affine"),
    "linear exponential": ("exponential", "gaussian"),
    "linear objective": ("objective", "perturbed"),
    "huber": ("objective", "perturbed"),
    "huber auto": ("objective", "perturbed"),
    "huber ball": ("objective", "perturbed"),
    "quantile": ("kng", "branch-and-bound"),
    "quantile exponential": ("exponential", "branch-and-bound"),
}
# Those in which no float decides anything.
EXACT = {"branch-and-bound", "perturbed"}
# The two that reject until they accept have no public bound on their time; a solver has one.
UNBOUNDED = {"affine", "gaussian"}
CHAINED = [way for way, (_, sampler) in DRAWN_BY.items() if sampler in UNBOUNDED]


@pytest.mark.parametrize("way", WAYS)
def test_an_unseeded_fit_is_ideal_or_exact(way):
    release = model(way).fit(*table()).release_
    mechanism, sampler = DRAWN_BY[way]
    assert (release.mechanism, release.sampler) == (mechanism, sampler)
    expected = {Assumption.RANDOM_BITS, Assumption.UNSEEN_CLOCK}
    if sampler in EXACT:
        assert release.guarantee is Guarantee.EXACT
    else:
        assert release.guarantee is Guarantee.IDEAL
        expected.add(Assumption.REAL_ARITHMETIC)
    if sampler in UNBOUNDED:
        expected.add(Assumption.UNBOUNDED_TIME)
    assert set(release.assumptions) == expected
    assert len(release.assumptions) == len(expected)


@pytest.mark.parametrize("way", WAYS)
def test_a_seeded_fit_is_a_simulation_and_assumes_the_same_otherwise(way):
    plain, seeded = (model(way, random_state=s).fit(*table()).release_ for s in (None, 5))
    assert seeded.guarantee is Guarantee.SIMULATION
    assert (seeded.mechanism, seeded.sampler) == (plain.mechanism, plain.sampler)
    rest = set(plain.assumptions) - {Assumption.RANDOM_BITS}
    assert set(seeded.assumptions) == {Assumption.SEEDED, *rest}


@pytest.mark.parametrize("way", CHAINED)
@pytest.mark.parametrize(("chain", "seed"), [("hit-and-run", None), ("metropolis", 5)])
def test_a_chain_by_name_is_approximate_and_takes_a_fixed_time(way, chain, seed):
    release = model(way, sampler=chain, random_state=seed).fit(*table()).release_
    assert release.guarantee is (Guarantee.APPROXIMATE if seed is None else Guarantee.SIMULATION)
    assert release.sampler == chain
    assert Assumption.CONVERGED in release.assumptions
    assert Assumption.UNBOUNDED_TIME not in release.assumptions
    assert np.all(np.isfinite(release.value))


@pytest.mark.parametrize("way", WAYS)
def test_a_sampler_may_be_named(way):
    _, sampler = DRAWN_BY[way]
    named, automatic = (model(way, sampler=s, random_state=1) for s in (sampler, "auto"))
    assert named.fit(*table()).release_ == automatic.fit(*table()).release_


def test_automatic_mechanisms_are_chosen_from_public_facts():
    X, y = table()
    for way in ("linear", "linear ball kng"):
        options = {"mechanism": "auto", "random_state": 1}
        chosen = model(way, **options).fit(X, y).release_
        other = model(way, **options).fit(-X[::-1] / 7, np.zeros(len(y))).release_
        assert chosen.mechanism == other.mechanism == "objective"
        assert chosen.details == other.details


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("k", [1, 3])
def test_the_receipt_says_who_is_protected(way, relation, k):
    X, y = table()
    release = model(way, neighbours=relation, records_per_person=k).fit(X, y).release_
    assert release.neighbours == relation
    assert release.event.records_per_person == k
    assert release.event.epsilon == 1
    shown = repr(release)
    assert ("replaced by another" in shown) == (relation == "replace-one")
    assert (f"up to {k} records" in shown) == (k > 1)
    assert ("40 (public)" in shown) == (relation == "replace-one")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("epsilon", [1, 0.1, "1/3", Fraction(1, 3), np.float64(0.25)])
def test_epsilon_is_the_one_that_was_written(way, epsilon):
    release = model(way, epsilon=epsilon).fit(*table()).release_
    assert release.event.epsilon == Fraction(str(epsilon))
    assert release.epsilon == float(Fraction(str(epsilon)))
    # Density mechanisms have a bounded range, noise does not.
    once = release.mechanism in {"kng", "exponential"}
    smoothed = EXTRA_RANGE if release.sampler == "branch-and-bound" else 0
    assert release.event.width == release.event.epsilon * (1 if once else 2) + smoothed


def again(release: kng.Release) -> kng.Release:
    return kng.Release.from_json(release.to_json())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("intercept", [True, False])
def test_json_gives_the_coefficients_back_exactly(way, intercept):
    X, y = table()
    bounds: Any = np.array([[-1, 0.1], [1 / 3, 0.7]]) if intercept else (-1, 1)
    fitted = model(way, bounds_X=bounds, fit_intercept=intercept).fit(X, y)
    read = again(fitted.release_)
    assert read == fitted.release_
    first = int(intercept)
    assert np.array_equal(read.value[first:], fitted.coef_)
    assert not intercept or read.value[0] == fitted.intercept_
    assert read.exact_value == fitted.release_.exact_value
    assert json.loads(fitted.release_.to_json())["value"] == fitted.release_.value.tolist()
    assert json.loads(fitted.release_.to_json(indent=2)) == json.loads(fitted.release_.to_json())


@pytest.mark.parametrize("way", WAYS)
def test_the_value_is_recomputed_from_the_integers(way):
    release = model(way).fit(*table()).release_
    raw = json.loads(release.to_json())
    raw["value"] = [99.0] * len(raw["value"])
    assert np.array_equal(kng.Release.from_json(json.dumps(raw)).value, release.value)


@pytest.mark.parametrize("way", WAYS)
def test_the_receipt_shows_itself(way):
    release = model(way).fit(*table()).release_
    shown = repr(release)
    mechanism, sampler = DRAWN_BY[way]
    tier = "exact" if sampler in EXACT else "ideal"
    words = {"kng": "K-norm gradient mechanism", "objective": "objective perturbation"}
    method = f"{words.get(mechanism, 'exponential mechanism')} ({sampler} sampler)"
    for fact in (method, tier, "\nintercept  ", "\nx1  "):
        assert fact in shown
    assert all(a.meaning in shown for a in release.assumptions)
    assert "<table" in release._repr_html_()
    assert max(map(len, shown.splitlines())) < 200


@pytest.mark.parametrize("way", WAYS)
def test_bounds_on_the_receipt_are_those_of_the_caller(way):
    bounds = ([-1, "0.1"], [1, "0.3"])
    release = model(way, bounds_X=bounds, bounds_y=(-2, "2.5")).fit(*table()).release_
    assert release.bounds.low == (-1, Fraction(1, 10), -2)
    assert release.bounds.high == (1, Fraction(3, 10), Fraction(5, 2))
    assert release.bounds.columns == ("x0", "x1", "response")
    assert "response [-2, 2.5]" in repr(release)


@pytest.mark.parametrize("way", ["huber", "huber ball"])
def test_a_response_without_bounds_shows_none(way):
    release = model(way, bounds_y=...).fit(*table()).release_
    assert len(release.bounds) == 2
    assert again(release) == release


@pytest.mark.parametrize("way", WAYS)
def test_numbers_that_the_caller_stated_are_shown(way):
    details = model(way).fit(*table()).release_.details
    stated = WAYS[way][1]
    for name in ("coef_bound", "threshold"):
        if stated.get(name) != "auto" and way != "linear":
            assert details.get(name) == (str(stated[name]) if name in stated else None)
    shrunk = "shrunk towards 0; values more than 524288 away are clipped"
    assert (details.get("response") == shrunk) == (way in ("huber", "huber ball"))


@pytest.mark.parametrize("way", WAYS)
def test_equal_receipts_are_one_member_of_a_set(way):
    one, other = (model(way, random_state=seed).fit(*table()).release_ for seed in (1, 2))
    assert len({one, again(one), other, again(other)}) == 2


@pytest.mark.parametrize("way", ["quantile", "quantile exponential"])
def test_the_receipt_of_a_quantile_names_its_bound_and_its_shift(way):
    release = model(way, coef_bound="1.5", bounds_y=(-2, "2.5")).fit(*table()).release_
    assert release.details["coef_bound"] == "1.5"
    # 2**-13 of the range of y.
    assert release.details["response"].endswith(f"shifted at random by up to {4.5 / 2**13}")
    assert again(release) == release


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("n_max", "shown"), [(None, "private"), (99, "private, at most 99")])
def test_a_limit_that_nobody_stated_is_not_shown(way, n_max, shown):
    release = model(way, neighbours="add-remove", n_max=n_max).fit(*table()).release_
    assert release.details["records"] == shown
