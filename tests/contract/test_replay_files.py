"""Replay over files: neighbours leave every message, log line, event and exit code the same.

Files differ in one cell, one broken row, one number that does not parse or, under add-remove, in
one record. The bits are the same, progress is watched, and the log is on.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest
from contract.test_replay import outlet
from rich.console import Console

import kng
from kng.cli import receipt
from kng.cli.main import main
from kng.cli.progress import Progress
from kng.core.events import Event, watched_by

RELATIONS = ["replace-one", "add-remove"]
ROWS = [(str(k % 11), str(3 * (k % 7)), "yes" if k % 3 else "no") for k in range(40)]
Row = tuple[str, ...]
# Records that one person may have: in text they may be anything, in typed files less.
CELLS = ["9.75", "", "nan", "inf", "-inf", "1e999", "-1e308", "x", "1,5", '"', '"7', "\xff", "\0"]
BROKEN: list[Row] = [(), ("5",), ("5", "6", "7", "8"), ("x", "y", "z"), ("", "", ""), ('"a', "b")]
TYPED: list[tuple[Any, ...]] = [
    *((cell, 6.0, "no") for cell in (9.75, None, float("nan"), float("inf"), -1e308, 5e-324)),
    *((5.0, cell, "no") for cell in (None, float("nan"), float("-inf"), 1e308)),
    *((5.0, 6.0, cell) for cell in (None, "", "neither", "\xff" * 1000)),
    (None, None, None),
]


def text(rows: list[Row]) -> bytes:
    lines = [",".join(row).encode("latin-1") for row in [("a", "b", "c"), *rows]]
    return b"\n".join(lines) + b"\n"


def typed(rows: list[Any]) -> pa.Table:
    a, b, c = zip(*rows, strict=True)
    return pa.table({"a": pa.array(a, pa.float64()), "b": pa.array(b, pa.float64()), "c": list(c)})


def put_csv(path: Path, rows: list[Row]) -> Path:
    path.with_suffix(".csv").write_bytes(text(rows))
    return path.with_suffix(".csv")


def put_gzip(path: Path, rows: list[Row]) -> Path:
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(text(rows)))
    return path.with_suffix(".csv.gz")


def put_parquet(path: Path, rows: list[Any]) -> Path:
    pa.parquet.write_table(typed(rows), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def put_arrow(path: Path, rows: list[Any]) -> Path:
    table = typed(rows)
    with pa.ipc.new_file(str(path.with_suffix(".arrow")), table.schema) as file:
        file.write_table(table, max_chunksize=16)
    return path.with_suffix(".arrow")


def put_relation(path: Path, rows: list[Any]) -> Any:
    return duckdb.connect().from_arrow(typed(rows))


PUT: dict[str, Callable[[Path, list[Any]], Any]] = {
    "csv": put_csv,
    "csv.gz": put_gzip,
    "parquet": put_parquet,
    "arrow": put_arrow,
    "relation": put_relation,
}


def tables(kind: str, relation: str) -> Iterator[list[Any]]:
    """Yield a table, then its neighbours."""
    plain: list[Any] = ROWS
    odd: list[Any] = [(cell, "6", "no") for cell in CELLS] + [("5", cell, "no") for cell in CELLS]
    odd += [*BROKEN, ("5", "6", "neither"), ("5", "6", "")]
    if not kind.startswith("csv"):
        plain, odd = [(float(a), float(b), c) for a, b, c in ROWS], TYPED
    yield plain
    # An empty line is no record, so under replace-one it is not a neighbour.
    for at, record in zip([0, 7, 39] * len(odd), odd, strict=False):
        if relation == "replace-one" and record != ():
            yield [*plain[:at], record, *plain[at + 1 :]]
        elif relation == "add-remove":
            yield [*plain[:at], record, *plain[at:]]
    if relation == "add-remove":
        yield plain[1:]
        yield plain[:-1]


class Watch:
    """Writes down events; blocks and passes depend on records and are nobody's business."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def told(self, event: Event) -> None:
        self.events.append(event)

    def passed(self, records: int) -> None:
        return

    def ended(self) -> None:
        return


