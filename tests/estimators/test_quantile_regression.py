"""QuantileRegressor: what it answers, what it refuses before the charge, and no crossing."""

from __future__ import annotations

import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from estimators.fitting import watched
from estimators.outlets import receipt
from sklearn.base import clone

import kng


def records(n: int, columns: int = 1, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, columns))
    return X, 0.1 + 0.3 * X.sum(axis=1) + 0.2 * (1 + X[:, 0] / 2) * rng.normal(size=n)


def model(**options):
    given = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-2, 2), "random_state": 3}
    return kng.QuantileRegressor(**{**given, **options})


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_a_fitted_quantile_has_about_its_share_below_it(quantile, neighbours):
    X, y = records(4000)
    fitted = model(quantile=quantile, neighbours=neighbours).fit(X, y)
    assert abs(np.mean(y <= fitted.predict(X)) - quantile) < 0.02
    assert fitted.coef_.shape == (1,)
    assert isinstance(fitted.intercept_, float)


def test_a_release_without_a_seed_is_exact():
    X, y = records(500)
    release = model(random_state=None).fit(X, y).release_
    assert (release.guarantee, release.sampler) == ("exact", "branch-and-bound")
    assert kng.Release.from_json(release.to_json()).to_json() == release.to_json()


@pytest.mark.parametrize("columns", [1, 2])
def test_planes_of_several_quantiles_do_not_cross_within_the_bounds(columns):
    """With few records that is the default."""
    X, y = records(300, columns)
    corners = np.array(list(product((-1.0, 1.0), repeat=columns)))
    for seed in range(4):
        fitted = model(quantile=[0.25, 0.5, 0.75], epsilon=0.5, random_state=seed).fit(X, y)
        assert fitted.coef_.shape == (3, columns)
        planes = corners @ fitted.coef_.T + fitted.intercept_
        assert np.all(np.diff(planes, axis=1) >= -1e-12)
    named = model(quantile=[0.25, 0.5, 0.75], epsilon=0.5, random_state=3, noncrossing="planes")
    assert named.fit(X, y).release_ == fitted.release_
    assert fitted.release_.details["epsilon per quantile"].startswith("1/6, ")
    assert dict(fitted.release_.rows())["epsilon per quantile"].startswith("0.167, ")


def crossing(n: int):
    """Return records whose quantile planes cross within the bounds, right of most records."""
    rng = np.random.default_rng(0)
    x = rng.beta(2, 6, n) * 2 - 1
    return x[:, None], np.clip(0.3 * x + 0.4 * (0.2 - x) * rng.normal(size=n), -2, 2)


@pytest.mark.parametrize("options", [{}, {"neighbours": "add-remove"}])
def test_planes_of_many_records_are_those_of_single_releases_and_predictions_are_in_order(options):
    X, y = crossing(4000)
    several = model(quantile=[0.25, 0.5, 0.75], weights=[2, 1, 1], epsilon=2, **options).fit(X, y)
    alone = model(quantile=0.25, epsilon=1, **options).fit(X, y)
    assert np.array_equal(several.coef_[0], alone.coef_)  # the first draw of the same bits
    grid = np.linspace(-3, 3, 50)[:, None]
    planes = grid @ several.coef_.T + several.intercept_
    assert np.any(np.diff(planes, axis=1) < 0)
    assert np.array_equal(several.predict(grid), np.sort(planes, axis=1))
    apart = model(quantile=[0.25, 0.5, 0.75], epsilon=2, noncrossing="planes").fit(X, y)
    inside = np.array([[-1.0], [1.0]])
    assert np.all(np.diff(inside @ apart.coef_.T + apart.intercept_, axis=1) >= -1e-12)


def test_weights_divide_epsilon_and_one_charge_pays_for_all(tmp_path):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=1)
    fitted = model(
        quantile=[0.1, 0.5, 0.9], weights=(3, "1.5", 3), epsilon="0.5", ledger=ledger,
        random_state=None,
    ).fit(*records(200))  # fmt: skip
    (entry,) = ledger.history()
    assert (ledger.spent, entry.state) == (Fraction(1, 2), "released")
    assert fitted.release_.event.epsilon == Fraction(1, 2)
    parts = fitted.release_.details["epsilon per quantile"]
    assert parts.startswith("0.2, 0.1, 0.2, drawn from the middle outwards")


