"""Several quantiles in one word, and the spellings of both sides of the Atlantic."""

from __future__ import annotations

import json

import pytest

AGE = ("--column", "age", "--bounds", "0:120", "--epsilon", "1", "--json", "--seed", "3")
LINE = ("--target", "income", "--bounds", "age=0:120", "--bounds", "income=0:9000")


def answer(outcome):
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)["value"]


@pytest.mark.parametrize(
    "words",
    [
        ("--quantile", "0.1", "--quantile", "0.5", "--quantile", "0.9"),
        ("--quantile", "0.1,0.5", "--q", "0.9"),
        ("--q", "0.1, 0.5, 0.9"),
    ],
)
def test_quantiles_with_commas_or_repeated(run, ages, words):
    expected = answer(run("quantile", ages, *AGE, "--quantile", "0.1,0.5,0.9"))
    assert len(expected) == 3
    assert answer(run("quantile", ages, *AGE, *words)) == expected


def test_quantiles_of_a_regression(run, ages):
    words = ("quantreg", ages, *LINE, "--epsilon", "1", "--json", "--seed", "3")
    expected = answer(run(*words, "--quantile", "0.25,0.75"))
    assert len(expected) == 4
    assert answer(run(*words, "--q", "0.25", "--q", "0.75")) == expected


def test_american_spellings(run, ages, tmp_path):
    british = answer(run("median", ages, *AGE, "--neighbours", "add-remove"))
    assert answer(run("median", ages, *AGE, "--neighbors", "add-remove")) == british
    words = ("linear", ages, *LINE, "--epsilon", "1", "--json", "--seed", "3")
    assert answer(run(*words, "--center", "0,50")) == answer(run(*words, "--centre", "0,50"))
    path = tmp_path / "new.ledger"
    assert run("budget", "create", path, "--epsilon", "1", "--neighbors", "add-remove").code == 0
    assert "add-remove" in run("budget", "show", path).out
