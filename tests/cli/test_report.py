"""kng report makes a page, kng verify finds a receipt in its ledger, --out x.html writes a page."""

from __future__ import annotations

import json
import re

import pytest

from kng.ledger import Ledger

ASK = ("--column", "age", "--bounds", "0:120", "--granularity", 1, "--epsilon", "0.25")


@pytest.fixture
def receipt(run, ages, ledger, tmp_path):
    path = tmp_path / "median.json"
    done = run("median", ages, *ASK, "--ledger", ledger.path, "--out", path)
    assert done.code == 0
    return path


def test_the_terminal_names_time_source_and_entry(run, ages, ledger):
    out = run("median", ages, *ASK, "--ledger", ledger.path).out
    rows = dict(line.split("  ", 1) for line in out.splitlines())
    assert rows["time"].strip().endswith("UTC")
    assert rows["source"].strip() == str(ages)
    assert rows["entry"].strip() == "2 of budget.ledger"


def test_a_receipt_is_verified(run, receipt, ledger):
    done = run("verify", receipt, "--ledger", ledger.path)
    assert (done.code, done.err) == (0, "")
    assert f"median.json is the receipt stored in entry 2 of {ledger.path}." in done.out
    assert "Ledger verified: 1 charge, hash chain intact, total matches." in done.out


@pytest.mark.parametrize("part", ["value", "epsilon", "law", "in_words", "provenance"])
def test_a_changed_receipt_is_not(run, receipt, ledger, part):
    body = json.loads(receipt.read_text())
    other = {
        "value": body["value"] + 1,
        "epsilon": "1/8",
        "law": {**body["law"], "rate": "1/100"},
        "in_words": {**body["in_words"], "law": "none"},
        "provenance": {**body["provenance"], "hash": "0" * 64},
    }
    receipt.write_text(json.dumps({**body, part: other[part]}))
    done = run("verify", receipt, "--ledger", ledger.path)
    assert done.code == 6
    assert f"they differ in {part}." in done.err


def _leaves(body, path=()):
    if not isinstance(body, dict | list) or not body:
        yield path, body
        return
    for key, inner in body.items() if isinstance(body, dict) else enumerate(body):
        yield from _leaves(inner, (*path, key))


def _with(body, path, leaf):
    inner = body = json.loads(json.dumps(body))
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = leaf
    return body


def test_any_change_of_any_part_is_found(run, ages, ledger, tmp_path):
    """Every leaf of the JSON is covered, and so is how a number is written."""
    path, quantiles = tmp_path / "quantiles.json", ("--q", "0.2", "--q", "0.5")
    words = ("--ledger", ledger.path, "--out", path, "--where", "age > 20")
    assert run("quantile", ages, *ASK, *quantiles, *words).code == 0
    body, seen = json.loads(path.read_text()), 0
    for place, leaf in _leaves(body):
        for other in (f"{leaf} ", [leaf], None if leaf is not None else 0, _same_number(leaf)):
            if other == leaf and type(other) is type(leaf):
                continue
            path.write_text(json.dumps(_with(body, place, other)))
            done = run("verify", path, "--ledger", ledger.path)
            assert done.code in (2, 6), (place, other)
            seen += 1
    for name in body:
        path.write_text(json.dumps({key: part for key, part in body.items() if key != name}))
        assert run("verify", path, "--ledger", ledger.path).code in (2, 6), name
    path.write_text(json.dumps({**body, "note": "checked by the auditor"}))
    assert "they differ in note." in run("verify", path, "--ledger", ledger.path).err
    assert seen > 100


def _same_number(leaf):
    """Return what equals a leaf in Python and is written in another way."""
    if isinstance(leaf, bool) or not isinstance(leaf, int):
        return leaf
    return bool(leaf) if leaf in (0, 1) else float(leaf)


def test_a_name_that_stands_twice_is_refused(run, receipt, ledger):
    # Some programs read the first of the two, and some the last.
    text = receipt.read_text().replace('"epsilon":', '"epsilon": "1/1000", "epsilon":', 1)
    receipt.write_text(text)
    for words in (("verify", receipt, "--ledger", ledger.path), ("report", receipt)):
        done = run(*words)
        assert done.code == 2
        assert "names something twice" in done.err


def test_of_a_page_only_the_receipts_are_verified_and_that_is_said(run, receipt, ledger):
    assert run("report", receipt).code == 0
    page = receipt.with_suffix(".html")
    page.write_text(page.read_text().replace("<h1>", "<h1>Not what was released: "))
    done = run("verify", page, "--ledger", ledger.path)
    assert done.code == 0
    assert "Only the receipts inside median.html were checked" in done.out
    assert "Only" not in run("verify", receipt, "--ledger", ledger.path).out


