"""``kng reproduce``: the paper's figures, its theorem and its errors, made again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import fill
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from kng.cli.curve_tables import show_averages, show_needs, show_versus
from kng.cli.help import Commands
from kng.cli.pace import Pace

if TYPE_CHECKING:
    from pathlib import Path

    from kng.reproduce.experiment import Experiment, Measured, Task
    from kng.reproduce.figure1 import Figure1
    from kng.reproduce.figure2 import Figure2
    from kng.reproduce.run import Run
    from kng.reproduce.settings import Settings
    from kng.reproduce.summary import Row, Slope

    Found = dict[Task, Measured]

_SEED = 1905_09436  # the paper's number in the arXiv
_EVERY = 30.0  # seconds between two lines of progress where there is no terminal


@click.group(
    cls=Commands,
    short_help="Reproduce the paper's figures and results.",
    epilog="\b\nkng reproduce figure1 --quick",
)
def reproduce() -> None:
    """Reproduce the paper's figures and results, as printed and as corrected.

    Works on simulated records only; nothing is released and nothing is charged. Tables are CSV.
    Figures need matplotlib: pip install 'kng[reproduce]'.

    Own settings (--n, --replicates, --epsilon, --tau, --dim, --truth) write files of their own,
    whose names say what was set.
    """


def _options(function: Callable[..., None]) -> Callable[..., None]:
    """Add what all four have in common; those that make no sense somewhere are refused there."""
    for option in (
        click.option("--seed", default=str(_SEED), show_default=True, help="Repeats a table."),
        click.option("--out", default="reproduction", show_default=True, help="Folder for files."),
        click.option("--jobs", default=None, help="Processes; as many as processors by default."),
        click.option(
            "--quick", is_flag=True, help="Fewer and smaller samples, in files of their own."
        ),
        click.option(
            "--truth", metavar="LIST", help="Own coefficients, the intercept first: 0,-1,0.5."
        ),
        click.option("--epsilon", metavar="NUMBER", help="Own epsilon; the paper's is 1."),
        click.option("--dim", metavar="COUNT", help="Own number of coefficients; 12 and 2."),
        click.option("--tau", metavar="NUMBER", help="Own quantile, for figure2; 1/2."),
        click.option("--replicates", metavar="COUNT", help="Own number of samples at each n."),
        click.option("--n", metavar="COUNT", multiple=True, help="Own sample size; repeat it."),
    ):
        function = option(function)
    return function


@reproduce.command(epilog="\b\nkng reproduce figure1 --quick")
@_options
def figure1(**options: Any) -> None:
    """Draw figure 1: errors of linear regressions (Section 4.3).

    With n = 100 to 10,000,000, and n = 100 to 5,000 closer.
    """
    from kng.reproduce import figure1 as paper
    from kng.reproduce.picture import curves, require_matplotlib

    settings = _settings(options)
    experiment = settings.figure1()
    require_matplotlib()
    title = _owned(experiment.title, settings)
    rows, stem = _figure(experiment, title, options)
    _wrote(*curves(rows, experiment.labels, stem, title))
    if not settings.own:
        zoom = paper.quick_zoom if options["quick"] else paper.zoom
        _closer(zoom(), options)


@reproduce.command(epilog="\b\nkng reproduce figure2 --quick")
@_options
def figure2(**options: Any) -> None:
    """Draw figure 2: errors of median regressions (Section 4.5.1).

    With n = 10 to 100,000.
    """
    from kng.reproduce.picture import curves, require_matplotlib

    settings = _settings(options)
    experiment = settings.figure2()
    require_matplotlib()
    title = _owned(experiment.title, settings)
    rows, stem = _figure(experiment, title, options)
    _wrote(*curves(rows, experiment.labels, stem, title))


@reproduce.command(epilog="\b\nkng reproduce theorem --quick")
@_options
def theorem(**options: Any) -> None:
    """Check Theorem 3.2: noise becomes K-norm noise, and falls."""
    from kng.reproduce.experiment import Task
    from kng.reproduce.picture import limit_panels, require_matplotlib
    from kng.reproduce.summary import last_slopes, table
    from kng.reproduce.theorem import LEVELS, METHODS, floor

    settings = _settings(options)
    experiment = settings.theorem()
    require_matplotlib()
    run = _run(experiment, options)
    found = _follow(run, _jobs(options["jobs"]))
    rows = table(experiment.name, found)
    slopes = last_slopes(rows)
    _write(run.folder, experiment.name, rows, slopes)
    heading = _owned("Distances to the limit, and sizes of the noise", settings)
    show_averages(heading, rows, slopes, METHODS)
    radii = {
        n: [found[Task(n, 0)].facts[f"{level:.2f}"] for level in LEVELS] for n in experiment.sizes
    }
    noise = floor(experiment.draws)
    _wrote(*limit_panels(rows, METHODS, radii, noise, run.folder / experiment.name))


@reproduce.command(epilog="\b\nkng reproduce errata --quick")
@_options
def errata(**options: Any) -> None:
    """List all departures from the paper, each with a witness."""
    from kng.reproduce.errata import errata as departures
    from kng.reproduce.erratum import markdown, told
    from kng.reproduce.summary import write_csv

    _settings(options).refuse_all("errata")
    folder, seed = _folder(options["out"]), _whole("--seed", options["seed"], 0)
    _jobs(options["jobs"])  # all of it is done in seconds, in one process
    found = []
    computations = list(departures(seed))
    with _bar("errata", len(computations)) as forward:
        for compute in computations:
            found.append(compute())
            forward(1)
    _made(folder)
    write_csv(folder / "errata.csv", found)
    (folder / "errata.md").write_text(markdown(found), encoding="utf-8")
    click.echo("Privacy losses of explicit pairs at epsilon = 1; more than 1 is a violation.\n")
    for row in found:
        click.echo(click.style(f"{row.place}: {row.printed}", bold=True))
        lines = [("verdict", row.verdict), ("witness", row.witness)]
        lines += [("loss as printed", told(row.loss_printed))] * bool(told(row.loss_printed))
        lines += [("ours", row.ours)]
        lines += [("loss of ours", told(row.loss_ours))] * bool(told(row.loss_ours))
        for label, text in lines:
            click.echo(fill(text, 88, initial_indent=f"   {label:<16}", subsequent_indent=" " * 19))
        click.echo()
    _wrote(folder / "errata.csv", folder / "errata.md")


def _figure(
    experiment: Figure1 | Figure2, title: str, options: dict[str, Any]
) -> tuple[list[Row], Path]:
    """Run and tabulate; return the rows, and where the picture goes."""
    from kng.reproduce.sample_sizes import Need, needs
    from kng.reproduce.summary import fact, last_slopes, table, write_csv

    run = _run(experiment, options)
    found = _follow(run, _jobs(options["jobs"]))
    labels, name = experiment.labels, experiment.name
    rows, scale = table(name, found), fact("R", found)
    slopes = last_slopes([*rows, *scale])
    _write(run.folder, name, rows, slopes)
    show_averages(
        f"{title}\nAverage distance to the truth",
        [*rows, *scale],
        slopes,
        {**labels, "R": "R = max |Y|"},
    )
    ours = "kng-derived" if "kng-derived" in labels else "kng"
    exact = tuple(method for method in labels if "chain" not in method)
    sizes = needs(found, ("non-private", ours), exact) if slopes else []
    write_csv(run.folder / f"{name}.sizes.csv", sizes, Need)
    show_needs(sizes, labels)
    _wrote(run.folder / f"{name}.sizes.csv")
    return rows, run.folder / name


def _closer(experiment: Figure1, options: dict[str, Any]) -> None:
    """Run and draw the small sizes, and tell whom KNG beats there, with either constant."""
    from kng.reproduce.picture import close_up
    from kng.reproduce.summary import last_slopes, table, write_csv
    from kng.reproduce.versus import versus

    run = _run(experiment, options)
    found = _follow(run, _jobs(options["jobs"]))
    rows, name, title = table(experiment.name, found), experiment.name, experiment.title
    _write(run.folder, name, rows, last_slopes(rows))
    show_averages(f"\n{title}, closer", rows, [], experiment.labels)
    beaten = [
        row
        for over in ("objective-perturbation", "exponential")
        for row in versus(found, ("kng-printed", "kng-derived"), over)
    ]
    write_csv(run.folder / f"{name}.versus.csv", beaten)
    for over in dict.fromkeys(row.over for row in beaten):
        show_versus([row for row in beaten if row.over == over], experiment.labels)
    _wrote(run.folder / f"{name}.versus.csv")
    _wrote(*close_up(rows, experiment.labels, run.folder / name, f"{title}, closer"))


def _owned(title: str, settings: Settings) -> str:
    return f"{title} (own settings: {settings.told()})" if settings.own else title


def _settings(options: dict[str, Any]) -> Settings:
    """Return what was said about the experiment."""
    from kng.reproduce.settings import Settings

    words = ("n", "replicates", "tau", "dim", "epsilon", "truth")
    pace = "quick" if options["quick"] else "full"
    return Settings(**{word: options[word] for word in words}, pace=pace)


def _write(folder: Path, name: str, rows: list[Row], slopes: list[Slope]) -> None:
    from kng.reproduce.summary import Slope, write_csv

    write_csv(folder / f"{name}.csv", rows)
    write_csv(folder / f"{name}.slopes.csv", slopes, Slope)
    _wrote(folder / f"{name}.csv", folder / f"{name}.slopes.csv")


def _run(experiment: Experiment, options: dict[str, Any]) -> Run:
    from kng.reproduce.run import Run

    return Run(experiment, _whole("--seed", options["seed"], 0), _folder(options["out"]))


def _folder(name: str) -> Path:
    """Return the folder for files, or say what stands in its place."""
    from pathlib import Path

    from kng.core.errors import SpecError

    folder = Path(name)
    try:
        there = folder.exists()
    except (OSError, ValueError) as error:  # a name that is too long, say
        reason = getattr(error, "strerror", None) or "not a name"
        raise SpecError(f"--out {folder} cannot be made ({reason}).") from None
    if there and not folder.is_dir():
        raise SpecError(f"--out must name a folder; {folder} is a file.")
    return folder


def _made(folder: Path) -> None:
    from kng.core.errors import SpecError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"--out {folder} cannot be made ({error.strerror}).") from None


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
    """Run, show how far it is, and tell how to go on if interrupted."""
    experiment, missing = run.experiment, run.missing()
    tasks = experiment.tasks()
    with _bar(experiment.name, sum(experiment.cost(task) for task in missing)) as forward:
        try:
            for task in run.go(jobs):
                forward(experiment.cost(task))
        except KeyboardInterrupt:
            from kng.cli.main import INTERRUPTED

            kept = len(run.finished().keys() & set(tasks))
            click.echo(
                f"\nInterrupted. {kept} of {len(tasks)} replicates are kept in {run.path}; the "
                "same command goes on from there.",
                err=True,
            )
            raise click.exceptions.Exit(INTERRUPTED) from None
    finished = run.finished()
    return {task: finished[task] for task in tasks}


@contextmanager
def _bar(label: str, total: float) -> Iterator[Callable[[float], None]]:
    """Show how far it is and the time left on stderr: a bar, or lines if it is no terminal."""
    pace = Pace(total)
    if not sys.stderr.isatty():
        yield _lines(label, pace)
        return
    length = max(1, round(total))
    with click.progressbar(
        length=length,
        label=label,
        file=sys.stderr,
        show_pos=False,
        show_eta=False,  # click's own counts the time that starting and compiling take
        show_percent=True,
        item_show_func=str,
    ) as bar:

        def forward(cost: float) -> None:
            pace.forward(cost)
            bar.update(int(pace.share * length) - bar.pos, pace.tell())

        bar.update(0, "")
        yield forward
        bar.update(length - bar.pos, "")


def _lines(label: str, pace: Pace) -> Callable[[float], None]:
    """Return what prints a line now and then; a log of an hour stays readable."""
    told = monotonic()

    def forward(cost: float) -> None:
        nonlocal told
        pace.forward(cost)
        now = monotonic()
        if now - told >= _EVERY and pace.share < 1:
            told = now
            left = pace.tell()
            click.echo(f"{label}: {pace.share:.0%} done{left and ', '}{left}", err=True)

    return forward


def _wrote(*paths: Path) -> None:
    for path in paths:
        click.echo(f"wrote {path}")
