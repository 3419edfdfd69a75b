"""A batch: all faults first, one charge for all, then the answers."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import kng
from kng.core.errors import BudgetError, PrivateZoneError, SpecError
from kng.estimators.batch import Question, answers, rehearse, together

AGES = list(range(20, 80)) * 5
OPTIONS = {"bounds": (0, 100), "granularity": 1}


def question(name, compute=kng.median, epsilon="1/3", **options):
    given = {**OPTIONS, "epsilon": epsilon, **options}
    return Question(name, lambda ledger: compute(AGES, **given, ledger=ledger))


QUESTIONS = (question("a"), question("b", kng.mean), question("c", epsilon="1/3"))


@pytest.fixture
def ledger(tmp_path):
    return kng.Ledger(tmp_path / "b.ledger", cap=2)


def test_one_charge_for_all_and_every_answer_stored(ledger):
    costs = rehearse(QUESTIONS, ledger)
    assert ledger.spent == 0
    found = list(answers(QUESTIONS, costs, ledger))
    (entry,) = ledger.history()
    assert (entry.epsilon, ledger.spent) == (1, 1)
    # A mean by noise has a range of twice its epsilon.
    assert entry.width == pytest.approx(4 / 3)
    stored = json.loads(ledger.release_of(entry.sequence))["releases"]
    assert [kng.Release.from_json(json.dumps(stored[q.name])) for q in QUESTIONS] == found
    assert set(json.loads(entry.parameters)["questions"]) == {"a", "b", "c"}


def test_the_charge_is_whole_before_the_first_record_is_read(ledger, monkeypatch):
    from kng.data import TableSource

    def fail(*_):
        assert ledger.spent == 1
        raise ValueError("record 17 says 42")

    costs = rehearse(QUESTIONS, ledger)
    monkeypatch.setattr(TableSource, "reduce", fail)
    monkeypatch.setattr(TableSource, "sums", fail)
    with pytest.raises(PrivateZoneError) as caught:
        list(answers(QUESTIONS, costs, ledger))
    assert "42" not in str(caught.value)
    assert ledger.spent == 1


def test_all_faults_are_told_and_nothing_is_charged(ledger):
    wrong = (*QUESTIONS, question("d", epsilon=0), question("e", bounds=(5, 1)))
    with pytest.raises(SpecError) as caught:
        rehearse(wrong, ledger)
    first, *faults = str(caught.value).splitlines()
    assert first == "2 questions of 5 cannot be answered; nothing was charged."
    assert [fault.split(":")[0].strip() for fault in faults] == ["d", "e"]
    assert ledger.spent == 0


def test_a_total_above_the_budget_answers_nothing(tmp_path):
    small = kng.Ledger(tmp_path / "s.ledger", cap="0.9")
    costs = rehearse(QUESTIONS, small)
    with pytest.raises(BudgetError):
        list(answers(QUESTIONS, costs, small))
    assert small.spent == 0


def test_different_promises_do_not_add_up(ledger):
    mixed = (question("a"), question("b", neighbours="add-remove"))
    with pytest.raises(SpecError, match="promise different things"):
        together(rehearse(mixed, ledger))


def test_a_question_that_costs_something_else_by_now_is_not_answered(ledger):
    counts = iter([AGES, AGES[:-1]])
    changing = Question(
        "x", lambda paid: kng.median(next(counts), epsilon=1, ledger=paid, **OPTIONS)
    )
    costs = rehearse([changing], ledger)
    with pytest.raises(PrivateZoneError, match="changed after the batch was planned"):
        list(answers([changing], costs, ledger))
    assert ledger.spent == 1


def test_what_fails_later_says_that_it_is_charged(ledger):
    state = {"there": True}

    def ask(paid):
        if not state["there"]:
            raise kng.core.errors.SchemaError("cannot read the file")
        return kng.median(AGES, epsilon=1, ledger=paid, **OPTIONS)

    costs = rehearse([Question("x", ask)], ledger)
    state["there"] = False
    with pytest.raises(PrivateZoneError, match="the charge stays"):
        list(answers([Question("x", ask)], costs, ledger))


def test_a_repeated_request_is_answered_as_before(tmp_path):
    path = tmp_path / "r.ledger"
    kng.Ledger(path, cap=2)
    once = kng.Ledger(path).request("monday")
    first = list(answers(QUESTIONS, rehearse(QUESTIONS, once), once))
    again = list(answers(QUESTIONS, rehearse(QUESTIONS, once), once))
    assert first == again
    assert once.spent == 1


def test_shares_add_up_exactly(ledger):
    parts = [Fraction(1) * share / 11 for share in (4, 2, 5)]
    asked = [question(str(at), epsilon=part) for at, part in enumerate(parts)]
    assert together(rehearse(asked, ledger)).epsilon == 1
