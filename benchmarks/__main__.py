"""Run every benchmark and print its table; fail if a bar is missed."""

import sys

from benchmarks import (
    csv,
    ledger,
    location,
    noise,
    public_calls,
    push_forward,
    quantile_regression,
    regression,
    sources,
    versions,
)

TABLES = (
    location,
    regression,
    quantile_regression,
    push_forward,
    noise,
    ledger,
    csv,
    sources,
    versions,
    public_calls,
)

missed = sum(table.main() for table in TABLES)
print(f"\n{missed} bars missed" if missed else "\nevery bar kept")
sys.exit(min(missed, 1))
