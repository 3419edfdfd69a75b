"""Noise of linear models: predicted for records that look as declared.

The noise u is in the gradient, and coefficients move by A^-1 u, where A = n H + gamma depends on
the records. For covariates that are uniform between their bounds, and residuals of a stated size,

    H = h E zz',     h = 1 (least squares), P(|r| <= T) (Huber), the density of residuals at the
                     plane (a quantile), or p (1 - p) at the released coefficients (log-odds)

and the deviation is that of  A^-1 (u + gamma (theta - centre)).  Another shape has another one.

The score of a quantile jumps at every record. Between the records' own quantile plane and one that
is x away it grows by the number of records in between, whose variance is its mean, so that u has

    w = E zz' (E |z'M^-1 (u + w)| + d),     M = E zz',  d coefficients

beside its own covariance: for a quantile of d = 1 the steps |K| from the record are a Gamma(|K|)
long, with mean square K^2 + |K|, and the gap that is drawn from is one more. Where noise is small
this is what is left of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, sqrt
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import simulator
from kng.core.noise.interval import Ends, Kind, Released
from kng.core.noise.tails import Tail, standard_quantile

Array = NDArray[np.float64]

_NORMAL = NormalDist()
# Rows at which log-odds are averaged; the seed is fixed, so that intervals repeat.
_ROWS, _SEED = 4096, 7
# The mean of |x| over its deviation; a normal x has the largest of those that matter here.
_ABSOLUTE, _ROUNDS = 0.8, 5
_LOSSES = ("squared", "huber", "pinball", "logistic")


@dataclass(frozen=True, slots=True)
class PlaneNoise:
    """The noise in one plane, in the standard units of its loss.

    ``squares`` are the mean squares of u in each coordinate, ``factor`` how many of its units one
    unit of the released lattice has, ``residual`` the size that residuals are taken to have.
    """

    loss: str
    tau: float
    residual: float
    squares: tuple[float, ...]
    ridge: float
    centre: tuple[float, ...]
    factor: float

    def fits(self, dim: int) -> bool:
        """Whether it is about so many coefficients."""
        numbers = (self.tau, self.residual, *self.squares, self.ridge, *self.centre, self.factor)
        known = self.loss in _LOSSES and all(map(isfinite, numbers)) and self.factor > 0
        sizes = 0 < self.tau < 1 and self.residual > 0 and self.ridge >= 0
        return known and sizes and len(self.squares) == len(self.centre) == dim

    def covariance(self, theta: Array, rows: tuple[tuple[float, float], ...], n: int) -> Array:
        """Return the covariance of noise in the units of the lattice."""
        at, ends = self.factor * theta, np.array(rows)
        curved = n * self._curvature(at, ends) + self.ridge * np.eye(len(theta))
        pull = self.ridge * (at - np.array(self.centre))
        inverse = np.linalg.pinv(curved)
        inner = np.diag(self.squares) + np.outer(pull, pull) + self._jumps(ends)
        return np.asarray(inverse @ inner @ inverse / self.factor**2)

    def _jumps(self, ends: Array) -> Array:
        """Return what a score that jumps at records adds to the covariance of the noise."""
        if self.loss != "pinball":
            return np.zeros((len(ends), len(ends)))
        z = simulator(_SEED).uniform(ends[:, 0], ends[:, 1], (_ROWS, len(ends)))
        moved = z @ np.linalg.pinv(_moments(ends))
        own = np.diag(self.squares)
        found = np.zeros_like(own)
        for _ in range(_ROUNDS):  # what is added moves planes as well
            size = _ABSOLUTE * np.sqrt(np.einsum("ij,jk,ik->i", moved, own + found, moved))
            found = (z * (size + len(ends))[:, None]).T @ z / _ROWS
        return np.asarray(found)

    def _curvature(self, at: Array, ends: Array) -> Array:
        if self.loss == "logistic":
            rng = simulator(_SEED)
            z = rng.uniform(ends[:, 0], ends[:, 1], (_ROWS, len(ends)))
            tail = np.exp(-np.abs(z @ at))
            return np.asarray((z * (tail / (1 + tail) ** 2)[:, None]).T @ z / _ROWS)
        return np.asarray(self._share() * _moments(ends))

    def _share(self) -> float:
        if self.loss == "huber":
            return 2 * _NORMAL.cdf(1 / self.residual) - 1
        if self.loss == "pinball":
            return _NORMAL.pdf(_NORMAL.inv_cdf(self.tau)) / self.residual
        return 1.0


def _moments(ends: Array) -> Array:
    """Return E zz' of covariates that are uniform between their ends."""
    means = ends.mean(axis=1)
    return np.asarray(np.outer(means, means) + np.diag((ends[:, 1] - ends[:, 0]) ** 2 / 12))


