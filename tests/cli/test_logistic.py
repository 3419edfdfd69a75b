"""``kng logistic``: labels of a file, and what is refused before the charge."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import kng
from kng.cli.main import ARGUMENT, OK, main


@pytest.fixture
def survey(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 600)
    insured = np.where(rng.random(600) < 1 / (1 + np.exp(-(age - 50) / 10)), "yes", "no")
    path = tmp_path / "survey.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("age", "insured"), *zip(age, insured, strict=True)])
        csv.writer(file).writerows([("", "yes"), (30, "refused"), (40,)])  # absent
    return path, age.reshape(-1, 1), insured


def words(path, *more):
    return [
        *("logistic", str(path), "--target", "insured", "--bounds", "age=0:100"),
        *("--epsilon", "2", "--seed", "3", *more),
    ]


def test_a_file_gives_what_python_gives(survey, capsys):
    path, X, y = survey
    assert main(words(path, "--classes", "no,yes", "--json")) == OK
    found = kng.Release.from_json(capsys.readouterr().out)
    options = {"epsilon": 2, "bounds_X": (0, 100), "random_state": 3}
    known = kng.LogisticRegression(classes=("yes", "no"), **options).fit(X, y)
    assert np.asarray(found.value).tolist() == np.asarray(known.release_.value).tolist()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "classes are missing"),
        (("--classes", "no"), "two or more"),
        (("--classes", "no,no"), "twice"),
        (("--classes", "no,yes", "--bounds", "insured=0:1"), "has classes"),
    ],
    ids=str,
)
def test_refused(survey, capsys, more, said):
    assert main(words(survey[0], *more)) == ARGUMENT
    assert said in capsys.readouterr().err