def test_equal_weights_are_no_weights():
    X, y = records(200)
    plain, equal = (model(quantile=[0.2, 0.7], weights=w).fit(X, y) for w in (None, [7, 7]))
    assert plain.release_ == equal.release_


def test_quantiles_through_zero_have_predictions_in_order():
    X, y = records(300)
    fitted = model(quantile=[0.25, 0.75], fit_intercept=False).fit(X, y)
    assert np.all(np.diff(fitted.predict(X), axis=1) >= 0)
    assert "drawn by itself" in fitted.release_.details["epsilon per quantile"]


def test_sorted_predictions_are_no_farther_from_quantiles_that_are_in_order():
    rng = np.random.default_rng(4)
    truth, found = np.sort(rng.normal(size=(2000, 5)), axis=1), rng.normal(size=(2000, 5))
    for power in (1, 2, 5):
        before, after = (
            (np.abs(each - truth) ** power).sum(axis=1) for each in (found, np.sort(found, axis=1))
        )
        assert np.all(after <= before * (1 + 1e-12))


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "quantile",
    [1 / 30000, float(np.exp(-9)), 1 / 3, 0.123456789012345, "1/7", 1 - 2**-40, "1/99991"],
)
def test_any_quantile_is_drawn_however_many_digits_it_has(quantile, columns, neighbours):
    """Its denominator multiplies every integer of the search, and none may overflow."""
    X, y = records(300, columns)
    fitted = model(quantile=quantile, neighbours=neighbours, epsilon=20).fit(X, y)
    share = np.mean(y <= fitted.predict(X))
    assert abs(share - float(Fraction(quantile))) < 0.1


@pytest.mark.parametrize("quantile", ["1e-31", "0." + "3" * 320, Fraction(10**40 + 1, 3 * 10**40)])
def test_a_quantile_with_endless_digits_is_refused(quantile):
    with pytest.raises(kng.KngError, match="thirty digits"):
        model(quantile=quantile).fit(*records(10))


@pytest.mark.parametrize(("columns", "epsilon"), [(1, 100), (2, 10), (3, 1)])
@pytest.mark.parametrize("kind", ["ones", "mostly ones", "near the bound"])
def test_a_bound_that_leaves_the_fit_out_does_not_stall(kind, columns, epsilon):
    """The best plane is a corner of the box of coefficients; beyond it lie many better ones."""
    rng = np.random.default_rng(0)
    X = {
        "ones": np.ones((1000, columns)),
        "mostly ones": np.where(rng.random((1000, columns)) < 0.97, 1.0, -1.0),
        "near the bound": rng.uniform(0.9, 1, (1000, columns)),
    }[kind]
    y = np.clip(rng.normal(size=1000), -2, 2) + 1
    fitted = model(coef_bound=0.1, epsilon=epsilon).fit(X, y)
    assert np.abs(fitted.coef_).max() <= 0.1


def test_units_do_not_matter():
    X, y = records(2000)
    plain = model(bounds_X=(-1, 1)).fit(X, y)
    scaled = model(bounds_X=(-50, 150), bounds_y=(-200, 200)).fit(100 * X + 50, 100 * y)
    assert np.allclose(scaled.coef_, plain.coef_)
    assert np.isclose(scaled.intercept_, 100 * (plain.intercept_ - 0.5 * plain.coef_[0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantile": 0}, "strictly between 0 and 1"),
        ({"quantile": 1}, "strictly between 0 and 1"),
        ({"quantile": float("nan")}, "finite"),
        ({"quantile": [0.5, 0.25]}, "increasing"),
        ({"quantile": [0.5, 0.5]}, "increasing"),
        ({"quantile": []}, "empty"),
        (
            {"quantile": [0.25, 0.5], "fit_intercept": False, "noncrossing": "planes"},
            "intercept",
        ),
        ({"quantile": [0.25, 0.5], "weights": [1]}, "one number per quantile"),
        ({"quantile": 0.25, "weights": [1, 2]}, "one number per quantile"),
        ({"quantile": [0.25, 0.5], "weights": [1, 0]}, "weights"),
        ({"quantile": [0.25, 0.5], "weights": [1, -1]}, "weights"),
        ({"quantile": [0.25, 0.5], "weights": ["a", 1]}, "weights"),
        ({"noncrossing": "sorted"}, "noncrossing"),
        ({"noncrossing": None}, "noncrossing"),
        ({"mechanism": "k-norm"}, "mechanism"),
        ({"norm": "l3"}, "norm"),
        ({"sampler": "metropolis"}, "branch-and-bound"),
        ({"bounds_X": None}, "bounds_X is missing"),
        ({"bounds_y": None}, "bounds_y is missing"),
        ({"coef_bound": 1e6}, "coef_bound"),
        ({"coef_bound": 0}, "coef_bound"),
    ],
)
def test_what_cannot_be_served_is_refused_before_the_charge(tmp_path, options, message):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=1)
    with pytest.raises(kng.KngError, match=message):
        model(ledger=ledger, random_state=None, **options).fit(*records(50))
    assert ledger.remaining == 1