@dataclass(frozen=True, slots=True)
class PredictedNoise:
    """The noise of planes that were drawn from the same records.

    ``rows`` are the ends of standardised covariates, 1 and 1 for an intercept; ``law`` is that of
    one coordinate of the noise in the gradient, whose tails coefficients are taken to share.
    """

    planes: tuple[PlaneNoise, ...]
    rows: tuple[tuple[float, float], ...]
    records: int
    law: str
    form: ClassVar[str] = "predicted"
    kind: ClassVar[Kind] = "predicted"

    def fits(self, numbers: int) -> bool:
        """Whether it is about so many numbers."""
        dim = len(self.rows)
        known = self.law in ("box", "round", "radius") and type(self.records) is int
        sizes = dim * len(self.planes) == numbers > 0 and known and self.records > 0
        ends = all(isfinite(a) and isfinite(b) and a <= b for a, b in self.rows)
        return sizes and ends and all(plane.fits(dim) for plane in self.planes)

    @property
    def unit(self) -> str:
        """What the ends are measured in."""
        return "the units of the answer"

    def deviations(self, released: Released) -> list[float]:
        """Return the standard deviation of the noise in each coefficient."""
        assert released.units is not None
        dim = len(self.rows)
        point = [float(v) for v in released.lattice.units(released.integers)]
        found: list[float] = []
        for block, plane in enumerate(self.planes):
            at = slice(dim * block, dim * (block + 1))
            back = np.array([[float(v) for v in row[at]] for row in released.units.matrix[at]])
            inner = plane.covariance(np.array(point[at]), self.rows, self.records)
            found += [sqrt(max(v, 0.0)) for v in np.diag(back @ inner @ back.T).tolist()]
        return found

    def ends(self, released: Released, level: float) -> Ends:
        """Return the interval around each coefficient."""
        dim, one = len(self.rows), Fraction(1)
        ratio = standard_quantile(self.law, dim, level) / Tail(self.law, one, one, dim).deviation
        reach = tuple(ratio * s for s in self.deviations(released))
        sides = list(zip(map(float, released.exact_value), reach, strict=True))
        return Ends(tuple(v - r for v, r in sides), tuple(v + r for v, r in sides), reach)

    def to_mapping(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "form": self.form,
            "planes": [{name: getattr(p, name) for name in p.__slots__} for p in self.planes],
            "rows": [list(ends) for ends in self.rows],
            "records": self.records,
            "law": self.law,
        }

    @classmethod
    def from_mapping(cls, facts: Any) -> PredictedNoise:
        """Read it from JSON."""
        planes = tuple(
            PlaneNoise(
                str(p["loss"]), float(p["tau"]), float(p["residual"]),
                tuple(float(v) for v in p["squares"]), float(p["ridge"]),
                tuple(float(v) for v in p["centre"]), float(p["factor"]),
            )
            for p in facts["planes"]
        )  # fmt: skip
        rows = tuple((float(a), float(b)) for a, b in facts["rows"])
        return cls(planes, rows, facts["records"], str(facts["law"]))
