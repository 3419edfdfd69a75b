"""How long work will still take, judged by the work that is done."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from time import monotonic

# Of all work, what must be done at a steady pace before a time is told.
_STEADY = 1 / 10


class Pace:
    """Work done per second, over the later half of what is done.

        left = (total - done) * (now - then) / (done - done then)

    *Then* is when about half of it was done, never before the first task was finished: until then
    processes start and loops are compiled, which happens once. Costs are in any unit; only their
    ratios matter.
    """

    def __init__(self, total: float, clock: Callable[[], float] = monotonic) -> None:
        self._total, self._clock = total, clock
        self._done = 0.0
        self._marks: list[tuple[float, float]] = []

    @property
    def share(self) -> float:
        """The share of the work that is done."""
        return min(1.0, self._done / self._total) if self._total else 1.0

    def forward(self, cost: float) -> None:
        """Note a finished task."""
        self._done += cost
        self._marks.append((self._done, self._clock()))

    def left(self) -> float | None:
        """Return the seconds left, or None while that is a guess."""
        if not self._marks or self._done - self._marks[0][0] < _STEADY * self._total:
            return None
        before, then = self._marks[max(0, bisect(self._marks, (self._done / 2,)) - 1)]
        ahead = max(0.0, self._total - self._done)
        return ahead * (self._clock() - then) / (self._done - before)

    def tell(self) -> str:
        """Return the time left in words; nothing while it is a guess."""
        left = self.left()
        return "" if left is None else f"about {_words(left)} left"


def _words(seconds: float) -> str:
    """Write a duration with the digits that mean something."""
    if seconds < 55:
        return f"{max(5, 5 * round(seconds / 5))} seconds"
    minutes = round(seconds / 60)
    if minutes < 60:
        return "1 minute" if minutes == 1 else f"{minutes} minutes"
    return f"{minutes / 60:.1f} hours"
