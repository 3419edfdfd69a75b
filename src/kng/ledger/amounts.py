"""Amounts of epsilon: exact sums, kept short.

Ten charges of 0.1 must fit a cap of 1, seventeen of 1/17 as well, and nothing may ever fit that
does not. No fixed unit does both: whatever the unit, some denominator does not divide it, its
charges round up, and the last one is refused. So amounts are rational numbers, added and compared
exactly, and a charge fits if and only if the sum is at most the cap.

Exact sums can grow long when denominators have nothing in common. Past ``LONGEST`` (a hundred and
fifty digits, out of reach of numbers that people write, whose denominators are powers of ten or
small) an amount is rounded up to a multiple of 1/``GRAIN``. Rounding up only ever spends more
than was released, by less than 1e-30, so the promise stands in every case.

The database also holds each amount as a whole number of units of 2**-40, rounded down. It decides
nothing, because rounding down keeps order: spent <= cap gives units(spent) <= units(cap). It is
there so that SQLite itself, which cannot compare fractions, refuses an account that is overspent.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from kng.core.errors import SpecError
from kng.core.exact import positive, show
from kng.core.naming import argument

LONGEST = 10**150
GRAIN = 10**30
UNITS = 2**40
# Units of the largest cap stay below 2**62, well inside SQLite's 64-bit integers. An epsilon this
# large protects nobody, so no honest cap is lost.
LARGEST_CAP = 2**22


def short(amount: Fraction) -> Fraction:
    """Return the amount, rounded up if its denominator is too long to keep."""
    if amount.denominator <= LONGEST:
        return amount
    return Fraction(math.ceil(amount * GRAIN), GRAIN)


def read_cap(value: Any) -> Fraction:
    """Read the largest total epsilon of an account; never rounded."""
    cap = positive(value, "cap")
    if cap > LARGEST_CAP:
        raise SpecError(
            f"{argument('cap')} must be at most {LARGEST_CAP}, got {tell(cap)}. It is the total "
            "epsilon of all releases together; above 10 or so it protects little."
        )
    if cap.denominator > LONGEST:
        raise SpecError(
            f"{argument('cap')} must be a number of at most 150 digits. Give it as 1, 0.5 or '1/3'."
        )
    return cap


def units(amount: Fraction) -> int:
    """Return the amount in whole units of 2**-40, rounded down."""
    return math.floor(amount * UNITS)


def tell(amount: Fraction) -> str:
    """Write an amount for a message, however long it is."""
    if max(amount.numerator.bit_length(), amount.denominator.bit_length()) <= 64:
        return show(amount)
    if amount > 10**300:
        return "more than 1e300"
    if amount < Fraction(1, 10**300):
        return "less than 1e-300"
    return f"about {float(amount)}"
