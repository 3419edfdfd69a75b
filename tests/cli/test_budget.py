"""kng budget: create, show, history, verify."""

from __future__ import annotations

import json

import pytest

from kng.ledger import Ledger

AGE = ("--column", "age", "--bounds", "0:120")


def test_a_life_of_a_budget(shell, ages, tmp_path):
    path = tmp_path / "survey.ledger"
    made = shell("budget", "create", path, "--epsilon", "0.3", "--records-per-person", 2)
    assert (made.code, made.err) == (0, "")
    spend = ("median", ages, *AGE, "--records-per-person", 2, "--ledger", path)
    assert shell(*spend, "--epsilon", "0.1").code == 0
    assert shell(*spend, "--epsilon", "0.2").code == 0
    assert shell(*spend, "--epsilon", "0.001").code == 3
    shown = shell("budget", "show", path).out
    assert "cap        0.3\nspent      0.3\nremaining  0\n" in shown
    assert "promise    one person with up to 2 records, replace-one\n" in shown
    title, *charges = shell("budget", "history", path).out.splitlines()
    assert title.split()[0] == "entry"
    assert [line.split()[3] for line in charges] == ["0.1", "0.2"]
    assert all("median of age" in line and line.endswith("released") for line in charges)
    verified = shell("budget", "verify", path, "--head", Ledger(path).head)
    assert verified.code == 0
    assert verified.out.startswith(
        "Ledger verified: 2 charges, hash chain intact, total matches.\n"
    )


def test_json(run, ages, ledger):
    run("median", ages, *AGE, "--epsilon", "1/3", "--ledger", ledger.path)
    shown = json.loads(run("budget", "show", ledger.path, "--json").out)
    assert (shown["cap"], shown["spent"], shown["remaining"]) == ("1", "1/3", "2/3")
    assert (shown["charges"], shown["head"]) == (1, ledger.head)
    [charge] = json.loads(run("budget", "history", ledger.path, "--json").out)
    assert (charge["epsilon"], charge["state"]) == ("1/3", "released")


def test_a_receipt_can_be_read_again(run, ages, ledger):
    first = run("median", ages, *AGE, "--epsilon", "0.5", "--ledger", ledger.path, "--json")
    number = ledger.history()[0].sequence
    again = run("budget", "history", ledger.path, "--receipt", number)
    assert json.loads(again.out) == json.loads(first.out)


def test_a_charge_without_a_receipt(run, ages, ledger, monkeypatch):
    monkeypatch.setattr("kng.data.TableSource.reduce", None)  # fails after the charge
    run("median", ages, *AGE, "--epsilon", "0.5", "--ledger", ledger.path)
    [charge] = ledger.history()
    outcome = run("budget", "history", ledger.path, "--receipt", charge.sequence)
    assert outcome.code == 2
    assert "has no receipt: its release was cut short" in outcome.err
    assert run("budget", "history", ledger.path).out.rstrip().endswith("charged")


def test_an_untouched_budget(run, ledger):
    assert "promise    fixed by the first charge\n" in run("budget", "show", ledger.path).out
    assert len(run("budget", "history", ledger.path).out.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "epsilon is missing; state the cap of the budget"),
        (("--epsilon", "0"), 2, "--epsilon must be greater than 0, got 0."),
        (("--epsilon", "-1"), 2, "--epsilon must be greater than 0, got -1."),
        (("--epsilon", "nan"), 2, "--epsilon must be a finite number, got 'nan'."),
        (("--epsilon", "much"), 2, "--epsilon must be a number, got 'much'."),
        (("--epsilon", "1", "--neighbours", "some"), 2, "neighbours must be"),
        (("--epsilon", "1", "--records-per-person", "0"), 2, "at least 1, got 0."),
    ],
)
def test_create_refuses(run, tmp_path, words, code, message):
    path = tmp_path / "new.ledger"
    outcome = run("budget", "create", path, *words)
    assert outcome.code == code
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_create_never_touches_what_exists(run, ledger, ages):
    before = ages.read_bytes()
    for path in (ledger.path, ages):
        outcome = run("budget", "create", path, "--epsilon", 5)
        assert outcome.code == 2
        assert "exists already. A cap never changes" in outcome.err
    assert ledger.cap == 1
    assert ages.read_bytes() == before


def test_create_without_a_directory(run, tmp_path):
    outcome = run("budget", "create", tmp_path / "nowhere" / "x.ledger", "--epsilon", 1)
    assert outcome.code == 6


