"""How likely one count is to be far off, where counts share records.

Noise in the norm `Exchange` is whole, with probability proportional to q^max(P, N), q = exp(-rate),
P the sum of the positive entries and N minus that of the negative ones. With d entries

    points with max(P, N) <= r                  sum_p C(d, p) C(r, p) C(r + d - p, d - p)
    those of them with a first entry >= k > 0   sum_p C(d - 1, p - 1) C(r - k + 1, p)
                                                      C(r + d - p, d - p)

for p positive entries; the others are at most 0 and add up to at least -r. Summed over r with
weights q^r, the second over the first is P(v_1 >= k), and

    sum_r q^r (number of the first)  =  sum_i C(d, i)^2 q^i / (1 - q)^(d + 1)

Minus the sum of all entries has the same law as each of them: with it as one entry more the norm is
half the sum of all sizes, in which no entry differs from another.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, expm1, floor, log, sqrt

import numpy as np

# Entries up to which the quantile of a tail takes less than a second.
MOST = 256
# Sums over r go in steps of this part of the width of what is summed; then tails are raised by far
# more than the trapezoidal rule is off.
_PARTS, _RAISED = 64, 1e-3
# Levels beyond which nothing is left, in standard deviations and in units of 1 / rate.
_WIDE, _FAR = 12.0, 60.0
_LEFT_OUT = 1e-15


def exchange_tail(dim: int, rate: float, k: int) -> float:
    """Return P(|v_1| >= k), or a number not below it that is larger by 0.1 % at most; k > 0."""
    spread = _WIDE * sqrt(dim) + _FAR
    last = dim + ceil((dim + spread) / rate)
    first = max(k - 1, floor((dim - spread) / rate))
    step = max(1, floor(sqrt(dim) / (_PARTS * rate)))
    r = np.arange(first, max(last, first + 1) + step, step, dtype=float)[:, None]
    i = np.arange(1.0, dim + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        chosen = np.cumsum(np.log(np.maximum(r - k + 2 - i, 0) / i), axis=1)
    # log C(r + d - p, d - p) for p = 1, ..., d
    rest = np.cumsum(np.log1p(r / i), axis=1)
    rest = np.concatenate([np.zeros_like(r), rest[:, :-1]], axis=1)[:, ::-1]
    ways = np.concatenate([[0.0], np.cumsum(np.log((dim - i[:-1]) / i[:-1]))])
    logs = chosen + rest + ways - rate * r - _log_all(dim, rate)
    found = 2 * step * float(np.exp(logs).sum())
    return min(found * (1 + (_RAISED if step > 1 else 1e-9)) + _LEFT_OUT, 1.0)


def _log_all(dim: int, rate: float) -> float:
    """Return the logarithm of  sum_i C(d, i)^2 q^i / (1 - q)^(d + 1)."""
    i = np.arange(1.0, dim + 1)
    ways = 2 * np.concatenate([[0.0], np.cumsum(np.log((dim + 1 - i) / i))])
    terms = ways - rate * np.arange(dim + 1.0)
    most = float(terms.max())
    return most + log(float(np.exp(terms - most).sum())) - (dim + 1) * log(-expm1(-rate))


@lru_cache(maxsize=64)
def exchange_steps(dim: int, rate: float, level: float) -> int:
    """Return the least k with P(|v_1| <= k) >= level, or hardly more."""
    high = 1
    while exchange_tail(dim, rate, high) > 1 - level:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if exchange_tail(dim, rate, middle) <= 1 - level else (middle, high)
        )
    return high - 1
