"""Habits that leak: each is named from the objects alone, and its remedy is clean."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, VotingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import RFE, SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedKFold,
)
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

import kng
from kng.cli.main import main
from kng.core.errors import SpecTypeError

MODEL = kng.LinearRegression(epsilon=0.5, bounds_X=(0, 1), bounds_y=(0, 1))
LEVELS = [["F", "M"]]


class Mine(TransformerMixin, BaseEstimator):
    """A transformer that nobody knows."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


class Scaled(StandardScaler):
    """A scaler under another name."""


LEAKS = [
    *(StandardScaler(), MinMaxScaler(), RobustScaler(), QuantileTransformer(), Scaled()),
    *(KBinsDiscretizer(), SplineTransformer(), PCA(2), SelectKBest(), VarianceThreshold()),
    *(RFE(Ridge()), SimpleImputer(), SimpleImputer(strategy="median"), KNNImputer()),
    SimpleImputer(strategy="constant", fill_value=0, add_indicator=True),
    *(OneHotEncoder(), OneHotEncoder(categories=LEVELS), OrdinalEncoder(), TargetEncoder()),
    OneHotEncoder(categories=LEVELS, handle_unknown="ignore", min_frequency=5),
    *(CountVectorizer(), TfidfVectorizer(), Nystroem(), RBFSampler(gamma="scale"), Mine()),
    KMeans(),
]
CLEAN = [
    *(FunctionTransformer(), Normalizer(), PolynomialFeatures(), HashingVectorizer()),
    *(RBFSampler(gamma=1.0), CountVectorizer(vocabulary=["a", "b"])),
    OneHotEncoder(categories=LEVELS, handle_unknown="ignore"),
    OrdinalEncoder(categories=LEVELS, handle_unknown="use_encoded_value", unknown_value=-1),
    SimpleImputer(strategy="constant", fill_value=0),
    *("passthrough", None),
]


@pytest.mark.parametrize("step", LEAKS, ids=lambda step: repr(step)[:60])
def test_a_step_that_learns_from_the_records_is_named_with_a_remedy(step):
    report = kng.check(Pipeline([("first", step), ("model", MODEL)]))
    (found,) = report.findings
    assert (found.where, found.what) == ("Pipeline > first", type(step).__name__)
    assert found.problem
    assert found.remedy
    assert report


@pytest.mark.parametrize("step", CLEAN, ids=lambda step: repr(step)[:60])
def test_a_step_that_learns_nothing_is_fine(step):
    report = kng.check(Pipeline([("first", step), ("model", MODEL)]))
    assert not report
    assert report.findings == ()
    assert "Nothing found" in repr(report)


def test_steps_are_found_wherever_they_are():
    columns = ColumnTransformer(
        [("a", StandardScaler(), ["x"]), ("b", "passthrough", ["y"])], remainder=MinMaxScaler()
    )
    union = FeatureUnion([("c", PCA()), ("d", PolynomialFeatures())])
    inner = make_pipeline(columns, union, MODEL)
    target = TransformedTargetRegressor(regressor=inner, transformer=StandardScaler())
    places = {found.where.split(" > ")[-1] for found in kng.check(target)}
    assert places == {"a", "remainder", "c", "transformer"}


def test_a_transformed_target_is_fine_with_public_functions():
    options = {"func": abs, "inverse_func": abs}
    (found,) = kng.check(TransformedTargetRegressor(MODEL, **options))
    assert "check_inverse=False" in found.remedy
    assert not kng.check(TransformedTargetRegressor(MODEL, **options, check_inverse=False))
    (found,) = kng.check(TransformedTargetRegressor())
    assert "not private" in found.problem


