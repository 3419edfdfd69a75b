"""Every argument of a function or an estimator is an option of its command, and gets there."""

from __future__ import annotations

import inspect
import json
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import kng
from kng.cli.main import commands

COMMANDS = {
    "mean": kng.mean,
    "quantile": kng.quantile,
    "median": kng.median,
    "geomedian": kng.geometric_median,
    "linear": kng.LinearRegression,
    "huber": kng.HuberRegressor,
    "quantreg": kng.QuantileRegressor,
    "expectile": kng.ExpectileRegressor,
    "logistic": kng.LogisticRegression,
    "poisson": kng.PoissonRegressor,
}
# Arguments that have another name at the shell. A domain is an object: --coef-bound is its word.
RENAMED = {
    "bounds_X": "bounds",
    "bounds_y": "bounds",
    "fit_intercept": "no_intercept",
    "random_state": "seed",
    "domain": None,
    "q": "quantile",
}
AGE = ("--column", "age", "--bounds", "0:120", "--epsilon", "2")
FIT = ("--target", "income", "--bounds", "age=0:120", "--bounds", "income=-1000:9000")
SEEDED = ("--epsilon", "2", "--seed", "7", "--json")


@pytest.mark.parametrize("command", COMMANDS)
def test_no_argument_is_left_out(command):
    offered = {parameter.name for parameter in commands.commands[command].params}
    asked = inspect.signature(COMMANDS[command]).parameters
    names = {RENAMED.get(name, name) for name in asked} - {None}
    assert names <= offered
    beside = {
        "column",
        "target",
        "covariates",
        "formula",
        "seed",
        "as_json",
        "out",
        "data",
        "no_intercept",
    }
    beside |= {field.name for field in fields(kng.Table)}  # how DATA are read
    beside |= {"verbose", "quiet", "account", "analyst", "request_key"}
    assert offered - names <= beside


def test_every_estimator_has_a_command():
    offered = {name for name in kng.__all__ if name.endswith(("Regression", "Regressor"))}
    assert offered <= {model.__name__ for model in COMMANDS.values()}


@pytest.fixture
def survey(tmp_path):
    draw = np.random.default_rng(3)
    age = draw.integers(20, 80, 400)
    frame = pd.DataFrame({"age": age, "income": 50 * age + draw.normal(0, 300, 400).round()})
    path = tmp_path / "survey.csv"
    frame.to_csv(path, index=False)
    return path, frame


TWO = ("--quantile", "0.25", "--quantile", "0.75")
COUNTS = ("--bounds", "age=0:120", "--bounds", "income=0:9000")
# A command, what is said at the shell, and the same in Python.
SAID = {
    "weights": (
        "quantreg",
        (*TWO, "--weights", "3, 1"),
        {"quantile": [0.25, 0.75], "weights": [3, 1]},
    ),
    "noncrossing": (
        "quantreg",
        (*TWO, "--noncrossing", "planes"),
        {"quantile": [0.25, 0.75], "noncrossing": "planes"},
    ),
    "smoothing": ("quantreg", ("--smoothing", "200"), {"smoothing": 200}),
    "base of a plane": ("quantreg", ("--base", "student"), {"base": "student"}),
    "base": (
        "linear",
        ("--mechanism", "kng", "--base", "gaussian", "--coef-bound", "9000"),
        {"mechanism": "kng", "base": "gaussian", "coef_bound": 9000},
    ),
    "centre": ("linear", ("--centre", "0,50"), {"centre": [0, 50]}),
    "centre of counts": (
        "poisson",
        (*COUNTS, "--centre", "6, 0.01"),
        {"bounds_y": (0, 9000), "centre": [6, "0.01"]},
    ),
    "expectile": ("expectile", ("--expectile", "0.8"), {"expectile": 0.8}),
    "norm": ("expectile", ("--norm", "l2"), {"norm": "l2"}),
    "sampler": (
        "huber",
        ("--threshold", "300", "--mechanism", "kng", "--sampler", "push-forward"),
        {"threshold": 300, "mechanism": "kng", "sampler": "push-forward"},
    ),
}


@pytest.mark.parametrize("case", SAID)
def test_a_regression_hears_its_options(run, survey, case):
    command, words, options = SAID[case]
    path, frame = survey
    bounds = FIT[:2] if "--bounds" in words else FIT
    done = run(command, path, *bounds, *words, *SEEDED)
    assert done.code == 0, done.err
    public = {"bounds_X": {"age": (0, 120)}, "bounds_y": (-1000, 9000), **options}
    model = COMMANDS[command](epsilon=2, random_state=7, **public)
    fitted = model.fit(frame[["age"]], frame.income)
    assert json.loads(done.out)["integers"] == list(fitted.release_.integers)


COLUMN = {
    "one by one": (
        "quantile",
        ("--q", "0.2", "--q", "0.8", "--sampler", "order"),
        {"q": [0.2, 0.8], "sampler": "order"},
    ),
    "base": ("median", ("--base", "gaussian"), {"base": "gaussian"}),
    "mean": (
        "mean",
        ("--mechanism", "kng", "--base", "student", "--sampler", "branch-and-bound"),
        {"mechanism": "kng", "base": "student", "sampler": "branch-and-bound"},
    ),
}


