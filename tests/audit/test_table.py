"""The table of ``kng audit``: every row of ours holds, and faults are found."""

from __future__ import annotations

from fractions import Fraction

import pytest

from kng.audit import full, quick
from kng.audit.oracle import Setting, Verdict, audit, source_of
from kng.audit.rows import Row, row_of, witnessed
from kng.audit.universe import ABSENT, REPLACE, datasets, sizes
from kng.losses import Location, Pinball
from kng.mechanisms import KNG

NAMED = ("kng", "quantile 0.5", REPLACE)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [row for compute in quick() for row in compute()]


def test_every_row_comes_out_as_it_must(rows: list[Row]) -> None:
    assert all(row.right for row in rows), [row for row in rows if not row.right]
    assert {row.expected for row in rows} == {"holds", "fails"}
    assert max(row.share for row in rows if row.expected == "holds") <= 1 + 1e-9
    assert min(row.share for row in rows if row.expected == "fails") > 1.1


def test_the_rows_are_of_every_mechanism_and_relation(rows: list[Row]) -> None:
    ours = [row for row in rows if row.expected == "holds"]
    assert {row.mechanism for row in ours} == {
        *("kng", "exponential", "k-norm", "k-norm, l1", "objective")
    }
    told = {row.relation for row in ours}
    for part in ("replace-one", "add-remove", "absent", "2 records a person", "2 groups"):
        assert any(part in relation for relation in told)
    printed = [row for row in rows if "printed" in row.mechanism]
    assert len(printed) == 8
    assert not any(row.holds for row in printed)


def test_the_full_table_asks_for_more() -> None:
    assert len(full()) > 3 * len(quick())


def test_a_fault_of_ours_and_a_fault_that_stays_hidden_are_both_wrong() -> None:
    witness = ((0,),), ((1,),)
    above = Verdict(Fraction(1), Fraction(11, 10), Fraction(11, 10), Fraction(2), witness)
    below = Verdict(Fraction(1), Fraction(1, 2), Fraction(1, 2), Fraction(1), witness)
    assert not row_of(NAMED, above).right
    assert row_of(NAMED, above, "fails").right
    assert row_of(NAMED, below).right
    assert not row_of(NAMED, below, "fails").right
    assert not witnessed(NAMED, "a pair", 1.01, "holds").right


def test_an_absent_record_has_no_part_and_may_be_replaced() -> None:
    setting = Setting(
        Location(Pinball("0.5")), KNG(), REPLACE, Fraction(1), (40,), presence="optional"
    )
    records = setting.problem(3).records
    assert source_of((ABSENT, (3,)), records).sums() == source_of(((3,),), records).sums()
    universe = datasets((1, 39, ABSENT), sizes(REPLACE, 3))
    verdict = audit(setting, universe)
    assert verdict.private
    left, right = verdict.witness
    assert len(left) == len(right)
