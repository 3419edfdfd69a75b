"""Releases that succeed: the table, the JSON, the receipt's file and the ledger."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fractions import Fraction

import pytest

from kng.core.release import Release

AGE = ("--column", "age", "--bounds", "0:120")


def rows(text):
    """Read a table back as label and text."""
    return dict(line.split("  ", 1) for line in text.splitlines())


def test_median_in_a_process_of_its_own(shell, ages, ledger):
    done = shell(
        *("median", ages, *AGE, "--granularity", 1, "--epsilon", "0.5", "--ledger", ledger.path)
    )
    assert (done.code, done.err) == (0, "")
    table = {label: text.strip() for label, text in rows(done.out).items()}
    assert 30 < float(table["median"].split()[0]) < 60
    assert table["epsilon"] == "0.5  (one record replaced by another)"
    assert table["guarantee"].startswith("exact")
    assert table["bounds"] == "age [0, 120]"
    assert table["records"] == "500 (public)"
    assert table["ledger"] == "budget.ledger, 0.5 of 1 left"
    assert ledger.spent == Fraction(1, 2)


def test_epsilon_is_read_exactly(run, ages, ledger):
    for _ in range(3):
        words = ("median", ages, *AGE, "--epsilon", "1/3", "--ledger", ledger.path)
        assert run(*words).code == 0
    assert ledger.remaining == 0


def test_json_and_out_are_the_same_release(run, ages, tmp_path):
    out = tmp_path / "receipt.json"
    done = run("median", ages, *AGE, "--epsilon", 1, "--json", "--out", out)
    assert done.code == 0
    assert done.err == f"Receipt written to {out}\n"
    assert out.read_text() == done.out
    release = Release.from_json(done.out)
    assert release.value == json.loads(done.out)["value"]
    assert release.guarantee == "exact"


def test_mean_of_several_columns(run, ages):
    done = run(
        *("mean", ages, "--bounds", "age=0:120", "--bounds", "income=-1000:10000"),
        *("--granularity", "income=0.5", "--granularity", "age=1", "--missing", "7"),
        *("--epsilon", "4", "--norm", "l1", "--mechanism", "k-norm", "--json"),
    )
    receipt = json.loads(done.out)
    assert done.code == 0
    assert receipt["bounds"]["columns"] == ["age", "income"]
    assert receipt["bounds"]["low"] == ["0", "-1000"]
    assert receipt["lattice"]["step"] == ["1", "1/2"]
    assert receipt["details"]["missing counts as"] == "7 (2 times)"
    assert len(receipt["value"]) == 2


def test_one_quantile_is_a_number_and_several_a_list(run, ages):
    one = run("quantile", ages, *AGE, "--epsilon", 1, "--q", "0.9", "--json")
    two = run("quantile", ages, *AGE, "--epsilon", 1, "--q", "0.9", "--q", "1/10", "--json")
    assert isinstance(json.loads(one.out)["value"], float)
    high, low = json.loads(two.out)["value"]
    assert low <= high


def test_add_remove_and_persons_reach_the_receipt(run, ages):
    done = run(
        *("median", ages, *AGE, "--epsilon", 1, "--neighbours", "add-remove", "--n-max", 1000),
        *("--records-per-person", 5, "--mechanism", "exponential", "--json"),
    )
    receipt = json.loads(done.out)
    assert receipt["neighbours"] == "add-remove"
    assert receipt["records_per_person"] == 5
    assert receipt["mechanism"] == "exponential"
    assert receipt["details"]["records"] == "private, at most 1000"


def test_a_seed_repeats_and_is_marked(run, ages):
    words = ("mean", ages, *AGE, "--epsilon", 1, "--seed", 11)
    first, second = run(*words), run(*words)
    assert first.out == second.out
    assert "simulation  (seeded and therefore repeatable; do not publish)" in first.out


def test_without_a_ledger_the_table_says_so(run, ages):
    assert "nothing keeps count of this epsilon" in run("median", ages, *AGE, "--epsilon", 1).out


def test_a_column_may_hold_an_equals_sign(run, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("a=b\n1\n2\n")
    assert "a=b [0, 5]" in run("mean", path, "--bounds", "a=b=0:5", "--epsilon", 1).out


def test_a_terminal_that_cannot_show_a_name_loses_no_release(shell, tmp_path, ledger):
    path = tmp_path / "names.csv"
    path.write_text("年齢\n1\n2\n", encoding="utf-8")
    done = shell(
        *("mean", path, "--bounds", "年齢=0:5", "--epsilon", 1, "--ledger", ledger.path),
        env={"PYTHONIOENCODING": "koi8-r", "PYTHONPATH": ":".join(sys.path), "PYTHONUTF8": "1"},
    )
    assert done.code == 0
    assert r"\u5e74\u9f62 [0, 5]" in done.out
    assert re.search(r"^mean +\d\S* \\xb1 \d\S* \(privacy noise, 95 %\)$", done.out, re.MULTILINE)


def test_help_does_not_wait_for_numpy():
    check = "import sys, kng.cli.main; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize("command", ["mean", "quantile", "median"])
def test_help_names_every_option(run, command):
    text = run(command, "--help").out
    for option in ("epsilon", "bounds", "column", "granularity", "missing", "mechanism"):
        assert f"--{option} " in text
    for option in ("neighbours", "n-max", "records-per-person", "ledger", "seed", "json", "out"):
        assert f"--{option} " in text
    assert ("--norm " in text) == (command in ("mean", "geomedian"))
    assert ("--q " in text) == (command == "quantile")


@pytest.mark.parametrize(
    "scale", [(), ("--scale", "bounds"), ("--scale", "age=1", "--scale", "income=50")]
)
def test_geometric_median_of_two_columns(run, ages, scale):
    done = run(
        *("geomedian", ages, "--bounds", "age=0:120", "--bounds", "income=-1000:10000"),
        *("--epsilon", "4", "--json", *scale),
    )
    assert done.code == 0, done.err
    release = Release.from_json(done.out)
    assert release.guarantee == "exact"
    assert (
        release.details["unit of distance"]
        == {0: "1 (2 times)", 2: "120, 11000", 4: "1, 50"}[len(scale)]
    )
    assert 0 <= release.value[0] <= 120


def test_geometric_median_by_the_chain_that_its_refusal_names(run, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("a,b,c,d,e,f\n" + "1,2,3,4,5,6\n" * 50)
    bounds = [word for name in "abcdef" for word in ("--bounds", f"{name}=0:10")]
    refused = run("geomedian", path, *bounds, "--epsilon", "1")
    assert refused.code == 2
    assert "--sampler hit-and-run" in refused.err
    done = run("geomedian", path, *bounds, "--epsilon", "1", "--sampler", "hit-and-run", "--json")
    assert done.code == 0, done.err
    assert Release.from_json(done.out).guarantee == "approximate"


def test_a_geometric_median_of_a_file_that_is_not_there(run, tmp_path):
    outcome = run("geomedian", tmp_path / "none.csv", "--bounds", "0:1", "--epsilon", "1")
    assert (outcome.code, "cannot read" in outcome.err) == (4, True)


def test_groups_are_a_table_with_a_row_for_each(run, tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{20 + k % 40},{'FM'[k % 2]},{k % 3:02d}" for k in range(600)]
    path.write_text("\n".join(["age,sex,zip", *lines]))
    words = ("median", path, *AGE, "--granularity", 1, "--epsilon", 100)
    done = run(*words, "--by", "sex=F,M", "--by", "zip='00','01','07'")
    assert (done.code, done.err) == (0, "")
    table, facts = done.out.split("\n\n")
    head, *found = [line.split() for line in table.splitlines()]
    assert head == ["sex", "zip", "median"]
    assert [row[:2] for row in found] == [[s, z] for s in "FM" for z in ("00", "01", "07")]
    assert all(30 < float(row[2]) < 50 for row in found if row[1] != "07")
    assert "6 groups" in facts
    assert "by             sex (F, M); zip (00, 01, 07)" in facts
    # Without quotes they are numbers, which a file writes in many ways.
    same = run(*words, "--by", "zip=0,1", "--json")
    release = Release.from_json(same.out)
    assert release.groups.levels == ((0, 1),)
    assert [30 < value < 50 for value in release.value] == [True, True]


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ("sex", "--by must be COLUMN=LEVEL,LEVEL"),
        ("=F", "--by must be COLUMN=LEVEL,LEVEL"),
        ("sex=", "--by: column 'sex' has no levels"),
        ("sex=F,F", "--by: column 'sex' has the level 'F' twice"),
        ("gender=F,M", "no column named 'gender'"),
    ],
)
def test_what_cannot_be_groups_is_refused(run, ages, by, says):
    done = run("mean", ages, *AGE, "--epsilon", 1, "--by", by)
    assert done.code != 0
    assert says in done.err
    assert done.out == ""
