"""exp, log and their kin on float64, made of sums, products, quotients and powers of two.

NumPy promises nothing about its own: they may differ between processors and between places of an
array. These are the same number for the same input everywhere, and each is within

    | computed - true |  <=  2**-44 |true| + 2**-1060

of the function, which is what enclosures rest on. docs/proofs/losses/traced.md has the argument.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What a result may be off, in parts of it and beside that.
OFF, TINY = 2.0**-44, 2.0**-1060

# exp(f) for |f| <= ln(2) / 2: what follows f^13 / 13! is below 2**-57 of it. exp(f) - 1 = f P(f)
# with P to f^13 / 14!.
_EXP = tuple(1 / factorial(k) for k in range(13, -1, -1))
_EXPM1 = tuple(1 / factorial(k + 1) for k in range(13, -1, -1))
# 2 atanh(s) / s in s^2 <= 1/9: what follows s^36 / 37 is below 2**-59 of it.
_ATANH = tuple(2 / (2 * k + 1) for k in range(18, -1, -1))
# arctan(s) / s in s^2 <= 0.1716 = tan(pi/8)^2: what follows s^46 / 47 is below 2**-62 of it.
_ARCTAN = tuple((-1) ** k / (2 * k + 1) for k in range(23, -1, -1))
# ln(2) in two parts: whole numbers up to 2**20 times the first are exact.
_PER_LN2, _LN2, _LN2_REST = 1.4426950408889634, 2977044471 / 2**32, 1.9082149292705877e-10
# Beyond this exp has left float64.
_FAR = 800.0
_SMALL = 0.34
_ROOT_HALF, _TAN = 0.7071067811865476, 0.41421356237309503
_QUARTER_PI, _HALF_PI = 0.7853981633974483, 1.5707963267948966


def _horner(terms: tuple[float, ...], x: Array) -> Array:
    """Return the polynomial with these terms, the highest power first."""
    value = np.full_like(x, terms[0])
    for term in terms[1:]:
        value *= x
        value += term
    return value


def exp(x: Array) -> Array:
    """Return exp(x) = 2**n exp(f),  f = x - n ln(2)."""
    near = np.minimum(np.maximum(x, -_FAR), _FAR)
    n = np.rint(near * _PER_LN2)
    f = (near - n * _LN2) - n * _LN2_REST
    # A shift of what is not a number does not matter; casting it would.
    shift = np.where(np.isnan(n), 0.0, n).astype(np.int32)
    return np.asarray(np.ldexp(_horner(_EXP, f), shift))


def expm1(x: Array) -> Array:
    """Return exp(x) - 1."""
    small = np.minimum(np.maximum(x, -_SMALL), _SMALL)
    return np.where(np.abs(x) <= _SMALL, small * _horner(_EXPM1, small), exp(x) - 1)


def log(x: Array) -> Array:
    """Return log(x) = e ln(2) + 2 atanh((m - 1) / (m + 1)),  x = m 2**e."""
    m, e = np.frexp(x)
    low = m < _ROOT_HALF
    m, e = np.where(low, 2 * m, m), e - low
    s = (m - 1) / (m + 1)
    found = (e * _LN2 + s * _horner(_ATANH, s * s)) + e * _LN2_REST
    found = np.where(x > 0, found, np.where(x == 0, -np.inf, np.nan))
    return np.where(x == np.inf, np.inf, found)


def log1p(x: Array) -> Array:
    """Return log(1 + x)."""
    s = x / (2 + x)
    return np.where(np.abs(x) <= 0.25, s * _horner(_ATANH, s * s), log(1 + x))


def tanh(x: Array) -> Array:
    """Return tanh(x) = -t / (2 + t) with the sign of x,  t = exp(-2 |x|) - 1."""
    t = expm1(-2 * np.abs(x))
    return np.copysign(-t / (2 + t), x)


def arctan(x: Array) -> Array:
    """Return arctan(x), by arctan(1 / x) and by the difference of two."""
    size = np.abs(x)
    turned = size > 1
    t = np.where(turned, 1 / np.maximum(size, 1.0), size)
    moved = t > _TAN
    s = np.where(moved, (t - 1) / (t + 1), t)
    found = s * _horner(_ARCTAN, s * s) + np.where(moved, _QUARTER_PI, 0.0)
    return np.copysign(np.where(turned, _HALF_PI - found, found), x)


def expit(x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    small = exp(-np.abs(x))
    return np.where(x < 0, small, 1.0) / (1 + small)


def softplus(x: Array) -> Array:
    """Return log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))."""
    small = exp(-np.abs(x))
    s = small / (2 + small)
    return np.asarray(np.maximum(x, 0.0) + s * _horner(_ATANH, s * s))


def _square(x: Array) -> Array:
    return x * x


PROGRAMS: dict[str, Callable[[Array], Array]] = {
    "exp": exp,
    "log": log,
    "expm1": expm1,
    "log1p": log1p,
    "sqrt": np.sqrt,
    "tanh": tanh,
    "arctan": arctan,
    "expit": expit,
    "softplus": softplus,
    "square": _square,
}
