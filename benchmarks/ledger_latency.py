"""How long a charge takes: ``python -m benchmarks.ledger_latency [ADDRESS] [CHARGES]``.

Median and 99 % of single charges, with their releases apart, one after the other and by four
processes at once, in a file on disk, in one in memory and, where an address is given, on a
PostgreSQL server.
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from pathlib import Path
from statistics import median, quantiles

from kng.core.privacy import Guarantee, PrivacyEvent
from kng.ledger import Ledger

CHARGES = 300
TOGETHER = 4
ACCOUNT = "latency"
UNIT = Fraction(1, 10**6)
EVENT = PrivacyEvent(UNIT, UNIT, "kng", "replace-one", 1, Guarantee.EXACT)


def main(address: str | None = None, charges: int = CHARGES) -> int:
    """Print the table; there is no bar to miss."""
    print(f"\nms per charge and per release, median and 99 % of {charges}\n")
    with (
        tempfile.TemporaryDirectory() as disk,
        tempfile.TemporaryDirectory(dir=_memory()) as memory,
    ):
        places = {"disk": Path(disk) / "a.ledger", "memory": Path(memory) / "a.ledger"}
        for name, place in (places | ({} if address is None else {"server": address})).items():
            Ledger(place, cap=1000, account=ACCOUNT)
            _print(name, 1, measure(str(place), charges))
            with ProcessPoolExecutor(TOGETHER) as pool:
                shares = pool.map(
                    measure, [str(place)] * TOGETHER, [charges // TOGETHER] * TOGETHER
                )
                _print(name, TOGETHER, [pair for share in shares for pair in share])
    return 0


def measure(place: str, charges: int) -> list[tuple[float, float]]:
    """Return the seconds of each charge, and of storing its release."""
    ledger, found = Ledger(place, account=ACCOUNT), []
    ledger.reserve(EVENT, parameters="{}")  # loads what is needed
    for _ in range(charges):
        start = time.perf_counter()
        charge = ledger.reserve(EVENT, parameters="{}")
        booked = time.perf_counter()
        ledger.settle(charge, "x" * 1000)
        found.append((booked - start, time.perf_counter() - booked))
    return found


def _print(name: str, processes: int, pairs: list[tuple[float, float]]) -> None:
    texts = []
    for seconds in zip(*pairs, strict=True):
        last = quantiles(seconds, n=100, method="inclusive")[-1]
        texts.append(f"{1e3 * median(seconds):8.2f} {1e3 * last:8.2f}")
    print(f"{name:<8}{processes} processes   charge {texts[0]}   release {texts[1]}", flush=True)


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").exists() else None


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:3]))
