"""The size of the strong coordinates' noise, under an envelope that knows how long theta must be.

With x = rate ||u_S|| / s, w = 1 / (1 + ||theta||_1) and m strong coordinates, the target in the
chart is at most

    exp(-x) * rho^D w^k exp(-(rho - 1) x),        rho = 1 + (Y - 1) w,    D = d + 1

and the data keep w small where theta must be long. For any lambda on S with ||A lambda||_inf <= 1

    ||theta||_1  >=  lambda'A theta  =  lambda'(b + G)  >=  length - ||lambda||_1 ||G_S||_inf

    w (1 + length)  <=  1 + kappa rho x,      length = lambda'b,    kappa = ||lambda||_1 s / rate

The largest value of the second factor over such w is taken on bins of x, at the worse end of each,
so x has a gamma law in pieces. docs/proofs/samplers/affine.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector

# Ratio of a bin's ends: fine for draws, coarse for a first comparison. Beyond the last of them, and
# below the first, the bound hardly changes.
_FINE, _COARSE = 1.04, 1.3
_ENDS = 64.0
# How many of the longest coordinates a lambda stands on; all of them is tried, too.
_LONGEST = (1, 2, 4)


@dataclass(frozen=True)
class Radial:
    """x with density proportional to x^(m-1) exp(-x) bound(x)."""

    strong: int  # m
    weight: int  # D
    shift: float  # Y
    tail: int  # k
    length: float
    kappa: float

    @cached_property
    def _edges(self) -> Vector:
        return edges(self.weight, self.shift, _FINE)

    @cached_property
    def _log_bounds(self) -> Vector:
        ends, known = self._edges, np.array([[self.tail, self.length, self.kappa]])
        return np.asarray(log_bounds(ends[:-1], ends[1:], self.weight, self.shift, known)[0])

    @cached_property
    def _log_masses(self) -> Vector:
        return np.asarray(self._log_bounds + log_gammas(self._edges, self.strong))

    @property
    def log_mass(self) -> float:
        """Log of the integral of x^(m-1) exp(-x) bound(x)."""
        return float(np.logaddexp.reduce(self._log_masses))

    def log_bound(self, x: Vector) -> Vector:
        """Return the log of the bound at each x."""
        bins = np.searchsorted(self._edges, x, side="right") - 1
        return np.asarray(self._log_bounds[np.clip(bins, 0, len(self._log_bounds) - 1)])

    def draw(self, bits: Bits, size: int) -> Vector:
        """Return x: a bin by its mass, then inversion within it."""
        m = self.strong
        cumulative = np.cumsum(np.exp(self._log_masses - self.log_mass))[:-1]
        bins = np.searchsorted(cumulative, bits.uniforms(size), side="right")
        first, last, u = self._edges[bins], self._edges[bins + 1], bits.uniforms(size)
        x, left = np.empty(size), last < m
        for part, law, inverse in (
            (left, gammainc, gammaincinv),
            (~left, gammaincc, gammainccinv),
        ):
            start, end = law(m, first[part]), law(m, last[part])
            x[part] = inverse(m, start + u[part] * (end - start))
        return x


def best_radial(
    strong: int, weight: int, shift: float, offers: Matrix, prices: Vector
) -> tuple[Radial, float]:
    """Return the law for which log mass plus price is about smallest, and that sum.

    Rows of ``offers`` are k, length and kappa. They are compared at the middles of coarse bins.
    """
    ends = edges(weight, shift, _COARSE)
    middle = np.sqrt(ends[1:-2] * ends[2:-1])
    middle = np.concatenate([ends[1:2], middle, ends[-2:-1]])
    bounds = log_bounds(middle, middle, weight, shift, offers) + log_gammas(ends, strong)
    best = int(np.argmin(np.logaddexp.reduce(bounds, axis=1) + prices))
    tail, length, kappa = map(float, offers[best])
    radial = Radial(strong, weight, shift, int(tail), length, kappa)
    return radial, radial.log_mass + float(prices[best])


def edges(weight: int, shift: float, ratio: float) -> Vector:
    """Return the ends of the bins, 0 and infinity among them."""
    low, high = weight / shift / _ENDS, weight * _ENDS
    inner = low * ratio ** np.arange(int(log(high / low) / log(ratio)) + 2)
    return np.concatenate([[0.0], inner, [np.inf]])


def log_bounds(first: Vector, last: Vector, weight: int, shift: float, known: Matrix) -> Matrix:
    """Return the log of the largest rho^D w^k exp(-(rho - 1) x) for x from first to last.

    Rows of ``known`` are k, length and kappa. The logarithm is concave in w, and largest where
    v = (Y - 1) w solves  x v^2 + (x - D - k) v - k = 0,  unless w may not be so large.
    """
    tail, length, kappa = known[:, 0, None], known[:, 1, None], known[:, 2, None]
    last, a = np.minimum(last, 1e300), shift - 1
    room = 1 + length - kappa * last * a
    most = np.where(room > 0, (1 + kappa * last) / np.where(room > 0, room, 1.0), 1.0)
    w = np.minimum(most, 1.0)
    if a > 0:
        lead = weight + tail - first
        v = (lead + np.sqrt(lead**2 + 4 * first * tail)) / np.maximum(2 * first, 1e-300)
        w = np.minimum(w, np.maximum(v, 1e-300) / a)
    return np.asarray(weight * np.log1p(a * w) + tail * np.log(w) - a * w * first)


def log_gammas(ends: Vector, m: int) -> Vector:
    """Return the log of the integral of x^(m-1) exp(-x) over each bin; an empty one has none."""
    below, above = np.diff(gammainc(m, ends)), -np.diff(gammaincc(m, ends))
    share = np.where(ends[1:] < m, below, above)
    return np.asarray(np.log(np.maximum(share, 1e-300)) + lgamma(m))


def lengths_of(
    matrix: Matrix, vector: Vector, strong: NDArray[np.int64], center: Vector, noise: float
) -> Matrix:
    """Return rows (length, kappa): none, and lambda = A_PP^-1 sign(center_P) for several P.

    P are the longest coordinates of the center A_SS^-1 b_S; lambda is shortened until no row of
    A lambda is larger than 1.
    """
    order = np.argsort(-np.abs(center))
    found = [(0.0, 0.0)]
    for p in sorted({p for p in _LONGEST if p < len(strong)} | {len(strong)}):
        chosen, dual = strong[order[:p]], np.zeros(len(vector))
        dual[chosen] = np.linalg.solve(matrix[np.ix_(chosen, chosen)], np.sign(center[order[:p]]))
        dual /= max(1.0, float(np.abs(matrix @ dual).max()))
        if (length := float(dual @ vector)) > 0:
            found.append((length, noise * float(np.abs(dual).sum())))
    return np.array(found)
