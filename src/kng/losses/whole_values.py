"""Values of a linear model that are rounded to public steps."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from kng.core.regions import Region
from kng.losses.kernels.linear_rows import ENDS

if TYPE_CHECKING:
    from kng.losses.linear import Linear

# Steps of the largest value, where values are rounded to steps.
LOSS = 2**41


def whole_steps(loss: Linear, value: Fraction, region: Region) -> Fraction:
    """Round a largest value up to a whole step, where values are rounded to public steps.

    No value has more than LOSS steps, a power of two of which is 1.
    """
    scale = loss.pointwise.scale
    if scale is None or loss.answers is None:
        return value
    rows, step = loss.rows, loss.answers.step[0]
    reach = ENDS * sum(floor(max(abs(low), abs(high)) / step) for low, high in region.sides())
    residual = reach + max(map(abs, rows.ends()))
    own = scale / loss.design.half_y / rows.unit
    steps = Fraction(LOSS, 2 ** int(residual / own).bit_length())
    return max(ceil(value * steps), 1) / steps
