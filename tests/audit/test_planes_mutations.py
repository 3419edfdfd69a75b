"""Quantile planes with a seeded fault: the audit must see each of them.

the paper's 2(1 - tau)              exceeds epsilon above the median
Delta halved, the 2 dropped         exceed epsilon, or its range
Delta doubled                       misses the floors of test_planes.py
slopes weighed by too much          exceed epsilon
a covariate that is not clipped     exceeds epsilon
`<` for `<=` in one of two places   the sampler no longer draws from the score that was audited
epsilon not shared                  two quantiles together exceed it
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from audit.oracle import ADD, RELATIONS, REPLACE, Verdict, audit, datasets, field_of, sizes
from audit.planes import Plane, stating
from audit.test_planes import CASES, plane, search, stepwise, universe
from samplers.envelopes import envelope_of

from kng.core import delta as delta_module
from kng.core.encoding import Encoding
from kng.core.parts import Point
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.shapes import InterceptShape
from kng.data.ingest import Ingest
from kng.losses.enclosures import plane_cover
from kng.losses.fields.plane_records import PlaneRecords, exact_sum
from kng.norms import InterceptSup
from kng.samplers.exact.boxes import BoxEnvelope

HALF, TWO = Fraction(1, 2), Fraction(2)


def verdict(mechanism: str, shape: str, relation: str, quantile: str) -> Verdict:
    setting = plane(mechanism, shape, relation, quantile)
    return audit(setting, universe(setting))


def caught(found: Verdict) -> bool:
    """Either promise is broken for certain: the loss, or its range."""
    return found.broken or found.spread > found.epsilon


def rescaled(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    """Multiply Delta, of gradients and of values."""
    original = delta_module.delta
    monkeypatch.setattr(delta_module, "delta", lambda *given: factor * original(*given))


# --- constants -----------------------------------------------------------------------------------


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's section 4.5: Delta = 2(1 - tau) C, with C = ||(1, ..., 1)||_inf = 1."""

    stating(monkeypatch, lambda loss: 2 * (1 - loss.pointwise.tau))


@pytest.mark.usefixtures("paper")
@pytest.mark.parametrize("shape", ["d1", "d1+1", "d2"])
def test_the_constant_of_the_paper_is_caught_at_the_ninth_decile(shape: str) -> None:
    found = verdict("kng", shape, REPLACE, "0.9")
    assert found.broken, found.tightness
    setting = replace(plane("kng", shape, REPLACE, "0.9"), norm="linf")
    assert audit(setting, universe(setting)).broken


@pytest.mark.usefixtures("paper")
def test_the_constant_of_the_paper_loses_several_epsilon() -> None:
    setting = plane("kng", "d1", REPLACE, "0.9")
    assert audit(setting, universe(setting, 2)).tightness > 3
    setting = replace(plane("kng", "d1+1", REPLACE, "0.9"), norm="linf")
    assert audit(setting, universe(setting, 2)).tightness > 3


# Three records use less than half of epsilon here; and under add-remove losses only grow,
# so that half of the exponential mechanism's Delta would still do (tests/audit/test_mutations.py).
QUIET = [("kng", "d1", REPLACE, "0.1"), ("kng", "d1+1", ADD, "0.95")]
LOUD = [
    case[:4]
    for case in CASES
    if (case[:4] not in QUIET and case[0] == "kng") or case[2:4] == (REPLACE, "0.5")
]