def test_a_receipt_of_another_ledger_is_not(run, receipt, tmp_path):
    other = Ledger(tmp_path / "other.ledger", cap=1)
    done = run("verify", receipt, "--ledger", other.path)
    assert done.code == 6
    assert "is not stored in entry 2" in done.err


def test_a_receipt_without_a_ledger_is_not(run, ages, ledger, tmp_path):
    path = tmp_path / "free.json"
    run("median", ages, *ASK, "--out", path)
    done = run("verify", path, "--ledger", ledger.path)
    assert done.code == 6
    assert "names no ledger" in done.err


def test_a_receipt_of_0_1_is_found_by_what_it_says(run, ages, ledger, tmp_path):
    """It names no entry; the ledger holds the same text."""
    path = tmp_path / "old.json"
    run("median", ages, *ASK, "--out", path)
    body = json.loads(path.read_text())
    old = {name: fact for name, fact in body.items() if name not in ("provenance", "in_words")}
    path.write_text(json.dumps({**old, "format": "kng-release-1"}, indent=2))
    assert run("verify", path, "--ledger", ledger.path).code == 6
    from kng.core.release import Release

    event = Release.from_json(path.read_text()).event
    ledger.settle(ledger.reserve(event, parameters="{}"), path.read_text())
    assert run("verify", path, "--ledger", ledger.path).code == 0


def test_a_tampered_ledger_verifies_nothing(run, receipt, ledger):
    ledger.path.with_name(ledger.path.name + ".head").write_text("0" * 64)
    assert run("verify", receipt, "--ledger", ledger.path).code == 6


def test_out_html_is_a_page_that_can_be_verified(run, ages, ledger, tmp_path):
    path = tmp_path / "median.html"
    done = run("median", ages, *ASK, "--ledger", ledger.path, "--out", path)
    assert (done.code, done.err) == (0, f"Receipt written to {path}\n")
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert "kng verify median.html --ledger budget.ledger" in path.read_text()
    assert run("verify", path, "--ledger", ledger.path).code == 0


def test_a_page_that_cannot_be_made_loses_no_answer(run, ages, ledger, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("kng.report.document.page", broken)
    path = tmp_path / "median.html"
    done = run("median", ages, *ASK, "--ledger", ledger.path, "--out", path)
    assert done.code == 70
    assert "median " in done.out
    assert "could not be made" in done.err
    assert not path.exists()


def test_a_report_of_several_receipts_with_the_history(run, ages, receipt, ledger, tmp_path):
    second = tmp_path / "mean.html"
    words = ("--bounds", "income=0:10000", "--epsilon", "0.25", "--ledger", ledger.path)
    run("mean", ages, *words, "--out", second)
    page = tmp_path / "page.html"
    done = run("report", receipt, second, "--ledger", ledger.path, "--out", page)
    assert (done.code, done.out) == (0, f"Wrote {page}\n")
    text = page.read_text()
    assert "2 private answers" in text
    assert "Ledger verified: 2 charges" in text
    assert "median of age" in text
    assert re.search(r"<td class='time'>\d{4}-\d\d-\d\d \d\d:\d\d</td>", text)
    assert not re.search(r"\d\d:\d\d:\d\d", text)  # seconds would tell how long a draw took
    assert str(tmp_path) not in text.replace(str(ages), "")  # directories stay at home
    assert run("verify", page, "--ledger", ledger.path).out.count("Verified") == 2


def test_a_report_takes_the_name_of_its_receipt(run, receipt):
    assert run("report", receipt).code == 0
    assert receipt.with_suffix(".html").exists()
    again = run("report", receipt)
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.parametrize("text", ["", "{}", "<html></html>", "\x00", "[1]", '{"format": "x"}'])
def test_what_is_no_receipt_is_refused(run, tmp_path, ledger, text):
    path = tmp_path / "no.json"
    path.write_text(text)
    for words in (("report", path), ("verify", path, "--ledger", ledger.path)):
        done = run(*words)
        assert done.code == 2
        assert "receipt" in done.err
    assert run("report", tmp_path / "none.json").code == 2
    assert not path.with_suffix(".html").exists()


@pytest.mark.parametrize("words", [("report", "{receipt}"), ("demo",)], ids=["report", "demo"])
def test_a_page_is_named_as_one(run, receipt, tmp_path, words):
    named = [word.format(receipt=receipt) for word in words]
    done = run(*named, "--out", tmp_path / "page.json")
    assert done.code == 2
    assert "page.json is a page; its name must end in .html." in done.err
    assert not (tmp_path / "page.json").exists()
