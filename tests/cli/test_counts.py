"""``kng count``, ``proportion``, ``histogram``, ``sum`` and ``variance`` at the shell."""

from __future__ import annotations

import json

import numpy as np
import pytest

SURE = ("--epsilon", 5000, "--seed", 1, "--json")


@pytest.fixture
def survey(tmp_path):
    """Sexes, ages and payments, some of them missing."""
    path = tmp_path / "people.csv"
    cells = [(20 + i % 50, "FMX"[i % 3] if i % 10 else "", f"{i % 7}.5") for i in range(300)]
    lines = [f"{age},{sex},{paid}" for age, sex, paid in cells]
    path.write_text("\n".join(["age,sex,paid", *lines]) + "\n")
    return path, cells


def value(done):
    assert (done.code, done.err) == (0, ""), done.err
    return json.loads(done.out)["value"]


def test_count(run, survey):
    path, cells = survey
    assert value(run("count", path, "--where", "age >= 40", *SURE)) == sum(
        a >= 40 for a, *_ in cells
    )
    assert value(run("count", path, "--neighbours", "add-remove", *SURE)) == 300


def test_proportion(run, survey):
    path, cells = survey
    found = value(run("proportion", path, "--of", "sex = 'F'", *SURE))
    assert found == pytest.approx(sum(s == "F" for _, s, _ in cells) / 270, abs=1e-3)


def test_histogram(run, survey):
    path, cells = survey
    sexes = [sex for _, sex, _ in cells]
    expected = [sexes.count("F"), sexes.count("M")]
    assert value(run("histogram", path, "--levels", "sex=F,M", *SURE)) == expected
    words = ("--levels", "F,M", "--column", "sex", "--other", "rest", "--missing", "M")
    filled = [expected[0], expected[1] + 30, sexes.count("X")]
    assert value(run("histogram", path, *words, *SURE)) == filled
    ages = np.histogram([age for age, *_ in cells], [0, 30, 60])[0]
    assert value(run("histogram", path, "--edges", "age=0,30,60", *SURE)) == list(ages)
    whole = value(run("histogram", path, "--edges", "age=-inf,30,inf", *SURE))
    assert sum(whole) == 300
    shown = run("histogram", path, "--levels", "age=30,31", "--epsilon", 1).out
    assert shown.startswith("histogram ")
    assert "30: " in shown


def test_groups(run, survey):
    path, cells = survey
    found = value(run("count", path, "--by", "sex=F,M", *SURE))
    assert np.ravel(found).tolist() == [sum(s == level for _, s, _ in cells) for level in "FM"]
    words = ("--bounds", "paid=0:8", "--granularity", "0.5", "--by", "sex=F")
    women = sum(float(paid) for _, sex, paid in cells if sex == "F")
    assert np.ravel(value(run("sum", path, *words, *SURE))).tolist() == [women]


def test_sum_and_variance(run, survey):
    path, cells = survey
    paid = np.array([float(paid) for *_, paid in cells])
    words = ("--bounds", "paid=0:8", "--granularity", "0.5")
    assert value(run("sum", path, *words, *SURE)) == paid.sum()
    column = ("--column", "paid", "--bounds", "0:8")
    assert value(run("variance", path, *column, *SURE)) == pytest.approx(paid.var(ddof=1), rel=1e-3)
    biased = value(run("variance", path, *column, "--ddof", 0, *SURE))
    assert biased == pytest.approx(paid.var(), rel=1e-3)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("count",), 2, "--neighbours replace-one the number of records is public"),
        (("proportion",), 2, "--of"),
        (("proportion", "--of", "sex >"), 2, "cannot be read"),
        (("histogram",), 2, "--levels F,M"),
        (("histogram", "--levels", "sex=F,F"), 2, "twice"),
        (("histogram", "--edges", "age=9,3"), 2, "must grow"),
        (("histogram", "--edges", "0,3"), 4, "--edges age=0,18,65,120"),
        (("histogram", "--edges", "age=0,3", "--column", "age"), 2, "--column"),
        (("histogram", "--edges", "age=0,3", "--levels", "sex=F"), 2, "both"),
        (("sum",), 2, "--bounds"),
        (("sum", "--bounds", "wage=0:1"), 4, "wage"),
        (("variance", "--bounds", "age=0:1", "--ddof", "x"), 2, "--ddof"),
    ],
)
def test_what_is_wrong_is_said_in_words_of_the_shell(run, survey, ledger, words, code, says):
    path, _ = survey
    done = run(words[0], path, *words[1:], "--epsilon", 1, "--ledger", ledger.path)
    assert done.code == code
    assert says in done.err
    assert ledger.spent == 0
