"""Errors of `kng` beside those of OpenDP's Polars context, on the same survey data and epsilon.

`make compare-opendp` installs OpenDP into an environment of its own and prints the table of
docs/surveys.md; by hand:

    python -m venv opendp && opendp/bin/pip install 'opendp[polars]'
    KNG_OPENDP=opendp/bin/python python -m benchmarks.opendp

OpenDP is asked as its guide recommends: public keys by `with_keys`, public bounds, candidates on
the public step of the column, a public bound on the number of records. It fills in a number where
a cell is missing, so records that lack one are filtered out for it first. `contributions=1` is
add-remove, `changes=1` replace-one. Its answers are brought into the bounds, as ours are, and
counts to 0 or more, which costs nothing. An error is the mean over groups of the distance to what
pandas finds; shown are means over replicates with their standard errors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import kng
from benchmarks.survey_data import NotFetchedError, survey

REPLICATES = int(os.environ.get("REPLICATES", "50"))
EPSILONS = (1.0, 0.1)
UNITS = {"add-remove": "contributions", "replace-one": "changes"}
# Runs where OpenDP is; a line is a job, and is answered by a line. A query is resolved once, which
# takes a second, and the measurement it gives is then invoked again and again.
WORKER = """
import itertools, json, sys, warnings
import opendp.prelude as dp, polars as pl
warnings.simplefilter("ignore")
dp.enable_features("contrib")
for line in sys.stdin:
    job = json.loads(line)
    frame, keys, column = pl.read_parquet(job["path"]).lazy(), job["keys"], pl.col(job["column"])
    table = pl.LazyFrame(list(itertools.product(*keys.values())), schema=list(keys), orient="row")
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(**{job["unit"]: 1}),
        privacy_loss=dp.loss_of(epsilon=job["epsilon"]),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=[], max_length=job["n_max"])],
    )
    query = context.query()
    if job["statistic"] == "histogram":
        answer = dp.len(signed=True)
    else:
        query = query.filter(column.is_not_null())
        answer = (
            column.dp.median(job["candidates"])
            if job["statistic"] == "median"
            else column.dp.mean(tuple(job["bounds"]))
        )
    query = query.group_by(*keys).agg(answer.alias("answer")).with_keys(table)
    measurement = query.resolve()
    found = [measurement(frame).collect().sort(*keys) for _ in range(job["replicates"])]
    print(json.dumps([each["answer"].to_list() for each in found]), flush=True)