@pytest.mark.parametrize("case", COLUMN)
def test_a_statistic_hears_its_options(run, survey, case):
    command, words, options = COLUMN[case]
    path, frame = survey
    done = run(command, path, *AGE, *words, "--seed", "7", "--json")
    assert done.code == 0, done.err
    bounds = {"bounds": {"age": (0, 120)}, "epsilon": 2, "random_state": 7}
    known = COMMANDS[command](frame[["age"]], **bounds, **options)
    assert json.loads(done.out)["integers"] == list(known.integers)


def test_a_geometric_median_in_another_norm(run, survey):
    bounds = ("--bounds", "age=0:120", "--bounds", "income=-1000:9000", "--scale", "bounds")
    done = run("geomedian", survey[0], *bounds, "--norm", "linf", "--epsilon", "2", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["law"]["norm"] == "LInf()"


class TestAnEarlierReceipt:
    """``--base`` takes what ``--out`` has written."""

    def test_is_what_to_start_from(self, run, survey, tmp_path):
        path, out = survey[0], tmp_path / "last-year.json"
        assert run("median", path, *AGE, "--out", out).code == 0
        done = run("median", path, *AGE, "--base", out, "--json")
        assert done.code == 0, done.err
        receipt = json.loads(done.out)
        assert receipt["details"]["base"] == "an earlier release (median)"
        assert receipt["guarantee"] == "exact"

    def test_of_a_model(self, run, survey, tmp_path):
        path, out = survey[0], tmp_path / "last-year.json"
        assert run("quantreg", path, *FIT, "--epsilon", "1", "--out", out).code == 0
        done = run("quantreg", path, *FIT, "--epsilon", "1", "--base", out, "--json")
        assert done.code == 0, done.err
        refused = run("median", path, *AGE, "--base", out)
        assert (refused.code, "coefficients of a linear model" in refused.err) == (2, True)

    def test_that_is_a_simulation_is_refused(self, run, survey, tmp_path):
        path, out = survey[0], tmp_path / "last-year.json"
        run("median", path, *AGE, "--seed", "1", "--out", out)
        refused = run("median", path, *AGE, "--base", out)
        assert (refused.code, "A simulation cannot be a base measure" in refused.err) == (2, True)

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "--base must be one of uniform, heavy-tailed, gaussian, student, or the path"),
            ("", "is not a receipt. Give the file that --out has written"),
            ("{}", "is not a receipt."),
            ("[1, 2]", "is not a receipt."),
            (b"\xff\x00", "which is not a file that can be read"),
        ],
    )
    def test_that_is_none(self, run, survey, ledger, tmp_path, content, message):
        base = tmp_path / "base.json"
        if content is not None:
            base.write_bytes(content.encode() if isinstance(content, str) else content)
        refused = run("median", survey[0], *AGE, "--base", base, "--ledger", ledger.path)
        assert message in refused.err
        assert (refused.code, refused.out, ledger.spent) == (2, "", 0)


WRONG = {
    "too few weights": (("--weights", "1"), "--weights must have one number per quantile"),
    "no number": (("--weights", "1,much"), "--weights must be a number, got 'much'."),
    "a weight of 0": (("--weights", "1,0"), "--weights must be greater than 0, got 0."),
    "a line break": (("--weights", "1\n2"), "--weights must be a number, got '1\\n2'."),
    "no weights": (("--weights", ""), "--weights must have one number per quantile"),
    "noncrossing": (("--noncrossing", "never"), "--noncrossing must be one of 'auto'"),
    "planes that cannot be kept apart": (
        ("--noncrossing", "planes", "--no-intercept"),
        "Use --noncrossing predictions, or",
    ),
    "smoothed planes": (
        ("--noncrossing", "planes", "--smoothing", "auto"),
        "--noncrossing planes is for planes that are drawn from a box.",
    ),
    "smoothing": (("--smoothing", "0"), "--smoothing must be greater than 0, got 0."),
    "a bandwidth out of reach": (("--smoothing", "1e-9"), "--smoothing auto finds one"),
    "a bound on smoothed planes": (
        ("--smoothing", "auto", "--coef-bound", "5"),
        "over all of them or over a ball. Leave it out.",
    ),
    "norm": (("--norm", "l7"), "--norm must be one of 'auto', 'linf', 'l2', 'l1'; got 'l7'."),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_refused_costs_nothing(run, survey, ledger, case):
    words, message = WRONG[case]
    two = ("--quantile", "0.25", "--quantile", "0.75", "--epsilon", "1", "--ledger", ledger.path)
    refused = run("quantreg", survey[0], *FIT, *two, *words)
    assert message in refused.err
    assert (refused.code, refused.out, ledger.spent) == (2, "", 0)
    assert "='" not in refused.err
