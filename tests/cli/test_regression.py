"""Regressions at the shell: the library's fits of a file, charged before it is read."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import kng
from kng.core.release import Release
from kng.data import TableSource

BOUNDS = ("--bounds", "age=0:120", "--bounds", "visits=0:50")
TARGET = ("--target", "spending", "--bounds", "spending=0:2000")
COMMANDS = {
    "linear": (),
    "huber": ("--threshold", "40"),
    "quantreg": ("--quantile", "0.5"),
    "expectile": ("--expectile", "1/2"),
    "poisson": (),
}
MODELS = {
    "linear": (kng.LinearRegression, {}),
    "huber": (kng.HuberRegressor, {"threshold": 40}),
    "quantreg": (kng.QuantileRegressor, {}),
    "expectile": (kng.ExpectileRegressor, {}),
    "poisson": (kng.PoissonRegressor, {}),
}
PUBLIC = {"bounds_X": {"age": (0, 120), "visits": (0, 50)}, "bounds_y": (0, 2000), "epsilon": 2}


@pytest.fixture
def bills(tmp_path):
    """A survey whose columns do not stand in the order of any command here."""
    draw = np.random.default_rng(5)
    n = 600
    frame = pd.DataFrame(
        {
            "note": ["x"] * n,
            "spending": np.zeros(n),
            "visits": draw.integers(0, 20, n),
            "age": draw.uniform(0, 100, n).round(1),
        }
    )
    frame["spending"] = (
        100 + 3 * frame["age"] + 20 * frame["visits"] + draw.normal(0, 20, n)
    ).round(2)
    path = tmp_path / "bills.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_and_a_frame_give_the_same_draw(run, bills, command):
    words = (*TARGET, *BOUNDS, "--epsilon", "2", "--seed", "7", "--json", *COMMANDS[command])
    done = run(command, bills, *words)
    assert done.code == 0, done.err
    kind, options = MODELS[command]
    frame = pd.read_csv(bills)
    fitted = kind(random_state=7, **PUBLIC, **options).fit(frame[["age", "visits"]], frame.spending)
    release = Release.from_json(done.out)
    assert release.integers == fitted.release_.integers
    assert release.details["coefficients"] == ("intercept", "age", "visits")
    assert release.bounds.columns == ("age", "visits", "spending")
    assert release.statistic == fitted.release_.statistic


@pytest.mark.parametrize("command", COMMANDS)
def test_the_charge_is_made_before_a_record_is_read(run, bills, ledger, monkeypatch, command):
    journal = []
    reduce = TableSource.reduce
    monkeypatch.setattr(
        TableSource, "reduce", lambda self, k: (journal.append(ledger.spent), reduce(self, k))[1]
    )
    words = (*TARGET, *BOUNDS, "--epsilon", "0.5", "--ledger", ledger.path, *COMMANDS[command])
    done = run(command, bills, *words)
    assert (done.code, done.err) == (0, "")
    assert journal
    assert set(journal) == {ledger.spent}
    assert "budget.ledger, 0.5 of 1 left" in done.out
    refused = run(command, bills, *words, "--epsilon", "0.6")
    assert refused.code == 3
    assert ledger.remaining == ledger.spent


@pytest.mark.parametrize("command", COMMANDS)
def test_a_private_number_of_records_is_not_counted(run, bills, monkeypatch, command):
    monkeypatch.setattr(TableSource, "count", lambda _: pytest.fail("counted"))
    words = (*TARGET, *BOUNDS, "--epsilon", "2", "--neighbours", "add-remove", *COMMANDS[command])
    done = run(command, bills, *words, "--records-per-person", "2", "--n-max", "5000", "--json")
    assert done.code == 0, done.err
    receipt = json.loads(done.out)
    assert (receipt["neighbours"], receipt["records_per_person"]) == ("add-remove", 2)
    assert receipt["details"]["records"] == "private, at most 5000"


@pytest.mark.parametrize("command", COMMANDS)
def test_cells_that_are_no_numbers_are_absorbed(run, tmp_path, command):
    rows = ["many,2,3", "1,,", '"1', "5,1", "", "nan,inf,-inf", "9,9,9,9"]
    path = tmp_path / "dirty.csv"
    path.write_text("age,visits,spending\n" + "\n".join(rows * 20) + "\n")
    done = run(command, path, *TARGET, *BOUNDS, "--epsilon", "1", *COMMANDS[command])
    assert (done.code, done.err) == (0, "")


def test_covariates_may_be_named_in_an_order_of_their_own(run, bills):
    words = (*TARGET, *BOUNDS, "--epsilon", "50", "--json")
    done = run("huber", bills, *words, "--threshold", "40", "--covariates", "visits, age")
    release = Release.from_json(done.out)
    assert release.details["coefficients"] == ("intercept", "visits", "age")
    assert abs(release.value[1] - 20) < 4
    assert abs(release.value[2] - 3) < 1


def test_a_name_with_a_comma_stands_in_quotes_as_in_the_file(run, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text('"a, b",c,y\n' + "1,2,3\n" * 50)
    words = ("--target", "y", "--bounds", "y=0:9", "--bounds", "a, b=0:9", "--bounds", "c=0:9")
    done = run("linear", path, *words, "--covariates", 'c,"a, b"', "--epsilon", "1", "--json")
    assert json.loads(done.out)["details"]["coefficients"] == ["intercept", "c", "a, b"]


def test_options_reach_the_receipt(run, bills):
    words = (*TARGET, "--bounds", "age=0:120", "--epsilon", "2", "--json")
    through = json.loads(run("linear", bills, *words, "--no-intercept").out)
    assert through["details"]["coefficients"] == ["age"]
    bounded = run("linear", bills, *words, "--coef-bound", "900", "--mechanism", "objective")
    receipt = json.loads(bounded.out)
    assert (receipt["details"]["coef_bound"], receipt["mechanism"]) == ("900", "objective")
    normed = json.loads(run("linear", bills, *words, "--norm", "l2", "--mechanism", "kng").out)
    assert normed["sampler"] == "affine"
    scaled = json.loads(run("huber", bills, *words, "--threshold", "auto").out)
    assert scaled["guarantee"] == "exact"
    several = run("quantreg", bills, *words, "--quantile", "0.25", "--quantile", "3/4")
    receipt = json.loads(several.out)
    assert receipt["details"]["quantile"] == "0.25, 0.75"
    assert len(receipt["value"]) == 4
    chain = json.loads(run("quantreg", bills, *words, "--sampler", "hit-and-run").out)
    assert chain["guarantee"] == "approximate"


def test_huber_needs_no_bounds_of_the_target(run, bills):
    words = ("--target", "spending", *BOUNDS, "--threshold", "40", "--epsilon", "2", "--json")
    receipt = json.loads(run("huber", bills, *words).out)
    assert receipt["bounds"]["columns"] == ["age", "visits"]


WRONG = {
    "no target": ((*BOUNDS, "--epsilon", "1"), 2, "target is missing; name the column to predict"),
    "no epsilon": ((*TARGET, *BOUNDS), 2, "epsilon is missing"),
    "no bounds": (("--target", "spending", "--epsilon", "1"), 2, "bounds are missing"),
    "no covariates": ((*TARGET, "--epsilon", "1"), 2, "covariates are missing; name them"),
    "empty covariates": ((*TARGET, *BOUNDS, "--covariates", "", "--epsilon", "1"), 2, "missing"),
    "bounds without a name": (
        ("--target", "spending", "--bounds", "0:1", "--epsilon", "1"),
        2,
        "--bounds must name its column in a regression",
    ),
    "no bounds of the target": (
        ("--target", "spending", *BOUNDS, "--epsilon", "1"),
        2,
        "has no bounds; state them: --bounds ",
    ),
    "no bounds of a covariate": (
        (*TARGET, *BOUNDS, "--covariates", "age,height", "--epsilon", "1"),
        2,
        "covariate 'height' has no bounds; state them, as in --bounds height=0:100.",
    ),
    "a covariate twice": (
        (*TARGET, *BOUNDS, "--covariates", "age,age", "--epsilon", "1"),
        2,
        "--covariates names 'age' twice",
    ),
    "the target as a covariate": (
        (*TARGET, *BOUNDS, "--covariates", "age,spending", "--epsilon", "1"),
        2,
        "'spending' is the target and cannot be a covariate too",
    ),
    "no such target": (
        ("--target", "bills", "--bounds", "bills=0:9", *BOUNDS, "--epsilon", "1"),
        4,
        "bills.csv has no column named 'bills'; it has 'note', 'spending', 'visits', 'age'.",
    ),
    "no such covariate": (
        (*TARGET, "--bounds", "height=0:9", "--epsilon", "1"),
        4,
        "bills.csv has no column named 'height'",
    ),
    "reversed bounds": (
        (*TARGET, "--bounds", "age=9:0", "--epsilon", "1"),
        2,
        "--bounds must satisfy low < high, got (9, 0).",
    ),
    "coef-bound": (
        (*TARGET, *BOUNDS, "--coef-bound", "-1", "--epsilon", "1"),
        2,
        "--coef-bound must be greater than 0, got -1.",
    ),
    "sampler": (
        (*TARGET, *BOUNDS, "--sampler", "dice", "--epsilon", "1"),
        2,
        "sampler must be one of 'auto'",
    ),
    "over budget": ((*TARGET, *BOUNDS, "--epsilon", "1.1"), 3, "has 1 left of its cap of 1."),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", WRONG)
def test_bad_input_is_refused_before_the_charge(run, bills, ledger, tmp_path, command, case):
    words, code, message = WRONG[case]
    if case == "no bounds of the target" and command == "huber":
        return  # it needs none
    out = tmp_path / "receipt.json"
    more = (*COMMANDS[command], "--ledger", ledger.path, "--out", out)
    outcome = run(command, bills, *words, *more)
    assert message in outcome.err
    assert (outcome.code, outcome.out, outcome.err.count("Error:")) == (code, "", 1)
    assert (ledger.spent, ledger.history()) == (0, [])
    assert not out.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_files_that_cannot_be_read(run, tmp_path, command):
    for name, message in (("none.csv", "cannot read"), ("none.parquet", "cannot read")):
        words = (*TARGET, *BOUNDS, "--epsilon", "1", *COMMANDS[command])
        outcome = run(command, tmp_path / name, *words)
        assert (outcome.code, message in outcome.err) == (4, True)


def test_words_of_the_library_become_options(run, bills):
    words = (*TARGET, *BOUNDS, "--epsilon", "1")
    for command, more, told in (
        ("linear", ("--mechanism", "objective"), "Use a bounded domain (--coef-bound"),
        ("huber", (), "threshold is missing"),
        (
            "huber",
            ("--threshold", "9", "--sampler", "hit-and-run"),
            "It serves --mechanism kng",
        ),
        (
            "quantreg",
            ("--mechanism", "kng", "--smoothing", "1"),
            "--mechanism kng draws planes of the check loss itself",
        ),
    ):
        outcome = run(command, bills, *words, *more)
        assert outcome.code == 2
        assert told in outcome.err
        assert "='" not in outcome.err


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_every_option(run, command):
    text = run(command, "--help").out
    for option in ("target", "covariates", "epsilon", "bounds", "coef-bound", "no-intercept"):
        assert f"--{option} " in text
    for option in ("mechanism", "norm", "sampler", "neighbours", "n-max", "records-per-person"):
        assert f"--{option} " in text
    for option in ("ledger", "seed", "json", "out"):
        assert f"--{option} " in text
    assert ("--threshold " in text) == (command == "huber")
    assert ("--quantile " in text) == (command == "quantreg")


def test_a_fitted_model_predicts(bills):
    fitted = kng.LinearRegression(**{**PUBLIC, "epsilon": 500})
    fitted.fit(bills, target="spending", features=["age", "visits"])
    frame = pd.DataFrame({"age": [50.0], "visits": [10.0]})
    assert abs(fitted.predict(frame)[0] - 450) < 20
    assert fitted.feature_names_in_.tolist() == ["age", "visits"]


@pytest.mark.parametrize(
    ("features", "says"),
    [
        ([], "features are missing"),
        (["age", "age"], "features name 'age' twice"),
        (["age", "spending"], "'spending' is the target and cannot be a feature too"),
        ("age", r"features must be a list of names, as in features=\['age'\]"),
    ],
)
def test_columns_must_differ(bills, features, says):
    with pytest.raises(kng.KngError, match=says):
        kng.LinearRegression(**PUBLIC).fit(bills, target="spending", features=features)


def test_a_refused_file_leaves_the_model_as_it_was(bills, tmp_path):
    fitted = kng.LinearRegression(**PUBLIC)
    fitted.fit(bills, target="spending")
    before = dict(vars(fitted))
    with pytest.raises(kng.KngError):
        fitted.fit(tmp_path / "none.csv", target="spending")
    assert vars(fitted) == before
