"""What bad input gets: one message, a stable code, nothing charged, nothing written."""

from __future__ import annotations

import os

import pytest

AGE = ("--column", "age", "--bounds", "0:120")

# Everything after DATA but the ledger; the code; what the message must say.
ARGUMENTS = {
    "epsilon missing": (AGE, 2, "epsilon is missing; state what the release may cost"),
    "epsilon 0": ((*AGE, "--epsilon", "0"), 2, "epsilon must be greater than 0, got 0."),
    "epsilon -1": ((*AGE, "--epsilon", "-1"), 2, "epsilon must be greater than 0, got -1."),
    "epsilon nan": ((*AGE, "--epsilon", "nan"), 2, "epsilon must be a finite number, got 'nan'."),
    "epsilon inf": ((*AGE, "--epsilon", "inf"), 2, "epsilon must be a finite number, got 'inf'."),
    "epsilon much": ((*AGE, "--epsilon", "much"), 2, "epsilon must be a number, got 'much'."),
    "epsilon empty": ((*AGE, "--epsilon", ""), 2, "epsilon must be a number, got ''."),
    "bounds missing": (("--epsilon", "1"), 2, "bounds are missing. They are public facts"),
    "bounds reversed": (
        ("--column", "age", "--bounds", "120:0", "--epsilon", "1"),
        2,
        "got (120, 0). State the public range of a record, as in --bounds 0:100.",
    ),
    "bounds nan": (
        ("--bounds", "age=nan:1", "--epsilon", "1"),
        2,
        "bounds low must be a finite number",
    ),
    "bounds inf": (
        ("--bounds", "age=0:inf", "--epsilon", "1"),
        2,
        "bounds high must be a finite number",
    ),
    "bounds malformed": (
        ("--bounds", "0,120", "--epsilon", "1"),
        2,
        "--bounds must be LOW:HIGH or COLUMN=LOW:HIGH, got '0,120'.",
    ),
    "bounds of three ends": (("--bounds", "0:1:2", "--epsilon", "1"), 2, "got '0:1:2'."),
    "bounds twice": (
        ("--bounds", "0:1", "--bounds", "0:2", "--epsilon", "1"),
        2,
        "--bounds is given 2 times; name the column of each",
    ),
    "bounds twice for a column": (
        ("--bounds", "age=0:1", "--bounds", "age=0:2", "--epsilon", "1"),
        2,
        "--bounds is given twice for column 'age'; give it once.",
    ),
    "bounds half named": (
        ("--bounds", "age=0:1", "--bounds", "0:2", "--epsilon", "1"),
        2,
        "--bounds names a column in one place and not in another; name all.",
    ),
    "column named twice": (
        ("--column", "age", "--bounds", "age=0:1", "--epsilon", "1"),
        2,
        "--column goes with --bounds LOW:HIGH",
    ),
    "columns not chosen": (
        ("--bounds", "0:1", "--epsilon", "1"),
        4,
        "Name the column with --column, or as in --bounds age=0:100.",
    ),
    "column missing": (
        ("--bounds", "height=0:1", "--epsilon", "1"),
        4,
        "survey.csv has no column named 'height'; it has 'age', 'income'.",
    ),
    "granularity too fine": (
        (*AGE, "--granularity", "1e-30", "--epsilon", "1"),
        2,
        "into more than 2**44 steps; give a larger granularity.",
    ),
    "granularity too coarse": (
        (*AGE, "--granularity", "500", "--epsilon", "1"),
        2,
        "granularity must not exceed the range of the bounds",
    ),
    "granularity negative": (
        (*AGE, "--granularity", "-1", "--epsilon", "1"),
        2,
        "granularity must be greater than 0, got -1.",
    ),
    "granularity of another column": (
        (*AGE, "--granularity", "income=1", "--epsilon", "1"),
        2,
        "granularity must name the same columns as the bounds, got 'income'.",
    ),
    "granularity twice": (
        (*AGE, "--granularity", "1", "--granularity", "2", "--epsilon", "1"),
        2,
        "--granularity names a column in one place and not in another; name all.",
    ),
    "missing outside": (
        (*AGE, "--missing", "-5", "--epsilon", "1"),
        2,
        "missing must lie inside the bounds (0, 120), got -5.",
    ),
    "n-max with replace-one": (
        (*AGE, "--n-max", "10", "--epsilon", "1"),
        2,
        "--n-max belongs to --neighbours add-remove",
    ),
    "n-max a half": (
        (*AGE, "--n-max", "0.5", "--neighbours", "add-remove", "--epsilon", "1"),
        2,
        "--n-max must be a whole number of at least 1, got 0.5.",
    ),
    "neighbours unknown": (
        (*AGE, "--neighbours", "some", "--epsilon", "1"),
        2,
        "neighbours must be one of 'replace-one', 'add-remove'; got 'some'.",
    ),
    "records per person 0": (
        (*AGE, "--records-per-person", "0", "--epsilon", "1"),
        2,
        "--records-per-person must be a whole number of at least 1, got 0.",
    ),
    "mechanism unknown": (
        (*AGE, "--mechanism", "magic", "--epsilon", "1"),
        2,
        "mechanism must be one of 'auto', 'kng', 'exponential'; got 'magic'.",
    ),
    "seed": (
        (*AGE, "--seed", "7", "--epsilon", "1"),
        2,
        "--seed makes the answer repeatable, and ledgers reject that.",
    ),
    "over budget": (
        (*AGE, "--epsilon", "1.000000000001"),
        3,
        "has 1 left of its cap of 1. Nothing was charged and no answer was drawn.",
    ),
    "option unknown": ((*AGE, "--epsilon", "1", "--fast"), 2, "No such option"),
    "option without value": ((*AGE, "--epsilon"), 2, "Option '--epsilon' requires an argument."),
}


