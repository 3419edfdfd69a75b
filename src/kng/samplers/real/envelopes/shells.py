"""Shells of the gradient on which its derivative has a certified least determinant.

With A = H(centre) and  E(rho) = { centre + delta : delta'A delta <= rho^2 },

    t^2 = largest u'A^-1 u  over  ||u||_K <= 1
    lambda(rho) = least eigenvalue of S(rho) against A,    S: secants of the gradient on E(rho)
    r(rho) = lambda(rho) rho / t - ||G(centre)||_K

no theta outside E(rho) has ||G(theta)||_K < r(rho), every u below that is G(theta) for exactly one
theta, and there  det H(theta) >= det H_min(rho).  docs/proofs/samplers/push_forward.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv

from kng.core.bits import Bits
from kng.core.quadratic import Matrix, Vector
from kng.core.sloped import SlopedField, SpreadNorm
from kng.samplers.real.inverse import Place

# Radii of ellipsoids, in units of what noise of length 1 moves: narrow steps around the typical
# length of the noise, d, then wide ones as far as a domain may be large.
_RATIOS = np.cumprod(np.concatenate([[0.5], np.full(16, 1.1), np.full(15, 1.25)]))
# Eigenvalues against A below this are taken for rounding, and so is a root that is off by as much.
_LEAST = 2.0**-24
# Radii are rounded inwards.
_INWARDS = 1 - 2.0**-24


@dataclass(frozen=True)
class Shells:
    """Radii 0 < r_1 < ... < r_m of the gradient, and what is known up to each of them.

    ``rate`` is c of the noise exp(-c ||u||). ``reaches`` says how far theta is from the centre in
    each coordinate, ``inverse`` is A^-1 and ``unit`` is t / c.
    """

    rate: float
    radii: Vector  # (m,)
    log_dets: Vector  # (m,), lower bounds
    reaches: Matrix  # (m, d)
    inverse: Matrix
    unit: float

    @classmethod
    def around(cls, field: SlopedField, norm: SpreadNorm, rate: float, centre: Place) -> Shells:
        """Certify what the data allow; nothing at all is an answer, too."""
        d = len(centre.theta)
        root = _root(centre.hessian)
        if root is None:
            return cls(rate, np.empty(0), np.empty(0), np.empty((0, d)), np.eye(d), 1.0)
        inverse = root @ root.T
        t = float(np.sqrt(norm.largest_form(inverse)))
        rho = _RATIOS * d * t / rate
        least, secant = field.least_curvature(centre.theta, root, rho)
        values = np.linalg.eigvalsh(root.T @ least @ root)
        averaged = np.linalg.eigvalsh(root.T @ secant @ root)[:, 0]
        radii = averaged * rho / t - float(norm.lengths(centre.gradient[None, :])[0])
        known = (values[:, 0] > _LEAST) & np.isfinite(radii) & (radii > 0)
        # A radius that a smaller ellipsoid has reached already is of no use.
        before = np.maximum.accumulate(np.concatenate([[0.0], np.where(known, radii, 0.0)]))[:-1]
        kept = np.flatnonzero(known & (radii > before))
        log_det = -2 * float(np.linalg.slogdet(root)[1])
        return cls(
            rate,
            radii[kept] * _INWARDS,
            log_det + np.log(values[kept]).sum(axis=1),
            rho[kept, None] * np.sqrt(np.diagonal(inverse)),
            inverse,
            t / rate,
        )

    def log_masses(self, log_volume: float) -> Vector:
        """Return the log of  integral of exp(-c ||u||) / det  over each shell."""
        d = len(self.inverse)
        ends = self.rate * np.concatenate([[0.0], self.radii])
        first, last = ends[:-1], ends[1:]
        near = gammainc(d, last) - gammainc(d, first)
        far = gammaincc(d, first) - gammaincc(d, last)
        with np.errstate(divide="ignore"):
            share = np.log(np.where(last < d, near, far))
        return np.asarray(log_volume + lgamma(d + 1) - d * log(self.rate) + share - self.log_dets)

    def radius(self, shell: int, bits: Bits) -> float:
        """Return the length of noise in a shell: of the gamma law, between its radii."""
        d, last = len(self.inverse), self.rate * float(self.radii[shell])
        first = self.rate * float(self.radii[shell - 1]) if shell else 0.0
        law, inverse = (gammainc, gammaincinv) if last < d else (gammaincc, gammainccinv)
        start, end = law(d, first), law(d, last)
        found = float(inverse(d, start + bits.uniforms(1)[0] * (end - start)))
        return min(max(found, first), last) / self.rate


def _root(matrix: Matrix) -> Matrix | None:
    """Return a root with A^-1 = root root'; None if float64 cannot tell A from a flat one."""
    try:
        root = np.linalg.inv(np.linalg.cholesky(matrix)).T
    except np.linalg.LinAlgError:
        return None
    unit = root.T @ matrix @ root - np.eye(len(matrix))
    return root if np.isfinite(unit).all() and float(np.abs(unit).max()) < _LEAST else None
