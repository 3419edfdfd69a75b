"""A directed search where enumeration is out of reach: losses come close to epsilon, never above.

Random neighbours are weak attackers. The climb moves one record at a time while the loss grows and
is judged exactly at the end. Several lattice sizes are tried, since a loss approaches epsilon only
when empty runs are long compared with the records.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit.cases import MEAN, QUANTILE, search
from audit.oracle import REPLACE, Setting

from kng.losses import Location
from kng.mechanisms import KNG, Exponential


@pytest.mark.parametrize(
    ("loss", "mechanism", "n", "lattices", "floor"),
    [
        (QUANTILE["0.9"], KNG(), 10, (20, 60), "0.95"),
        (QUANTILE["0.1"], KNG(), 10, (60,), "0.95"),
        (QUANTILE["0.5"], KNG(), 10, (60,), "0.95"),
        (QUANTILE["0.99"], KNG(), 100, (60,), "0.84"),
        (MEAN, KNG(), 10, (60,), "0.80"),
        (MEAN, Exponential(), 10, (60,), "0.73"),
        (QUANTILE["0.9"], Exponential(), 10, (60,), "0.44"),
    ],
    ids=[
        "kng-pinball-0.9",
        "kng-pinball-0.1",
        "kng-pinball-0.5",
        "kng-pinball-0.99",
        "kng-squared",
        "exponential-squared",
        "exponential-pinball-0.9",
    ],
)
def test_directed_search_comes_close_to_epsilon_and_stays_below(
    loss: Location,
    mechanism: KNG | Exponential,
    n: int,
    lattices: tuple[int, ...],
    floor: str,
) -> None:
    best = Fraction(0)
    for last in lattices:
        setting = Setting(loss, mechanism, REPLACE, Fraction(1), (last,))
        verdict = search(setting, n)
        assert verdict.private, verdict
        assert verdict.spread <= setting.epsilon, verdict
        best = max(best, verdict.low)
    assert best >= Fraction(floor), float(best)
