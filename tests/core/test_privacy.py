"""Who is protected, and what a release costs."""

from __future__ import annotations

import dataclasses
from fractions import Fraction as F

import pytest

from kng.core.bounds import Bounds
from kng.core.encoding import Encoding
from kng.core.errors import SpecError, SpecTypeError
from kng.core.privacy import (
    AddRemove,
    Assumption,
    Guarantee,
    PrivacyEvent,
    PrivacyUnit,
    RemoveAndAdd,
    ReplaceOne,
)
from kng.core.problem import Problem
from kng.corridor import certified
from kng.domains import Box
from kng.losses import Location, Pinball
from kng.mechanisms import KNG
from kng.norms import LInf

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
    for make in (ReplaceOne, AddRemove, RemoveAndAdd, lambda k: PrivacyUnit(ReplaceOne(1), k)):
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


def test_a_record_that_may_change_its_group_is_removed_and_added():
    relation = RemoveAndAdd(100)
    assert (relation.name, relation.n, relation.stated) == ("replace-one", None, 100)
    assert RemoveAndAdd().stated is None
    assert PrivacyUnit(relation).group(F(9, 10)) == F(9, 5)
    assert PrivacyUnit(relation, 3, rows_per_record=4).rows == 24
    assert PrivacyUnit(relation) != PrivacyUnit(AddRemove(100))


def test_its_delta_is_twice_that_of_add_remove_and_its_smoothing_that_of_one_change():
    """At q = 0.9 that is 1.8, where replace-one has 1."""
    records = Encoding(Bounds((F(0),), (F(40),)), (F(1),), (0,))
    loss = Location(Pinball(F(9, 10))).over(records)

    def plan(unit):
        box = Box.of(records.lattice)
        problem = Problem(loss, LInf(), box, records, records.lattice, unit)
        return certified(KNG().plan(problem, F(1)))

    moved = plan(PrivacyUnit(RemoveAndAdd(), 2))
    assert plan(PrivacyUnit(ReplaceOne(5))).delta_at((0,)) == 1
    assert plan(PrivacyUnit(AddRemove(), 2)).delta_at((0,)) == F(9, 5)
    assert moved.delta_at((0,)) == F(18, 5)
    assert moved.each == F(1, 4)
    small = certified(KNG().plan(moved.problem, F(1, 2**60)))
    assert small.smoothing.kappa <= F(1, 2**62) / (2 + F(1, 2**62))
