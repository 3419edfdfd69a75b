"""``kng run``: questions of a file under one total."""

from __future__ import annotations

import functools
import json

import pytest

import kng
from kng.core.errors import KngError

TABLE = """
[tables.survey]
source = "survey.csv"
ledger = "budget.ledger"
[tables.survey.columns.age]
bounds = [0, 120]
step = 1
[tables.survey.columns.income]
bounds = [0, 9000]
"""
QUESTIONS = """
table = "survey"
epsilon = 0.9

[[question]]
name = "typical"
statistic = "median"
column = "age"
share = 2
where = "income >= 1000"

[[question]]
name = "spread"
statistic = "quantile"
column = "age"
quantile = [0.1, 0.9]

[[question]]
name = "model"
statistic = "linear"
target = "income"
covariates = "age"

[[question]]
name = "old"
statistic = "count"
where = "age >= 40"
share = 0.5
"""


@pytest.fixture
def here(ages, ledger, monkeypatch):
    folder = ages.parent
    (folder / "kng.toml").write_text(TABLE)
    (folder / "q.toml").write_text(QUESTIONS)
    monkeypatch.chdir(folder)
    return folder


def test_one_charge_and_a_receipt_for_each(run, here, ledger):
    outcome = run("run", "q.toml", "--out", "answers")
    assert outcome.code == 0, outcome.err
    assert float(ledger.spent) == 0.9
    assert len(ledger.history()) == 1
    found = {p.stem: kng.Release.from_json(p.read_text()) for p in (here / "answers").iterdir()}
    assert {name: float(r.event.epsilon) for name, r in found.items()} == {
        "typical": pytest.approx(0.4),
        "spread": pytest.approx(0.2),
        "model": pytest.approx(0.2),
        "old": pytest.approx(0.1),
    }
    assert "typical\nmedian" in outcome.out
    assert len(found["spread"].value) == 2


def test_json_lines(run, here):
    outcome = run("run", "q.toml", "--json")
    names = [json.loads(line)["name"] for line in outcome.out.splitlines()]
    assert names == ["typical", "spread", "model", "old"]


def test_check_charges_nothing(run, here, ledger):
    outcome = run("run", "q.toml", "--check")
    assert outcome.code == 0
    assert "total    epsilon 0.9; nothing was charged" in outcome.out
    assert ledger.spent == 0


def test_a_file_without_a_declaration_and_a_seed(run, ages, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.toml").write_text(
        'table = "survey.csv"\nepsilon = 1\nneighbors = "add-remove"\n'
        '[[question]]\nstatistic = "mean"\ncolumn = "age"\nbounds = [0, 120.5]\n'
        '[[question]]\nstatistic = "quantreg"\ntarget = "income"\nquantile = 0.5\n'
        "bounds = {age = [0, 120], income = [0, 9000]}\n"
    )
    first, again = (run("run", "q.toml", "--json", "--seed", "5") for _ in range(2))
    assert first.code == 0, first.err
    assert first.out == again.out
    receipts = [json.loads(line)["receipt"] for line in first.out.splitlines()]
    assert {receipt["neighbours"] for receipt in receipts} == {"add-remove"}
    assert receipts[0]["bounds"]["high"] == ["241/2"]


def test_every_fault_of_the_file_is_listed(run, here, ledger):
    (here / "q.toml").write_text(
        'table = "survey"\nepsilon = -1\nledgr = "x"\n'
        '[[question]]\nname = "a b"\nstatistic = "median"\ncolumn = "age"\n'
        '[[question]]\nname = "m"\nstatistic = "mode"\n'
        '[[question]]\nname = "m"\nstatistic = "mean"\nshare = 0\n'
    )
    outcome = run("run", "q.toml")
    assert outcome.code == 2
    for fault in (
        "q.toml has 5 faults; nothing was read.",
        "'ledgr' is not a setting; did you mean ledger?",
        "epsilon must be greater than 0",
        "share must be greater than 0",
        "name must be letters, digits, - and _, found 'a b'",
        "two questions are called 'm'",
    ):
        assert fault in outcome.err
    assert ledger.spent == 0


