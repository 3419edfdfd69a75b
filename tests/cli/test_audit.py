"""``kng audit``: a table for people, JSON for programs, and an exit code."""

from __future__ import annotations

import json

import pytest

import kng.audit
from kng.audit.rows import Row

HELD = Row("kng", "median", "replace-one", "1", "{1} → {2}", 0.96, True, "holds")
FOUND = Row(
    "kng, 1/2 of Δ", "median", "replace-one", "1", "{1} → {2}", float("inf"), False, "fails"
)
BROKEN = Row("kng", "median", "add-remove", "1", "{1} → {2}", 1.2, False, "holds")
HIDDEN = Row("kng, 1/2 of Δ", "median", "replace-one", "1", "{1} → {2}", 0.9, True, "fails")


@pytest.fixture
def asked(monkeypatch):
    def put(*rows):
        for name in ("quick", "full"):
            monkeypatch.setattr(kng.audit, name, lambda: [lambda row=row: [row] for row in rows])

    return put


def test_all_as_it_must_be(run, asked):
    asked(HELD, FOUND)
    outcome = run("audit", "--quick")
    assert outcome.code == 0
    assert "0.9600" in outcome.out
    assert "infinite" in outcome.out
    assert "All 1 rows of ours hold" in outcome.out
    found = json.loads(run("audit", "--json").out)
    assert [row["right"] for row in found] == [True, True]
    assert [row["share"] for row in found] == [0.96, "infinite"]


@pytest.mark.parametrize("row", [BROKEN, HIDDEN])
def test_a_row_that_is_wrong_has_an_exit_code_of_its_own(run, asked, row):
    asked(HELD, FOUND, row)
    outcome = run("audit")
    assert outcome.code == 7
    assert "1 of 3 rows came out otherwise than they must" in outcome.out
    assert "!!" in outcome.out
    assert run("audit", "--json").code == 7