@pytest.mark.parametrize("command", ["show", "history", "verify"])
def test_looking_at_nothing(run, ages, tmp_path, command):
    missing = run("budget", command, tmp_path / "none.ledger")
    assert missing.code == 6
    assert "holds no budget" in missing.err
    assert not (tmp_path / "none.ledger").exists()
    other = run("budget", command, ages)
    assert other.code == 6
    assert "is not a kng ledger. Give the path of a ledger, or make one with kng" in other.err


@pytest.mark.parametrize("number", [1, 99])
def test_a_receipt_of_no_charge(run, ledger, number):
    outcome = run("budget", "history", ledger.path, "--receipt", number)
    assert outcome.code == 2
    assert "--receipt must be the number of a charge" in outcome.err
    assert "kng budget history lists them." in outcome.err


def test_verify_wants_the_head_that_was_written_down(run, ledger):
    outcome = run("budget", "verify", ledger.path, "--head", "0" * 64)
    assert outcome.code == 6
    assert "does not contain the head" in outcome.err


def test_an_account_in_rho_shows_both(run, ages, tmp_path):
    path = tmp_path / "a.ledger"
    assert run("budget", "create", path, "--epsilon", 3, "--delta", "1e-6").code == 0
    spend = ("median", ages, *AGE, "--ledger", path, "--epsilon", "0.1")
    assert run(*spend).code == 0
    shown = run("budget", "show", path).out
    assert "cap         0.185069 rho\n" in shown
    assert "spent       0.00125001 rho\n" in shown
    assert "epsilon     0.1 (the sum)\n" in shown
    assert "with delta  epsilon 0.1 at delta 1e-6\n" in shown
    facts = json.loads(run("budget", "show", path, "--json", "--delta", "1e-9").out)
    assert (facts["currency"], facts["epsilon_at_delta"]) == ("rho", "1/10")
    assert Ledger(path).epsilon_at("1e-6") <= Ledger(path).epsilon
    other = run("budget", "create", path, "--rho", "0.5", "--account", "b")
    assert "cap         0.5 rho\n" in other.out
    again = run("budget", "create", path, "--rho", "0.5", "--account", "b")
    assert (again.code, "exists already" in again.err) == (2, True)
    assert run("budget", "create", tmp_path / "b", "--rho", 1, "--epsilon", 1).code == 2


def test_shares_keys_and_conversions(run, ages, ledger):
    path = ledger.path
    assert (
        "analyst ann  0 of 0.5 spent"
        in run("budget", "share", path, "--analyst", "ann", "--cap", "0.5").out
    )
    spend = ("median", ages, *AGE, "--ledger", path, "--epsilon", "0.1")
    first = run(*spend, "--analyst", "ann", "--request-key", "k")
    again = run(*spend, "--analyst", "ann", "--request-key", "k")
    assert first.out.splitlines()[0] == again.out.splitlines()[0]
    assert "answered before as entry 3: nothing was charged" in again.out
    counted = run(*spend, "--neighbours", "add-remove")
    assert "charged 0.2 (counts 2 times under its promise), 0.7 of 1 left" in counted.out
    title, one, two = run("budget", "history", path).out.splitlines()
    assert title.split()[-3:] == ["counts", "analyst", "request"]
    assert one.split()[-2:] == ["ann", "k"]
    assert two.rstrip().endswith("2 times")
    other = run(*spend[:-1], "0.2", "--analyst", "ann", "--request-key", "k")
    assert (other.code, "with another epsilon" in other.err) == (2, True)
    stranger = run(*spend, "--analyst", "bob")
    assert "kng budget share" in stranger.err
    assert run("median", ages, *AGE, "--epsilon", 1, "--request-key", "k").code == 2


def test_adopt_restore_and_close(run, ages, ledger):
    path = ledger.path
    old = path.read_bytes()
    assert run("median", ages, *AGE, "--ledger", path, "--epsilon", "0.25").code == 0
    newest = path.read_bytes()
    path.write_bytes(old)
    refused = run("budget", "show", path)
    assert (refused.code, "run kng budget restore" in refused.err) == (6, True)
    assert "spent      0.25\n" in run("budget", "restore", path, "--spent", "0.25").out
    path.write_bytes(newest)
    path.with_name(path.name + ".head").unlink()
    refused = run("budget", "show", path)
    assert (refused.code, "run kng budget adopt" in refused.err) == (6, True)
    assert "spent      0.25\n" in run("budget", "adopt", path).out
    closed = run("budget", "close", path)
    assert "remaining  0 (closed: nothing more is charged)\n" in closed.out
    late = run("median", ages, *AGE, "--ledger", path, "--epsilon", "0.25")
    assert (late.code, "is closed" in late.err) == (3, True)
    assert run("budget", "close", path).code == 3
