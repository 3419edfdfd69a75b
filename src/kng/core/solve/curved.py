"""The minimiser of a smooth, strongly convex loss, and how far it can be.

    J(theta) = F(theta) + (gamma / 2) ||theta - c||^2 + u'theta       over R^d or ||theta||_1 <= B

A step goes to the minimiser, over the same set, of the quadratic with the gradient at theta and a
matrix A: the Hessian (Newton's step), or a bound L on it times the identity. Newton's steps in
float64 find theta; whether they did is decided by an enclosure of the true gradient there
(`core.curvature`). If that is too coarse, the gradient is enclosed more closely, record by record,
and steps are taken that cannot fail: a Newton step counts only if it halves the residual, and one
with L I brings theta nearer by a factor below 1 (`docs/proofs/mechanisms/curved.md`).

The residual of theta in a ball is the gradient plus a vector of the normal cone there,

    w_j = g_j + nu s_j  where theta_j != 0,      (|g_j| - nu)_+ sign(g_j)  elsewhere,     nu >= 0,

nu = 0 inside: theta is the minimiser of J - w'theta.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kng.core.capabilities import CurvedField
from kng.core.curvature import Curvature
from kng.core.enclosures import root_above
from kng.core.quadratic import Matrix, Quadratic, Vector
from kng.core.regions import Theta
from kng.core.solve.quadratic_minimiser import minimiser

# Newton's steps in float64, and points of a step that is too long.
_STEPS, _ATTEMPTS = 60, 12
# After a step of this l1 length the next would be below 2**-54: steps square their lengths.
_SHORT = Fraction(1, 2**27)
# Thetas are rounded to multiples of 2**-80, and finer at every step that may not fail.
_GRID = 80
# Bits of the first gradient that is enclosed record by record.
_BITS = 128
# From farther away than this it is worth starting anew.
_FAR = Fraction(1, 2**24)
_ZERO = Fraction(0)


class _Found(NamedTuple):
    """A theta, the loss's gradient there, and how far that is off: None for sums in float64."""

    theta: Theta
    gradient: Theta
    off: Fraction | None


class _Last(NamedTuple):
    """What is known: a point, and the curvature near it or near one before it."""

    found: _Found
    curvature: Curvature
    hessian: Matrix


