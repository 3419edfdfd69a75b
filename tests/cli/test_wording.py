"""Messages at the shell: options for arguments, and nothing of the caller's own changed."""

from __future__ import annotations

import pytest

from kng.cli.main import commands
from kng.cli.wording import at_the_shell
from kng.core.naming import Code, argument, call, in_python, keyword, outside_python
from kng.data import Table

# A command, a reference, and its words there.
WORDS = [
    ("median", argument("n_max"), "--n-max"),
    ("median", argument("n_max", 5), "--n-max 5"),
    ("median", argument("neighbours", "add-remove"), "--neighbours add-remove"),
    ("median", argument("bounds", (0, 100)), "--bounds 0:100"),
    ("median", argument("bounds", {"age": (0, 100)}), "--bounds age=0:100"),
    ("median", argument("bounds", {"a b": (0, 100)}), '--bounds "a b=0:100"'),
    ("median", argument("bounds", (Code("low"), Code("high"))), "--bounds low:high"),
    ("geomedian", argument("bounds", {"x": (0, 1), "y": (0, 2)}), "--bounds x=0:1 --bounds y=0:2"),
    ("median", argument("by", {"sex": ["F", "M"]}), "--by sex=F,M"),
    ("median", argument("by", {"zip": ["01", "02"]}), "--by \"zip='01','02'\""),
    ("median", keyword("by"), "--by"),
    ("median", argument("where", "age >= 40"), '--where "age >= 40"'),
    ("median", argument("where", "sex = 'F'"), "--where \"sex = 'F'\""),
    ("median", argument("where", "sex = '$F'"), "--where 'sex = '\"'\"'$F'\"'\"''"),
    ("median", argument("separator", ";"), "--separator ';'"),
    ("median", argument("separator", "\t"), "--separator '\\t'"),
    ("median", argument("where", ""), "--where ''"),
    ("histogram", argument("levels", ["F", "M"]), "--levels F,M"),
    ("histogram", argument("levels", [0, 1]), "--levels 0,1"),
    ("histogram", argument("levels", {"sex": ["F", "M"]}), "--levels sex=F,M"),
    ("histogram", argument("edges", {"age": [0, 18, 65, 120]}), "--edges age=0,18,65,120"),
    ("histogram", argument("edges", [float("-inf"), 0, float("inf")]), "--edges -inf,0,inf"),
    ("linear", argument("bounds_X"), "--bounds"),
    ("linear", argument("bounds_y"), "--bounds of the target"),
    ("linear", argument("bounds_y", (0, 100)), "--bounds COLUMN=0:100"),
    ("linear", argument("bounds_X", {"age": (0, 100)}), "--bounds age=0:100"),
    ("linear", argument("coef_bound", None), "no --coef-bound"),
    ("linear", argument("fit_intercept", False), "--no-intercept"),
    ("linear", argument("fit_intercept", True), "no --no-intercept"),
    ("linear", argument("features"), "--covariates"),
    ("quantile", argument("q"), "--quantile"),
    ("quantreg", argument("quantile"), "--quantile"),
    ("plan", argument("quantile"), "--quantile"),
    ("median", argument("random_state", None), "no --seed"),
    ("logistic", argument("classes", ("no", "yes")), "--classes no,yes"),
    # What the command does not take keeps its name.
    ("median", argument("coef_bound"), "coef bound"),
    ("median", argument("coef_bound", 3), "coef bound 3"),
    ("median", argument("domain"), "domain"),
    # Settings of a file of questions.
    ("run", argument("n_max", 5), "n_max = 5"),
    ("run", argument("bounds", {"a b": (0, 1)}), 'bounds = {"a b" = [0, 1]}'),
    ("run", argument("by", {"sex": ["F", "M"]}), 'by = {sex = ["F", "M"]}'),
    ("run", argument("q"), "quantile"),
    ("run", argument("fit_intercept", False), "fit_intercept = false"),
    ("run", argument("ledger"), "--ledger"),
    ("median", call("kng.median"), "kng median"),
    ("median", call("HuberRegressor"), "kng huber"),
    ("median", call("kng.geometric_median"), "kng geomedian"),
    ("median", call("history()"), "kng budget history"),
    ("median", call("verify()"), "kng budget verify"),
    ("median", call("kng.Ledger"), "kng budget create"),
    ("median", call("Ledger.adopt", "/a b/x"), 'kng budget adopt "/a b/x"'),
    ("median", call("kng.KNG"), "kng.KNG"),
    ("median", in_python(", or a part"), ""),
    ("median", outside_python(f"with {argument('column')}"), "with --column"),
]


@pytest.mark.parametrize(
    ("command", "reference", "words"), WORDS, ids=[f"{row[0]} {row[-1]}" for row in WORDS]
)
def test_references(command, reference, words):
    said = at_the_shell(f"Use {reference}.", commands.commands[command])
    assert said == f"Use {words}."


def test_a_command_of_a_group():
    create = commands.commands["budget"].commands["create"]
    assert at_the_shell(argument("cap"), create) == "--epsilon"
    share = commands.commands["budget"].commands["share"]
    assert at_the_shell(argument("cap"), share) == "--cap"
    # Where no command is asked for, the options of all.
    assert at_the_shell(argument("n_max"), commands) == "--n-max"


@pytest.mark.parametrize(
    "message",
    [
        "s.csv has no column named 'n_max'; it has 'coef_bound', 'bounds_X'.",
        "cannot read '/data/n_max/bounds_y.csv': No such file or directory. Check the path.",
        "/data/coef_bound is a directory or a device. Give the path of a file.",
        "column neighbours='add-remove' holds text; bounds=(0, 100).",
        '\x0e["argument", "n_max"]\x0f',
    ],
)
def test_what_is_the_callers_own_stays(message):
    assert at_the_shell(message, commands) == message


