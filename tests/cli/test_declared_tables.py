"""``kng median visits``: a bare word is a table of kng.toml."""

from __future__ import annotations

import json

import pytest

from kng.ledger import Ledger

DECLARED = """
[tables.survey]
source = "survey.csv"
relation = "replace-one"
[tables.survey.columns.age]
bounds = [0, 120]
step = 1
[tables.survey.columns.income]
bounds = [0, 10000]
[tables.survey.columns.sex]
levels = ["F", "M"]
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A directory with a survey and its declaration, in which commands run."""
    monkeypatch.chdir(tmp_path)
    rows = (f"{20 + i % 50},{1000 * (i % 7)},{'FM'[i % 2]}" for i in range(500))
    (tmp_path / "survey.csv").write_text("\n".join(["age,income,sex", *rows]) + "\n")
    (tmp_path / "kng.toml").write_text(DECLARED)
    return tmp_path


SEED = ("--epsilon", 1, "--seed", 3, "--json")


def test_a_declared_median_is_the_one_with_everything_said(run, folder):
    declared = run("median", "survey", "--column", "age", *SEED)
    said = run(
        *("median", "survey.csv", "--column", "age", "--bounds", "0:120"),
        *("--granularity", "1", *SEED),
    )
    assert declared.code == 0
    assert declared.out == said.out


def test_options_come_before_the_declaration(run, folder):
    words = ("median", "survey", "--column", "age", "--bounds", "0:60", "--granularity", "2")
    receipt = json.loads(run(*words, *SEED).out)
    assert receipt["bounds"]["high"] == ["60"]
    assert receipt["lattice"]["step"] == ["2"]


@pytest.mark.parametrize("data", ["survey", "survey.csv"])
def test_column_twice_is_two_columns(run, folder, data):
    bounds = () if data == "survey" else ("--bounds", "0:120", "--bounds", "0:10000")
    done = run("mean", data, "--column", "age", "--column", "income", *bounds, *SEED)
    named = run("mean", "survey.csv", "--bounds", "age=0:120", "--bounds", "income=0:10000", *SEED)
    assert done.code == 0
    assert done.out == named.out


def test_one_range_for_two_columns(run, folder):
    words = ("--column", "age", "--column", "income", "--bounds", "0:9")
    receipt = json.loads(run("geomedian", "survey.csv", *words, *SEED).out)
    assert receipt["bounds"] == {
        "low": ["0", "0"],
        "high": ["9", "9"],
        "columns": ["age", "income"],
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            (
                "--column",
                "a",
                "--column",
                "b",
                "--bounds",
                "0:1",
                "--bounds",
                "0:1",
                "--bounds",
                "0:1",
            ),
            "--bounds is given 3 times for 2 columns",
        ),
        (("--column", "a", "--column", "a", "--bounds", "0:1"), "--column is given twice for 'a'"),
        (("--column", "a", "--bounds", "a=0:1"), "these bounds name their own column"),
    ],
)
def test_columns_and_ranges_that_do_not_fit(run, folder, words, said):
    done = run("mean", "survey.csv", *words, "--epsilon", 1)
    assert done.code == 2
    assert said in done.err


def test_groups_by_a_declared_category(run, folder):
    done = run("median", "survey", "--column", "age", "--by", "sex", *SEED)
    words = ("--column", "age", "--bounds", "0:120", "--granularity", "1", "--by", "sex=F,M")
    assert (done.code, done.out) == (0, run("median", "survey.csv", *words, *SEED).out)


def test_models_take_bounds_and_classes(run, folder):
    done = run("linear", "survey", "--target", "income", *SEED)
    said = run(
        *("linear", "survey.csv", "--target", "income", "--bounds", "age=0:120"),
        *("--bounds", "income=0:10000", *SEED),
    )
    assert (done.code, done.out) == (0, said.out)
    done = run("logistic", "survey", "--target", "sex", "--covariates", "age", *SEED)
    said = run(
        *("logistic", "survey.csv", "--target", "sex", "--bounds", "age=0:120"),
        *("--classes", "F,M", *SEED),
    )
    assert (done.code, done.out) == (0, said.out)