def refused(outcome, code, message, ledger):
    """Check the answer to bad input, and that it cost nothing."""
    assert message in outcome.err
    assert outcome.code == code
    assert outcome.out == ""
    assert outcome.err.count("Error:") == 1
    assert ledger.spent == 0
    assert ledger.history() == []


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(run, ages, ledger, tmp_path, case):
    words, code, message = ARGUMENTS[case]
    before, out = ledger.head, tmp_path / "receipt.json"
    outcome = run("median", ages, "--ledger", ledger.path, "--out", out, *words)
    refused(outcome, code, message, ledger)
    assert ledger.head == before
    assert not out.exists()


@pytest.mark.parametrize(
    ("q", "message"),
    [
        (["0"], "strictly between 0 and 1"),
        (["1"], "strictly between 0 and 1"),
        (["1.5"], "strictly between 0 and 1"),
        (["-0.5"], "strictly between 0 and 1"),
        (["nan"], "--quantile must be a finite number, got 'nan'."),
        (["half"], "--quantile must be a number, got 'half'."),
        (["0.5", "1/2"], "--quantile repeats a quantile"),
        ([], "quantile is missing; state it, as in --quantile 0.9."),
    ],
)
def test_quantiles(run, ages, ledger, q, message):
    words = [word for level in q for word in ("--q", level)]
    outcome = run("quantile", ages, *AGE, "--epsilon", "1", "--ledger", ledger.path, *words)
    refused(outcome, 2, message, ledger)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--norm", "l7"), "norm must be one of"),
        (("--mechanism", "exponential", "--norm", "l1"), "has no norm"),
    ],
)
def test_norms(run, ages, ledger, words, message):
    outcome = run("mean", ages, *AGE, "--epsilon", "1", "--ledger", ledger.path, *words)
    refused(outcome, 2, message, ledger)


FILES = {
    "missing": (None, 4, "cannot read"),
    "empty": ("", 4, "the first line of data.csv is empty. Put the column names there"),
    "header only": ("age\n", 4, "The data are empty."),
    "unclosed quote": ('"age\n31\n45\n', 4, "does not name columns"),
    "no header": ("31\n45\n", 4, "does not name columns"),
    "another column": ("height\n1\n", 4, "has no column named 'age'; it has 'height'."),
}


