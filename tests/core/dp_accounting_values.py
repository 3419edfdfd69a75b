"""Makes ``dp_accounting_values.json`` again, with dp-accounting in an environment of its own.

    python -m venv /tmp/dp && /tmp/dp/bin/pip install dp-accounting
    /tmp/dp/bin/python tests/core/dp_accounting_values.py

For rho and delta: the epsilon that it reports, and the epsilon at some of its own orders.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

RHOS = ("1/800000", "1/80000", "1/800", "1/80", "1/8", "1/2", "5/4", "8", "100")
DELTAS = ("1/10", "1/1000", "1/1000000", "1/1000000000", "1/1000000000000000")
ORDERS = 12  # every so many of them


def number(text: str) -> float:
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


if __name__ == "__main__":
    from dp_accounting import ZCDpEvent
    from dp_accounting.rdp import RdpAccountant, compute_epsilon

    cases = []
    for rho in RHOS:
        account = RdpAccountant()
        account.compose(ZCDpEvent(number(rho)))
        orders = [float(order) for order in account._orders][::ORDERS]
        for delta in DELTAS:
            at = [
                (order, float(compute_epsilon([order], [order * number(rho)], number(delta))[0]))
                for order in orders
                if order > 1.01
            ]
            cases.append(
                {
                    "rho": rho,
                    "delta": delta,
                    "epsilon": account.get_epsilon(number(delta)),
                    "orders": at,
                }
            )
    made = {"dp_accounting": version("dp-accounting"), "cases": cases}
    Path(__file__).with_suffix(".json").write_text(json.dumps(made) + "\n")
