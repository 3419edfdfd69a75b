"""A scale: from numbers to places in a picture, with round numbers written along it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10

from kng.report.svg import line, text

_TICKS = 5
_EDGE = 24.0


@dataclass(frozen=True, slots=True)
class Axis:
    """Numbers from ``low`` to ``high``, drawn between two places."""

    low: float
    high: float
    start: float
    end: float

    def at(self, number: float) -> float:
        """Return where a number stands; beyond the ends at the nearest of them."""
        span = self.high - self.low
        share = (number - self.low) / span if span > 0 else 0.5
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return about five round numbers."""
        span = self.high - self.low
        if not 0 < span < float("inf"):
            return [self.low]
        power = 10.0 ** floor(log10(span / _TICKS))
        step = next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= _TICKS)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        return [k * step for k in range(first, last + 1)]

    def below(self, y: float, percent: bool = False) -> list[str]:
        """Draw it as a horizontal line with its numbers below."""
        marks = [line(self.start, y, self.end, y, "axis")]
        for tick in self.ticks():
            x = self.at(tick)
            words = f"{100 * tick:.6g} %" if percent else number(tick)
            marks.append(line(x, y, x, y + 5, "axis"))
            # Numbers at the ends would be cut off.
            near = x - self.start < _EDGE, self.end - x < _EDGE
            anchor = {(True, False): "start", (False, True): "end"}.get(near, "middle")
            marks.append(text(x, y + 20, words, "tick", anchor))
        return marks

    def beside(self, x: float) -> list[str]:
        """Draw it as a vertical line with its numbers on the left."""
        marks = [line(x, self.start, x, self.end, "axis")]
        for tick in self.ticks():
            y = self.at(tick)
            marks.append(line(x - 5, y, x, y, "axis"))
            marks.append(text(x - 8, y + 4, number(tick), "tick", "end"))
        return marks


def number(value: float) -> str:
    """Write a number of a scale: thousands apart, no needless digits."""
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e9:
        return f"{float(f'{value:.6g}'):,.10g}"
    return f"{value:.3g}"
