"""Record the frozen draws and receipts anew: ``make freeze``.

The commit says why a draw had to change. A call that is refused is not recorded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from freeze.calls import Draw, calls
from freeze.grid import grid

from kng import KngError, Release
from kng.core.bits import SeededBits

DRAWS = Path(__file__).parent / "draws.json"
RECEIPTS = Path(__file__).parent / "receipts.json"
SEEDS = (1, 2)

Drawn = tuple[list[list[int]], str]


class UnmarkedBits(SeededBits):
    """Seeded bits that do not say so: the receipt is then the one of a real release."""

    seeded = False


def every_call() -> dict[str, Draw]:
    """Return all calls by name, those among them that are refused too."""
    named = [*calls(), *grid()]
    assert len(dict(named)) == len(named)
    return dict(named)


def drawn(draw: Draw) -> Drawn:
    """Return the integers for each seed, and what the receipt says."""
    releases = [draw(UnmarkedBits(seed)) for seed in SEEDS]
    (receipt,) = {receipt_of(release) for release in releases}
    return [[int(k) for k in release.integers] for release in releases], receipt


def receipt_of(release: Release) -> str:
    """Return the public facts that must not move; equal axes of the lattice are written once."""
    lattice = release.lattice
    axes = dict.fromkeys(zip(lattice.origin, lattice.step, lattice.last, strict=True))
    return "; ".join(
        [
            *(release.guarantee.value, release.sampler, release.mechanism, release.neighbours),
            f"epsilon {release.event.epsilon} over {release.event.width}",
            "assumes " + ", ".join(assumption.value for assumption in release.assumptions),
            *(f"{last} steps of {step} from {origin}" for origin, step, last in axes),
        ]
    )


def _write(path: Path, rows: dict[str, Any]) -> None:
    before = json.loads(path.read_text()) if path.exists() else {}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in rows.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    moved = [name for name in before if name in rows and rows[name] != before[name]]
    gone = [name for name in before if name not in rows]
    print(f"{path.name}: {len(rows)} calls, {len(rows.keys() - before.keys())} new", end="")
    print(f", {len(moved)} moved, {len(gone)} gone", *moved, *gone, sep="\n  ")


if __name__ == "__main__":
    draws: dict[str, list[list[int]]] = {}
    receipts: dict[str, str] = {}
    for name, draw in every_call().items():
        try:
            draws[name], receipts[name] = drawn(draw)
        except (KngError, TypeError):  # refused, or an option that the call does not have
            continue
    _write(DRAWS, draws)
    _write(RECEIPTS, receipts)
