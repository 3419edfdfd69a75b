"""What a receipt says in words is what its numbers say, and never more."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

import kng
from kng.core import provenance
from kng.core.receipt_words import decimal, factor, in_words, odds
from kng.core.release import Release


@pytest.mark.parametrize("epsilon", ["0.0001", "0.1", "1/3", "0.5", "1", "2", "5", "10", "20"])
def test_odds_are_never_better_than_epsilon_gives(epsilon):
    high, low = map(Fraction, odds(Fraction(epsilon)))
    power = math.exp(Fraction(epsilon))
    assert high + low == 100
    assert float(high / 100) >= power / (1 + power) * (1 - 1e-15)
    assert float(low) == pytest.approx(100 / (1 + power), rel=0.1, abs=0.1)
    assert float(factor(Fraction(epsilon))) >= power * (1 - 1e-15)


def test_odds_of_a_promise_that_promises_nothing():
    assert odds(Fraction(1000)) == ("100", "0")
    assert odds(Fraction(10) ** 30) == ("100", "0")


def test_known_odds():
    assert odds(Fraction(1, 2)) == ("62.3", "37.7")
    assert odds(Fraction(10)) == ("99.9955", "0.0045")
    assert factor(Fraction(1, 2)) == "1.65"


def test_steps_are_decimals():
    assert decimal("1/996566630400") == "1e-12"
    assert decimal("1/8") == "0.125"
    facts = dict(in_words(kng.mean([1, 2, 3], bounds=(0, 5), epsilon=1))["facts"])
    assert "/" not in facts["step"]


def test_a_simulation_says_so_and_has_no_time():
    release = kng.mean([1, 2, 3], bounds=(0, 5), epsilon=1, random_state=1)
    assert release.provenance is None
    assert "simulation" in in_words(release)["caveat"]


def test_the_time_is_that_of_the_request(monkeypatch):
    """A clock that was read after the draw would tell how long it took."""
    told = []
    monkeypatch.setattr(provenance, "now", lambda: told.append("clock") or real())
    real = provenance.datetime.now

    class Bits(kng.core.bits.SystemBits):
        def take(self, k):
            told.append("draw")
            return super().take(k)

    release = kng.median([1, 2, 3], bounds=(0, 5), epsilon=1, random_state=Bits())
    assert told[0] == "clock"
    assert told.count("clock") == 1
    assert "draw" in told
    assert release.provenance.time.endswith("Z")


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [("entry", "2"), ("time", None), ("time", 5), ("hash", 7), ("source", ["a"])],
)
def test_a_provenance_of_something_else_is_refused(facts, wrong):
    body = json.loads(kng.mean([1, 2, 3], bounds=(0, 5), epsilon=1).to_json())
    body["provenance"][facts] = wrong
    with pytest.raises(kng.KngError):
        Release.from_json(json.dumps(body))


def test_sources_are_named_as_stated(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("id,x\n1,2\n2,3\n")
    options = {"bounds": {"x": (0, 5)}, "epsilon": 1}
    assert kng.mean("a.csv", **options).provenance.source == "a.csv"
    person = kng.mean("a.csv", person="id", max_records=1, **options)
    assert person.provenance.source == "a.csv"
    assert kng.mean({"x": [1, 2]}, **options).provenance.source is None


def test_equal_answers_are_equal_whenever_they_were_asked():
    release = kng.mean([1, 2, 3], bounds=(0, 5), epsilon=1)
    body = json.loads(release.to_json())
    body["provenance"]["time"] = "2001-01-01T00:00Z"
    assert Release.from_json(json.dumps(body)) == release