@pytest.mark.parametrize("case", FILES)
def test_files(run, ledger, tmp_path, case):
    text, code, message = FILES[case]
    path = tmp_path / "data.csv"
    if text is not None:
        path.write_text(text)
    outcome = run("median", path, *AGE, "--epsilon", "1", "--ledger", ledger.path)
    refused(outcome, code, message, ledger)


def test_a_file_that_is_no_csv(run, ledger, tmp_path):
    path = tmp_path / "data.xlsx"
    path.write_bytes(b"PK")
    outcome = run("median", path, *AGE, "--epsilon", "1", "--ledger", ledger.path)
    refused(outcome, 4, "Convert other formats to Parquet or CSV first.", ledger)


def test_a_directory(run, ledger, tmp_path):
    path = tmp_path / "data.csv"
    path.mkdir()
    outcome = run("median", path, *AGE, "--epsilon", "1", "--ledger", ledger.path)
    refused(outcome, 4, "directory 'data.csv' holds no data file", ledger)


def test_one_record_is_enough(run, ledger, tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("age\n44\n")
    outcome = run("median", path, *AGE, "--epsilon", "1", "--ledger", ledger.path)
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize("command", ["mean", "median"])
def test_cells_that_are_no_numbers_are_absorbed_silently(shell, tmp_path, command):
    """A message about a cell would be an output, so clean and dirty files must look alike."""
    cells = ["nan", "inf", "-inf", "None", "", "  ", "hello", "1e999", "=1+1", "9" * 200_000, "٣"]
    dirty, clean = tmp_path / "dirty.csv", tmp_path / "clean.csv"
    dirty.write_text("age,note\n" + "".join(f"{cell},x\n" for cell in cells) + "5\n,,,,\n")
    clean.write_text("age,note\n" + "40,x\n" * (len(cells) + 2))
    seen = [shell(command, path, *AGE, "--epsilon", "1") for path in (dirty, clean)]
    assert [outcome.code for outcome in seen] == [0, 0]
    assert [outcome.err for outcome in seen] == ["", ""]
    labels = [[line.split("  ")[0] for line in outcome.out.splitlines()] for outcome in seen]
    assert labels[0] == labels[1]
    # Everything below the answer is public, and so it is the same.
    below = [
        [line for line in outcome.out.splitlines()[1:] if not line.startswith(("time", "source"))]
        for outcome in seen
    ]
    assert below[0] == below[1]


class TestOut:
    """What is wrong with --out is found before the charge."""

    @pytest.fixture
    def attempt(self, run, ages, ledger):
        def call(out):
            words = ("--epsilon", "1", "--ledger", ledger.path, "--out", out)
            return run("median", ages, *AGE, *words)

        return call

    def test_existing(self, attempt, ledger, tmp_path):
        out = tmp_path / "receipt.json"
        out.write_text("precious")
        refused(attempt(out), 2, "exists already, and receipts are not overwritten.", ledger)
        assert out.read_text() == "precious"

    def test_the_data_or_the_ledger_itself(self, attempt, ages, ledger):
        before = ages.read_bytes()
        for path in (ages, ledger.path):
            refused(attempt(path), 2, "Choose another name.", ledger)
        assert ages.read_bytes() == before

    def test_no_directory(self, attempt, ledger, tmp_path):
        message = "cannot be written (No such file or directory)"
        refused(attempt(tmp_path / "nowhere" / "receipt.json"), 2, message, ledger)

    def test_below_a_file(self, attempt, ages, ledger):
        refused(attempt(ages / "receipt.json"), 2, "cannot be written (Not a directory)", ledger)

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
    def test_directory_not_writable(self, attempt, ledger, tmp_path):
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        refused(attempt(locked / "receipt.json"), 2, "(Permission denied)", ledger)


class TestLedger:
    """A ledger that cannot be used is code 6, and the data stay unread."""

    def test_missing(self, run, ages, tmp_path):
        path = tmp_path / "none.ledger"
        outcome = run("median", ages, *AGE, "--epsilon", "1", "--ledger", path)
        assert outcome.code == 6
        assert f"kng budget create {path} --epsilon CAP" in outcome.err
        assert not path.exists()

    def test_not_a_ledger(self, run, ages):
        before = ages.read_bytes()
        outcome = run("median", ages, *AGE, "--epsilon", "1", "--ledger", ages)
        assert outcome.code == 6
        assert "is not a kng ledger" in outcome.err
        assert "or make one with kng budget create." in outcome.err
        assert ages.read_bytes() == before

    def test_another_promise(self, run, ages, ledger):
        words = ("median", ages, *AGE, "--epsilon", "0.1", "--ledger", ledger.path)
        assert run(*words).code == 0
        # A promise for five records holds for one, and counts once; the converse costs more.
        assert run(*words, "--records-per-person", "5").code == 0
        assert len(ledger.history()) == 2
        assert float(ledger.spent) == 0.2

    def test_seed_without_a_ledger_must_be_a_number(self, run, ages):
        for seed, message in {"x": "seed must be a number", "-1": "at least 0, got -1"}.items():
            outcome = run("median", ages, *AGE, "--epsilon", "1", "--seed", seed)
            assert outcome.code == 2
            assert message in outcome.err


LONG, DIGITS = "a" * 3000, "9" * 5000
COUNT = ("count", "{ages}", "--where", "age > 30", "--epsilon", "1")
PLAN = ("plan", "mean", "--n", "300", "--bounds", "0:100")
MODEL = ("plan", "huber", "--n", "300", "--epsilon", "1", "--bounds", "age=0:9", "--threshold", "1")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((*COUNT, "--memory-limit", DIGITS), 2),
        ((*COUNT, "--memory-limit", "٣GB"), 2),
        (("histogram", "{ages}", "--levels", f"age={DIGITS}", "--epsilon", "1"), 2),
        (("histogram", "{ages}", "--levels", "age=1e999", "--epsilon", "1"), 2),
        ((*COUNT, "--by", f"age={DIGITS}"), 2),
        ((*COUNT, "--ledger", LONG), 6),
        (("init", "{ages}", "--yes", "--out", LONG), 2),
        (("budget", "create", LONG, "--epsilon", "1"), 6),
        (("budget", "verify", "{ledger}", "--head", "\udcff"), 6),
        (("budget", "show", LONG), 6),
        (("reproduce", "figure1", "--quick", "--out", LONG), 2),
        ((*PLAN, "--epsilon", "1", "--spread", ""), 2),
        ((*PLAN, "--epsilon", "1", "--centre", ","), 2),
        ((*PLAN, "--epsilon", "1", "--simulate", "1e300"), 2),
        ((*MODEL, "--spread", "1e-300"), 2),
        ((*MODEL, "--coef", "1e300"), 2),
    ],
    ids=lambda value: (
        " ".join(value)[:60].replace("{", "").replace("}", "") if isinstance(value, tuple) else None
    ),
)
def test_odd_words_of_all_commands_are_told(run, ages, ledger, words, code):
    outcome = run(*(word.format(ages=ages, ledger=ledger.path) for word in words))
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.count("Error:") == 1
    assert "did not foresee" not in outcome.err
    assert ledger.spent == 0


def test_a_plan_of_next_to_no_epsilon_is_all_noise_or_refused(run):
    outcome = run(*PLAN, "--epsilon", "1e-12")
    assert outcome.code == 0
    assert "not worth it" in outcome.out
    for words, said in (
        (("--epsilon", "1e-300"), "--epsilon must lie between 1e-12 and 1e6"),
        (("--epsilon", "1", "--spread", "1e-300"), "far too large or too small"),
    ):
        outcome = run(*PLAN, *words)
        assert (outcome.code, outcome.out) == (2, "")
        assert said in outcome.err
