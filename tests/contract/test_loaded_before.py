"""Nothing is imported after the charge, whatever a release reads; in a process of its own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import kng

class Ledger:
    def reserve(self, event, *, parameters, dataset=None):
        self.before, self.epsilon = set(sys.modules), event.epsilon
        self.sequence, self.payload = 1, None
        return self

    def settle(self, charge, payload):
        late = sorted(set(sys.modules) - self.before)
        assert not late, (sys.argv[1], late[:5])

table = {"g": ["F", "M", None, 5, "2020-01-31"], "x": [1.0, 2.0, None, 4.0, 5.0]}
ask = {"epsilon": 1, "ledger": Ledger()}
{
    "levels": lambda: kng.histogram(table, levels={"g": ["F", "M"]}, **ask),
    "people": lambda: kng.mean(table, bounds={"x": (0, 9)}, person="g", max_records=1, **ask),
    "dates": lambda: kng.median(table, bounds={"g": ("2020-01-01", "2021-01-01")}, **ask),
    "formula": lambda: kng.HuberRegressor(threshold=1, **ask).fit(
        table, formula="x ~ C(g, levels=['F', 'M'])"
    ),
}[sys.argv[1]]()
"""


def test_texts_load_nothing_after_the_charge():
    """Arrow loads pandas when it is first used; no records at all would have left that undone."""
    kinds = ("levels", "people", "dates", "formula")
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, kind], stderr=subprocess.PIPE, text=True)
        for kind in kinds
    ]
    for process in running:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
