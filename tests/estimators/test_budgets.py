"""Searches and pipelines: every fit is paid for, from one account, and no further."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import joblib
import numpy as np
import pytest
from estimators.fitting import EACH, model, table
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import kng
from kng.core.errors import BudgetError

TENTH = Fraction(1, 10)


def states(ledger: kng.Ledger) -> list[str]:
    return [entry.state for entry in ledger.history()]


@pytest.mark.parametrize("way", EACH)
def test_cross_validation_pays_for_every_fold(way, ledger):
    X, y = table()
    scores = cross_val_score(model(way, epsilon=0.1, ledger=ledger), X, y, cv=3)
    assert len(scores) == 3
    assert ledger.spent == 3 * TENTH
    cross_val_predict(model(way, epsilon=0.1, ledger=ledger), X, y, cv=4)
    assert ledger.spent == 7 * TENTH
    assert states(ledger) == ["released"] * 7


@pytest.mark.parametrize("way", EACH)
def test_a_grid_search_pays_for_every_fit_and_the_last_one(way, ledger):
    X, y = table()
    grid = {"epsilon": ["0.1", "0.7"], "norm": ["linf", "auto"]}
    search = GridSearchCV(model(way, ledger=ledger), grid, cv=3, error_score="raise")
    search.fit(X, y)
    last = Fraction(search.best_params_["epsilon"])
    assert ledger.spent == 2 * 3 * (TENTH + 7 * TENTH) + last
    assert states(ledger) == ["released"] * 13
    newest = ledger.history()[-1].sequence
    assert ledger.release_of(newest) == search.best_estimator_.release_.to_json()


@pytest.mark.parametrize("way", EACH)
def test_a_search_stops_where_the_budget_ends(way, books):
    X, y = table()
    ledger = kng.Ledger(books / "small.ledger", cap="0.45")
    search = GridSearchCV(
        model(way, epsilon=0.1, ledger=ledger),
        {"norm": ["linf", "auto"]},
        cv=3,
        error_score="raise",
    )
    with pytest.raises(BudgetError) as caught:
        search.fit(X, y)
    assert ledger.spent == 4 * TENTH
    assert (caught.value.requested, caught.value.remaining) == (TENTH, TENTH / 2)
    assert states(ledger) == ["released"] * 4


@pytest.mark.parametrize("way", EACH)
def test_a_search_that_goes_on_after_failures_does_not_overspend(way, books):
    X, y = table()
    ledger = kng.Ledger(books / "small.ledger", cap="0.45")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        scores = cross_val_score(model(way, epsilon=0.1, ledger=ledger), X, y, cv=6)
    assert np.isnan(scores).sum() == 2
    assert ledger.spent == 4 * TENTH


@pytest.mark.parametrize("way", EACH)
def test_threads_share_the_account(way, books):
    X, y = table()
    ledger = kng.Ledger(books / "small.ledger", cap="0.5")
    with joblib.parallel_config("threading"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        scores = cross_val_score(model(way, epsilon=0.1, ledger=ledger), X, y, cv=8, n_jobs=4)
    assert np.isnan(scores).sum() == 3
    assert ledger.spent == 5 * TENTH
    ledger.verify()


@pytest.mark.parametrize("way", EACH)
def test_a_ledger_may_be_named_by_its_path(way, ledger):
    X, y = table()
    for path in (ledger.path, str(ledger.path)):
        made = clone(model(way, epsilon="0.1", ledger=path))
        pickle.loads(pickle.dumps(made)).fit(X, y)
    assert ledger.spent == 2 * TENTH


@pytest.mark.parametrize("way", EACH)
def test_a_ledger_keeps_what_the_model_shows(way, ledger):
    X, y = table()
    fitted = model(way, ledger=ledger).fit(X, y)
    (entry,) = ledger.history()
    kept = kng.Release.from_json(ledger.release_of(entry.sequence))
    assert kept == fitted.release_
    assert np.array_equal(kept.value, [fitted.intercept_, *fitted.coef_])
    assert (entry.epsilon, ledger.neighbours) == (1, "replace-one")


@pytest.mark.parametrize("way", EACH)
def test_predicting_and_scoring_spend_nothing(way, ledger):
    X, y = table()
    fitted = model(way, ledger=ledger).fit(X, y)
    fitted.predict(X)
    fitted.score(X, y)
    assert ledger.spent == 1


# A scaler that learns from the records would be a release of its own: public constants are none.
def to_unit(X):
    return (X - 50.0) / 50.0


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_a_pipeline_with_public_constants(way, output, ledger):
    X, y = table()
    far = 50.0 + 50.0 * X
    unit = FunctionTransformer(to_unit, feature_names_out="one-to-one")
    line = make_pipeline(unit, model(way, epsilon=0.1, ledger=ledger))
    line.set_output(transform=output)
    line.fit(far, y)
    assert ledger.spent == TENTH
    fitted = line[-1]
    assert np.allclose(line.predict(far), X @ fitted.coef_ + fitted.intercept_)
    assert hasattr(fitted, "feature_names_in_") == (output == "pandas")
    clone(line).fit(far, y)
    assert ledger.spent == 2 * TENTH


@pytest.mark.parametrize("way", EACH)
def test_a_search_over_a_pipeline_pays_too(way, ledger):
    X, y = table()
    line = make_pipeline(FunctionTransformer(), model(way, epsilon=0.1, ledger=ledger))
    step = f"{type(line[-1]).__name__.lower()}__coef_bound"
    GridSearchCV(line, {step: [1, 2]}, cv=2, error_score="raise").fit(X, y)
    assert ledger.spent == 5 * TENTH


@pytest.mark.parametrize("way", EACH)
def test_the_safe_score_is_one_more_line_on_the_same_account(way, ledger):
    # As the docstring of score says: predictions are free, their mean error is a release.
    X, y = table(4000)
    fitted = model(way, ledger=ledger).fit(X, y)
    errors = abs(y - fitted.predict(X))
    score = kng.mean(errors, bounds=(0, 2), epsilon=0.5, ledger=ledger)
    assert score.value == pytest.approx(np.clip(errors, 0, 2).mean(), abs=0.02)
    assert ledger.spent == Fraction(3, 2)
    assert "further release" in type(fitted).__doc__
    assert "kng.mean" in type(fitted).score.__doc__
