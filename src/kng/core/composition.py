"""What several releases promise together.

Pure promises add up: epsilon = sum of epsilons. Concentrated ones do as well: a draw whose loss has
range w is w**2 / 8 concentrated, and rho = sum over draws. For every order a > 1 and every delta,

    epsilon(a) = a rho + log((a - 1) / a) + (log(1 / delta) - log a) / (a - 1)

is then an epsilon that holds but for delta (docs/proofs/lemmas/conversion.md). The order is sought
in floats, which decides nothing: each one is a valid bound, and the one that is taken is evaluated
in ball arithmetic and rounded up.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log, log1p
from typing import Any

from kng.core.errors import SpecError
from kng.core.exact import exact
from kng.core.naming import argument

# Answers are multiples of 2**-BITS, rounded up.
_BITS = 64
_WORKING = 192
# Orders are 1 + exp(t) for t in this range; beyond it nothing is gained.
_RANGE = (-20.0, 40.0)
_RATIO = (5**0.5 - 1) / 2
# A budget of rho is a multiple of this, rounded down.
_GRAIN = Fraction(1, 10**12)


def read_delta(value: Any) -> Fraction:
    """Read the probability with which a promise may fail."""
    delta = exact(value, "delta")
    if not 0 < delta < 1:
        raise SpecError(
            f"{argument('delta')} must lie strictly between 0 and 1, as in 1e-6; got {value}."
        )
    return delta


def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon that holds but for delta, the least over all orders, rounded up."""
    if rho == 0 or _is_free(rho, delta):
        return Fraction(0)
    return max(Fraction(0), epsilon_at_order(rho, delta, _best_order(rho, delta)))


def epsilon_at_order(rho: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """Return the epsilon of one order, rounded up."""
    # Imported here: who looks at a budget in epsilon does not wait for it.
    from kng.core.enclosures import ball, floor_ceil, precision

    with precision(_WORKING):
        bound = (
            ball(order * rho)
            + ball(1 - 1 / order).log()
            - (ball(delta).log() + ball(order).log()) / ball(order - 1)
        )
        return Fraction(floor_ceil(bound, _BITS)[1], 2**_BITS)


def rho_at(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, rounded down, whose epsilon at delta is at most the stated one."""
    low, high = 0, 1
    while epsilon_at(high * _GRAIN, delta) <= epsilon:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if epsilon_at(middle * _GRAIN, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low * _GRAIN


def _is_free(rho: Fraction, delta: Fraction) -> bool:
    """Tell whether no answer is more likely by more than delta: delta**2 > 1 - exp(-rho)."""
    from kng.core.enclosures import ball, precision

    with precision(_WORKING):
        return bool(ball(delta * delta) + ball(-rho).exp() > 1)


def _best_order(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the order at which the bound is least, as far as floats can tell."""
    cost, chance = float(rho), log(delta.numerator) - log(delta.denominator)

    def bound(t: float) -> float:
        order = 1 + exp(t)
        if order in (1, inf):
            return inf
        return order * cost + log1p(-1 / order) - (chance + log(order)) / (order - 1)

    low, high = _RANGE
    for _ in range(90):
        left, right = high - _RATIO * (high - low), low + _RATIO * (high - low)
        if bound(left) <= bound(right):
            high = right
        else:
            low = left
    return 1 + Fraction(exp((low + high) / 2))