def test_every_fault_of_the_questions_is_listed(run, here, ledger):
    text = QUESTIONS.replace('"median"', '"mode"').replace("covariates", "covariate")
    (here / "q.toml").write_text(text)
    outcome = run("run", "q.toml")
    assert outcome.code == 2
    assert "question 'typical': statistic must be one of mean, quantile" in outcome.err
    assert "question 'model': 'covariate' is not a setting; did you mean covariates?" in outcome.err
    text = QUESTIONS.replace("age >= 40", "weight >= 40").replace("[0.1, 0.9]", "[0.1, 1.9]")
    (here / "q.toml").write_text(text)
    outcome = run("run", "q.toml", "--out", "answers")
    assert outcome.code == 2
    assert "2 questions of 4 cannot be answered; nothing was charged." in outcome.err
    assert "spread: " in outcome.err
    assert "old: " in outcome.err
    assert ledger.spent == 0
    assert not (here / "answers").exists()


def test_faults_of_reading_and_of_planning_are_listed_together(run, here, ledger):
    text = QUESTIONS.replace("age >= 40", "weight >= 40").replace("covariates", "covariate")
    (here / "q.toml").write_text(text)
    outcome = run("run", "q.toml")
    assert outcome.code == 2
    assert "q.toml has 2 faults; nothing was charged." in outcome.err
    assert "question 'model': 'covariate' is not a setting" in outcome.err
    assert "question 'old': where = \"weight >= 40\" names 'weight'" in outcome.err
    assert ledger.spent == 0


@pytest.mark.parametrize("text", ["", "table = 5", "[[question]", "table = '-'\nepsilon = 1", "\0"])
def test_files_that_ask_nothing(run, here, text):
    (here / "q.toml").write_text(text)
    assert run("run", "q.toml").code == 2
    assert run("run", "none.toml").code == 2


def test_a_receipt_that_is_there_already_costs_nothing(run, here, ledger):
    (here / "answers").mkdir()
    (here / "answers" / "model.json").write_text("{}")
    outcome = run("run", "q.toml", "--out", "answers")
    assert outcome.code == 2
    assert "exists already" in outcome.err
    assert ledger.spent == 0
    assert [p.name for p in (here / "answers").iterdir()] == ["model.json"]


def test_the_total_must_fit(run, here, ledger):
    (here / "q.toml").write_text(QUESTIONS.replace("0.9", "1.1", 1))
    outcome = run("run", "q.toml", "--out", "answers")
    assert outcome.code == 3
    assert ledger.spent == 0
    assert not list((here / "answers").iterdir())


def test_a_seed_and_a_ledger(run, here, ledger):
    assert run("run", "q.toml", "--seed", "1").code == 2
    assert ledger.spent == 0


def test_receipts_of_a_batch_are_verified_and_reported(run, here, ledger):
    assert run("run", "q.toml", "--out", "answers").code == 0
    for name in ("typical", "spread", "model", "old"):
        done = run("verify", f"answers/{name}.json", "--ledger", ledger.path)
        assert (done.code, done.err) == (0, "")
        assert f"{name}.json is the receipt stored in entry 2" in done.out
    body = json.loads((here / "answers" / "old.json").read_text())
    (here / "changed.json").write_text(json.dumps({**body, "value": body["value"] + 1}))
    done = run("verify", "changed.json", "--ledger", ledger.path)
    assert done.code == 6
    assert "they differ in value." in done.err
    # What the ledger shows of the charge is all of its receipts.
    stored = run("budget", "history", ledger.path, "--receipt", 2).out
    (here / "batch.json").write_text(stored)
    assert run("verify", "batch.json", "--ledger", ledger.path).out.count("Verified:") == 4
    assert run("report", "batch.json").code == 0
    assert "4 private answers" in (here / "batch.html").read_text()


@pytest.mark.parametrize(
    ("fault", "code"), [(KeyboardInterrupt(), 130), (KngError("gone"), 70)], ids=["ctrl-c", "lost"]
)
def test_what_was_answered_before_a_failure_is_stored(run, here, ledger, monkeypatch, fault, code):
    count, total = kng.count, []

    @functools.wraps(count)
    def counting(*given, **options):
        total.append(options)
        if len(total) == 2:  # after the rehearsal
            raise fault
        return count(*given, **options)

    head, typical, *rest, old = QUESTIONS.split("[[question]]")
    (here / "q.toml").write_text("[[question]]".join([head, typical, old, *rest]))
    monkeypatch.setattr(kng, "count", counting)
    done = run("run", "q.toml", "--out", "answers")
    assert done.code == code
    assert [p.name for p in (here / "answers").iterdir()] == ["typical.json"]
    assert float(ledger.spent) == 0.9
    assert run("verify", "answers/typical.json", "--ledger", ledger.path).code == 0
    assert list(json.loads(ledger.release_of(2))["releases"]) == ["typical"]
    ledger.verify()
