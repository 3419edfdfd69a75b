"""Times and memory of rival calls, interleaved so that a noisy machine treats them alike."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping

Call = Callable[[], object]


def best_seconds(calls: Mapping[str, Call], rounds: int) -> dict[str, float]:
    """Return each call's best time over the rounds; every round runs every call once."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def extra_bytes(call: Call) -> int:
    """Return the peak of what the call allocates, NumPy's arrays included."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
