"""How responses of quantile planes are split where many are equal: shifted at random, or spread."""

from __future__ import annotations

from fractions import Fraction

from kng.core.design import Design
from kng.core.exact import show
from kng.core.privacy import PrivacyUnit
from kng.losses.linear_encoding import JITTER
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.room import fits, streams


def tilted(  # noqa: PLR0917
    tau: Fraction, width: Fraction, design: Design, unit: PrivacyUnit, memory: int, weighs: str
) -> Pinball | SmoothedPinball:
    """Return the check loss; smoothed, where so many records stay where they are.

    The bandwidth is the largest shift of a response, over whose random shifts it is the mean.
    """
    if weighs == "value" or fits(unit, design.dim, memory):
        return Pinball(tau)
    smoothed = SmoothedPinball(tau, width)
    return smoothed if streams(smoothed, design) else Pinball(tau)


def largest_shift(low: Fraction, high: Fraction) -> Fraction:
    """Return by how much a response between two bounds is shifted at most."""
    return (high - low) * JITTER / 4


def told(pointwise: Pinball | SmoothedPinball, width: Fraction) -> str:
    """Return what a receipt says of the responses."""
    if isinstance(pointwise, Pinball):
        return f"clipped to its bounds, then shifted at random by up to {show(width)}"
    return (
        f"clipped to its bounds, then spread evenly over {show(width)} either way, so that all "
        "records stay where they are"
    )
