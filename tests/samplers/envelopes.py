"""Boxes as branch and bound makes them, halved until hardly an attempt is rejected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kng.core.boxes.covering import CoveredField, Covering
from kng.core.plan import DensityPlan
from kng.samplers.exact.boxes import BoxEnvelope, covers_of


def covering(plan: DensityPlan, field: CoveredField) -> Sequence[Covering]:
    """Return the field's covers of a plan's domain."""
    return covers_of(plan, field)[0]


def later(plan: DensityPlan, field: CoveredField) -> Sequence[Callable[[], Covering]]:
    """Return those that join when the first ones have many boxes."""
    return covers_of(plan, field)[1]


def envelope_of(plan: DensityPlan, field: CoveredField, boxes: int = 2**14) -> BoxEnvelope:
    """Return an envelope of so many boxes, or fewer if most attempts are certain to be accepted."""
    cover = covering(plan, field)[-1]
    cover.refine(boxes)
    return BoxEnvelope(plan, cover)
