"""A plan for records that all count is refused where some may be absent, before the charge."""

from __future__ import annotations

import numpy as np
import pytest

import kng
from kng.core.bits import bits_of
from kng.core.bounds import bounds_of
from kng.core.errors import IncompatibleParts
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.corridor import Answer, Stage, certified, release
from kng.data import open_source
from kng.domains import Box
from kng.losses import Location, Pinball
from kng.mechanisms import KNG
from kng.norms import LInf


def asked(presence, missing, ledger):
    loss = Location(Pinball("1/2"))
    records = loss.encode(bounds_of((0, 10)), 1, missing)
    unit = PrivacyUnit(ReplaceOne(3), 1, presence)
    problem = Problem(
        loss.over(records), LInf(), Box.of(records.lattice), records, records.lattice, unit
    )
    plan = certified(KNG().plan(problem, 1), "auto")
    source = open_source(np.array([1.0, 2.0, np.nan]), records)
    answer = Answer(
        "median", records.lattice, True, records.bounds, {}, lambda drawn: plan.place(drawn[0])
    )
    return release([Stage([plan], source)], answer, ledger, bits_of(None))


def test_absent_records_need_a_plan_that_knows_of_them(tmp_path):
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=3)
    with pytest.raises(IncompatibleParts, match="all count"):
        asked("always", "drop", ledger)
    assert ledger.spent == 0
    asked("optional", "drop", ledger)
    asked("always", 5, ledger)
    assert ledger.spent == 2
