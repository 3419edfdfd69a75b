"""What a charge costs: ``python -m benchmarks.ledger [SRC]``, beside the kng in SRC if it is given.

A charge waits for the disk, so that both clocks are shown: the one on the wall, and the CPU time
of the process. Every version has a process of its own, and their rounds are interleaved.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from statistics import median, quantiles

from kng.core.privacy import Guarantee, PrivacyEvent
from kng.ledger import Ledger

ROUNDS = 15
CHARGES = 10
PLACES = {"disk": None, "memory": Path("/dev/shm")}


def main(other: str | None = None) -> int:
    """Print the table; there is no bar to miss."""
    versions = {"this version": str(Path(__file__).parents[1] / "src")}
    if other is not None:
        versions["the other"] = other
    print(f"\nms per charge, median (quartiles; range) of {ROUNDS} rounds of {CHARGES} charges\n")
    for place, directory in PLACES.items():
        if directory is not None and not directory.exists():
            continue
        with tempfile.TemporaryDirectory(dir=directory) as name:
            for version, rounds in _measure(versions, Path(name)).items():
                for clock, index in (("wall", 0), ("CPU", 1)):
                    seconds = [times[index] for times in rounds]
                    print(f"{place:<8}{version:<14}{clock:<6}{_spread(seconds)}", flush=True)
    return 0


def _measure(versions: dict[str, str], place: Path) -> dict[str, list[tuple[float, ...]]]:
    """Return wall and CPU seconds per charge of every version in every round."""
    workers = {
        version: subprocess.Popen(
            [sys.executable, __file__, "serve", str(place / version)],
            env=os.environ | {"PYTHONPATH": source},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for version, source in versions.items()
    }
    found: dict[str, list[tuple[float, ...]]] = {version: [] for version in versions}
    for turn in range(ROUNDS + 1):
        for version in list(workers)[:: -1 if turn % 2 else 1]:
            told = _ask(workers[version])
            if turn:  # the first round loads what is needed
                found[version].append(told)
    for worker in workers.values():
        worker.communicate()
    return found


def _ask(worker: subprocess.Popen[str]) -> tuple[float, ...]:
    assert worker.stdin is not None
    assert worker.stdout is not None
    print("go", file=worker.stdin, flush=True)
    return tuple(float(word) / CHARGES for word in worker.stdout.readline().split())


def _serve(path: str) -> None:
    """Charge so many times for every line of input, and print how long it took."""
    ledger = Ledger(path, cap=1000)
    unit = Fraction(1, 1000)
    event = PrivacyEvent(unit, unit, "kng", "replace-one", 1, Guarantee.EXACT)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(CHARGES):
            ledger.reserve(event, parameters="{}")
        print(time.perf_counter() - wall, time.process_time() - cpu, flush=True)


def _spread(seconds: list[float]) -> str:
    low, _, high = (1e3 * value for value in quantiles(seconds, method="inclusive"))
    return (
        f"{1e3 * median(seconds):7.2f}   ({low:.2f} to {high:.2f}; "
        f"{1e3 * min(seconds):.2f} to {1e3 * max(seconds):.2f})"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        _serve(sys.argv[2])
    else:
        main(*sys.argv[1:2])
