"""Who is protected, and what a release costs."""

from __future__ import annotations

import dataclasses
from fractions import Fraction as F

import pytest

from kng.core.errors import SpecError, SpecTypeError
from kng.core.privacy import (
    AddRemove,
    Assumption,
    Guarantee,
    PrivacyEvent,
    PrivacyUnit,
    ReplaceOne,
)

EVENT = PrivacyEvent(F(1), F(2), "k-norm", "replace-one", 1, Guarantee.EXACT)


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"epsilon": F(0)}, SpecError, "epsilon must be greater than 0"),
        ({"epsilon": F(-1)}, SpecError, "epsilon must be greater than 0"),
        ({"epsilon": None}, SpecTypeError, "epsilon must be a number"),
        ({"width": F(1, 2)}, SpecError, "cannot be below epsilon"),
    ],
    ids=str,
)
def test_an_event_that_cannot_be_is_refused(changes, error, says):
    with pytest.raises(error, match=says):
        dataclasses.replace(EVENT, **changes)


def test_an_event_is_a_fixed_fact():
    with pytest.raises(dataclasses.FrozenInstanceError):
        EVENT.epsilon = F(1, 2)
    assert dataclasses.replace(EVENT, width=F(1)).width == 1
    assert hash(EVENT) == hash(dataclasses.replace(EVENT))


def test_a_person_with_several_records_moves_a_score_as_often():
    assert PrivacyUnit(ReplaceOne(5)).group(F(3, 2)) == F(3, 2)
    assert PrivacyUnit(AddRemove(), 4).group(F(3, 2)) == 6


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, None, "x"])
def test_sizes_are_whole_and_positive(wrong):
    for make in (ReplaceOne, AddRemove, lambda k: PrivacyUnit(ReplaceOne(1), k)):
        with pytest.raises((SpecError, SpecTypeError)):
            make(wrong)


def test_relations_have_the_names_that_callers_use():
    assert (ReplaceOne(1).name, AddRemove().name) == ("replace-one", "add-remove")


def test_every_assumption_has_a_sentence():
    assert all(len(assumption.meaning.split()) > 4 for assumption in Assumption)
    assert {str(tier) for tier in Guarantee} == {"exact", "ideal", "approximate", "simulation"}


def test_rows_of_a_query_and_records_of_a_person_multiply():
    unit = PrivacyUnit(AddRemove(), 3, rows_per_record=4)
    assert unit.rows == 12
    assert unit.group(F(1, 2)) == 6
    assert dataclasses.replace(unit, presence="optional").rows == 12
    assert PrivacyUnit(AddRemove(), 3).rows == 3
    with pytest.raises(SpecError, match="add-remove"):
        PrivacyUnit(ReplaceOne(10), rows_per_record=1)
