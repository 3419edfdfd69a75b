"""Run an experiment on several processes, and keep what is finished.

Every finished task is one line of a file, written at once. A run that was interrupted is resumed by
the same call: lines that are there are not computed again. A task depends on the seed, its size and
its number alone, so neither the order nor the number of processes changes a figure.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

from threadpoolctl import threadpool_limits

from kng.core.errors import SpecError
from kng.reproduce.experiment import PROBE, Experiment, Measured, Task


@dataclass(frozen=True, slots=True)
class Run:
    """An experiment with a seed, and the folder that keeps its lines."""

    experiment: Experiment
    seed: int
    folder: Path

    @property
    def path(self) -> Path:
        """The file of finished tasks."""
        return self.folder / f"{self.experiment.name}.replicates.jsonl"

    def finished(self) -> dict[Task, Measured]:
        """Return what the file holds; a line that was cut off counts as missing."""
        if not self.path.exists():
            return {}
        lines = self.path.read_text(encoding="utf-8").splitlines()
        if not lines:
            return {}
        if _parsed(lines[0]) != self._heading():
            raise SpecError(
                f"{self.path} holds another run than this one: another seed, or another version "
                "of the program. Use another --out, or remove the file."
            )
        found = {}
        for line in lines[1:]:
            entry = _parsed(line)
            if entry is not None:
                found[Task(entry["n"], entry["replicate"])] = Measured(
                    entry["errors"], entry["facts"]
                )
        return found

    def missing(self) -> list[Task]:
        """Return what is left to do."""
        kept = self.finished()
        return [task for task in self.experiment.tasks() if task not in kept]

    def _heading(self) -> dict[str, Any]:
        return {
            "experiment": self.experiment.name,
            "seed": self.seed,
            "fingerprint": _fingerprint(self.experiment, self.seed),
        }

    def go(self, jobs: int) -> Iterator[Task]:
        """Do what is missing, and yield every task of that when it is finished."""
        missing = self.missing()
        if not missing:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            fresh = not self.path.exists() or not self.path.read_bytes()
            torn = not fresh and not self.path.read_bytes().endswith(b"\n")
            file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise SpecError(
                f"--out {self.folder} cannot be written to ({error.strerror})."
            ) from None
        with file:
            if fresh:
                file.write(json.dumps(self._heading()) + "\n")
            elif torn:
                file.write("\n")
            for task, measured in self._measured(missing, jobs):
                file.write(json.dumps({**asdict(task), **asdict(measured)}) + "\n")
                file.flush()
                yield task

    def _measured(self, tasks: list[Task], jobs: int) -> Iterator[tuple[Task, Measured]]:
        if jobs == 1:
            for task in tasks:
                yield task, _measure(self.experiment, task, self.seed)
            return
        # Fresh processes: a fork would copy threads' locks, and numba's and BLAS's threads.
        pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
        try:
            futures = {pool.submit(_measure, self.experiment, t, self.seed): t for t in tasks}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@cache
def _fingerprint(experiment: Experiment, seed: int) -> int:
    """Return a number that changes when the same seed would give other results.

    Draws depend on every line of the samplers, so lines of an older program, or of a machine that
    adds in another order, are not mixed with new ones.
    """
    return crc32(repr(_measure(experiment, PROBE, seed)).encode())


def _measure(experiment: Experiment, task: Task, seed: int) -> Measured:
    """Do one task on one thread: threads of BLAS would add in another order."""
    with threadpool_limits(1):
        return experiment.measure(task, seed)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def processors() -> int:
    """Return how many processes this machine serves at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
