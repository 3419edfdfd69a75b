"""Stages between two fits: where the residuals of the first lie, and how far they spread.

    centre   a private quantile of  y - z'theta,  theta the plane that was drawn before
    radius   half of the residuals are nearer to the centre than this

Both have a part of epsilon. How much, and whether there are such stages, is decided from public
facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from statistics import NormalDist

from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.parts import Loss, Point
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.core.records import Source
from kng.core.scale import ResidualScale
from kng.corridor import Stage
from kng.domains import Box
from kng.estimators.planned import planned
from kng.losses.pointwise.pinball import Pinball
from kng.losses.residuals import LAST, RADII, STEPS, FromPlane, residual_losses
from kng.mechanisms import KNG
from kng.norms import LInf

# The quantile that is looked for has so many of the residuals beyond it: their plane's own quantile
# if it is not farther out.
_OUTERMOST = Fraction(1, 10)
_HALF = Fraction(1, 2)
# Records times epsilon for the two draws: beyond the quantile exp(-16) for each wrong centre, and
# exp(-15) for a radius that is off by a quarter of the records.
_BEYOND, _WITHIN = 32, 60
# The least part that is spent on the two, and the most.
_LEAST, _MOST = Fraction(3, 100), Fraction(1, 10)
# Numbers of the normal distribution are rounded to so many parts.
_PARTS = 64
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class ResidualStages:
    """The stages for one quantile tau; ``position`` is where its plane is drawn."""

    tau: Fraction
    design: Design
    lattice: Lattice
    unit: PrivacyUnit
    position: int

    @property
    def level(self) -> Fraction:
        """The quantile of the residuals that is drawn."""
        return min(max(self.tau, _OUTERMOST), 1 - _OUTERMOST)

    def stages(self, source: Source, epsilon: Fraction) -> list[Stage]:
        """Return two stages that spend epsilon, in proportion to what each needs."""
        plane = FromPlane(self.design, self.lattice, self.position)
        losses = residual_losses(Pinball(self.level), Pinball(_HALF), plane)
        first = epsilon * _centre_needs(self.level) / needed(self.tau)
        return [
            Stage([planned(KNG(), self._problem(loss), part, "auto")], source)
            for loss, part in zip(losses, (first, epsilon - first), strict=True)
        ]

    def _problem(self, loss: Loss) -> Problem:
        records = loss.encoding  # type: ignore[attr-defined]
        line: Lattice = records.lattice
        return Problem(loss, LInf(), Box.of(line), records, line, self.unit)

    def scale(self, drawn: Sequence[Point]) -> ResidualScale:
        """Read off what was drawn; beyond the outermost quantile residuals are taken as normal."""
        plane, (centre,), (radius,) = drawn[self.position : self.position + 3]
        step = self.design.half_y / STEPS
        size = step * RADII.radii[radius] * _over_half(self.level)
        shift = step * (centre - LAST // 2) + size * _farther(self.level, self.tau)
        return ResidualScale(tuple(plane), shift, size)


def part_for(tau: Fraction, worth: Fraction | None) -> Fraction | None:
    """Return the part of epsilon for residuals, in whole percents; None if records are too few.

    ``worth`` is the number of records times epsilon, where it is public.
    """
    if worth is None:
        return (_LEAST + _MOST) / 2
    part = max(Fraction(ceil(100 * needed(tau) / worth), 100), _LEAST)
    return part if part <= _MOST else None


def needed(tau: Fraction) -> Fraction:
    """Return the records times epsilon that both draws need."""
    return _centre_needs(min(max(tau, _OUTERMOST), 1 - _OUTERMOST)) + _WITHIN


def _centre_needs(level: Fraction) -> Fraction:
    return _BEYOND / min(level, 1 - level)


def _over_half(level: Fraction) -> Fraction:
    """Return one over the radius around a normal quantile that holds half of the distribution."""
    z, low, high = _NORMAL.inv_cdf(float(level)), 0.0, 8.0
    while high - low > 2.0**-20:
        middle = (low + high) / 2
        half = _NORMAL.cdf(z + middle) - _NORMAL.cdf(z - middle) < 0.5
        low, high = (middle, high) if half else (low, middle)
    return Fraction(round(_PARTS / low), _PARTS)


def _farther(level: Fraction, tau: Fraction) -> Fraction:
    """Return how far apart two normal quantiles are."""
    if level == tau:
        return Fraction(0)
    ends = [_NORMAL.inv_cdf(min(max(float(q), 1e-6), 1 - 1e-6)) for q in (level, tau)]
    return Fraction(round((ends[1] - ends[0]) * _PARTS), _PARTS)
