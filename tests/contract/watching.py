"""A program that makes public calls, each in a process of its own, and tells what surprised it.

    python -m contract.watching FOLDER

Between charge and draw nothing may be imported, compiled, opened or written, but for the records
themselves. The folder holds ledgers and records; compiled code is kept where NUMBA_CACHE_DIR says,
which is empty at first, so that the calls of each kind that come first find nothing there and the
others find everything. Prints one line of JSON for each call: its name, the functions that were
compiled before the charge, and the surprises after it.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import kng
from kng import corridor

Call = Callable[..., Any]

# What else changes a file system, starts a program or loads a library.
CHANGES = ("os.", "shutil.", "tempfile.", "subprocess.", "socket.", "ctypes.", "sqlite3.")
HARMLESS = {"os.fwalk", "os.listdir", "os.scandir", "os.walk"}


class Watch:
    """What happens between charge and draw, and what was compiled before."""

    def __init__(self, allowed: set[str]) -> None:
        self.allowed, self.on = allowed, False
        self.compiled: list[str] = []
        self.surprises: list[str] = []
        self._modules: set[str] = set()
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "import":
            self.surprises.append(f"import {arguments[0]}")
        elif event == "open" and str(arguments[0]) not in self.allowed:
            self.surprises.append(f"open {arguments[0]}")
        elif event.startswith(CHANGES) and event not in HARMLESS:
            self.surprises.append(event)

    def begin(self) -> None:
        """Watch from here on: the charge is booked."""
        self._modules, self.on = set(sys.modules), True

    def end(self) -> None:
        """Watch no more: the point is drawn."""
        self.on = False
        self.surprises += sorted(f"module {name}" for name in set(sys.modules) - self._modules)

    def compiles(self, event: Any) -> None:
        """Note that numba compiles a function."""
        name = event.data["dispatcher"].py_func.__name__
        (self.surprises if self.on else self.compiled).append(f"compile {name}")


def watched_zone(watch: Watch) -> Any:
    """Return the private zone, watched from within."""
    zone = corridor.private_zone

    class Zone(zone):  # type: ignore[misc, valid-type]
        def __enter__(self) -> None:
            if not watch.on:  # a call that pays nothing
                watch.begin()
            super().__enter__()

        def __exit__(self, *raised: Any) -> None:
            watch.end()
            super().__exit__(*raised)

    return Zone


class WatchedLedger(kng.Ledger):
    """A ledger after whose charge nothing may happen."""

    watch: Watch

    def reserve(self, event: Any, *, parameters: str, dataset: Any = None) -> Any:
        booking = super().reserve(event, parameters=parameters, dataset=dataset)
        self.watch.begin()
        return booking


def observed(name: str, call: Call, folder: Path) -> dict[str, Any]:
    """Make a call under a watch."""
    watch = Watch({str(folder / "records.csv")})
    corridor.private_zone = watched_zone(watch)
    listen(watch.compiles)
    ledger = WatchedLedger(folder / f"{os.getpid()}.ledger", cap=1)
    ledger.watch = watch
    call(ledger)
    assert ledger.spent == (0 if call.__name__ == "unpaid" else 1)
    return {"name": name, "compiled": watch.compiled, "surprises": watch.surprises}


def listen(heard: Callable[[Any], None]) -> None:
    """Call a function whenever numba compiles one, as soon as numba is there."""

    class Finder:
        def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
            if name == "numba.core.caching":  # numba's events are loaded before it
                event = importlib.import_module("numba.core.event")
                listener = type(
                    "Listener",
                    (event.Listener,),
                    {"on_start": lambda _, started: heard(started), "on_end": lambda *_: None},
                )
                event.register("numba:compile", listener())

    sys.meta_path.insert(0, Finder())


def interrupted(name: str, folder: Path) -> dict[str, Any]:
    """Interrupt the first compilation of a call; then make the call again."""
    ledger = kng.Ledger(folder / "interrupted.ledger", cap=1)
    waiting = [KeyboardInterrupt]

    def interrupt(_: Any) -> None:
        if waiting:
            raise waiting.pop()

    listen(interrupt)
    try:
        table_mean(ledger)
    except KeyboardInterrupt:
        spent = str(ledger.spent)
    else:
        spent = "not interrupted"
    again = spent == "0"
    if again:
        table_mean(ledger)
    return {"name": name, "spent": spent, "spent again": str(ledger.spent) if again else "0"}


def column(n: int = 300) -> Any:
    return (np.arange(n) * 2654435761 % 2**20) / 2**20


def table(columns: int, n: int = 300) -> Any:
    return 2 * column(n * columns).reshape(n, columns) - 1


def table_mean(ledger: Any) -> None:
    kng.mean(table(3), bounds=([-1] * 3, [1] * 3), epsilon=1, ledger=ledger)


def asked(function: str, data: Any, **options: Any) -> Call:
    """Return a call of a statistic."""
    given = {"epsilon": 1, "bounds": (-1, 1), **options}
    return lambda ledger: getattr(kng, function)(data, ledger=ledger, **given)


def fitted(kind: str, columns: int, X: Any = None, **options: Any) -> Call:
    """Return a fit of an estimator."""

    def fit(ledger: Any) -> None:
        given = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-3, 3), **options}
        if kind == "HuberRegressor" and not {"mechanism", "bounds_y"} & set(options):
            given.pop("bounds_y")
        model = getattr(kng, kind)(ledger=ledger, **given)
        covariates = table(columns) if X is None else X
        model.fit(covariates, table(columns) @ np.linspace(1, -0.5, columns))

    return fit


def by_chain(call: Call) -> Call:
    """Return a call that names a Markov chain, for which no ledger pays."""

    def unpaid(_: Any) -> None:
        call(None)

    return unpaid


def from_file(kind: str, folder: Path, **options: Any) -> Call:
    """Return a fit to columns of a file."""

    def fit(ledger: Any) -> None:
        given = {"epsilon": 1, "bounds_X": {"a": (-1, 1)}, **options}
        model = getattr(kng, kind)(ledger=ledger, **given)
        model.fit(folder / "records.csv", target="c")

    return fit


ADD_REMOVE: dict[str, Any] = {"neighbours": "add-remove", "n_max": 1000}


def statistics(folder: Path) -> Iterator[tuple[str, Call]]:
    """Yield calls that need no scikit-learn; those that compile come first."""
    file = folder / "records.csv"
    two = {"bounds": ([-1, -1], [1, 1])}
    yield "geometric median", asked("geometric_median", table(2), **two)
    yield "mean of a table", table_mean
    yield "mean of a table in thirds", asked("mean", table(2), granularity=0.3, **two)
    yield "mean of a long column", asked("mean", np.zeros(2**23))
    yield "mean", asked("mean", column())
    yield "mean of a list", asked("mean", column().tolist(), **ADD_REMOVE)
    yield "mean of a list of rows", asked("mean", table(2).tolist(), **two)
    yield "mean of a file", asked("mean", file, bounds={"a": (-1, 1)})
    yield "mean of a file's table", asked("mean", file, bounds={"a": (-1, 1), "b": (-1, 1)})
    for way in ("kng", "exponential", "k-norm"):
        yield f"mean {way}", asked("mean", column(), mechanism=way)
    yield "median", asked("median", column())
    yield "median of a file", asked("median", file, bounds={"a": (-1, 1)}, **ADD_REMOVE)
    groups = {"bounds": {"a": (-1, 1)}, "by": {"b": [0.5, 1, 2], "c": ["x", "y"]}}
    some = {"bounds": {"a": (-1, 1)}, "where": "b < 1 and c != 'x'"}
    yield "mean of some records", asked("mean", file, **some)
    yield "means of groups", asked("mean", file, **groups)
    yield "medians of groups", asked("median", file, **groups, **ADD_REMOVE)
    several = {"q": [0.1, 0.5, 0.9]}
    yield "quantiles", asked("quantile", np.asfortranarray(column()), **several)
    yield "quantiles exponential", asked("quantile", column(), mechanism="exponential", **several)
    of_file = {"bounds": {"a": (-1, 1), "b": (-1, 1)}}
    yield "geometric median of a file", asked("geometric_median", file, **of_file, **ADD_REMOVE)
    chain = asked("geometric_median", table(2), sampler="hit-and-run", **two)
    yield "geometric median by a chain", by_chain(chain)


def models(folder: Path) -> Iterator[tuple[str, Call]]:
    """Yield fits of estimators; those that compile come first."""
    yield "quantile regression", fitted("QuantileRegressor", 2)
    yield "least squares", fitted("LinearRegression", 3)
    yield "least squares at a private scale", fitted("LinearRegression", 3, **ADD_REMOVE)
    yield "Huber", fitted("HuberRegressor", 2, threshold=0.5)
    yield (
        "Huber at a private scale",
        fitted("HuberRegressor", 2, threshold="auto", bounds_y=(-3, 3), **ADD_REMOVE),
    )
    yield "Huber kng", fitted("HuberRegressor", 1, threshold=0.5, mechanism="kng", coef_bound=3)
    yield (
        "Huber exponential",
        fitted("HuberRegressor", 1, threshold=0.5, mechanism="exponential", coef_bound=3),
    )
    yield "Huber of a file", from_file("HuberRegressor", folder, threshold=0.5, **ADD_REMOVE)
    yield "quantile regression again", fitted("QuantileRegressor", 2, np.asfortranarray(table(2)))
    yield "quantile regression of several", fitted("QuantileRegressor", 1, quantile=[0.2, 0.8])
    bounds = {"bounds_X": ([-1, -1], [1, 1])}
    rows = fitted("QuantileRegressor", 2, table(2).tolist(), **bounds)
    yield "quantile regression of rows", rows
    yield "quantile exponential", fitted("QuantileRegressor", 1, mechanism="exponential")
    chain = fitted("QuantileRegressor", 2, sampler="hit-and-run")
    yield "quantile regression by a chain", by_chain(chain)
    yield (
        "quantile regression of a file",
        from_file("QuantileRegressor", folder, bounds_y=(-1, 1), **ADD_REMOVE),
    )
    by_name = {"mechanism": "kng"}
    for norm in ("linf", "l2", "l1"):
        yield f"least squares kng {norm}", fitted("LinearRegression", 3, norm=norm, **by_name)
    on_ball = {"coef_bound": 6}
    yield "least squares kng on a ball", fitted("LinearRegression", 3, **by_name, **on_ball)
    for way in ("exponential", "objective"):
        yield f"least squares {way}", fitted("LinearRegression", 3, mechanism=way, **on_ball)
    for sampler in ("hit-and-run", "metropolis"):
        chain = fitted("LinearRegression", 2, sampler=sampler, **by_name)
        yield f"least squares {sampler}", by_chain(chain)
        chain = fitted("LinearRegression", 2, mechanism="exponential", sampler=sampler, **on_ball)
        yield f"least squares exponential {sampler}", by_chain(chain)
    yield (
        "least squares of a file",
        from_file("LinearRegression", folder, bounds_y=(-1, 1), **ADD_REMOVE),
    )


def apart(work: Callable[[], dict[str, Any]]) -> None:
    """Do something in a child of this process, and print what it found."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit(f"a call failed: {os.waitstatus_to_exitcode(status)}")
        return
    signal.alarm(300)
    try:
        print(json.dumps(work()), flush=True)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def main(folder: Path) -> None:
    """Make every call; what a child loads, its siblings do not have."""
    lines = ["a,b,c", *(f"{a},{b},{(a - b) / 2}" for a, b in table(2))]
    (folder / "records.csv").write_text("\n".join(lines) + "\n")
    apart(lambda: interrupted("interrupted", folder))
    for name, call in statistics(folder):
        apart(lambda name=name, call=call: observed(name, call, folder))  # type: ignore[misc]
    # What every estimator loads with its class, before anything else happens.
    _ = kng.LinearRegression, kng.HuberRegressor, kng.QuantileRegressor
    for name, call in models(folder):
        apart(lambda name=name, call=call: observed(name, call, folder))  # type: ignore[misc]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
