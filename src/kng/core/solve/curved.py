"""The minimiser of a smooth, strongly convex loss, and how far it can be.

    J(theta) = F(theta) + (gamma / 2) ||theta - c||^2 + u'theta       over R^d or ||theta||_1 <= B

A step goes to the minimiser, over the same set, of the quadratic with the gradient at theta and a
matrix A: the Hessian (Newton's step), or a bound L on it times the identity. Newton's steps in
float64 find theta; whether they did is decided by an enclosure of the true gradient there
(`core.curvature`). If that is too coarse, the gradient is enclosed more closely, record by record,
and steps are taken that cannot fail: a part of a Newton step counts only if the least residual so
far falls by half as large a part, and a step with L I brings theta nearer by a factor below 1
(`docs/proofs/mechanisms/curved.md`).

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
_SHORT = 2.0**-27
# What float64 may have taken from eigenvalues of a Hessian is given back, in parts of its trace.
_LOST = 2.0**-40
# Thetas are rounded to multiples of 2**-80, and finer where steps may not fail.
_GRID = 80
# Parts 1, 1/2, 1/4, .. of a step that may not fail.
_HALVES = 8
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
        bits, least = _BITS, None
        while True:
            yield last.found.theta, self._away(last, linear)
            off, size = last.found.off, _length(self._residual(last.found, linear))
            if off is None or size <= 4 * off + self._lost(bits):  # nothing to see but rounding
                bits = bits if off is None else 2 * bits
                found = self._enclosed(last.found.theta, bits)
            else:
                least = size if least is None else min(least, size)
                found = self._nearer(last.found, linear, least, bits)
            last = self._last = last._replace(found=found)

    def _start(self, linear: Theta) -> _Last:
        """Return where the last linear term has led, or a better point if that is far now."""
        last = self._last
        if last is None or self._away(last, linear) > _FAR:
            start = (_ZERO,) * len(linear) if last is None else last.found.theta
            theta = self._newton(start, linear)
            around = self._field.around(theta)
            found = _Found(theta, _fractions(around.gradient), None)
            last = self._last = _Last(found, Curvature(around, self._ridge))
        return last

    def _lost(self, bits: int) -> Fraction:
        """Return what rounding theta to multiples of 2**-bits can add to a residual, amply."""
        steepest = self._field.steepest() + self._ridge
        return Fraction(8 * len(self._centre), 2**bits) * steepest

    def _nearer(self, here: _Found, linear: Theta, least: Fraction, bits: int) -> _Found:
        """Return a point of a Newton step, or the end of a sure step.

        The former only if its residual is below the least so far.
        """
        slopes = self._slopes(here, linear)
        _, hessian = self._field.slopes(_floats(here.theta))
        target = self._step(here.theta, slopes, hessian, bits)
        for k in range(_HALVES):
            at = Fraction(1, 2**k)
            point = [a + at * (b - a) for a, b in zip(here.theta, target, strict=True)]
            found = self._enclosed(self._rounded(point, bits), bits)
            if _length(self._residual(found, linear)) <= (1 - at / 2) * least:
                return found
        sure = float(self._field.steepest()) * (1 + 2.0**-40) * np.eye(len(slopes))
        return self._enclosed(self._step(here.theta, slopes, sure, bits), bits)

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

    def _newton(self, start: Theta, linear: Theta) -> Theta:
        """Return a point that steps in float64 lead to; it promises nothing but to lie in Theta."""
        theta, tilt = _floats(start), _floats(linear) - float(self._ridge) * _floats(self._centre)
        slopes, hessian = self._at(theta, tilt)
        for _ in range(_STEPS):
            target = self._target(theta, slopes, hessian)
            step = _floats(target) - theta
            before = float(slopes @ step)
            if not before < 0 or np.abs(step).sum() <= _SHORT:
                break
            theta, slopes, hessian = self._along(theta, step, before, tilt)
        return target

    def _at(self, theta: Vector, tilt: Vector) -> tuple[Vector, Matrix]:
        """Return gradient and Hessian of J, the latter without its ridge."""
        gradient, hessian = self._field.slopes(theta)
        return gradient + float(self._ridge) * theta + tilt, hessian

    def _target(self, theta: Vector, slopes: Vector, hessian: Matrix) -> Theta:
        """Return where Newton's step leads."""
        if self._radius is not None:
            return self._step(_fractions(theta), _fractions(slopes), hessian, _GRID)
        ridge = float(self._ridge) + float(np.trace(hessian)) * _LOST
        target = theta - np.linalg.solve(hessian + ridge * np.eye(len(theta)), slopes)
        return _fractions(target if np.isfinite(target).all() else theta)

    def _along(
        self, theta: Vector, step: Vector, before: float, tilt: Vector
    ) -> tuple[Vector, Vector, Matrix]:
        """Return a point of a step where the slope along it is at most half as steep.

        It rises along the step. By secants and halves in turn.
        """
        low, high, at = (0.0, before), (1.0, -before), 1.0
        for attempt in range(_ATTEMPTS):
            point = theta + at * step
            slopes, hessian = self._at(point, tilt)
            here = float(slopes @ step)
            if here <= -before / 2 and (here >= before / 2 or at == 1):
                break
            low, high = ((at, here), high) if here < 0 else (low, (at, here))
            share = 0.5 if attempt % 2 else low[1] / (low[1] - high[1])
            at = low[0] + min(max(share, 0.02), 0.98) * (high[0] - low[0])
        return point, slopes, hessian

    def _step(self, theta: Theta, slopes: Theta, hessian: Matrix, grid: int) -> Theta:
        """Return the minimiser of the quadratic with these slopes at theta, rounded."""
        d, ridge = len(theta), self._ridge
        rows = [[Fraction(hessian[max(i, j), min(i, j)]) for j in range(d)] for i in range(d)]
        lost = Fraction(float(np.trace(hessian)) * _LOST)
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


def _floats(theta: Theta) -> Vector:
    return np.array([float(v) for v in theta])


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), _ZERO)


def _length(vector: Theta) -> Fraction:
    return root_above(_dot(vector, vector))
