"""Counts with a logarithmic link, whose mean is cut off at a public bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from kng.core.enclosures import ball
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, show
from kng.losses.pointwise.curved import Derivatives
from kng.losses.pointwise.exponential import exp_minus
from kng.losses.pointwise.function import Interval, Stepped

Array = NDArray[np.float64]

# exp(eta) is off by less than 2**-49.5 of it, its quotient by half an ulp; beyond 64 it is cut off.
_OFF, _ULP, _FAR = 2.0**-49, 2.0**-52, 64.0
# The largest bound: far below exp(64), and 2**-24 of it is a record.
_MOST = 2**24


@dataclass(frozen=True, slots=True, init=False)
class Counts:
    """The likelihood of counts with the mean exp(eta), linear beyond the largest count M.

        mean = min(exp(eta), M),    psi = (mean - y) / M,    rho = integral of psi

    psi does not fall as eta grows, so rho is convex; it is the Poisson log-likelihood, over M,
    wherever the mean is at most M. Predictions are in a unit of their own, so it is for ``Linear``
    by objective perturbation.

    Parameters
    ----------
    most : number
        The largest count, public: at least 1.

    Paper    beyond it.
    Privacy  psi lies between -1 and 1 for y in [0, M], its slope between 0 and 1.
             docs/proofs/losses/counts.md.
    Cost     O(1) a record.
    """

    most: Fraction
    name: ClassVar[str] = "counts"
    residual: ClassVar[bool] = False
    sides: ClassVar[tuple[Fraction, Fraction] | None] = None
    curvature: ClassVar[Fraction | None] = Fraction(1)
    scale: ClassVar[Fraction | None] = None

    def __init__(self, most: Any) -> None:
        number = exact(most, "most")
        if not 1 <= number <= _MOST:
            raise SpecError(
                f"The largest count must lie between 1 and 2**24, got {show(number)}. Count in "
                "other units."
            )
        object.__setattr__(self, "most", number)

    def rescaled(self, scale: Fraction) -> Counts:  # noqa: ARG002
        """Return the same: it has no scale."""
        return self

    def psi(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return the range for all predictions: means and counts are between 0 and M."""
        low = Fraction(0) if y.low is None else max(y.low / self.most, Fraction(0))
        high = Fraction(1) if y.high is None else min(y.high / self.most, Fraction(1))
        return Interval(-high, 1 - low)

    def apart(self, eta: Interval, y: Interval) -> Interval:
        """Return how far counts lie apart, whatever eta is."""
        found = self.psi(eta, y)
        assert found.low is not None
        assert found.high is not None
        return Interval.at(found.high - 1 - found.low)

    def rho(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Refuse: its values are not read."""
        raise IncompatibleParts(_ONLY)

    def derivatives(self, eta: Array, y: Array, reach: float) -> Derivatives:
        """Return min(exp(eta), M) - y over M, and bounds on its slope.

        exp changes by a factor between 1 - reach and 1 + 2 reach if reach <= 1.
        """
        most = float(self.most)
        mean, counts = _exp(eta), np.clip(y, 0.0, most)
        cut = np.minimum(mean, most)
        low, high = mean * (1 - 4 * _OFF) * max(1 - reach, 0.0), mean * (1 + 4 * _OFF)
        high = high * (1 + 2 * reach) if reach <= 1 else np.full_like(mean, np.inf)
        return Derivatives(
            (cut - counts) / most,
            _OFF * cut / most + _ULP,
            np.where(high < most, low / most, 0.0) * (1 - _OFF),
            np.where(low > most, 0.0, np.minimum(high / most * (1 + _OFF), 1.0)),
        )

    def enclosed(self, eta: Fraction, y: Fraction) -> arb:
        """Enclose psi."""
        mean = ball(eta).exp().min(ball(self.most)) if eta < _FAR else ball(self.most)
        return (mean - ball(min(max(y, Fraction(0)), self.most))) / ball(self.most)

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> Stepped:  # noqa: ARG002
        """Refuse: it is not rounded to steps."""
        raise IncompatibleParts(_ONLY)


_ONLY = (
    "Counts is minimised by objective perturbation, and not drawn by KNG or the exponential "
    "mechanism. Use kng.ObjectivePerturbation or PoissonRegressor."
)


def _exp(eta: Array) -> Array:
    """Return exp of numbers, of at most 64."""
    small = exp_minus(np.abs(np.clip(eta, -_FAR, _FAR * (1 - 2.0**-20))))
    return np.where(eta < 0, small, 1 / np.maximum(small, 2.0**-96))
