"""How responses of quantile planes are split where many are equal: shifted at random, or spread."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from kng.core.design import Design
from kng.core.exact import show
from kng.core.privacy import PrivacyUnit
from kng.losses.linear_encoding import JITTER, SCALES
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.room import fits, streams


@dataclass(frozen=True, slots=True)
class Spread:
    """The largest random shift of a response, and the bandwidth if the caller names one."""

    shift: Fraction
    bandwidth: Fraction | None

    def tilted(
        self, tau: Fraction, design: Design, unit: PrivacyUnit, memory: int, weighs: str
    ) -> Pinball | SmoothedPinball:
        """Return the check loss; smoothed by name, or where so many records stay where they are.

        Then the bandwidth is the largest shift of a response, over whose random shifts it is the
        mean.
        """
        if self.bandwidth is not None:
            return SmoothedPinball(tau, self.bandwidth)
        if weighs == "value" or fits(unit, design.dim, memory):
            return Pinball(tau)
        smoothed = SmoothedPinball(tau, self.shift)
        return smoothed if streams(smoothed, design) else Pinball(tau)

    def told(self, pointwise: Pinball | SmoothedPinball) -> dict[str, str]:
        """Return what a receipt says of the responses."""
        if self.bandwidth is not None:
            far, width = show(SCALES * self.bandwidth), show(self.bandwidth)
            return {
                "response": f"values more than {far} from its middle are clipped",
                "smoothing": f"check loss averaged over shifts of y of up to {width}",
            }
        if isinstance(pointwise, Pinball):
            shifted = f"shifted at random by up to {show(self.shift)}"
            return {"response": f"clipped to its bounds, then {shifted}"}
        return {
            "response": f"clipped to its bounds, then spread evenly over {show(self.shift)} either "
            "way, so that all records stay where they are"
        }


def largest_shift(low: Fraction, high: Fraction) -> Fraction:
    """Return by how much a response between two bounds is shifted at most."""
    return (high - low) * JITTER / 4
