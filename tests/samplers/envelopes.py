"""Boxes as branch and bound makes them, halved until hardly an attempt is rejected."""

from __future__ import annotations

from kng.core.plan import DensityPlan
from kng.core.protocols import CurvedField, PlaneField
from kng.samplers.branch_and_bound import BoxEnvelope, covering


def envelope_of(
    plan: DensityPlan, field: PlaneField | CurvedField, boxes: int = 2**14
) -> BoxEnvelope:
    """Return an envelope of so many boxes, or fewer if most attempts are certain to be accepted."""
    cover = covering(plan, field)[-1]
    cover.refine(boxes)
    return BoxEnvelope(plan, cover)
