"""``kng reproduce``: the paper's figures, its theorem and its errors, made again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pathlib import Path

    from kng.reproduce.experiment import Experiment, Measured, Task
    from kng.reproduce.run import Run
    from kng.reproduce.summary import Row, Slope

    Found = dict[Task, Measured]

_SEED = 1905_09436  # the paper's number in the arXiv


@click.group()
def reproduce() -> None:
    """Make the paper's figures and claims again, printed and corrected side by side.

    Works on simulated records only; nothing is released and nothing is charged. Tables are CSV;
    pictures need the extra: pip install 'kng[reproduce]'.
    """


def _options(function: Callable[..., None]) -> Callable[..., None]:
    """Add what all four have in common."""
    for option in (
        click.option("--seed", default=str(_SEED), show_default=True, help="Repeats a table."),
        click.option("--out", default="reproduction", show_default=True, help="Folder for files."),
        click.option("--jobs", default=None, help="Processes; as many as processors by default."),
        click.option("--quick", is_flag=True, help="Fewer and smaller samples: under a minute."),
    ):
        function = option(function)
    return function


@reproduce.command()
@_options
def figure1(**options: Any) -> None:
    """Linear regression, n = 100 to 10,000,000 (Section 4.3)."""
    from kng.reproduce.figure1 import METHODS, Figure1

    experiment = Figure1()
    if options["quick"]:
        experiment = Figure1(sizes=(10**2, 10**3, 10**4, 10**5), replicates=20)
    _figure(experiment, METHODS, "Figure 1: linear regression, d = 12, ε = 1", options)


@reproduce.command()
@_options
def figure2(**options: Any) -> None:
    """Median regression, n = 10 to 100,000 (Section 4.5.1)."""
    from kng.reproduce.figure2 import METHODS, Figure2

    experiment = Figure2()
    if options["quick"]:
        experiment = Figure2(sizes=(10, 10**2, 10**3, 10**4), replicates=20)
    _figure(experiment, METHODS, "Figure 2: median regression, d = 2, ε = 1", options)


def _figure(
    experiment: Experiment, labels: dict[str, str], title: str, options: dict[str, Any]
) -> None:
    """Run, tabulate, draw."""
    from kng.reproduce.picture import curves
    from kng.reproduce.summary import fact, last_slopes, table, write_csv

    run = _run(experiment, options)
    found = _follow(run, _jobs(options["jobs"]))
    rows = table(experiment.name, found)
    scale = fact("R", found)
    slopes = last_slopes([*rows, *scale])
    write_csv(run.folder / f"{experiment.name}.csv", rows)
    write_csv(run.folder / f"{experiment.name}.slopes.csv", slopes)
    _show_table(rows, scale, slopes, labels)
    _wrote(run.folder / f"{experiment.name}.csv", run.folder / f"{experiment.name}.slopes.csv")
    _wrote(*curves(rows, labels, run.folder / experiment.name, title))


def _run(experiment: Experiment, options: dict[str, Any]) -> Run:
    from pathlib import Path

    from kng.core.errors import SpecError
    from kng.reproduce.run import Run

    seed = _whole("--seed", options["seed"], 0)
    folder = Path(options["out"])
    if folder.exists() and not folder.is_dir():
        raise SpecError(f"--out must name a folder; {folder} is a file.")
    return Run(experiment, seed, folder)


def _jobs(given: str | None) -> int:
    from kng.reproduce.run import processors

    return processors() if given is None else _whole("--jobs", given, 1)


def _whole(name: str, text: str, least: int) -> int:
    from kng.core.errors import SpecError

    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise SpecError(f"{name} must be a whole number of at least {least}, got {text!r}.")
    return number


def _follow(run: Run, jobs: int) -> Found:
    """Run with a bar on a terminal, and in silence elsewhere; tell how to go on if interrupted."""
    experiment = run.experiment
    tasks = experiment.tasks()
    with _bar(experiment.name, sum(experiment.cost(task) for task in tasks)) as forward:
        try:
            for task in run.go(jobs):
                forward(experiment.cost(task))
        except KeyboardInterrupt:
            kept = len(run.finished().keys() & set(tasks))
            click.echo(
                f"\n{kept} of {len(tasks)} replicates are kept in {run.path}; the same command "
                "goes on from there.",
                err=True,
            )
            raise
    finished = run.finished()
    return {task: finished[task] for task in tasks}


@contextmanager
def _bar(label: str, total: float) -> Iterator[Callable[[float], None]]:
    """Show how far it is and the time left, on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with click.progressbar(
        length=max(1, round(total)), label=label, file=sys.stderr, show_pos=False, show_eta=True
    ) as bar:
        rest = 0.0

        def forward(cost: float) -> None:
            nonlocal rest
            rest += cost
            bar.update(int(rest))
            rest -= int(rest)

        yield forward


def _show_table(
    rows: list[Row], scale: list[Row], slopes: list[Slope], labels: dict[str, str]
) -> None:
    """Print averages and slopes for people."""
    sizes = sorted({row.n for row in rows})
    wide = max(map(len, labels.values())) + 2
    click.echo("Average distance to the truth, and slope over the last decade of n")
    heading = "".join(f"{n:>11,}" for n in sizes)
    click.echo(f"{'n':<{wide}}{heading}{'slope':>16}")
    by_point = {(row.method, row.n): row for row in [*rows, *scale]}
    by_method = {slope.method: slope for slope in slopes}
    for method, label in [*labels.items(), ("R", "R = max |Y|")]:
        cells = "".join(
            f"{by_point[method, n].mean_error:>11.4g}" if (method, n) in by_point else " " * 11
            for n in sizes
        )
        slope = by_method[method]
        click.echo(f"{label:<{wide}}{cells}{slope.slope:>9.3f} ±{slope.se:.3f}")


def _wrote(*paths: Path) -> None:
    for path in paths:
        click.echo(f"wrote {path}")
