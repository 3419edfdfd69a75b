"""A level R of a Gaussian whose body is a ball of radius R and some room that grows with R.

    density proportional to  R exp(-R^2 / 2) R^m (base + slope R)^w,      R >= start

A mixture of chi laws: R^2 / 2 is a gamma variable for each power of R.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, pi

import numpy as np
from scipy.special import comb, gammaincc, gammainccinv, gammaln

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector
from kng.samplers.real.envelopes.remaining_length import RemainingLength


@dataclass(frozen=True)
class GaussianLevels:
    """Levels for m coordinates that are Gaussian and w that have room, which may not begin below 0.

    A level's body is an m-dimensional ball of radius R times (base + slope R)^w.
    """

    gaussian: int  # m
    loose: int  # w
    room: RemainingLength
    start: float

    @cached_property
    def _powers(self) -> Vector:
        extra = self.loose if self.room.slope > 0 else 0
        return np.asarray(self.gaussian + np.arange(extra + 1), dtype=np.float64)

    @cached_property
    def _log_terms(self) -> Vector:
        i, w, room = self._powers - self.gaussian, self.loose, self.room
        share = np.log(comb(w, i)) + (w - i) * log(max(room.base, 1e-300))
        share = share + i * log(max(room.slope, 1e-300))
        shape = self._powers / 2 + 1
        tail = gammaln(shape) + np.log(gammaincc(shape, self.start**2 / 2))
        return np.asarray(share + self._powers / 2 * log(2) + tail)

    @property
    def log_mass(self) -> float:
        """Return the log of the integral of R exp(-R^2 / 2) times the volume of the body."""
        m = self.gaussian
        ball = m / 2 * log(pi) - float(gammaln(m / 2 + 1))
        return ball + float(np.logaddexp.reduce(self._log_terms))

    def draw(self, bits: Bits, size: int) -> Vector:
        """Return R: a power by its mass, then a gamma by inversion."""
        terms = self._log_terms
        shares = np.cumsum(np.exp(terms - np.logaddexp.reduce(terms)))
        term = np.searchsorted(shares[:-1], bits.uniforms(size) * shares[-1], side="right")
        shape = self._powers[term] / 2 + 1
        above = bits.uniforms(size) * gammaincc(shape, self.start**2 / 2)
        return np.asarray(np.sqrt(2 * gammainccinv(shape, above)))


def normals(bits: Bits, rows: int, columns: int) -> Matrix:
    """Return independent standard normal variables, by Box and Muller."""
    pairs = (columns + 1) // 2
    angle = 2 * np.pi * bits.uniforms(rows, pairs)
    radius = np.sqrt(-2 * np.log(bits.uniforms(rows, pairs)))
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return np.asarray(both[:, :columns])
