"""Bad arguments: refused before the charge, by name, without a look at the records."""

from __future__ import annotations

import math
from collections import UserList
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimators.fitting import EACH, WAYS, model, table, watched
from scipy import sparse

import kng
from kng.core.errors import IncompatibleParts, SpecError


def refused(
    way: str, ledger: kng.Ledger, match: str, X: Any = None, y: Any = None, **options: Any
) -> Exception:
    """Fit, and check that what leaves is one error: nothing read, charged, written or said."""
    journal: list[str] = []
    covariates, response = table()
    X = watched(covariates, journal) if X is None else X
    y = watched(response, journal) if y is None else y
    before = ledger.head
    with pytest.raises(kng.KngError, match=match) as caught:
        model(way, **{"ledger": ledger, **options}).fit(X, y)
    assert journal == [], "a record was read"
    assert ledger.head == before
    assert (ledger.spent, ledger.history()) == (0, [])
    assert len(str(caught.value)) < 400
    return caught.value


def ours(error: Exception) -> None:
    assert isinstance(error, kng.KngError)
    assert isinstance(error, ValueError | TypeError)


NOT_NUMBERS = [
    pytest.param(math.nan, id="nan"),
    pytest.param(math.inf, id="inf"),
    pytest.param("x", id="text"),
    pytest.param(True, id="bool"),
    pytest.param([1], id="list"),
    pytest.param(1j, id="complex"),
    pytest.param("1/0", id="1/0"),
    pytest.param(1e-305, id="too small for a double"),
    pytest.param(10**400, id="too large for a double"),
]
NOT_POSITIVE = [0, -1, -0.0, *NOT_NUMBERS]


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("epsilon", [*NOT_POSITIVE, None, ...])
def test_epsilon(way, epsilon, ledger):
    ours(refused(way, ledger, "epsilon", epsilon=epsilon))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("coef_bound", NOT_POSITIVE)
def test_coef_bound(way, coef_bound, ledger):
    ours(refused(way, ledger, "coef_bound", coef_bound=coef_bound))


@pytest.mark.parametrize("way", ["huber", "huber ball"])
@pytest.mark.parametrize("threshold", [*NOT_POSITIVE, None, ...])
def test_threshold(way, threshold, ledger):
    ours(refused(way, ledger, "threshold", threshold=threshold))


NOT_BOUNDS = [
    pytest.param((1, -1), id="reversed"),
    pytest.param((1, 1), id="empty"),
    pytest.param((math.nan, 1), id="nan"),
    pytest.param((-math.inf, math.inf), id="inf"),
    pytest.param((None, 1), id="none"),
    pytest.param(("a", "b"), id="texts"),
    pytest.param((-1,), id="one end"),
    pytest.param((-1, 0, 1), id="three ends"),
    pytest.param((), id="no ends"),
    pytest.param("ab", id="text"),
    pytest.param(5, id="number"),
    pytest.param(([-1, -1], [1]), id="uneven"),
    pytest.param(([-1, 1], [1, 1]), id="one reversed"),
    pytest.param({}, id="no names"),
    pytest.param({"a": 1}, id="name without a pair"),
    pytest.param({"a": (1, -1)}, id="named and reversed"),
]


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("bounds", NOT_BOUNDS)
def test_bounds_of_the_covariates(way, bounds, ledger):
    ours(refused(way, ledger, "bounds_X", bounds_X=bounds))


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("bounds", NOT_BOUNDS)
def test_bounds_of_the_response(way, bounds, ledger):
    ours(refused(way, ledger, "bounds_y", bounds_y=bounds))


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("bounds", [None, ...])
def test_missing_bounds(way, bounds, ledger):
    error = refused(way, ledger, "bounds_X is missing", bounds_X=bounds)
    assert "never read from the data" in str(error)
    if way == "linear":
        error = refused(way, ledger, "bounds_y is missing", bounds_y=bounds)
        assert "never read from the data" in str(error)


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("columns", [3, 5])
def test_another_number_of_bounds(way, columns, ledger):
    bounds = ([-1] * columns, [1] * columns)
    error = refused(way, ledger, rf"bounds_X.*{columns}.*2", bounds_X=bounds)
    ours(error)
    ours(refused(way, ledger, "bounds_y", bounds_y=bounds))


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("name", ["mechanism", "norm", "neighbours"])
@pytest.mark.parametrize("value", ["magic", "", None, 3, ["kng"]])
def test_words_that_are_none_of_the_choices(way, name, value, ledger):
    error = refused(way, ledger, name, **{name: value})
    ours(error)
    assert "'auto'" in str(error) or "'add-remove'" in str(error), "the choices are told"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", ["magic", "order", "noise", None, 3, ["affine"]])
