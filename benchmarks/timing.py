"""CPU time and memory of rival calls, interleaved so that a noisy machine treats them alike.

A round runs every call, one after the other, and a ratio is taken within a round. What is printed
is the median of the rounds' ratios, with quartiles and range. Time is what the process, its
threads and the children it waited for spent on a processor; a wall clock would also time whoever
else uses the machine.
"""

from __future__ import annotations

import resource
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import median, quantiles

Call = Callable[[], object]

ROUNDS = 11
# A call that is shorter is repeated within a round, to stand out against the clock.
_SHORTEST = 0.005


def cpu_seconds() -> float:
    """Return the CPU time spent so far, system time, threads and finished children included."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def spent(call: Call, times: int = 1) -> float:
    """Return the CPU seconds of one call, averaged over so many in a row."""
    start = cpu_seconds()
    for _ in range(times):
        call()
    return (cpu_seconds() - start) / times


def measure(calls: Mapping[str, Call], rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return each call's CPU seconds in every round, after one call of each that does not count.

    Every other round goes backwards, so that no call is always the one after the other.
    """
    times = {name: max(1, ceil(_SHORTEST / max(spent(call), 1e-9))) for name, call in calls.items()}
    found: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            found[name].append(spent(calls[name], times[name]))
    return found


@dataclass(frozen=True, slots=True)
class Ratio:
    """One call's time relative to another's, round by round."""

    ours: Sequence[float]
    theirs: Sequence[float]

    @property
    def rounds(self) -> list[float]:
        """The ratio of each round."""
        return [a / b for a, b in zip(self.ours, self.theirs, strict=True)]

    @property
    def median(self) -> float:
        """What is printed."""
        return median(self.rounds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The lower and the upper quartile."""
        low, _, high = quantiles(self.rounds, method="inclusive")
        return low, high

    def misses(self, bar: float) -> bool:
        """Whether even the lower quartile is above the bar."""
        return self.quartiles[0] > bar

    def __str__(self) -> str:
        low, high = self.quartiles
        return (
            f"{_short(median(self.theirs))}{_short(median(self.ours))}{self.median:>9.2f}"
            f"   {low:.2f} to {high:.2f}   {min(self.rounds):.2f} to {max(self.rounds):.2f}"
        )


HEAD = f"{'theirs':>12}{'ours':>12}{'ratio':>9}   quartiles      range"


def line(name: str, ratio: Ratio, bar: float | None = None) -> bool:
    """Print one ratio beside its bar, and return whether it misses it."""
    missed = bar is not None and ratio.misses(bar)
    verdict = "" if bar is None else f"   {'MISSES' if missed else 'within'} {bar:g}"
    print(f"{name:<34}{ratio}{verdict}", flush=True)
    return missed


def _short(seconds: float) -> str:
    return f"{1e3 * seconds:>9.3f} ms" if seconds < 10 else f"{seconds:>10.2f} s"


def extra_bytes(call: Call) -> int:
    """Return the peak of what the call allocates, NumPy's arrays included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
