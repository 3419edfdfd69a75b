"""``kng plan`` at the shell: tables, JSON, pictures, and what it refuses."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

import kng

SIZE = ("--n", 3000, "--epsilon", 1)
PLANE = ("--bounds", "age=0:120", "--bounds", "y=0:10", "--target", "y")
CALLS = {
    "mean": ("--bounds", "a=0:1", "--bounds", "b=0:4", "--spread", "0.2,1"),
    "quantile": ("--bounds", "0:100", "--quantile", "0.1,0.9"),
    "median": ("--bounds", "0:100", "--granularity", 1),
    "count": ("--share", 0.2),
    "proportion": ("--share", 0.2),
    "histogram": ("--bins", "F,M,X", "--shares", "0.5,0.4,0.1"),
    "sum": ("--bounds", "0:100", "--missing", 0),
    "variance": ("--bounds", "0:100", "--ddof", 0),
    "linear": (*PLANE, "--coef", 0.02, "--intercept", 3),
    "huber": ("--bounds", "age=0:120", "--threshold", 2),
    "quantreg": (*PLANE, "--q", 0.9),
    "logistic": ("--bounds", "age=0:120", "--coef", "0.02", "--no-intercept"),
}


@pytest.mark.parametrize("statistic", CALLS)
def test_every_statistic_has_a_plan(run, statistic):
    shown = run("plan", statistic, *SIZE, *CALLS[statistic])
    assert (shown.code, shown.err) == (0, "")
    assert "verdict" in shown.out
    assert "=" not in shown.out.partition("noise / sampling")[0]  # arguments are options here
    found = json.loads(run("plan", statistic, *SIZE, *CALLS[statistic], "--json").out)
    assert (found["n"], found["epsilon"], found["error"]) == (3000, "1", None)
    assert all(row["error"] > row["noise"] > 0 for row in found["expected"])


def test_it_is_the_plan_of_the_library(run):
    plan = kng.median.plan(n=3000, epsilon=0.1, bounds=(0, 100), spread=17, error=0.5)
    words = ("--n", 3000, "--epsilon", 0.1, "--bounds", "0:100", "--spread", 17, "--error", 0.5)
    assert run("plan", "median", *words).out == f"{plan!r}\n"
    found = json.loads(run("plan", "median", *words, "--json").out)
    assert found == json.loads(plan.to_json())
    assert found["needed"]["for_this_error"]["records"] == plan.records_needed(0.5)


def test_files_are_new_and_a_dry_run_is_shown(run, tmp_path):
    picture, facts = tmp_path / "plan.svg", tmp_path / "plan.json"
    words = ("plan", "count", *SIZE, "--svg", picture, "--out", facts, "--simulate", 5)
    done = run(*words)
    assert done.code == 0
    assert "measured on 5 simulated data sets" in done.out
    assert ET.parse(picture).getroot().tag.endswith("svg")
    assert json.loads(facts.read_text())["statistic"] == "count"
    again = run(*words)
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("mean", "--epsilon", 1, "--bounds", "0:1"), "--n is missing"),
        (("mean", "--n", 9, "--bounds", "0:1"), "--epsilon is missing"),
        (("mean", *SIZE), "--bounds are missing"),
        (("mean", "--n", "x", "--epsilon", 1, "--bounds", "0:1"), "--n must"),
        (("mean", *SIZE, "--bounds", "0:1", "--share", 0.1), "--share is not for kng plan mean"),
        (("mean", *SIZE, "--bounds", "0:1", "--spread", "x"), "--spread must"),
        (("mean", *SIZE, "--bounds", "0:1", "--q", 0.5), "--quantile is not for"),
        (("quantile", *SIZE, "--bounds", "0:1"), "--quantile is missing"),
        (("count", "--n", 9, "--epsilon", -1), "epsilon must"),
        (("count", *SIZE, "--share", 2), "--share must"),
        (("count", *SIZE, "--error", 0), "--error must"),
        (("count", *SIZE, "--simulate", 0), "--simulate must"),
        (("count", *SIZE, "--out", "/no/such/place"), "--out /no/such/place cannot be written"),
        (("histogram", *SIZE), "--bins are missing"),
        (("histogram", *SIZE, "--bins", 1), "--bins must"),
        (("histogram", *SIZE, "--bins", 3, "--shares", "0.5,0.5"), "--shares must"),
        (("linear", *SIZE, "--bounds", "a=0:1"), "--target is missing"),
        (("linear", *SIZE, "--bounds", "a=0:1", "--target", "y"), "'y' has no bounds"),
        (("linear", *SIZE, "--bounds", "y=0:1", "--target", "y"), "covariates are missing"),
        (("linear", *SIZE, *PLANE, "--coef", "x"), "--coef must"),
        (
            ("linear", *SIZE, *PLANE, "--coef", "1,2"),
            "--coef must have one number per covariate; there are 2 for 1.",
        ),
        (("huber", *SIZE, "--bounds", "a=0:1"), "--threshold is missing"),
        (("multinomial", *SIZE), "'multinomial' is not one of"),
        (("poisson", *SIZE, "--bounds", "a=0:1"), "--target is missing"),
        (("expectile", *SIZE, *PLANE, "--expectile", 1), "--expectile must"),
        (("expectile", *SIZE, *PLANE, "--q", 0.5), "--quantile is not for"),
        (("poisson", *SIZE, *PLANE, "--residual", 1), "--residual is not for"),
        (("count", *SIZE, "--present", 0), "--present must"),
        (("mean", *SIZE, "--bounds", "0:1", "--missing", 0, "--present", 0.5), "--present is the"),
        (("count", "--n", 9, "--epsilon", "1e-300"), "epsilon must"),
        (("count", "--n", 9, "--epsilon", "1e300"), "epsilon must"),
        (("histogram", *SIZE, "--bins", "F,M", "--shares", "0.6,0.6"), "--shares must"),
        (("histogram", *SIZE, "--bins", "F,F"), "--bins has 'F' twice"),
        (("mean", *SIZE, "--bounds", "0:1", "--spread", "1e-300"), "No error can be computed"),
        (("linear", *SIZE, *PLANE, "--residual", "1e300"), "No error can be computed"),
        (("logistic", *SIZE, "--bounds", "a=0:1", "--coef", "1e300"), "No error can be computed"),
        (("linear", "--n", 2, "--epsilon", 1, *PLANE), "--n must be larger"),
    ],
)
def test_what_cannot_be_planned_is_refused(run, words, told):
    done = run("plan", *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