def test_bounds_for_more_columns_than_a_model_uses_are_fine(run, folder):
    words = ("--target", "income", "--bounds", "age=0:120", "--bounds", "income=0:9000", *SEED)
    done = run("linear", "survey.csv", "--covariates", "age", "--bounds", "height=0:3", *words)
    assert (done.code, done.out) == (0, run("linear", "survey.csv", *words).out)


def test_the_declared_ledger_pays_and_no_other(run, folder):
    ledger = Ledger(folder / "a.ledger", cap=2)
    Ledger(folder / "b.ledger", cap=2)
    text = DECLARED.replace("[tables.survey.col", 'ledger = "a.ledger"\n[tables.survey.col', 1)
    (folder / "kng.toml").write_text(text)
    words = ("survey", "--epsilon", 1)
    done = run("median", *words, "--column", "age")
    assert done.code == 0
    assert "a.ledger, 1 of 2 left" in done.out
    done = run("median", *words, "--column", "age", "--ledger", "b.ledger")
    assert (done.code, "Leave out --ledger" in done.err) == (2, True)
    assert run("linear", *words, "--target", "income").code == 0
    assert ledger.remaining == 0
    assert run("median", *words, "--column", "age").code == 3
    done = run("median", *words, "--column", "age", "--seed", "3")
    assert (done.code, "ledgers reject" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("survey", "--column", "age", "--neighbours", "add-remove"),
            "Use --neighbours replace-one, or change the declaration.",
        ),
        (("survey", "--column", "height"), "declares no column 'height'; it has 'age'"),
        (
            ("survey",),
            "column 'sex' is declared as a category. Choose other columns, "
            "as in --column age --column pay",
        ),
        (("people", "--column", "age"), "kng.toml has no table 'people'; it has 'survey'."),
        (("survey", "--column", "age", "--table", "x"), "and --table says otherwise."),
    ],
)
def test_what_contradicts_the_declaration_is_refused(run, folder, words, said):
    done = run("median", *words, "--epsilon", 1)
    assert done.code == 2
    assert said in done.err


def test_every_fault_of_the_file_is_on_a_line_of_its_own(run, folder):
    (folder / "kng.toml").write_text(DECLARED.replace("[0,", "[20000,").replace('"F", "M"', '"F"'))
    done = run("median", "survey", "--column", "age", "--epsilon", 1)
    assert done.code == 2
    assert len(done.err.splitlines()) == 4


def test_without_a_file_a_bare_word_is_explained(run, folder):
    (folder / "kng.toml").unlink()
    done = run("median", "survey", "--column", "age", "--epsilon", 1)
    assert done.code == 2
    assert "give a file with its suffix (survey.csv)" in done.err
    (folder / "survey").mkdir()
    (folder / "survey.csv").rename(folder / "survey" / "a.csv")
    words = ("--column", "age", "--bounds", "0:120", "--epsilon", 1)
    assert run("median", "survey/", *words).code == 0
    assert run("median", "survey/*", *words).code == 0


def test_covariates_may_be_declared_categories(run, folder):
    words = ("linear", "survey", "--target", "income", "--covariates")
    receipt = json.loads(run(*words, "age,sex", *SEED).out)
    assert receipt["details"]["coefficients"] == ["intercept", "age", "sex[M]"]
    only = json.loads(run(*words, "sex", *SEED).out)
    assert only["details"]["coefficients"] == ["intercept", "sex[M]"]


@pytest.mark.parametrize("bounds", [(), ("--bounds", "income=0:10000")], ids=["none", "stated"])
def test_what_a_huber_regression_predicts_is_on_receipt_and_history(run, folder, bounds):
    ledger = Ledger(folder / "budget.ledger", cap=1)
    words = ("--threshold", 1000, "--bounds", "age=0:120", *bounds, "--epsilon", "0.5")
    done = run("huber", "survey.csv", "--target", "income", *words, "--ledger", ledger.path)
    assert done.code == 0
    assert ("column income" in done.out) == (not bounds)
    history = run("budget", "history", ledger.path).out
    assert "Huber regression of income on age" in history
