"""Every receipt fits the schema that is published in the package."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest
from report.kinds import kinds
from report.schema_check import faults

import kng
from kng.core.privacy import Assumption, Guarantee
from kng.core.release import Release

SCHEMA = json.loads((files("kng.core") / "receipt.schema.json").read_text())
OLD = json.loads((Path(__file__).parents[1] / "core" / "receipts_0_1.json").read_text())
RECEIPT = json.loads(kng.mean([1, 2, 3], bounds=(0, 5), epsilon=1).to_json())


def test_every_kind_fits():
    for name, release in kinds().items():
        body = json.loads(release.to_json())
        assert faults(body, SCHEMA, SCHEMA) == [], name
        assert Release.from_json(release.to_json()).to_json() == release.to_json(), name


def test_receipts_of_0_1_are_read_and_written_in_the_new_format():
    for name, body in OLD.items():
        written = json.loads(Release.from_json(json.dumps(body)).to_json())
        assert faults(body, SCHEMA, SCHEMA), name  # the old format says less
        assert faults(written, SCHEMA, SCHEMA) == [], name


def test_a_release_that_a_ledger_paid_for_fits(tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=1)
    kng.median([1, 2, 3], bounds=(0, 5), epsilon=1, ledger=ledger)
    (entry,) = ledger.history()
    body = json.loads(ledger.release_of(entry.sequence))
    assert faults(body, SCHEMA, SCHEMA) == []
    assert body["provenance"] | {"time": ""} == {
        **{"time": "", "source": None, "ledger": "a.ledger", "account": "default"},
        **{"entry": entry.sequence, "hash": entry.hash},
    }


@pytest.mark.parametrize(
    "change",
    [
        {"format": "kng-release-1"},
        {"epsilon": 0.5},
        {"epsilon": "1/0"},
        {"guarantee": "certain"},
        {"integers": [1.5]},
        {"records_per_person": 0},
        {"assumptions": ["luck"]},
        {"further": 1},
        {"bounds": {"low": ["0"], "high": ["1"]}},
        {"provenance": {**RECEIPT["provenance"], "time": "yesterday"}},
    ],
)
def test_the_schema_refuses(change):
    assert faults(RECEIPT, SCHEMA, SCHEMA) == []
    assert faults({**RECEIPT, **change}, SCHEMA, SCHEMA)


@pytest.mark.parametrize("name", SCHEMA["required"])
def test_no_part_may_be_missing(name):
    assert faults({k: v for k, v in RECEIPT.items() if k != name}, SCHEMA, SCHEMA)


def test_words_of_the_schema_are_ours():
    listed = SCHEMA["properties"]
    assert set(listed["guarantee"]["enum"]) == {g.value for g in Guarantee}
    assert set(listed["assumptions"]["items"]["enum"]) == {a.value for a in Assumption}
