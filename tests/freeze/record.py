"""Record the frozen draws anew: ``make freeze``. The commit says why a draw had to change."""

from __future__ import annotations

import json
from pathlib import Path

from freeze.calls import calls

DRAWS = Path(__file__).parent / "draws.json"
SEEDS = (1, 2)


def drawn(draw) -> list[list[int]]:
    """Return the integers for each seed."""
    return [[int(k) for k in draw(seed).integers] for seed in SEEDS]


if __name__ == "__main__":
    rows = {name: drawn(draw) for name, draw in calls()}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in rows.items()]
    DRAWS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(rows)} calls")