AGE = ("--column", "age", "--bounds", "0:120", "--epsilon", "1")
FIT = ("--target", "income", "--bounds", "age=0:120", "--bounds", "income=0:9000", "--epsilon", "1")
# Commands that are refused, and what they say instead of the words of Python.
REFUSED = [
    (("median", *AGE, "--n-max", "9"), "--n-max belongs to --neighbours add-remove; under"),
    (("median", *AGE, "--epsilon", "0"), "--epsilon must be greater than 0, got 0."),
    (("median", *AGE, "--bounds", "9:1", "--column", "income"), "as in --bounds 0:100."),
    (("median", *AGE, "--where", "age"), "--where age: 'age' is a column where a"),
    (("median", *AGE, "--where", "age >= "), '--where "age >= " cannot be read'),
    (("median", *AGE, "--person", "age"), "--max-records is missing; --person and --max-records"),
    (("median", *AGE, "--by", "nobody=F,M"), "nobody"),
    (("quantile", *AGE, "--q", "1"), "--quantile must lie strictly between 0 and 1, got 1."),
    (("geomedian", *AGE), "as in --bounds x=0:50 --bounds y=0:50; for one column use kng median."),
    (("count", "--epsilon", "1"), 'To count some of them give --where "age >= 40"; to keep'),
    (("histogram", "--epsilon", "1"), "as in --edges 0,18,65,120 or --levels F,M."),
    (("histogram", "--column", "age", "--edges", "5", "--epsilon", "1"), "--edges must be two or"),
    (("proportion", "--epsilon", "1"), "--of is missing; say what the share is of, as in --of"),
    (("proportion", "--of", "age", "--epsilon", "1"), "--of age: 'age' is a column where a"),
    (("linear", *FIT, "--coef-bound", "0"), "--coef-bound must be greater than 0, got 0."),
    (("linear", *FIT, "--centre", "1"), "--centre must be 2 numbers, one for each coefficient"),
    (("linear", *FIT, "--sampler", "magic"), "--sampler must be one of 'auto'"),
    (("linear", *FIT, "--mechanism", "knorm"), "--mechanism must be one of"),
    (
        ("linear", *FIT, "--norm", "l7"),
        "--norm must be one of 'auto', 'linf', 'l2', 'l1'; got 'l7'",
    ),
    (("huber", *FIT), "--threshold is missing. Give the residual beyond which"),
    (("huber", *FIT, "--threshold", "auto", "--mechanism", "kng"), "--threshold auto is for"),
    (("quantreg", *FIT, "--quantile", "0.9,0.5"), "--quantile must be increasing, got 0.9, 0.5."),
    (
        ("quantreg", *FIT, "--quantile", "0.5,0.9", "--no-intercept", "--noncrossing", "planes"),
        "Use --noncrossing predictions, or fit an intercept (no --no-intercept).",
    ),
    (("expectile", *FIT, "--expectile", "1"), "--expectile must lie strictly between 0 and 1"),
    (
        ("mean", *AGE, "--mechanism", "exponential", "--norm", "l1"),
        "--mechanism exponential has no norm",
    ),
    (("median", *AGE, "--threads", "0"), "--threads must be a whole number of at least 1, got 0."),
    (
        ("median", *AGE, "--memory-limit", "1MB"),
        "--memory-limit must be at least 128MB, got '1MB'.",
    ),
    (("median", *AGE, "--decimal", ";"), "--decimal must be '.' or ',', got ';'."),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_errors_at_the_shell(run, ages, words, said):
    command, *rest = words
    outcome = run(command, ages, *rest)
    assert outcome.code in (2, 4)
    assert said in outcome.err
    assert "n_max" not in outcome.err


def test_errors_of_a_file_of_questions(run, ages, tmp_path):
    path = tmp_path / "questions.toml"
    path.write_text(
        f'table = "{ages}"\nepsilon = 1\nn_max = 9\n'
        '[[question]]\nname = "a"\nstatistic = "median"\ncolumn = "age"\nbounds = [0, 120]\n'
        '[[question]]\nname = "b"\nstatistic = "linear"\ntarget = "income"\n'
        "bounds = {age = [0, 120], income = [0, 9000]}\ncoef_bound = 0\n"
    )
    outcome = run("run", path)
    assert outcome.code == 2
    assert 'a: n_max belongs to neighbours = "add-remove"; under replace-one' in outcome.err
    assert "b: n_max belongs to" in outcome.err


def test_errors_of_declared_tables(run, ages, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kng.toml").write_text(
        f'[tables.visits]\nsource = "{ages}"\nrelation = "add-remove"\n'
        "[tables.visits.columns.age]\nbounds = [0, 120]\n"
    )
    assert Table.declared("visits")
    words = ("median", "visits", "--column", "age", "--epsilon", "1", "--neighbours", "replace-one")
    outcome = run(*words)
    assert "asks for --neighbours replace-one. Use --neighbours add-remove" in outcome.err


def test_ledgers(run, ages, ledger):
    path = ledger.path
    assert run("median", ages, *AGE, "--ledger", path).code == 0
    outcome = run("budget", "history", path, "--receipt", "1")
    assert "--receipt must be the number of a charge" in outcome.err
    assert "kng budget history lists them." in outcome.err
    path.with_name(f"{path.name}.head").unlink()
    assert f"run kng budget adopt {path}." in run("budget", "show", path).err