def test_samplers_that_do_not_exist_here(way, value, ledger):
    error = refused(way, ledger, "sampler", sampler=value)
    ours(error)
    assert "'auto'" in str(error)


MISFITS = {
    "linear": ["affine", "gaussian", "hit-and-run"],
    "linear kng": ["gaussian", "perturbed"],
    "linear ball kng": ["gaussian", "perturbed"],
    "linear exponential": ["affine", "perturbed"],
    "linear objective": ["affine", "gaussian", "hit-and-run", "metropolis"],
    "huber": ["affine", "gaussian", "hit-and-run", "metropolis"],
    "huber ball": ["affine", "gaussian", "hit-and-run", "metropolis"],
}


@pytest.mark.parametrize(("way", "sampler"), [(w, s) for w in MISFITS for s in MISFITS[w]])
def test_samplers_that_do_not_fit_the_mechanism(way, sampler, ledger):
    error = refused(way, ledger, f"sampler='{sampler}'", sampler=sampler)
    assert isinstance(error, IncompatibleParts)


@pytest.mark.parametrize("mechanism", ["exponential", "objective"])
def test_mechanisms_that_need_a_bound_on_the_coefficients(mechanism, ledger):
    error = refused("linear", ledger, "coef_bound", mechanism=mechanism)
    assert isinstance(error, IncompatibleParts)


@pytest.mark.parametrize("mechanism", ["exponentially", "k-norm"])
def test_mechanisms_that_huber_has_not(mechanism, ledger):
    ours(refused("huber", ledger, "mechanism", mechanism=mechanism))


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_the_exponential_mechanism_has_no_norm(norm, ledger):
    ours(refused("linear exponential", ledger, "norm", norm=norm))


@pytest.mark.parametrize("way", ["linear kng", "linear ball kng", "linear exponential"])
@pytest.mark.parametrize("chain", ["hit-and-run", "metropolis"])
def test_a_ledger_books_no_chain(way, chain, ledger):
    ours(refused(way, ledger, "approximate", sampler=chain))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [0, 7, np.random.RandomState(1), np.random.default_rng(1)])
def test_a_ledger_books_no_seed(way, seed, ledger):
    ours(refused(way, ledger, "random_state", random_state=seed))


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("seed", [-1, 1.5, "7", [1], True])
def test_seeds_that_are_none(way, seed, ledger):
    ours(refused(way, ledger, "random_state", random_state=seed))


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("value", [1, 0, None, "yes", []])
def test_fit_intercept(way, value, ledger):
    ours(refused(way, ledger, "fit_intercept", fit_intercept=value))


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("k", [0, -1, 1.5, math.nan, "x", None])
def test_records_per_person(way, k, ledger):
    ours(refused(way, ledger, "records_per_person", records_per_person=k))


@pytest.mark.parametrize("way", EACH)
def test_n_max(way, ledger):
    ours(refused(way, ledger, "n_max", n_max=100))
    for n_max in (0, -1, 1.5, "x"):
        ours(refused(way, ledger, "n_max", n_max=n_max, neighbours="add-remove"))


@pytest.mark.parametrize("way", EACH)
def test_another_promise_than_the_account_keeps(way, books):
    journal: list[str] = []
    X, y = (watched(part, journal) for part in table())
    ledger = kng.Ledger(books / "kept.ledger", cap=9, neighbours="replace-one")
    # The first counts twice: what it is for is the account's relation done two times.
    for options in ({"neighbours": "add-remove", "epsilon": 5}, {"epsilon": 10}):
        with pytest.raises(kng.KngError):
            model(way, ledger=ledger, **options).fit(X, y)
    assert (ledger.spent, journal) == (0, [])


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("value", [5, object(), [], {}])
def test_ledgers_that_are_none(way, value):
    with pytest.raises(kng.KngError, match="ledger"):
        model(way, ledger=value).fit(*table())


