"""Lines of smooth functions of one number: their values at the ends, and between which slopes.

All but the square grow, so that their values over an interval lie between those at its ends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kng.core.traced.boxes import Boxes, Slopes
from kng.core.traced.elementary import PROGRAMS, expit
from kng.core.traced.enclosed import Enclosed, either, settled
from kng.core.traced.lines import chord

Array = NDArray[np.float64]
# The slopes of a function over intervals, least and largest, and 1, -1 or 0 where it is convex,
# concave or neither; from the ends of x and the values there.
Steep = Callable[[Array, Array, Array, Array], tuple[Array, Array, Array | float]]
# Below this a function is no number.
_LEAST = {"log": 0.0, "sqrt": 0.0, "log1p": -1.0}


def smooth(boxes: Boxes, name: str, x: Enclosed) -> Enclosed:
    """Return a smooth function of a number."""
    least = _LEAST.get(name)
    if least is None or np.min(x.low, initial=1.0) > least:
        return _line(boxes, name, x)
    # Where it may be no number its line says nothing, and its interval is that of the rest.
    outside = x.low < least
    within = Enclosed(
        np.maximum(x.low, least), np.maximum(x.high, least), x.middle, x.slopes, x.miss, x.doubt
    )
    found = _line(boxes, name, within)
    middle = np.where(outside, np.nan, found.middle)
    doubt = either(x.doubt, outside)
    slopes = found.slopes or Slopes.none(boxes)
    return settled(found.low, found.high, middle, slopes, found.miss, doubt)


def _line(boxes: Boxes, name: str, x: Enclosed) -> Enclosed:
    program = PROGRAMS[name]
    start, end = program(x.low), program(x.high)
    least, most, bend = SLOPES[name](x.low, x.high, start, end)
    floor = None
    if name == "square":
        floor = np.where((x.low < 0) & (x.high > 0), 0.0, np.minimum(start, end))
    return chord(boxes, x, start, end, least, most, bend, floor)


def _exp(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, float]:  # noqa: ARG001
    return start, end, 1.0


def _expm1(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, float]:  # noqa: ARG001
    return start + 1, end + 1, 1.0


def _log(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, float]:  # noqa: ARG001
    return 1 / high, 1 / low, -1.0


def _log1p(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, float]:  # noqa: ARG001
    return 1 / (1 + high), 1 / (1 + low), -1.0


def _sqrt(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, float]:  # noqa: ARG001
    return 0.5 / end, 0.5 / start, -1.0


def _square(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, float]:  # noqa: ARG001
    return 2 * low, 2 * high, 1.0


def _softplus(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, float]:  # noqa: ARG001
    return expit(low), expit(high), 1.0


def _around_zero(
    low: Array, high: Array, steep: tuple[Array, Array], top: float
) -> tuple[Array, Array, Array]:
    """Return slopes that fall with |x| from ``top`` at 0; convex below 0, concave above."""
    across = (low < 0) & (high > 0)
    most = np.where(across, top, np.maximum(*steep))
    return np.minimum(*steep), most, np.where(across, 0.0, np.where(low < 0, 1.0, -1.0))


def _tanh(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, Array]:
    # 1 - tanh^2 loses digits near 1: it is at most 2**-43 off, which the chord's room covers.
    return _around_zero(low, high, (1 - start * start, 1 - end * end), 1.0)


def _arctan(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, Array]:  # noqa: ARG001
    return _around_zero(low, high, (1 / (1 + low * low), 1 / (1 + high * high)), 1.0)


def _expit(low: Array, high: Array, start: Array, end: Array) -> tuple[Array, Array, Array]:
    return _around_zero(low, high, (start * (1 - start), end * (1 - end)), 0.25)


SLOPES: dict[str, Steep] = {
    "exp": _exp,
    "expm1": _expm1,
    "log": _log,
    "log1p": _log1p,
    "sqrt": _sqrt,
    "square": _square,
    "softplus": _softplus,
    "tanh": _tanh,
    "arctan": _arctan,
    "expit": _expit,
}
