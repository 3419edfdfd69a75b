"""The law of a response of Algorithm 1, without simulation.

    Y = sum theta*_j X_j + e,   X_1 = 1, X_j uniform on (-1, 1), e standard normal

is symmetric when theta*_1 = 0, with characteristic function
phi(w) = exp(-w^2/2) prod sin(theta*_j w)/(theta*_j w), so that

    P(|Y| <= t) = (2/pi) integral over w > 0 of  phi(w) sin(t w)/w

and R = max |Y_i| is at most t with the n-th power of that probability.
"""

from __future__ import annotations

from math import expm1, log, log1p

import numpy as np

# A trapezoidal sum with this step sees Y modulo 2 pi / step = 628, and |Y| > 300 has no weight;
# beyond 40 the normal factor is below exp(-800).
_STEP, _END = 0.01, 40.0


def beyond(t: float, truth: tuple[float, ...]) -> float:
    """Return P(|Y| > t), for coefficients whose first is 0."""
    w = np.arange(1, round(_END / _STEP) + 1) * _STEP
    phi = np.exp(-(w**2) / 2) * np.sinc(np.outer(truth[1:], w) / np.pi).prod(axis=0)
    within = _STEP * (t / 2 + float((phi * np.sin(t * w) / w).sum())) * 2 / np.pi
    return 1 - within


def some_beyond(t: float, truth: tuple[float, ...], n: int) -> float:
    """Return P(R > t) for n records."""
    return -expm1(n * log1p(-beyond(t, truth)))


def median_largest(truth: tuple[float, ...], n: int) -> float:
    """Return the median of R for n records, by halving an interval."""
    low, high = 0.0, sum(map(abs, truth)) + 40.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        above = n * log1p(-min(beyond(middle, truth), 0.999)) < -log(2)
        low, high = (middle, high) if above else (low, middle)
    return high
