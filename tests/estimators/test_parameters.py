"""Parameters as scikit-learn keeps them: by keyword, unchanged, and copied without a trace."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from estimators.fitting import EACH, WAYS, model, table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import kng

KINDS = [kng.LinearRegression, kng.HuberRegressor, kng.QuantileRegressor]
SHARED = {
    "epsilon": None,
    "bounds_X": None,
    "bounds_y": None,
    "coef_bound": None,
    "domain": None,
    "base": None,
    "fit_intercept": True,
    "mechanism": "auto",
    "norm": "auto",
    "sampler": "auto",
    "neighbours": "replace-one",
    "n_max": None,
    "records_per_person": 1,
    "missing": "drop",
    "where": None,
    "person": None,
    "max_records": None,
    "ledger": None,
    "random_state": None,
}
COPIES = {
    "clone": clone,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_arguments_are_those_of_the_contract_with_their_defaults(kind):
    expected = dict(SHARED)
    if kind is kng.HuberRegressor:
        expected["threshold"] = None
    if kind is not kng.QuantileRegressor:
        expected["centre"] = None  # beyond the contract: a point for the ridge to draw to
    if kind is kng.QuantileRegressor:
        expected |= {"quantile": 0.5, "weights": None, "noncrossing": "auto", "smoothing": None}
    assert kind().get_params() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_every_argument_is_by_keyword(kind):
    kinds = {p.kind for p in inspect.signature(kind).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError):
        kind(1)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_checked_or_changed_before_fit(kind):
    strange = {name: object() for name in kind().get_params()}
    made = kind(**strange)
    assert all(value is strange[name] for name, value in made.get_params(deep=False).items())
    assert set(vars(made)) == set(strange)


@pytest.mark.parametrize("kind", KINDS)
def test_set_params_sets_what_get_params_gets(kind):
    made = kind().set_params(epsilon=2, bounds_X=(0, 1), norm="l1")
    assert (made.epsilon, made.bounds_X, made.norm) == (2, (0, 1), "l1")
    with pytest.raises(ValueError, match="Invalid parameter"):
        made.set_params(epsilo=1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_draws_the_same_coefficients(way, how):
    X, y = table()
    made = model(way, random_state=7)
    other = COPIES[how](made)
    assert other.get_params() == made.get_params()
    assert made.fit(X, y).release_ == other.fit(X, y).release_


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("how", ["copy", "deepcopy", "pickle"])
def test_a_copy_of_a_fitted_model_predicts_alike(way, how, ledger):
    X, y = table()
    fitted = model(way, ledger=ledger).fit(X, y)
    other = COPIES[how](fitted)
    assert np.array_equal(other.predict(X), fitted.predict(X))
    assert other.release_ == fitted.release_
    assert ledger.spent == 1, "copying spends nothing"


@pytest.mark.parametrize("way", EACH)
def test_a_clone_of_a_fitted_model_knows_nothing(way):
    X, y = table()
    other = clone(model(way).fit(X, y))
    assert not [name for name in vars(other) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        other.predict(X)


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("way", EACH)
def test_a_copy_charges_the_same_account(way, how, ledger):
    X, y = table()
    made = model(way, epsilon="0.1", ledger=ledger)
    made.fit(X, y)
    COPIES[how](made).fit(X, y)
    COPIES[how](COPIES[how](made)).fit(X, y)
    assert ledger.spent == kng.Ledger(ledger.path).spent == pytest.approx(0.3)
    assert ledger.spent * 10 == 3
    assert [entry.state for entry in ledger.history()] == ["released"] * 3


def test_a_fitted_model_can_be_read_by_another_process(books, ledger):
    X, y = table()
    fitted = model("linear", ledger=ledger).fit(X, y)
    (books / "model").write_bytes(pickle.dumps(fitted))
    program = (
        "import pickle, sys; m = pickle.load(open(sys.argv[1], 'rb')); "
        "print(m.coef_.tolist(), m.release_.to_json() == open(sys.argv[2]).read())"
    )
    (books / "receipt").write_text(fitted.release_.to_json())
    done = subprocess.run(
        [sys.executable, "-c", program, str(books / "model"), str(books / "receipt")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"{fitted.coef_.tolist()} True"


@pytest.mark.parametrize("way", EACH)
def test_fitting_leaves_the_parameters_alone(way, ledger):
    X, y = table()
    bounds = (np.array([-1.0, -1.0]), np.array([1.0, 1.0]))
    made = model(way, bounds_X=bounds, ledger=ledger)
    before = made.get_params()
    made.fit(X, y)
    after = made.get_params()
    assert list(before) == list(after)
    assert all(before[name] is after[name] for name in before)
    assert bounds[0].tolist() == [-1, -1]
    assert bounds[1].tolist() == [1, 1]


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("bad", [{"epsilon": -1}, {"bounds_X": None}, {"sampler": "?"}])
def test_a_refused_fit_leaves_the_model_unfitted(way, bad):
    X, y = table()
    made = model(way, **bad)
    with pytest.raises(kng.KngError):
        made.fit(X, y)
    with pytest.raises(NotFittedError):
        made.predict(X)


@pytest.mark.parametrize("way", WAYS)
def test_a_second_fit_replaces_the_first(way):
    X, y = table()
    wide, more = table(columns=3, seed=1)
    made = model(way, random_state=1).fit(wide, more).fit(X, y)
    assert made.coef_.shape == (2,)
    assert made.n_features_in_ == 2
    assert made.release_ == model(way, random_state=1).fit(X, y).release_


@pytest.mark.parametrize("way", EACH)
def test_the_model_shows_itself(way, ledger):
    made = model(way, ledger=ledger)
    assert "epsilon=1" in repr(made)
    made.fit(*table())
    assert "epsilon=1" in repr(made)
    assert type(made).__name__ in made._repr_html_()


@pytest.mark.parametrize("way", WAYS)
def test_a_seed_may_come_as_numpy_gives_it(way):
    X, y = table()
    drawn = [
        model(way, random_state=seed()).fit(X, y).release_
        for seed in (lambda: 3, lambda: np.int64(3), lambda: np.random.RandomState(3)) * 2
    ]
    assert drawn[0] == drawn[1] == drawn[3] == drawn[4]
    assert drawn[2] == drawn[5]
    assert all(release.guarantee == "simulation" for release in drawn)


@pytest.mark.parametrize("way", WAYS)
def test_without_a_seed_two_fits_differ(way):
    X, y = table()
    assert model(way).fit(X, y).release_.integers != model(way).fit(X, y).release_.integers


@pytest.mark.parametrize("way", WAYS)
def test_a_clone_of_an_unseeded_model_takes_bits_of_its_own(way):
    X, y = table()
    made = model(way)
    assert made.fit(X, y).release_.integers != clone(made).fit(X, y).release_.integers


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("bad", [{"epsilon": 99}, {"epsilon": -1}, {"bounds_X": None}])
def test_a_refused_fit_does_not_lose_what_an_earlier_one_paid_for(way, bad, books):
    X, y = table()
    wide, more = table(columns=3, seed=1)
    account = kng.Ledger(books / "small.ledger", cap=5)
    made = model(way, ledger=account).fit(X, y)
    before = made.release_, made.predict(X).tolist()
    with pytest.raises(kng.KngError):
        made.set_params(**bad).fit(wide, more)
    assert (made.release_, made.predict(X).tolist()) == before
    assert made.n_features_in_ == 2
    assert account.spent == 1


@pytest.mark.parametrize("way", EACH)
def test_tags_say_what_privacy_means_for_scikit_learn(way):
    plain, seeded = (model(way, random_state=seed).__sklearn_tags__() for seed in (None, 1))
    assert plain.non_deterministic
    assert not seeded.non_deterministic
    for tags in (plain, seeded):
        assert tags.estimator_type == "regressor"
        assert tags.target_tags.required
        assert tags.input_tags.allow_nan, "a missing entry is read as the middle"
        assert not tags.input_tags.sparse
        assert tags.regressor_tags.poor_score, "on as few records as a check has"