def fit(kind: str, target: str, **stated: Any) -> Callable[..., kng.Release]:
    def ask(data: Any, **options: Any) -> kng.Release:
        model = getattr(kng, kind)(bounds_X={"a": (0, 10)}, **stated, **options)
        model.fit(data, target=target)
        release: kng.Release = model.release_
        return release

    return ask


A, B = {"a": (0, 10)}, {"b": (0, 20)}
ASKED: dict[str, Callable[..., kng.Release]] = {
    "mean": lambda data, **o: kng.mean(data, bounds={**A, **B}, **o),
    "median": lambda data, **o: kng.median(data, bounds=A, **o),
    "quantiles": lambda data, **o: kng.quantile(data, [0.1, 0.5], bounds=A, **o),
    "least squares": fit("LinearRegression", "b", bounds_y=(0, 20)),
    "Huber": fit("HuberRegressor", "b", threshold=2),
    "logistic": fit("LogisticRegression", "c", classes=("no", "yes")),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("statistic", ASKED)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", PUT)
def test_nothing_but_the_value_leaves(statistic, relation, kind, tmp_path, capfd, caplog):
    left = []
    ASKED[statistic](PUT[kind](tmp_path / "data", next(tables(kind, relation))), epsilon=1)
    for rows in tables(kind, relation):
        data, watch = PUT[kind](tmp_path / "data", rows), Watch()
        with watched_by(watch):
            found = outlet(
                ASKED[statistic],
                *(data, capfd, caplog),
                epsilon=1,
                neighbours=relation,
                random_state=5,
            )
        assert isinstance(found, dict), found
        assert len(found["log"]) == len(watch.events) == 3 + (relation == "replace-one")
        left.append((found, watch.events))
    assert len(left) > 14
    assert all(one == left[0] for one in left)


COMMANDS = {
    "mean": ("--bounds", "a=0:10", "--bounds", "b=0:20"),
    "median": ("--bounds", "a=0:10"),
    "huber": ("--target", "b", "--bounds", "a=0:10", "--threshold", "2"),
    "logistic": ("--target", "c", "--bounds", "a=0:10", "--classes", "no,yes"),
}


@pytest.fixture
def screen(monkeypatch):
    """What progress says, one text after the other."""
    said: list[str] = []

    class Told(Progress):
        def _show(self, text: str, total: int | None = None) -> None:
            said.append(f"{text} {total}")
            super()._show(text, total)

    @contextmanager
    def shown(*, quiet: bool) -> Iterator[None]:
        assert not quiet
        progress = Told(Console(stderr=True, quiet=True), delay=1000)
        with watched_by(progress):
            yield

    monkeypatch.setattr(receipt, "progress_shown", shown)
    return said


@pytest.mark.every(3)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", [kind for kind in PUT if kind != "relation"])
def test_nothing_but_the_value_leaves_the_shell(command, relation, kind, tmp_path, capfd, screen):
    words = (*COMMANDS[command], "--epsilon", "1", "--neighbours", relation, "--seed", "5")
    seen, values = [], set()
    for rows in tables(kind, relation):
        path = PUT[kind](tmp_path / "data", rows)
        screen.clear()
        capfd.readouterr()
        code = main([command, str(path), *words, "--verbose"])
        out, err = capfd.readouterr()
        first, *rest = out.splitlines()
        values.add(first)
        seen.append((code, err, rest, tuple(screen)))
    assert seen[0][0] == 0
    assert len(seen[0][1].splitlines()) == 3 + (relation == "replace-one")
    assert all(one == seen[0] for one in seen)
    assert len(values) > 1, "the value does depend on the data"


def test_the_json_of_neighbours_differs_in_the_value_alone(tmp_path, capfd):
    seen = []
    for rows in tables("parquet", "replace-one"):
        path = put_parquet(tmp_path / "data", rows)
        capfd.readouterr()
        words = (*COMMANDS["median"], "--epsilon", "1", "--seed", "5", "--json")
        assert main(["median", str(path), *words]) == 0
        found = json.loads(capfd.readouterr().out)
        del found["value"], found["integers"]
        seen.append(found)
    assert all(one == seen[0] for one in seen)