@pytest.mark.parametrize(("mechanism", "shape", "relation", "quantile"), LOUD[::2])
def test_a_halved_sensitivity_is_caught(
    mechanism: str, shape: str, relation: str, quantile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rescaled(monkeypatch, HALF)
    assert caught(verdict(mechanism, shape, relation, quantile))


@pytest.mark.parametrize(("mechanism", "shape", "relation", "quantile", "floor"), CASES[::3])
def test_a_doubled_sensitivity_misses_its_floor(
    mechanism: str,
    shape: str,
    relation: str,
    quantile: str,
    floor: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rescaled(monkeypatch, TWO)
    assert verdict(mechanism, shape, relation, quantile).high < Fraction(floor)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", ["d1", "d1+1", "d2"])
def test_a_dropped_factor_two_is_caught(
    shape: str, relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exponent(self: DensityPlan, theta: Point, score: Fraction) -> Fraction:
        return self.epsilon * score / self.delta_at(theta)

    monkeypatch.setattr(DensityPlan, "exponent", exponent)
    assert verdict("kng", shape, relation, "0.5").broken


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_person_with_two_records_who_counts_as_one_is_caught(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = replace(plane("kng", "d2", relation, "0.5"), records_per_person=2)
    monkeypatch.setattr(PrivacyUnit, "group", lambda self, sensitivity: sensitivity)
    assert caught(audit(setting, universe(setting, 4)))


# --- the intercept's norm ------------------------------------------------------------------------


def slopes_weighed(monkeypatch: pytest.MonkeyPatch, factor: Fraction) -> None:
    """Measure scores with another weight than the sensitivity was asked for."""

    def shape(self: InterceptSup) -> InterceptShape:
        return InterceptShape(min(Fraction(1), factor * self.slope))

    monkeypatch.setattr(InterceptSup, "shape", property(shape))


def test_slopes_weighed_by_too_much_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sup norm with the sensitivity 1 of the intercept's norm: 2 tau would be right.

    Slopes outweigh the intercept where that is balanced, which takes ten records at 0.9.
    """
    slopes_weighed(monkeypatch, TWO)
    assert search(plane("kng", "d1+1", REPLACE, "0.9"), 20, range(2)).broken


def test_slopes_weighed_by_half_are_no_matter_of_privacy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the weight is another norm of sensitivity 1; tests/losses shows what it wastes."""
    slopes_weighed(monkeypatch, HALF)
    assert verdict("kng", "d1+1", REPLACE, "0.95").private


def test_the_intercept_counted_like_a_slope_misses_its_floor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2 max(tau, 1 - tau) for all coordinates is the constant without an intercept."""
    stating(monkeypatch, lambda _: 2 * Fraction("0.95"))
    floor = next(Fraction(c[4]) for c in CASES if c[:4] == ("kng", "d1+1", REPLACE, "0.95"))
    assert verdict("kng", "d1+1", REPLACE, "0.95").high < floor


# --- records -------------------------------------------------------------------------------------


@pytest.fixture
def dropped_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let records beyond the upper bound through the production door."""
    original = Ingest.__init__

    def unbounded(self: Ingest, records: Encoding) -> None:
        original(self, records)
        self._last = 0 * self._last + np.inf

    monkeypatch.setattr(Ingest, "__init__", unbounded)


@pytest.mark.usefixtures("dropped_clip")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
def test_a_covariate_that_is_not_clipped_is_caught(mechanism: str, relation: str) -> None:
    setting = plane(mechanism, "d1+1", relation, "0.5")
    records = ((8, 8), (-8, 8), (8, 3), (-8, 0), (300, -2))
    assert caught(audit(setting, datasets(records, sizes(relation, 3))))


# --- ties ----------------------------------------------------------------------------------------

# Whole planes of the lattice go through these records.
TIED = ((8, 2), (8, 2), (-8, 0), (4, 1), (0, 2), (-4, -1), (8, 4))


def disagreements(setting: Plane) -> int:
    """Count the points at which the sampler's score is not the field's."""
    plan = setting.plan(len(TIED))
    field = field_of(plan, TIED)
    wrong = 0
    for point, sampled in scores(envelope_of(plan, field), field):
        wrong += plan.domain.contains(point) and sampled != field.score(point)
    return wrong


def scores(envelope: BoxEnvelope, field: Any) -> Iterator[tuple[Point, Fraction]]:
    """Yield all points with the scores that decide about accepting them."""
    cover, boxes = envelope._cover, envelope._cover.boxes
    d = len(boxes.pilot)
    for box in boxes.live():
        corner, sides = boxes.whole[box, :d], boxes.whole[box, d : 2 * d]
        ranges = (range(a, a + 2**e) for a, e in zip(corner, sides, strict=True))
        t = boxes.sheared(np.array(list(product(*ranges))))
        counted = cover.counted(np.full(len(t), box), t)
        for at, sums in zip(t, counted, strict=True):
            point = boxes.point(at)
            yield point, field.score_of(point, cover.exact(sums))


def strict_points(rows, residual, copies, *others):
    """Decide every record at single points with `<`."""
    t, sums = others[3], others[-1]
    times = copies if len(copies) else np.ones(len(rows))
    for m in range(len(t)):
        ahead = residual < rows.astype(np.float64) @ t[m]
        high = np.floor(residual[ahead] / plane_cover.HIGH)
        sums[m, :-2] = times[ahead] @ rows[ahead].astype(np.float64)
        sums[m, -2] = times[ahead] @ high
        sums[m, -1] = times[ahead] @ (residual[ahead] - high * plane_cover.HIGH)


def strict_score(self: Any, theta: Point) -> Fraction:
    """Decide every record with `<` where the score is looked up."""
    ahead = self.rows.astype(np.int64) @ np.array(theta, np.int64) > self.response
    x = self.rows[ahead].astype(np.int64).sum(axis=0)
    y = exact_sum(self.response[ahead])
    return self.score_of(theta, (*(int(v) for v in x), y))


@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
def test_the_sampler_and_the_loss_decide_ties_alike_and_a_strict_one_is_caught(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = Plane(("0.9",), REPLACE, mechanism=mechanism, reach=8)
    assert disagreements(setting) == 0
    with monkeypatch.context() as patched:
        patched.setattr(strict_points, "overloads", ["as it is"], raising=False)
        patched.setattr(plane_cover, "scan_points", strict_points)
        # The loss itself is continuous, so that a tie does not show in its value.
        assert (disagreements(setting) > 0) == (mechanism == "kng")
    with monkeypatch.context() as patched:
        patched.setattr(PlaneRecords, "score", strict_score)
        assert (disagreements(setting) > 0) == (mechanism == "kng")


# --- shares --------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
def test_an_epsilon_that_is_not_shared_is_caught(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two quantiles takes it all."""
    setting = Plane(("0.5", "0.25"), relation, reach=2)
    assert stepwise(setting).private
    rescaled(monkeypatch, HALF)
    assert stepwise(setting).broken