def cost(search):
    scores, fits = kng.check(search).findings
    assert "held-out records" in scores.problem
    assert "docs/habits.md" in scores.remedy
    return fits.problem


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (
            GridSearchCV(MODEL, {"coef_bound": [1, 2, 3]}, cv=4),
            "13 fits (3 candidates x 4 folds + 1 refit) at epsilon 0.5 cost epsilon 6.5 in all",
        ),
        (
            GridSearchCV(MODEL, [{"norm": ["l1", "l2"]}, {"epsilon": [1, 2]}], refit=False),
            "20 fits (4 candidates x 5 folds) cost up to epsilon 20 in all",
        ),
        (
            RandomizedSearchCV(MODEL, {"coef_bound": [1]}, n_iter=7, cv=RepeatedKFold(n_splits=2)),
            "141 fits (7 candidates x 20 folds + 1 refit) at epsilon 0.5 cost epsilon 70.5 in all",
        ),
        (
            RandomizedSearchCV(MODEL, {"epsilon": [1, 2]}, n_iter=2),
            "11 fits (2 candidates x 5 folds + 1 refit), each at its own epsilon",
        ),
        (
            HalvingGridSearchCV(MODEL, {"coef_bound": [1, 2]}),
            "at least 11 fits (2 candidates x 5 folds + 1 refit) at epsilon 0.5",
        ),
        (
            GridSearchCV(MODEL, {"coef_bound": [1, 2]}, cv=LeaveOneOut()),
            "every candidate is fitted once for each fold",
        ),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_search_multiplies_the_budget(search, said):
    problem = cost(search)
    assert said in problem
    assert "No ledger counts them." in problem


def test_the_epsilon_of_a_step_is_found_by_its_name_in_the_grid():
    pipe = Pipeline([("poly", PolynomialFeatures()), ("model", MODEL)])
    search = GridSearchCV(pipe, {"model__epsilon": [0.1, 0.2], "poly__degree": [1, 2]}, cv=2)
    assert "9 fits (4 candidates x 2 folds + 1 refit) cost up to epsilon 1.4 in all" in cost(search)


def test_a_ledger_counts_the_fits_of_a_search(tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=20)
    model = kng.LinearRegression(epsilon=0.5, ledger=ledger)
    assert "No ledger" not in cost(GridSearchCV(model, {"coef_bound": [1, 2]}))


def test_the_cost_that_is_told_is_the_one_that_is_charged(tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=20)
    model = kng.HuberRegressor(epsilon=0.5, threshold=1, bounds_X=(0, 1), ledger=ledger)
    search = GridSearchCV(model, {"epsilon": [0.25, 0.5]}, cv=2, refit=False)
    assert "4 fits (2 candidates x 2 folds) cost up to epsilon 1.5 in all" in cost(search)
    grid = np.linspace(0, 1, 40)
    search.fit(grid.reshape(-1, 1), grid)
    assert ledger.spent == Fraction(3, 2)


def test_models_that_are_not_private_and_simulations_are_named():
    assert "without privacy" in kng.check(Ridge()).findings[0].problem
    seeded = kng.LinearRegression(epsilon=1, random_state=3)
    assert "simulation" in kng.check(seeded).findings[0].problem
    assert not kng.check(MODEL)
    voting = kng.check(VotingRegressor([("a", MODEL), ("b", Ridge())]))
    assert [found.where for found in voting] == ["VotingRegressor", "VotingRegressor > b"]
    assert "several copies" in kng.check(BaggingRegressor(MODEL)).findings[0].problem


@pytest.mark.parametrize("thing", [3, "pipeline", None, [MODEL], kng.LinearRegression])
def test_what_is_no_estimator_is_refused(thing):
    with pytest.raises(SpecTypeError, match="check looks at an estimator"):
        kng.check(thing)


def test_a_report_prints_well_and_escapes_names():
    report = kng.check(Pipeline([("<b>", StandardScaler()), ("model", MODEL)]))
    assert len(report) == 1
    assert all(len(line) <= 100 for line in repr(report).splitlines())
    assert "1. Pipeline > <b> (StandardScaler)" in repr(report)
    assert "<b>&lt;b&gt;" not in report._repr_html_()
    assert "Pipeline &gt; &lt;b&gt;" in report._repr_html_()


def test_the_safe_way_runs_as_it_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["sample", "visits.csv"]) == 0
    page = (Path(kng.__file__).parents[2] / "docs" / "habits.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    found: dict = {}
    exec(program, found)
    assert found["best"] in ("narrow", "wide")
    assert found["ledger"].spent == Fraction(8, 10)