class CurvedSolver:
    """The loss with its ridge; the linear term is given step by step, and theta is kept."""

    def __init__(
        self, field: CurvedField, ridge: Fraction, centre: Theta, radius: Fraction | None
    ) -> None:
        self._field, self._ridge, self._centre, self._radius = field, ridge, centre, radius
        self._last: _Last | None = None

    def descent(self, linear: Theta) -> Iterator[tuple[Theta, Fraction]]:
        """Yield points and bounds on their distance from the minimiser, ever smaller."""
        last = self._start(linear)
        bits = _BITS
        while True:
            yield last.found.theta, self._away(last, linear)
            off, size = last.found.off, _length(self._residual(last.found, linear))
            if off is None or size <= 4 * off:  # nothing to see but rounding
                bits = bits if off is None else 2 * bits
                found = self._enclosed(last.found.theta, bits)
            else:
                found = self._nearer(last, linear, size, bits)
                bits += 16
            last = self._last = last._replace(found=found)

    def _start(self, linear: Theta) -> _Last:
        """Return where the last linear term has led, or a better point if that is far now."""
        last = self._last
        if last is None or self._away(last, linear) > _FAR:
            start = (_ZERO,) * len(linear) if last is None else last.found.theta
            theta = self._newton(start, linear)
            around = self._field.around(theta)
            found = _Found(theta, _fractions(around.gradient), None)
            last = self._last = _Last(found, Curvature(around, self._ridge), around.hessian)
        return last

    def _nearer(self, last: _Last, linear: Theta, size: Fraction, bits: int) -> _Found:
        """Return the end of a Newton step if that halves the residual, or that of a sure one."""
        theta, slopes = last.found.theta, self._slopes(last.found, linear)
        found = self._enclosed(self._step(theta, slopes, last.hessian, bits), bits)
        if 2 * _length(self._residual(found, linear)) <= size:
            return found
        sure = float(self._field.steepest()) * (1 + 2.0**-40) * np.eye(len(theta))
        return self._enclosed(self._step(theta, slopes, sure, bits), bits)

    def _enclosed(self, theta: Theta, bits: int) -> _Found:
        return _Found(theta, *self._field.gradient(theta, bits))

    def _away(self, last: _Last, linear: Theta) -> Fraction:
        found = last.found
        return last.curvature.away(found.theta, self._residual(found, linear), found.off)

    def _slopes(self, found: _Found, linear: Theta) -> Theta:
        """Return the gradient of J, up to what the loss's own is off."""
        terms = zip(found.gradient, found.theta, self._centre, linear, strict=True)
        return tuple(g + self._ridge * (t - c) + u for g, t, c, u in terms)

    def _residual(self, found: _Found, linear: Theta) -> Theta:
        slopes, theta = self._slopes(found, linear), found.theta
        if self._radius is None or sum(map(abs, theta), _ZERO) < self._radius:
            return slopes
        signs = [(t > 0) - (t < 0) for t in theta]
        pulls = [-g * s for g, s in zip(slopes, signs, strict=True) if s]
        nu = max(sum(pulls, _ZERO) / len(pulls), _ZERO)
        return tuple(
            g + nu * s if s else max(abs(g) - nu, _ZERO) * (1 if g > 0 else -1)
            for g, s in zip(slopes, signs, strict=True)
        )

    def _newton(self, theta: Theta, linear: Theta) -> Theta:
        """Return a point that steps in float64 lead to."""
        gradient, hessian = self._known(theta)
        for _ in range(_STEPS):
            slopes = self._slopes(_Found(theta, gradient, None), linear)
            target = self._step(theta, slopes, hessian, _GRID)
            step = _difference(target, theta)
            before = _dot(slopes, step)
            if sum(map(abs, step), _ZERO) <= _SHORT or before >= 0:
                return target
            theta, gradient, hessian = self._along(theta, step, before, linear)
        return theta

    def _along(
        self, theta: Theta, step: Theta, before: Fraction, linear: Theta
    ) -> tuple[Theta, Theta, Matrix]:
        """Return a point of a step where the slope along it is at most half as steep.

        It rises along the step. By secants and halves in turn.
        """
        low, high, at = (_ZERO, before), (Fraction(1), -before), Fraction(1)
        for attempt in range(_ATTEMPTS):
            point = self._rounded([a + at * s for a, s in zip(theta, step, strict=True)], _GRID)
            gradient, hessian = self._known(point)
            here = _dot(self._slopes(_Found(point, gradient, None), linear), step)
            if here <= -before / 2 and (here >= before / 2 or at == 1):
                break
            low, high = ((at, here), high) if here < 0 else (low, (at, here))
            share = Fraction(1, 2) if attempt % 2 else low[1] / (low[1] - high[1])
            share = Fraction(min(max(float(share), 0.02), 0.98))
            at = low[0] + share * (high[0] - low[0])
        return point, gradient, hessian

    def _known(self, theta: Theta) -> tuple[Theta, Matrix]:
        gradient, hessian = self._field.slopes(theta)
        return _fractions(gradient), hessian

    def _step(self, theta: Theta, slopes: Theta, hessian: Matrix, grid: int) -> Theta:
        """Return the minimiser of the quadratic with these slopes at theta, rounded."""
        d, ridge = len(theta), self._ridge
        rows = [[Fraction(hessian[max(i, j), min(i, j)]) for j in range(d)] for i in range(d)]
        # What float64 may have lost below 0 is given back.
        lost = Fraction(float(np.trace(hessian))) / 2**40
        for i in range(d):
            rows[i][i] += ridge + lost
        vector = [_dot(row, theta) - g for row, g in zip(rows, slopes, strict=True)]
        found, _ = minimiser(Quadratic.of(rows, vector), self._radius, grid)
        return self._rounded(found, grid)

    def _rounded(self, theta: Sequence[Fraction], grid: int) -> Theta:
        """Round towards 0; on the border of the ball the largest coordinate takes the rest."""
        found = [Fraction(int(v * 2**grid), 2**grid) for v in theta]
        if self._radius is not None and sum(map(abs, theta), _ZERO) >= self._radius:
            largest = max(range(len(found)), key=lambda j: abs(theta[j]))
            rest = self._radius - sum(map(abs, found), _ZERO)
            found[largest] += rest if theta[largest] > 0 else -rest
        return tuple(found)


def _fractions(vector: Vector) -> Theta:
    return tuple(Fraction(v) for v in vector.tolist())


def _difference(target: Theta, theta: Theta) -> Theta:
    return tuple(b - a for a, b in zip(theta, target, strict=True))


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), _ZERO)


def _length(vector: Theta) -> Fraction:
    return root_above(_dot(vector, vector))