def test_nine_columns_are_refused_by_kng_and_the_chain_is_named():
    X, y = records(50, 9)
    with pytest.raises(kng.KngError, match="hit-and-run"):
        model(mechanism="kng").fit(X, y)
    fitted = model(sampler="hit-and-run").fit(X, y)
    assert fitted.coef_.shape == (9,)


@pytest.mark.parametrize(
    "quantile", [0, 1, -0.5, 1.5, "x", None, True, [0.5, float("nan")], [[0.5]]]
)
def test_a_quantile_that_is_none_is_refused_before_a_record_is_read(tmp_path, quantile):
    ledger, journal = kng.Ledger(tmp_path / "budget.db", cap=1), []
    X, y = (watched(part, journal) for part in records(20))
    with pytest.raises(kng.KngError, match="quantile"):
        model(ledger=ledger, random_state=None, quantile=quantile).fit(X, y)
    assert (ledger.spent, journal) == (0, [])


def test_a_list_of_quantiles_is_one_charge(tmp_path):
    ledger = kng.Ledger(tmp_path / "budget.db", cap=1)
    fitted = model(ledger=ledger, random_state=None, quantile=[0.1, 0.5, 0.9], epsilon="0.6")
    fitted.fit(*records(200))
    (entry,) = ledger.history()
    assert (ledger.spent, entry.state) == (Fraction("0.6"), "released")
    release = fitted.release_
    assert release.event.epsilon == Fraction("0.6")
    assert ledger.release_of(entry.sequence) == release.to_json()
    assert len(release.value) == 6


@pytest.mark.parametrize("how", [clone, lambda made: pickle.loads(pickle.dumps(made))])
def test_a_copy_with_several_quantiles_draws_the_same(how):
    X, y = records(200)
    made = model(quantile=(0.25, 0.5, 0.75))
    other = how(made)
    assert made.fit(X, y).release_ == other.fit(X, y).release_
    read = pickle.loads(pickle.dumps(made))
    assert np.array_equal(read.predict(X), made.predict(X))
    assert read.predict(X).shape == (200, 3)


def test_one_quantile_in_a_list_is_the_same_draw_with_an_axis_more():
    X, y = records(200)
    alone, listed = model(quantile=0.3).fit(X, y), model(quantile=[0.3]).fit(X, y)
    assert alone.release_.integers == listed.release_.integers
    assert listed.coef_.shape == (1, 1)
    assert listed.predict(X).shape == (200, 1)


@pytest.mark.parametrize("quantile", [0.9, [0.25, 0.75]])
@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, 1e308])
def test_a_hostile_record_leaves_nothing_but_coefficients(quantile, cell):
    X, y = records(60, 2)
    expected = receipt(model(quantile=quantile).fit(X, y).release_)
    for part in (X, y):
        changed = part.copy()
        changed[7] = cell
        pair = (changed, y) if part is X else (X, changed)
        assert receipt(model(quantile=quantile).fit(*pair).release_) == expected


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.3]]), np.array([0.2])),
        (np.full((400, 1), 0.3), np.full(400, 0.2)),
        (np.full((400, 1), np.nan), np.full(400, np.inf)),
        (np.array([[0.3, -0.2, 0.1], [0.5, 0.1, 0.0]]), np.array([0.2, 0.1])),
        (np.column_stack([records(400)[0], np.zeros(400)]), records(400)[1]),
        (np.column_stack([records(400)[0], np.ones(400)]), records(400)[1]),
        (np.full((400, 2), 1.0), records(400)[1]),
    ],
    ids=[
        "one record",
        "all equal",
        "nothing but holes",
        "fewer records than coefficients",
        "a column of zeros",
        "a column at its bound",
        "no column that moves",
    ],
)
def test_odd_data_are_answered(X, y):
    assert np.isfinite(model().fit(X, y).predict(np.zeros((1, X.shape[1])))).all()
