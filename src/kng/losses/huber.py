"""Huber's loss for linear regression: squared for small residuals, linear for large ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kng.core.design import Design
from kng.core.privacy import Neighbours, ReplaceOne
from kng.core.protocols import Records, Source
from kng.core.regression import Quadratic
from kng.losses.kernels.gram import load_products
from kng.losses.kernels.held import Everything, Held
from kng.losses.kernels.pieces import PieceSums

# So many records are brought home once, where their number is public, and not once a step.
_HELD = 2**16


@dataclass(frozen=True, slots=True)
class Huber:
    """Huber's loss in units of its threshold.

        r = z'theta - y',   y' = (y - middle) / threshold,   |z_j| <= 1
        l = r^2 / 2  if |r| <= 1,  else |r| - 1/2;       gradient = clip(r, -1, 1) z

    The gradient is bounded whatever y and theta are, so no bound on y enters the sensitivity and
    none on theta is needed. This is where most of the accuracy gain comes from.

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

    def prepare(self) -> None:
        """Load what reading needs."""
        load_products()

    def read_smooth(self, source: Source, design: Design, neighbours: Neighbours) -> HuberField:
        """Return the summed loss; each piece of it is one pass."""
        return read_pieces(source, design, neighbours)


def read_pieces(source: Source, design: Design, neighbours: Neighbours) -> HuberField:
    """Return Huber's summed loss in units of its threshold; few records are brought home once."""
    if isinstance(neighbours, ReplaceOne) and neighbours.n <= _HELD:
        return HuberField(Held(source.collect(Everything(), neighbours.n)), design)
    return HuberField(source, design)


@dataclass(frozen=True)
class HuberField:
    """The summed loss over a source of records."""

    source: Records
    design: Design

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        """Return the quadratic around theta, in one pass.

        With I the records whose residual is at most ``width``, in thresholds, and s the signs of
        the others,

            matrix = sum over I of z z' / width,    vector = sum over I of z y' / width - sum of s z

        which at a width of 1 is Huber's loss, and above it a smoother one.
        """
        sums = self.source.reduce(PieceSums(self.design, tuple(theta), width))
        return sums.quadratic(self.design, width)
