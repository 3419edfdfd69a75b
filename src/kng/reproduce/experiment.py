"""An experiment: many independent tasks, each a sample size and a replicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol
from zlib import crc32

from kng.core.bits import SeededBits, simulator


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """One replicate at one sample size."""

    n: int
    replicate: int


@dataclass(frozen=True, slots=True)
class Measured:
    """What one task found: errors by method, and facts that are no errors."""

    errors: dict[str, float]
    facts: dict[str, float]


class Experiment(Protocol):
    """What the runner asks of a figure; picklable, so that it can travel to a worker."""

    @property
    def name(self) -> str:
        """Name of the files it makes."""
        ...

    def __hash__(self) -> int: ...

    def tasks(self) -> list[Task]:
        """Return all there is to do, in order."""
        ...

    def cost(self, task: Task) -> float:
        """Return about how long a task takes, in any unit."""
        ...

    def measure(self, task: Task, seed: int) -> Measured:
        """Do one task; the same result for the same seed."""
        ...


# Every experiment does this one in a moment; libraries that draw otherwise show in its result.
PROBE = Task(100, 0)


def grid(sizes: tuple[int, ...], replicates: int) -> list[Task]:
    """Return every replicate of every size."""
    return [Task(n, replicate) for n in sizes for replicate in range(replicates)]


def method_bits(seed: tuple[int, ...], method: str) -> SeededBits:
    """Return the random bits of one method in one replicate; no method shares another's."""
    return SeededBits(int(simulator(*seed, crc32(method.encode())).integers(2**63)))
