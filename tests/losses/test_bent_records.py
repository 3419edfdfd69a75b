"""Tangents and cells of records: what they tell of a smooth psi holds, and is nearly attained."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from samplers.test_leaning import UNIT, leaning_boxes

from kng.core.boxes.covering import Leaning
from kng.losses.enclosures.record_cells import RecordCells, cells_of
from kng.losses.enclosures.tangent import Tangent, tangent_at
from kng.losses.fields.linear_field import LinearField
from kng.losses.pointwise.function import BentSteps, Interval
from kng.losses.pointwise.logistic import Logistic
from kng.losses.pointwise.odds import Odds

REACH, ONE = Interval(Fraction(-8), Fraction(8)), Interval(Fraction(-1), Fraction(1))
N = 800


def field_of(name: str, d: int, n: int = N, intercept: bool = True) -> LinearField:
    """Return records whose covariates are far from orthogonal; of some there is no class."""
    rng = np.random.default_rng(d)
    z = np.ones((n, d))
    first = int(intercept)
    lean = 0.5 + 0.3 * rng.uniform(-1, 1, (n, 1)) + 0.2 * rng.uniform(-1, 1, (n, d - first))
    z[:, first:] = np.where(rng.random((n, d - first)) < 0.02, -1.0, lean)
    y = (rng.random(n) < 1 / (1 + np.exp(-z.sum(axis=1)))).astype(float)
    function = Logistic()
    if name == "odds":
        function, y = Odds(1, 2), np.where(rng.random(n) < 0.1, 2.0, y)
    stepped = function.stepped(Fraction(1, UNIT), REACH, ONE)
    rows, response = np.rint(z * 2**16), y * UNIT
    return LinearField(rows, response, stepped, lambda _, v: v, 2**24)


def upright(boxes) -> tuple:
    """Return boxes along the axes, with points of theirs."""
    centre, half, _, points = boxes
    return centre, half, None, points


def worst(way: Tangent | RecordCells, field: LinearField, boxes) -> float:
    """Return by how much scores at points leave the bounds of a way, in steps; 0 or less is in."""
    centre, half, lean, points = boxes
    found, _ = way.expand(centre, half, lean)
    worst = -np.inf
    for i, point in enumerate(points):
        score = np.array([int(v * 2**40) for v in field.score(tuple(int(k) for k in point))])
        for j in range(len(score)):
            steps = zip(found.slope[i, j], point - centre[i], strict=True)
            line = Fraction(found.value[i, j]) + sum(Fraction(a) * Fraction(b) for a, b in steps)
            worst = max(worst, float(abs(int(score[j]) - line) - Fraction(found.out[i, j])))
    return worst


def ways_of(field: LinearField) -> dict[str, Tangent | RecordCells]:
    assert isinstance(field.stepped, BentSteps)
    cells = cells_of(field.rows, field.response, field.stepped)
    assert cells is not None
    point = np.rint(field.start())
    return {
        "tangent": tangent_at(point, field.rows, field.response, field.stepped),
        "cells": cells,
    }


CASES = [("logistic", 2, True), ("odds", 2, True), ("odds", 2, False), ("logistic", 3, True)]


@pytest.mark.parametrize("way", ["tangent", "cells"])
@pytest.mark.parametrize(("name", "d", "intercept"), CASES)
def test_each_way_holds_at_points_of_boxes(name, d, intercept, way):
    """Whether or not it tells enough: boxes of all sizes, near and far."""
    field = field_of(name, d, N if d == 2 and intercept else 2 * N, intercept)
    found, rng = ways_of(field)[way], np.random.default_rng(7)
    for turn in range(2):
        centre, half, lean, points = leaning_boxes(rng, d, 60)
        # around the start, too: what is not turned there stays a lattice point
        move = np.rint(field.start()) * (turn == 1)
        lean = lean._replace(centre=lean.centre + move)
        boxes = (centre + move, half, lean, points + move)
        assert worst(found, field, boxes) <= 0
        assert worst(found, field, upright(boxes)) <= 0


FAULTS = {
    "bend": ("tangent", lambda way: replace(way, bend=way.bend * 0.8)),
    "grain": ("tangent", lambda way: replace(way, grain=0.0, bend=0.0)),
    "slope": ("tangent", lambda way: replace(way, slope=way.slope * 1.2)),
    "wide": ("cells", lambda way: replace(way, wide=way.wide * 0.2)),
    "second": ("cells", lambda way: replace(way, second=way.second * 1.01)),
    "first": ("cells", lambda way: replace(way, first=way.first * 1.001)),
}


def one_record(y: float) -> LinearField:
    """Return many copies of one record, whose psi bends as far as any can."""
    stepped = Logistic().stepped(Fraction(1, UNIT), REACH, ONE)
    rows = np.full((64, 2), 2.0**16)
    return LinearField(rows, np.full(64, y * UNIT), stepped, lambda _, v: v, 2**24)


def bent_boxes(size: int) -> tuple:
    """Return points beside log-odds of -1.317, where sigma'' is largest, as boxes of one point."""
    point = np.array([[-1381000.0 / 2 + 2 * size, -1381000.0 / 2]])
    return point, np.zeros((1, 2)), None, point


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_what_a_way_knows_is_noticed(fault):
    way, spoil = FAULTS[fault]
    if fault in {"bend", "grain"}:
        field = one_record(0.0)
        start = np.full(2, -1381000.0 / 2)
        found = tangent_at(start, field.rows, field.response, field.stepped)
        boxes = [bent_boxes(size) for size in (2**6, 2**12, 2**15, -(2**12))]
    else:
        field, rng = field_of("odds", 2), np.random.default_rng(2)
        found = ways_of(field)[way]
        boxes = [upright(leaning_boxes(rng, 2, 60)) for _ in range(3)]
        near = np.rint(field.start()) + 2.0**12
        boxes.append((near[None], np.zeros((1, 2)), None, near[None]))
    assert max(worst(found, field, each) for each in boxes) <= 0
    assert max(worst(spoil(found), field, each) for each in boxes) > 0


def test_the_bend_is_attained():
    """Where sigma'' is largest the tangent leaves out what it says, up to some per cent."""
    field = one_record(0.0)
    start = np.full(2, -1381000.0 / 2)
    way = tangent_at(start, field.rows, field.response, field.stepped)
    centre, half, _, point = bent_boxes(2**13)
    found, _ = way.expand(centre, half, None)
    score = field.score(tuple(int(k) for k in point[0]))[0] * 2**40
    left = abs(float(score) - found.value[0, 0])
    assert 0.95 * found.out[0, 0] < left <= found.out[0, 0]


def test_at_its_point_a_tangent_is_the_score():
    field = field_of("odds", 2)
    way = ways_of(field)["tangent"]
    found, enough = way.expand(way.point[None], np.zeros((1, 2)), None)
    score = field.score(tuple(int(k) for k in way.point))
    assert enough.all()
    assert (found.out < 1).all()  # 2**-40 of a record's largest score
    assert found.value[0].tolist() == [float(v * 2**40) for v in score]


def test_cells_stand_for_all_records():
    field = field_of("odds", 3, 4 * N)
    cells = cells_of(field.rows, field.response, field.stepped)
    assert cells is not None
    assert len(cells.count) < N / 2
    assert cells.count.sum() == 4 * N
    assert (cells.first.sum(axis=0) == field.rows.sum(axis=0)).all()
    assert (cells.second.sum(axis=0) == field.rows.T @ field.rows).all()
    assert (np.abs(cells.first).sum(axis=0) == np.abs(field.rows).sum(axis=0)).all()
    assert set(cells.response) == set(field.response)


@pytest.mark.parametrize("kind", ["few", "responses", "alike", "none"])
def test_records_that_cells_would_not_save_have_none(kind):
    field = field_of("odds", 2)
    rows, response = field.rows, field.response
    if kind == "few":
        rows, response = rows[:50], response[:50]
    elif kind == "responses":
        response = np.arange(float(N))
    elif kind == "alike":
        rows = np.full_like(rows, 2.0**16)
    else:
        rows, response = rows[:0], response[:0]
    assert cells_of(rows, response, field.stepped) is None


@pytest.mark.parametrize("d", [2, 3])
def test_all_records_are_rarely_looked_at(d, monkeypatch):
    """Boxes that a draw asks for: those with most of the domain, and those around the start."""
    field, asked = field_of("odds", d, 40 * N), []
    whole = LinearField._by_records

    def counted(self, centre, half, lean):
        asked.append(len(centre))
        return whole(self, centre, half, lean)

    monkeypatch.setattr(LinearField, "_by_records", counted)
    start = np.rint(field.start())
    sides = 2.0 ** np.arange(1, 22)
    field.expand(np.tile(start, (len(sides), 1)), np.tile(sides[:, None], (1, d)))
    assert sum(asked) <= 2


def test_a_leaning_box_is_told_more_closely():
    field = field_of("odds", 2)
    way = ways_of(field)["tangent"]
    shear = np.array([[1.0, -0.5], [0.0, 1.0]])
    half = np.array([[2.0**4, 2.0**16]])
    lean = Leaning(way.point[None], half, np.full((1, 2), 0.5), shear)
    upright_, leaning = (
        way.expand(way.point[None], lean.sides(), each)[0] for each in (None, lean)
    )
    assert (leaning.out < upright_.out / 2).all()
