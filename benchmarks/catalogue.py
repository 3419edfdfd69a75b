"""Time and memory of every public call on easy and hard records: `make catalogue`.

Each call of `benchmarks/calls.py` runs in a process of its own, two at a time, limited to 120 CPU
seconds and 3 GB. The table goes to the terminal and to docs/catalogue.md. Loops are compiled
before, so no row includes compiling.

    python -m benchmarks.catalogue                 all of it; writes docs/catalogue.md
    python -m benchmarks.catalogue Huber "d = 60"  the rows that hold these words; writes nothing
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "catalogue.md"
# What a row may take, and what ends it.
CPU_SECONDS, MEGABYTES = 15, 1500
CPU_LIMIT, MEMORY_LIMIT = 120, 3 * 2**30
# A draw is random: the slowest of several seeds counts, unless the first ones took long.
SEEDS, ENOUGH = 10, 5.0

_HEAD = """# Time and memory of every call

`make catalogue` makes this page ([calls](../benchmarks/calls.py),
[program](../benchmarks/catalogue.py)). Every call runs in a process of its own with one thread,
limited to {limit} CPU seconds and 3 GB.

- *n* counts records, *d* columns, or coefficients with the intercept among them. Covariates have
  the bounds -1 to 1, responses -8 to 8, statistics -1 to 1, unless the call says otherwise.
- *CPU s*: the call alone, the slowest of up to {seeds} seeds. Loops were compiled before; the first
  call on a machine also takes the time for that
  ([quantile-regression.md](quantile-regression.md#where-it-ends)).
- *MB*: the peak of the process, with Python, libraries and the records themselves.
- A row above {cpu} CPU s or {memory:,} MB is marked `unbounded-time`, with the reason.
- What the words for records mean: [below](#records).

"""


@dataclass(frozen=True)
class Row:
    """What one call took, and how it ended."""

    show: str
    records: str
    n: int
    d: int
    seconds: float
    megabytes: float
    verdict: str

    @property
    def within(self) -> bool:
        """Whether it is within what a row may take."""
        return self.verdict in ("ok", "refused before the charge")

    def cells(self) -> tuple[str, ...]:
        """Return the row as texts."""
        took = f"{self.seconds:.2f}" if self.seconds < 10 else f"{self.seconds:.0f}"
        return (
            *(f"`{self.show}`", self.records, f"{self.n:,}", str(self.d)),
            *(took, f"{self.megabytes:.0f}", self.verdict),
        )


def run(index: int) -> None:
    """Make one call of the list, and print what it took: the child's part."""
    from resource import RLIMIT_CPU, RLIMIT_DATA, setrlimit
    from time import process_time

    setrlimit(RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))
    setrlimit(RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    from benchmarks.calls import RECORDS, ask, cases
    from kng.core.errors import KngError, PrivateZoneError

    case = list(cases())[index]
    X, y = RECORDS[case.records](case.n, case.d)
    slowest = spent = 0.0
    ended = "ok"
    for seed in range(SEEDS):
        start = process_time()
        try:
            ask(case, X, y, seed)
        except PrivateZoneError:
            ended = "failed after the charge"
        except KngError:
            ended = "refused before the charge"
        except Exception as error:
            ended = f"failed with {type(error).__name__}"
        took = process_time() - start
        slowest, spent = max(slowest, took), spent + took
        if spent > ENOUGH or ended != "ok":
            break
    print(json.dumps({"seconds": slowest, "ended": ended}))


def warm() -> None:
    """Compile what the calls need: each call once, on a few records."""
    from benchmarks.calls import RECORDS, ask, cases
    from kng.core.errors import KngError

    done = set()
    for case in cases():
        key = case.call, case.options.get("mechanism"), case.d > 1, case.d == 2
        if key not in done:
            done.add(key)
            small = replace(case, n=30, d=min(case.d, 3))
            try:
                ask(small, *RECORDS[case.records](small.n, small.d), 0)
            except KngError:
                continue


def child(*words: str) -> tuple[str, float, float]:
    """Run this program again; return what it printed, its CPU seconds and its peak in MB."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.catalogue", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **dict.fromkeys(names, "1")},
        cwd=PAGE.parents[1],
        text=True,
    )
    assert process.stdout is not None
    printed = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # it has been waited for
    return printed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure(index: int) -> Row:
    """Return the row of one call."""
    from benchmarks.calls import cases

    case = list(cases())[index]
    printed, seconds, megabytes = child("run", str(index))
    # What the system counts at the end may be a little less than what it stopped for.
    ended = f"stopped at {CPU_LIMIT} CPU s" if seconds > 0.9 * CPU_LIMIT else "the process died"
    if printed:
        found = json.loads(printed)
        seconds, ended = found["seconds"], found["ended"]
    if ended != "refused before the charge" and (
        ended != "ok" or seconds > CPU_SECONDS or megabytes > MEGABYTES
    ):
        end = "" if ended == "ok" else f"{ended}; "
        ended = f"{end}`unbounded-time`: {case.why or 'NO REASON IS KNOWN'}"
    return Row(case.show(), case.records, case.n, case.d, seconds, megabytes, ended)


def chosen(words: Sequence[str]) -> list[int]:
    """Return the places in the list of the rows that hold every word."""
    from benchmarks.calls import cases

    return [
        index
        for index, case in enumerate(cases())
        if all(w in f"{case.show()} {case.records} n = {case.n} d = {case.d} " for w in words)
    ]


def main(words: Sequence[str]) -> None:
    """Measure, print, and write the page if all rows were asked for."""
    child("warm")
    rows = []
    with ThreadPoolExecutor(2) as pool:
        for row in pool.map(measure, chosen(words)):
            rows.append(row)
            print("  ".join(row.cells()), flush=True)
    over = [row for row in rows if not row.within]
    print(f"{len(rows)} rows, {len(over)} of them over {CPU_SECONDS} CPU s or {MEGABYTES} MB")
    if not words:
        PAGE.write_text(page(rows), encoding="utf-8")


def page(rows: Sequence[Row]) -> str:
    """Return docs/catalogue.md."""
    head = _HEAD.format(limit=CPU_LIMIT, seeds=SEEDS, cpu=CPU_SECONDS, memory=MEGABYTES)
    over = [row for row in rows if not row.within]
    text = f"{head}{len(rows)} calls, {len(over)} of them above.\n"
    if over:
        text += f"\n## Above {CPU_SECONDS} CPU s or {MEGABYTES:,} MB\n\n{table(over)}"
    return f"{text}\n## All\n\n{table(rows)}\n## Records\n\n{''.join(kinds())}"


def table(rows: Sequence[Row]) -> str:
    """Return rows as a table."""
    lines = [("call", "records", "n", "d", "CPU s", "MB", "verdict"), ("---",) * 7]
    lines += [row.cells() for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def kinds() -> Iterator[str]:
    """Yield a line for each kind of records."""
    from benchmarks.calls import RECORDS

    for name, make in RECORDS.items():
        yield f"- *{name}*: {(make.__doc__ or '').splitlines()[0]}\n"


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(int(sys.argv[2]))
    elif sys.argv[1:2] == ["warm"]:
        warm()
    else:
        main(sys.argv[1:])
