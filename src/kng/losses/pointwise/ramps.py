"""psi that is level, then a line, then level again, as the program computes it in whole numbers.

    psi(r) = bottom                     r <= -bend
           = slope r + middle -+ grain  |r| <= bend,      grain with every rounding
           = top                        r >= bend

Huber's function is one, and the check loss smoothed by a uniform kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kng.losses.pointwise.function import Stepped
from kng.losses.pointwise.huber import Huber, HuberSteps
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball, SmoothedPinballSteps
from kng.losses.pointwise.steps import PSI

# The functions whose steps make a ramp.
RAMPS = (Huber, SmoothedPinball)
# What rounding adds to the truncation to a whole step.
_FUZZ = 2.0**-16


@dataclass(frozen=True, slots=True)
class Ramp:
    """A ramp in whole numbers of residuals and of psi."""

    bend: float
    slope: float
    middle: float
    grain: float
    bottom: float
    top: float


def ramp_of(stepped: Stepped) -> Ramp:
    """Return the ramp that a function in whole numbers is."""
    far = np.array([-1.0, 1.0]) * 2.0**60
    bottom, top = (float(v) for v in stepped.psi(far, np.zeros(2)))
    if isinstance(stepped, SmoothedPinballSteps):
        slope = stepped.total / (2 * stepped.bend)
        return Ramp(stepped.bend, slope, (bottom + top - 1) / 2, 0.5 + _FUZZ, bottom, top)
    assert isinstance(stepped, HuberSteps)
    return Ramp(stepped.bend, PSI / stepped.bend, 0.0, 1.0 + _FUZZ, bottom, top)
