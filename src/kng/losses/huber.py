"""Huber's loss for linear regression: squared for small residuals, linear for large ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from kng.core.design import Design
from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.protocols import Integers, Source
from kng.core.regression import Matrix, Vector

# Rows whose temporaries stay in the processor's cache.
_CHUNK = 2**13


@dataclass(frozen=True, slots=True)
class Huber:
    """Huber's loss in units of its threshold.

        r = z'theta - y',   y' = (y - middle) / threshold,   |z_j| <= 1
        l = r^2 / 2  if |r| <= 1,  else |r| - 1/2;       gradient = clip(r, -1, 1) z

    The gradient is bounded whatever y and theta are, so no bound on y enters the sensitivity and
    none on theta is needed: where the order of magnitude in accuracy is won.

    Paper    beyond it; section 4.3's objective perturbation with a better loss.
    Privacy  One record moves each coordinate of the gradient by at most 2 under replace-one and
             1 under add-remove; its Hessian is at most z z'. docs/proofs/losses/huber.md.
    Cost     One pass for each step of the solver.
    """

    def widths(self, neighbours: Neighbours) -> Fraction:
        """Return how far one record moves each coordinate of the gradient."""
        return Fraction(2) if isinstance(neighbours, ReplaceOne) else Fraction(1)

    def perturbed_bound(
        self,
        radius: Fraction | None,  # noqa: ARG002
        design: Design,  # noqa: ARG002
        neighbours: Neighbours,
    ) -> Fraction:
        """Return the same: it holds for every theta, bounded or not, and for all bounds of z."""
        return self.widths(neighbours)

    def curvature(self, design: Design) -> Fraction:
        """Return the largest eigenvalue of one record's Hessian, at most ||z||^2."""
        return Fraction(design.dim)

    def typical_size(self, radius: Fraction | None) -> Fraction:
        """Return 2 thresholds, the length at which signal and noise are alike, or what is left.

        With a threshold near the residuals' spread and covariates spread over their bounds, a
        coefficient vector of length sqrt(3) explains half of the variance.
        """
        return Fraction(2) if radius is None else min(Fraction(2), radius)

    def read_smooth(self, source: Source, design: Design) -> HuberField:
        """Return the summed loss; each evaluation is one pass."""
        return HuberField(source, design)


@dataclass(frozen=True)
class HuberField:
    """The summed loss over a source of records."""

    source: Source
    design: Design

    def derivatives(self, theta: Vector) -> tuple[float, Vector, Matrix]:
        """Return value, gradient and Hessian at theta, in one pass."""
        state = self.source.reduce(HuberSums(self.design, tuple(float(t) for t in theta)))
        return state.value, state.gradient, state.hessian


@dataclass(frozen=True, slots=True)
class HuberState:
    """Sums of the loss and its two derivatives."""

    value: float
    gradient: Vector
    hessian: Matrix


@dataclass(frozen=True)
class HuberSums:
    """Loss, gradient and Hessian of a batch, in standardised units."""

    design: Design
    theta: tuple[float, ...]

    def zero(self) -> HuberState:
        """No records."""
        d = self.design.dim
        return HuberState(0.0, np.zeros(d), np.zeros((d, d)))

    @cached_property
    def _unit(self) -> tuple[Vector, Vector, float, float]:
        """Factors and offsets that turn integers into z and y'."""
        *spans, _ = self.design.spans
        *offsets, offset_y = self.design.offsets
        half = float(self.design.half_y)
        step = float(self.design.records.step[-1])
        return (
            np.array([2.0 / span for span in spans]),
            np.array([offset / span for offset, span in zip(offsets, spans, strict=True)]),
            step / half,
            offset_y / 2 * step / half,
        )

    def partial(self, batch: Integers) -> HuberState:
        """Sum one batch, in chunks."""
        factors, offsets, unit_y, middle_y = self._unit
        theta, first = np.array(self.theta), int(self.design.intercept)
        d = len(theta)
        state = self.zero()
        value, gradient, hessian = 0.0, state.gradient, state.hessian
        z = np.ones((_CHUNK, d))
        for at in range(0, len(batch), _CHUNK):
            block = batch[at : at + _CHUNK]
            rows = z[: len(block)]
            np.multiply(block[:, :-1], factors, out=rows[:, first:])
            rows[:, first:] -= offsets
            residual = rows @ theta - (block[:, -1] * unit_y - middle_y)
            psi = np.clip(residual, -1.0, 1.0)
            value += float(psi @ residual) - float(psi @ psi) / 2
            gradient += psi @ rows
            inlier = rows[psi == residual]
            hessian += inlier.T @ inlier
        return HuberState(value, gradient, hessian)

    def merge(self, left: HuberState, right: HuberState) -> HuberState:
        """Add."""
        return HuberState(
            left.value + right.value,
            left.gradient + right.gradient,
            left.hessian + right.hessian,
        )
