"""Faults that the product must see: each is planted, and caught by the law or by the loss."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import pytest
from product.cells import Cell
from product.losses import MARGIN, worst_of
from product.test_law import wrong_points

import kng.core.delta as delta_module
from kng.core.bodies import Body, Cuboid, Hull
from kng.core.delta import Delta
from kng.core.privacy import PrivacyUnit
from kng.core.regions import Region
from kng.losses.linear import Linear

F = Fraction


def broken(cell: Cell) -> bool:
    """Tell whether the loss is above epsilon."""
    return any(worst_of(cell, n).loss > 1 + MARGIN for n in (1, 2))


@contextmanager
def scaled(factor: Fraction) -> Iterator[None]:
    """Multiply every Delta."""
    right = delta_module.delta

    def wrong(norm: Any, body: Body, unit: PrivacyUnit) -> Fraction:
        return factor * right(norm, body, unit)

    with mock.patch.object(delta_module, "delta", wrong):
        yield


CONSTANT = [
    Cell("kng", "location squared", "sup", "box", "replace-one"),
    Cell("kng", "location pinball d2", "l1", "box beyond", "replace-one"),
    Cell("kng", "linear huber +1", "intercept", "box", "add-remove"),
    Cell("kng", "linear squared", "sup", "box beyond", "replace-one"),
    Cell("exponential", "linear squared", "sup", "box", "replace-one"),
]


@pytest.mark.parametrize("cell", CONSTANT, ids=str)
def test_half_of_delta_is_caught(cell):
    assert not wrong_points(cell)
    assert not broken(cell)
    with scaled(F(1, 2)):
        assert wrong_points(cell)
        assert max(worst_of(cell, n).move for n in (1, 2)) > 1.9


@pytest.mark.parametrize("cell", CONSTANT, ids=str)
def test_twice_delta_is_caught(cell):
    """It is private, and half of what is paid for is not used."""
    with scaled(F(2)):
        assert wrong_points(cell)
        assert max(worst_of(cell, n).move for n in (1, 2)) < 0.6


def test_half_of_delta_costs_more_than_epsilon():
    with scaled(F(1, 2)):
        assert any(broken(cell) for cell in CONSTANT)


ABSENT = Cell("kng", "location squared", "sup", "box beyond", "replace-one absent")


def test_a_dropped_zero_is_caught():
    """An absent record moves the KNG mean more than a replaced one, beyond the bounds."""
    right = delta_module.changes

    def wrong(body: Body, unit: PrivacyUnit) -> Any:
        return right(body, replace(unit, presence="always"))

    with mock.patch.object(delta_module, "changes", wrong):
        assert wrong_points(ABSENT)
        assert max(worst_of(ABSENT, n).move for n in (1, 2)) > 1.1
    assert not wrong_points(ABSENT)


def test_a_cartesian_body_is_caught():
    """One w multiplies every coordinate: the box around the product set is larger than it."""
    cell = Cell("kng", "linear pinball +1", "intercept", "box", "replace-one")

    def wrong(weights: tuple[Fraction, Fraction], rows: Cuboid) -> Hull:
        ends = [rows.times(w) for w in weights]
        low = tuple(min(v) for v in zip(*(end.low for end in ends), strict=True))
        high = tuple(max(v) for v in zip(*(end.high for end in ends), strict=True))
        return Hull((Cuboid(low, high),))

    assert not wrong_points(cell)
    with mock.patch("kng.losses.linear.product_set", wrong):
        assert wrong_points(cell)


@pytest.mark.parametrize(
    ("loss", "domain"),
    [
        ("linear squared", "box beyond"),
        ("linear squared d2", "box beyond"),
        ("linear logistic +1", "box"),
    ],
)
def test_a_box_body_in_the_density_is_caught(loss, domain):
    """Boxes are cut where the data are, so their bodies must not enter the density."""
    cell = Cell("kng", loss, "sup", domain, "replace-one")
    right = Delta.over

    def wrong(self: Delta, region: Region) -> Fraction:
        assert region.low is not None
        assert region.high is not None
        half = F(1, 4)
        low = tuple(v - half for v in region.low)
        high = tuple(v + half for v in region.high)
        return right(self, Region.between(low, high))

    with mock.patch.object(Delta, "over", wrong):
        assert wrong_points(cell)


def test_a_norm_taken_for_another_is_caught():
    cell = Cell("kng", "linear huber +1", "cross", "box", "replace-one")
    plan = cell.plan()
    sup = Cell("kng", "linear huber +1", "sup", "box", "replace-one").plan()
    taken = replace(plan, delta=sup.delta, steady=sup.steady)
    assert worst_of(cell, 2, taken).loss > 1


def test_a_score_of_another_loss_is_caught():
    cell = Cell("kng", "linear squared +1", "sup", "box", "replace-one")
    right = Linear.body

    def wrong(self: Linear, region: Region) -> Body:
        body = right(self, region)
        (piece,) = body.differences()
        return Hull((piece.around.times(F(1, 16)),))

    with mock.patch.object(Linear, "body", wrong):
        assert wrong_points(cell)
        assert broken(cell)
