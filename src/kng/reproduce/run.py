"""Run an experiment on several processes, and keep what is finished.

Every finished task is one line of a file, written at once. A run that was interrupted is resumed by
the same call: lines that are there are not computed again. A task depends on the seed, its size and
its number alone, so neither the order nor the number of processes changes a figure.

The first line says what made the others: experiment, seed, program, and the result of one small
task. Another machine may round differently in the last digits, and may go on; a program whose
source or results differ may not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from math import isclose
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from kng.core.errors import SpecError
from kng.reproduce.experiment import PROBE, Experiment, Measured, Task
from kng.reproduce.orphan import watch_parent
from kng.reproduce.program import program

# Other kernels of BLAS change the last few of 16 digits; another draw changes the first.
_SAME = 1e-9


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
        if difference := self._difference(_parsed(lines[0])):
            raise SpecError(
                f"{self.path} holds another run than this one: {difference}. Use another --out, "
                "or remove the file."
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
            "program": program(),
            "probe": _probe(self.experiment, self.seed),
        }

    def _difference(self, found: Any) -> str:
        """Return in what the first line of a file differs from this run's; nothing if it agrees."""
        ours = self._heading()
        if not isinstance(found, dict) or found.keys() != ours.keys():
            return "its first line is not one that this version writes"
        if found["experiment"] != ours["experiment"]:
            return f"it is about {found['experiment']}"
        if found["seed"] != ours["seed"]:
            return f"it has the seed {found['seed']}"
        if found["program"] != ours["program"]:
            return "the source of the program has changed since"
        if not _agree(found["probe"], ours["probe"]):
            return (
                "the same source gives other results here, so another version of a library, "
                "such as numpy, must have made it"
            )
        return ""

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
        pool = ProcessPoolExecutor(jobs, get_context("spawn"), initializer=watch_parent)
        try:
            futures = {pool.submit(_measure, self.experiment, t, self.seed): t for t in tasks}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@cache
def _probe(experiment: Experiment, seed: int) -> dict[str, float]:
    """Return what a small task finds: draws depend on every library below, not on ours alone."""
    return _measure(experiment, PROBE, seed).errors


def _agree(found: Any, ours: dict[str, float]) -> bool:
    return (
        isinstance(found, dict)
        and found.keys() == ours.keys()
        and all(isclose(found[name], value, rel_tol=_SAME) for name, value in ours.items())
    )


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
