"""Makes ``ledgers_of_2.zip`` again, with a kng that wrote format 2 (commit 14948d1) on the path.

    git worktree add /tmp/kng-2 14948d1
    PYTHONPATH=/tmp/kng-2/src python tests/ledger/ledgers_of_2.py

``two.ledger``  accounts "default" (cap 1, add-remove; 0.1 by noise, released; 1/3 by kng) and "b"
                (cap 2, three records per person; 0.5 by kng, released)
"""

from __future__ import annotations

import tempfile
import zipfile
from fractions import Fraction
from pathlib import Path

from kng.core.privacy import Guarantee, PrivacyEvent
from kng.ledger import Ledger


def cost(epsilon: str, width: str, neighbours: str, records: int) -> PrivacyEvent:
    numbers = Fraction(epsilon), Fraction(width)
    return PrivacyEvent(*numbers, "kng", neighbours, records, Guarantee.EXACT)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        place = Path(name) / "two.ledger"
        one = Ledger(place, cap=1, neighbours="add-remove")
        one.settle(one.reserve(cost("1/10", "1/5", "add-remove", 1), parameters="{}"), "answer")
        two = Ledger(place, cap=2, account="b")
        two.settle(two.reserve(cost("1/2", "1/2", "replace-one", 3), parameters="{}"), "b's")
        one.reserve(cost("1/3", "1/3", "add-remove", 1), parameters="{}")
        archive = Path(__file__).with_suffix(".zip")
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
            for file in sorted(place.parent.iterdir()):
                made.write(file, file.name)
        print(archive, archive.stat().st_size, one.head)
