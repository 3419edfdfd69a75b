"""A linear model with a smooth pointwise function: its true gradient, enclosed.

    gradient  sum psi(s z'theta, s y') z,      Hessian  sum s psi'(s z'theta, s y') z z'

s is the scale of a pointwise function that has one, and 1 otherwise. In float64 every record's psi
has a bound on its error, its doubt, and sums of psi are exact up to far less: psi is cut into a
multiple of 2**-24, whose products with whole covariates are whole numbers that stay below 2**53 in
a chunk, and a rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import frexp, fsum, lcm
from operator import mul

import numpy as np
from numpy.typing import NDArray

from kng.core.curvature import Around
from kng.core.design import Design
from kng.core.enclosures import floor_ceil, precision, root_above
from kng.core.regions import Theta
from kng.losses.kernels.curved_rows import PART, Blocks
from kng.losses.kernels.linear_rows import ENDS
from kng.losses.pointwise.curved import Curved

Array = NDArray[np.float64]

# Records at a time: 2**11 products of 2**24 steps of psi and 2**16 of a covariate stay below 2**52,
# for a psi of at most 1, and arrays of them stay in the processor's cache.
_CHUNK = 2**11
_STEPS = 2.0**24
# How far from theta the bound on the Hessian holds, in z'theta.
REACH = Fraction(1, 2**16)
# Arb's working precision beyond the bits that are asked for.
_GUARD = 64


def encloses(pointwise: object, design: Design) -> bool:
    """Tell whether a function's true gradient can be enclosed over records with this design.

    Covariates must be whole numbers of 2**-16, and so must responses be that are no residuals.
    """
    whole = all(span == ENDS for span in design.spans[:-1])
    if not isinstance(pointwise, Curved) or not whole:
        return False
    half = design.records.step[-1] / design.half_y / 2
    return pointwise.residual or half.denominator.bit_count() == half.numerator.bit_count() == 1


@dataclass(frozen=True, slots=True)
class CurvedSums:
    """All records, as `CurvedRows` keeps them."""

    blocks: Blocks
    design: Design
    pointwise: Curved
    scale: Fraction

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def _rows(self) -> Iterator[NDArray[np.float32]]:
        """Yield some records at a time."""
        for block in self.blocks:
            for at in range(0, len(block), _CHUNK):
                yield block[at : at + _CHUNK]

    def steepest(self) -> Fraction:
        """Return n d times the largest slope."""
        curvature = self.pointwise.curvature
        assert curvature is not None  # a curved function states it
        return len(self) * self.design.dim * curvature * self.scale

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian."""
        d, sums = self.design.dim, _Sums(self.design.dim)
        hessian = np.zeros((d, d))
        for z, eta, y in self._chunks(theta * float(self.scale)):
            found = self.pointwise.derivatives(eta, y, 0.0)
            sums.add(found.psi, z)
            hessian += _products(found.least, z)
        return sums.total(), hessian * float(self.scale)

    def around(self, theta: Theta) -> Around:
        """Return sums with bounds on what they are off by."""
        d, scale = self.design.dim, float(self.scale)
        sums, off = _Sums(d), self._off(theta)
        least, doubts = np.zeros((d, d)), np.zeros((d, d))
        slopes, total = 0.0, 0.0
        weights = np.array([float(self.scale * t) for t in theta])
        for z, eta, y in self._chunks(weights):
            found = self.pointwise.derivatives(eta, y, float(REACH) * scale + off)
            doubt = found.doubt + found.most * off
            sums.add(found.psi, z)
            least += _products(found.least, z)
            doubts += _products(doubt, z)
            slopes += float(found.least.sum())
            total += float(doubt.sum())
        # An entry is a sum of at most as many terms as a chunk has and of as many chunks as there
        # are, each term rounded three times; |z_j| <= 1, and an operator norm is d entries at most.
        chunks = len(self) // _CHUNK + len(self.blocks)
        roundings = (_CHUNK + chunks + 16) * 2.0**-52
        lost = 1 + 2 * roundings
        return Around(
            theta,
            REACH,
            sums.total(),
            sums.rounding(chunks),
            least * scale,
            2 * d * roundings * slopes * lost * scale,
            doubts,
            2 * d * roundings * total * lost,
            total * lost,
        )

    def gradient(self, theta: Theta, bits: int) -> tuple[Theta, Fraction]:
        """Return the gradient from psi of every record, enclosed.

        What is summed are whole numbers. An enclosure of psi is 2**-bits wide, or 2 units of that
        where it is rounded outwards, and no z is longer than sqrt(d).
        """
        scaled = [self.scale * t for t in theta]
        common = lcm(*(t.denominator for t in scaled))
        weights, step = [int(t * common) for t in scaled], self._step * self.scale
        constant, offset = [ENDS] * self.design.intercept, self.design.offsets[-1]
        totals, wide, last = [0] * len(theta), 0, int(PART)
        with precision(bits + _GUARD):
            for rows in self._rows():
                for *row, upper, lower in rows.astype(np.int64).tolist():
                    x = constant + row
                    eta = Fraction(sum(map(mul, weights, x)), common * ENDS)
                    y = (2 * (upper * last + lower) - offset) * step
                    low, high = floor_ceil(self.pointwise.enclosed(eta, y), bits)
                    middle = low + high
                    totals = [total + v * middle for total, v in zip(totals, x, strict=True)]
                    wide += high - low
        unit = 2 * 2**bits
        found = tuple(Fraction(total, unit * ENDS) for total in totals)
        return found, root_above(Fraction(len(theta))) * Fraction(wide, unit)

    @property
    def _step(self) -> Fraction:
        """Half a step of the response, in units of y'."""
        return self.design.records.step[-1] / self.design.half_y / 2

    def _chunks(self, weights: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Yield z, z'weights and s y', some records at a time; the weights are s theta."""
        first, unit = int(self.design.intercept), float(self._step * self.scale)
        offset = self.design.offsets[-1]
        for rows in self._rows():
            z = np.ones((len(rows), self.design.dim))
            np.multiply(rows[:, :-2], 1 / ENDS, out=z[:, first:], dtype=np.float64)
            k = rows[:, -2].astype(np.float64) * PART + rows[:, -1]
            yield z, np.asarray(z @ weights), np.asarray((2 * k - offset) * unit)

    def _off(self, theta: Theta) -> float:
        """Return how far s z'theta, or the residual, can be off in float64.

        d products and sums, and theta rounded; and two roundings of a response, unless it is a
        whole number of halves.
        """
        size = float(self.scale * sum(map(abs, theta)))
        found = (len(theta) + 4) * 2.0**-53 * size
        if not self.pointwise.residual:
            return found
        low, high = self.design.ends[-1]
        unit = self.scale * self.design.halves[-1] / self.design.half_y
        return found + 2.0**-51 * float(max(abs(low), abs(high)) * unit)


class _Sums:
    """Sums of psi_i z_i, exact but for a rest."""

    def __init__(self, dim: int) -> None:
        self._parts: list[list[float]] = [[] for _ in range(dim)]
        self._largest = 0.0

    def add(self, psi: Array, z: Array) -> None:
        """Add a chunk: whole numbers of a step, and what is left of each psi."""
        largest = float(np.abs(psi).max(initial=0.0))
        if largest == 0.0:
            return
        unit = 2.0 ** (frexp(largest)[1]) / _STEPS
        whole = np.rint(psi / unit)
        for part in ((whole @ z) * unit, (psi - whole * unit) @ z):
            for parts, value in zip(self._parts, part.tolist(), strict=True):
                parts.append(value)
        self._largest = max(self._largest, unit)

    def total(self) -> Array:
        """Return the sums, each rounded once."""
        return np.array([fsum(parts) for parts in self._parts])

    def rounding(self, chunks: int) -> float:
        """Return what the sums of so many chunks are off by, in l2.

        Rests are half a unit at most, so that a chunk of them is off by 2**11 roundings of 2**10
        units; and the sums are rounded once.
        """
        d = len(self._parts)
        each = chunks * _CHUNK * _CHUNK * 2.0**-53 * self._largest
        return d * (2 * each + 2.0**-52 * float(np.abs(self.total()).max(initial=0.0)))


def _products(weights: Array, z: Array) -> Array:
    """Return sum w_i z_i z_i' for w >= 0."""
    rows = z * np.sqrt(weights)[:, None]
    return np.asarray(rows.T @ rows)