"""
Errors = NDArray[np.float64]
Keys = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Task:
    """A statistic of a column, in groups of others."""

    statistic: str
    data: str
    column: str
    bounds: tuple[float, float]
    step: float
    by: tuple[str, ...] = ()

    @property
    def candidates(self) -> list[float]:
        """All values on the public step."""
        low, high = self.bounds
        return [round(low + k * self.step, 6) for k in range(round((high - low) / self.step) + 1)]

    def truth(self, frame: pd.DataFrame) -> Errors:
        """Return what pandas finds on the records that are there, in the order of the groups."""
        if self.statistic == "histogram":
            return frame.groupby(list(self.by)).size().to_numpy(dtype=float)
        there = frame.dropna(subset=[self.column, *self.by])
        return there.groupby(list(self.by))[self.column].agg(self.statistic).to_numpy(dtype=float)

    def __str__(self) -> str:
        if self.statistic == "histogram":
            return f"{self.data}: histogram of {', '.join(self.by)}"
        return f"{self.data}: {self.statistic} of {self.column} by {', '.join(self.by)}"


WAGES = ("SLID", "wages", (0, 50), 0.01)
YEARS = ("fair", "yrs_married", (0, 30), 0.5)
DISEASES = ("randhie", "disea", (0, 60), 0.1)
TASKS = [
    *(
        Task(statistic, *column, by)
        for column, by in (
            (WAGES, ("sex",)),
            (WAGES, ("language", "sex")),
            (YEARS, ("religious",)),
            (DISEASES, ("idp",)),
        )
        for statistic in ("median", "mean")
    ),
    Task("histogram", *WAGES, by=("language",)),
    Task("histogram", *YEARS, by=("religious",)),
    Task("histogram", *YEARS, by=("yrs_married",)),
]


def n_max(frame: pd.DataFrame) -> int:
    """Return a public bound on the number of records that is not too close."""
    return 10 ** len(str(len(frame)))


def ours(task: Task, frame: pd.DataFrame, keys: Keys, how: str, epsilon: float) -> Errors:
    """Return our answers, a row for each replicate."""
    options: dict[str, Any] = {"epsilon": epsilon, "neighbours": how}
    if how == "add-remove":
        options["n_max"] = n_max(frame)
    if task.statistic == "median":
        options["granularity"] = task.step

    def answer() -> Any:
        if task.statistic == "histogram":
            return kng.histogram(frame, levels=dict(keys), **options).value
        ask = getattr(kng, task.statistic)
        return ask(frame, bounds={task.column: task.bounds}, by=dict(keys), **options).value

    return np.array([np.ravel(answer()) for _ in range(REPLICATES)], dtype=float)


class OpenDP:
    """A process of the environment that has OpenDP."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [os.environ["KNG_OPENDP"], "-c", WORKER], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __call__(self, task: Task, path: Path, keys: Keys, **options: Any) -> Errors:
        """Return its answers, a row for each replicate."""
        job = {
            "path": str(path), "column": task.column, "keys": keys, "statistic": task.statistic,
            "candidates": task.candidates, "bounds": [float(end) for end in task.bounds],
            "replicates": REPLICATES, **options,
        }  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(job), file=self._process.stdin, flush=True)
        found = np.array(json.loads(self._process.stdout.readline()), dtype=float)
        if task.statistic == "histogram":
            return np.maximum(found, 0)
        low, high = task.bounds
        return np.clip(np.nan_to_num(found, nan=(low + high) / 2), low, high)

    def stop(self) -> None:
        """End the process."""
        self._process.communicate()


def compared(task: Task, frame: pd.DataFrame, path: Path, theirs: OpenDP) -> int:
    """Print a row for each relation and epsilon; return in how many we are worse."""
    keys = {name: sorted(frame[name].dropna().unique().tolist()) for name in task.by}
    truth, worse = task.truth(frame), 0
    for how, unit in UNITS.items():
        for epsilon in EPSILONS:
            answers = (
                ours(task, frame, keys, how, epsilon),
                theirs(task, path, keys, epsilon=epsilon, unit=unit, n_max=n_max(frame)),
            )
            errors = [np.abs(each - truth).mean(axis=1) for each in answers]
            (a, s), (b, t) = ((e.mean(), e.std(ddof=1) / len(e) ** 0.5) for e in errors)
            lost = bool(a - b > 2 * np.hypot(s, t))
            worse += lost
            ratio = f"{a / b:.2f}" if b else "-"
            row = f"{a:.4g} ({s:.1g}) | {b:.4g} ({t:.1g}) | {ratio}{', worse' if lost else ''}"
            print(f"| {task} | {epsilon:g} | {how} | {row} |", flush=True)
    return worse


def main() -> int:
    """Print the table, and return in how many rows we are worse by two standard errors."""
    if not os.environ.get("KNG_OPENDP"):
        print("Set KNG_OPENDP to a Python that has OpenDP; see benchmarks/opendp.py.")
        return 1
    worse, theirs = 0, OpenDP()
    print("| | epsilon | relation | kng | OpenDP | kng / OpenDP |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as place:
        for task in TASKS:
            try:
                frame = survey(task.data)
            except NotFetchedError as absent:
                print(absent, file=sys.stderr)
                worse += 1
                continue
            path = Path(place) / f"{task.data}.parquet"
            frame.to_parquet(path, index=False)
            worse += compared(task, frame, path, theirs)
    theirs.stop()
    return worse


if __name__ == "__main__":
    sys.exit(main() > 0)