def secret(shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of a number that no error may show."""
    return np.full(shape, 0.987654321)


SHAPES = {
    "no dimension": secret(()),
    "one dimension": secret((40,)),
    "three dimensions": secret((40, 2, 2)),
    "complex": secret((40, 2)).astype(complex),
    "sparse": sparse.csr_array(secret((40, 2))),
    "sparse matrix": sparse.coo_matrix(secret((40, 2))),
    "no columns": secret((40, 0)),
    "fewer records than y": secret((39, 2)),
    "more records than y": secret((41, 2)),
    "no records": secret((0, 2)),
    "text": "0.987654321",
    "number": 0.987654321,
    "a series": pd.Series(secret((40,))),
    "a list of numbers": secret((40,)).tolist(),
    "a list whose width only its rows tell": secret((40, 2)).tolist(),
    "dates": np.full((40, 2), "2020-01-01", dtype="datetime64[D]"),
    "none": None,
    "a generator": (row for row in [[0.987654321, 0.0]] * 40),
    "a set": {0.987654321},
    "a mapping": {"a": secret((40,)), "b": secret((40,))},
    "another sequence": UserList(secret((40, 2)).tolist()),
}


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_shapes_of_the_covariates(way, shape, relation, ledger):
    X, journal = SHAPES[shape], []
    y = watched(table()[1], journal)
    with pytest.raises(kng.KngError) as caught:
        model(way, ledger=ledger, neighbours=relation).fit(X, y)
    assert (ledger.spent, journal) == (0, [])
    assert "98765" not in str(caught.value), "no record is shown"


COUNTED = [name for name in SHAPES if name not in {"no records", "text"}]


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("shape", COUNTED)
def test_no_error_tells_a_private_number_of_records(way, shape):
    X = SHAPES[shape]
    with pytest.raises(kng.KngError) as caught:
        model(way, neighbours="add-remove").fit(X, secret((40,)))
    assert not any(n in str(caught.value) for n in ("39", "40", "41"))


RESPONSES = {
    "two columns": secret((40, 2)),
    "three dimensions": secret((40, 1, 1)),
    "no dimension": secret(()),
    "complex": secret((40,)).astype(complex),
    "fewer records than X": secret((39,)),
    "more records than X": secret((41,)),
    "no records": secret((0,)),
    "number": 0.987654321,
    "text": "0.987654321",
    "dates": np.full(40, "2020-01-01", dtype="datetime64[D]"),
    "a frame of two": pd.DataFrame(secret((40, 2))),
    "another sequence": UserList(secret((40,)).tolist()),
    "sparse": sparse.csr_array(secret((40, 1))),
}


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("shape", RESPONSES)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_shapes_of_the_response(way, shape, relation, ledger):
    journal: list[str] = []
    X = watched(table()[0], journal)
    with pytest.raises(kng.KngError) as caught:
        model(way, ledger=ledger, neighbours=relation).fit(X, RESPONSES[shape])
    assert (ledger.spent, journal) == (0, [])
    assert "98765" not in str(caught.value), "no record is shown"
    if relation == "add-remove":
        assert not any(n in str(caught.value) for n in ("39", "40", "41"))


@pytest.mark.parametrize("way", EACH)
def test_a_missing_response(way, ledger):
    with pytest.raises(ValueError, match=r"\by\b"):
        model(way, ledger=ledger).fit(table()[0], None)
    assert ledger.spent == 0


@pytest.mark.parametrize("way", EACH)
def test_a_response_of_one_column_is_read_with_the_usual_warning(way, ledger):
    from sklearn.exceptions import DataConversionWarning

    X, y = table()
    expected = model(way, random_state=1).fit(X, y)
    for column in (y[:, None], pd.DataFrame({"y": y})):
        with pytest.warns(DataConversionWarning):
            fitted = model(way, random_state=1).fit(X, column)
        assert fitted.release_ == expected.release_


WORDS = {
    "narrow covariates": ({"bounds_X": (0, 1e-300)}, "bounds_X must be at least 1e-290 wide"),
    "narrow response": ({"bounds_y": (0, 1e-300)}, "bounds_y must lie between -1e290 and 1e290"),
    "far response": ({"bounds_y": (9e299, 1e300)}, "bounds_y must lie between -1e290 and 1e290"),
    "wide response": ({"bounds_y": (-1e300, 1e300)}, "bounds_y must lie between -1e290 and 1e290"),
}


@pytest.mark.parametrize("way", ["linear", "quantile"])
@pytest.mark.parametrize("case", WORDS)
def test_a_range_that_float64_cannot_follow_is_told_by_its_name(way, case, ledger):
    options, words = WORDS[case]
    error = refused(way, ledger, words, **options)
    ours(error)
    assert "granularity" not in str(error)


@pytest.mark.parametrize("threshold", [1e-300, 1e300])
@pytest.mark.parametrize("mechanism", ["auto", "kng", "exponential"])
def test_a_threshold_that_float64_cannot_follow_is_told_by_its_name(threshold, mechanism, ledger):
    words = "threshold must lie between 1e-290 and 1e290"
    error = refused("huber", ledger, words, threshold=threshold, mechanism=mechanism)
    ours(error)
    assert "bounds_X" not in str(error)


def test_a_quantile_that_no_double_holds_is_not_told_that_0_would_do(ledger):
    error = refused("quantile", ledger, "quantile must lie between", quantile=1e-320)
    assert "be 0 or" not in str(error)


@pytest.mark.parametrize("coef_bound", [1e-12, 1e12, "1/3000000000000"])
def test_a_bound_on_the_coefficients_is_shown_as_it_was_given(coef_bound, ledger):
    error = refused(
        "quantile", ledger, f"got {coef_bound}".replace("+", r"\+"), coef_bound=coef_bound
    )
    ours(error)


@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_sampler_is_refused_like_any_unknown_word(way, ledger):
    error = refused(way, ledger, "sampler must be one of 'auto', .*; got 'magic'", sampler="magic")
    assert isinstance(error, SpecError)


@pytest.mark.parametrize("sampler", ["hit-and-run", "branch-and-bound"])
def test_samplers_that_huber_has_for_other_mechanisms(sampler, ledger):
    error = refused("huber", ledger, f"sampler='{sampler}'.*mechanism='kng'", sampler=sampler)
    assert isinstance(error, IncompatibleParts)
    # What the message says is true.
    for mechanism in ("kng", "exponential"):
        model("huber", mechanism=mechanism, sampler=sampler).fit(*table())


def test_too_many_coefficients_are_counted_with_the_intercept_and_huber_is_named(ledger):
    X, y = table(columns=9)
    error = refused(
        "quantile",
        ledger,
        "exactly up to 5 coefficients, the intercept among them",
        X,
        y,
        mechanism="kng",
    )
    assert "these are 10" in str(error)
    assert "HuberRegressor" in str(error)
    assert "sampler='hit-and-run'" in str(error)


FAR = [
    ("linear", {"epsilon": 1e-280}),
    ("linear", {"bounds_X": (-1e-290, 1e-290), "bounds_y": (-1e290, 1e290)}),
    ("linear ball kng", {"coef_bound": 1e290}),
    ("linear exponential", {"coef_bound": 1e290}),
    ("linear objective", {"epsilon": 1000}),
    ("linear objective", {"epsilon": 1e-200}),
    ("linear objective", {"coef_bound": 1e290}),
    ("huber", {"epsilon": 1000}),
    ("huber", {"epsilon": 1e-200}),
    ("huber", {"threshold": 1e-290}),
    ("huber", {"threshold": 1e290}),
    ("huber", {"bounds_X": (-1e-290, 1e-290), "threshold": 1e290}),
    ("huber ball", {"coef_bound": 1e-290}),
]


@pytest.mark.parametrize(("way", "options"), FAR)
def test_public_numbers_far_from_ordinary_are_answered_or_refused(way, options, ledger):
    # Refused in our words and before the charge; or answered, with a receipt that can be read.
    journal: list[str] = []
    X, y = (watched(part, journal) for part in table())
    try:
        fitted = model(way, ledger=ledger, **options).fit(X, y)
    except kng.KngError as error:
        ours(error)
        assert (ledger.spent, journal) == (0, [])
    else:
        assert np.all(np.isfinite(fitted.release_.value))
        assert kng.Release.from_json(fitted.release_.to_json()) == fitted.release_
        assert len(ledger.history()) == 1


@pytest.mark.parametrize("way", WAYS)
def test_an_epsilon_without_end_is_answered_or_refused(way):
    # No ledger has room for it, but a simulation needs none.
    try:
        assert np.all(np.isfinite(model(way, epsilon=1e20).fit(*table()).coef_))
    except kng.KngError as error:
        ours(error)
