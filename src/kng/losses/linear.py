"""A linear model of a response: any pointwise function of its residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from kng.core.bodies import Body, Cuboid, Hull, product_set
from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lattice import Lattice
from kng.core.parts import Field
from kng.core.plan import DensityPlan
from kng.core.protocols import EVERY, Source
from kng.core.regions import Grid, Region
from kng.losses.fields.linear_field import Length, LinearField
from kng.losses.fields.quadratic_field import QuadraticField
from kng.losses.kernels.gram import Gram
from kng.losses.kernels.linear_rows import ENDS, WHOLE, LinearRows
from kng.losses.linear_spread import LinearSpread
from kng.losses.pointwise.function import Interval, Pointwise, Stepped

_EVERY = Interval(None, None)
# Steps of the largest value, where values are rounded to steps.
LOSS = 2**41
_NONE, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Linear:
    """A pointwise function of the residuals of a linear model.

        l(theta; z, y) = rho(z'theta, y),      score = psi(z'theta, y) z

    Parameters
    ----------
    pointwise : Squared, Pinball, Huber, ...
        The function rho of a prediction and a response.
    target : str, optional
        The column of a table that is the response.
    intercept : bool
        Whether predictions have a constant term; without one covariates and response are measured
        from 0.

    Notes
    -----
    theta is in units of the response for a covariate at its bound: the prediction at the middle of
    the covariates, if there is an intercept, then coefficient times half a range for each.
    """

    pointwise: Pointwise
    target: str | None = None
    intercept: bool = True

    def over(
        self, design: Design, lattice: Lattice | None = None, jitter: Fraction = _NONE
    ) -> LinearLoss:
        """Return the loss of records with this design; ``lattice`` is where coefficients live."""
        if design.intercept != self.intercept:
            raise SpecError("Linear: loss and design must agree on whether there is an intercept.")
        return LinearLoss(self.pointwise, design, lattice, jitter)


@dataclass(frozen=True, slots=True)
class LinearLoss:
    """A pointwise function of residuals, over records with a public design.

        score = psi(z'theta, y') z,      z_j in [a_j, b_j] within [-1, 1],  z_0 = 1 for an intercept

    A bounded psi in [u, v] has the body  { w z : u <= w <= v },  for every theta and every y. One
    that grows without end has the closed forms of `LinearSpread`, at a theta or over a bounded
    region.

    ``lattice`` is where coefficients live, centred on 0 with one step; ``jitter`` is the width, in
    units of y', of a random shift that every response gets by itself before a draw. No plane splits
    a heap of equal responses; a shift far below the noise makes it a slope that planes can split.
    It moves with no other record, so it costs nothing.

    Paper    Sections 4.2 and 4.5, and beyond it.
    Privacy  docs/proofs/losses/linear.md.
    Cost     One pass; the records are kept, unless psi is linear.
    """

    pointwise: Pointwise
    design: Design
    lattice: Lattice | None = None
    jitter: Fraction = _NONE

    def __post_init__(self) -> None:
        if self.lattice is None:
            return
        step, d = self.lattice.step, self.design.dim
        if (
            len(step) != d
            or len(set(step)) > 1
            or self.lattice.units(_middle(self.lattice)) != ((_NONE,) * d)
        ):
            raise SpecError("Linear: coefficients live on a lattice centred on 0 with one step.")
        if self.proportion is None and any(span != ENDS for span in self.design.spans[:-1]):
            raise SpecError(f"Linear reads covariates in steps of 2/{ENDS} of their unit.")

    @property
    def dim(self) -> int:
        """Number of coefficients, the intercept included."""
        return self.design.dim

    @property
    def grid(self) -> Grid | None:
        """Where coefficients live."""
        if self.lattice is None:
            return None
        return Grid((_NONE,) * self.dim, self.lattice.step)

    @property
    def proportion(self) -> Fraction | None:
        """The slope of psi where it is the same everywhere: sums of products are then enough."""
        sides = self.pointwise.sides
        return sides[0] if sides is not None and sides[0] == sides[1] else None

    def body(self, region: Region) -> Body:
        """Return what holds the score of any record at any theta of a region."""
        bounded = self._bounded()
        if bounded is not None:
            return product_set(bounded, self._rows())
        return self._spread(region).over(region)

    def smallest(self, region: Region) -> Body:
        """Return what reaches no farther than the scores at any theta of a region."""
        bounded = self._bounded()
        if bounded is not None:
            return product_set(bounded, self._rows())
        return self._spread(region).under(region)

    def values(self, region: Region) -> Body:
        """Return what holds the value of any record, in one coordinate.

        rho >= 0 is largest at an end of |z'theta| <= ||theta||_1 and of y'. As computed y' may
        have been rounded, cut off and shifted, and rho rounded down to a step.
        """
        low, high = self.ends
        length = _length(region)
        if length is None:
            raise IncompatibleParts(
                f"The value of the {self.pointwise.name} loss of a linear model grows with theta, "
                "and the domain is unbounded. Use a bounded domain (coef_bound, or "
                "kng.domains.L1Ball), or KNG, which weighs the gradient."
            )
        if self.proportion is None and self.lattice is not None:
            rows = self.rows
            if rows.rounded == "up":
                length += self.jitter / 2 + rows.unit  # y' is rounded up and shifted
            else:
                low, high = (rows.unit * end for end in rows.ends())
        scale = self._scale
        rho = self.pointwise.rho(_between(-length, length, scale), _between(low, high, scale))
        assert rho.high is not None  # of bounded ranges
        return Hull((Cuboid((_NONE,), (self._whole_steps(rho.high, region),)),))

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        """The least and the largest y'."""
        unit = self.design.halves[-1] / self.design.half_y
        low, high = self.design.ends[-1]
        return unit * low, unit * high

    @property
    def rows(self) -> LinearRows:
        """How records become whole numbers.

        Where psi no longer changes beyond a residual of one scale, a response is cut off where
        every plane of the lattice is farther away than that; scores are the same, and values but
        for a constant.
        """
        assert self.lattice is not None
        step = self.lattice.step[0]
        if self.pointwise.curvature is None:
            return LinearRows(self.design, step, "up")
        if self.pointwise.scale is None:
            return LinearRows(self.design, step, "nearest")
        scale = self.pointwise.scale / self.design.half_y * ENDS / step
        reach = ENDS * sum(last // 2 + 1 for last in self.lattice.last)
        return LinearRows(self.design, step, "nearest", reach + int(2 * scale))

    def stepped(self, most: int) -> Stepped:
        """Return the function in whole numbers, for predictions of at most so many of them."""
        rows = self.rows
        low, high = rows.ends()
        if most + max(-low, high) > WHOLE:
            raise IncompatibleParts(
                f"The {self.pointwise.name} loss is exact while residuals are below 2**52 steps; "
                "coefficients and responses reach beyond. Use a larger step of the coefficients."
            )
        unit = rows.unit * self._scale
        return self.pointwise.stepped(
            unit, Interval(-most * unit, most * unit), Interval(low * unit, high * unit)
        )

    def read(self, source: Source, plans: Sequence[DensityPlan]) -> Sequence[Field]:
        """Read the records once, for all plans."""
        assert self.lattice is not None
        step = self.lattice.step[0]
        if self.proportion is not None:
            state = source.reduce(Gram(self.design.records.last))
            return [
                QuadraticField.of(state, self.design, self.proportion, step, _measured(plan))
                for plan in plans
            ]
        steps = [self.stepped(_most(plan)) for plan in plans]
        table = source.collect(self.rows, EVERY)
        rows, response = np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()
        del table
        # log2 of the shifts there are, in whole numbers of y
        jitter = max(0, int(self.jitter / self.rows.unit).bit_length() - 1)
        return [
            LinearField(rows, response, stepped, _measured(plan), self._largest(plan), jitter)
            for plan, stepped in zip(plans, steps, strict=True)
        ]

    @property
    def _scale(self) -> Fraction:
        """What y' is measured in for a pointwise function that has a scale of its own."""
        return _ONE if self.pointwise.scale is None else self.design.half_y

    def _bounded(self) -> tuple[Fraction, Fraction] | None:
        found = self.pointwise.psi(_EVERY, _EVERY)
        return None if found.low is None or found.high is None else (found.low, found.high)

    def _rows(self) -> Cuboid:
        ends = self.design.ends[:-1]
        if self.design.intercept:
            ends = ((_ONE, _ONE), *ends)
        return Cuboid(tuple(low for low, _ in ends), tuple(high for _, high in ends))

    def _spread(self, region: Region) -> LinearSpread:
        sides = self.pointwise.sides
        if sides is None or not region.bounded:
            raise IncompatibleParts(
                f"The score of the {self.pointwise.name} loss of a linear model grows with theta, "
                "and the domain is unbounded, so it has no constant sensitivity. Use a bounded "
                "domain (coef_bound, or kng.domains.L1Ball), or KNG, which takes the one at theta."
            )
        return LinearSpread(self.pointwise, sides, self.design)

    def _largest(self, plan: DensityPlan) -> int:
        """Return the largest |psi| in whole steps."""
        steps, unit = self.stepped(_most(plan)), self.rows.unit * self._scale
        low, high = self.rows.ends()
        eta = _most(plan) * unit
        found = self.pointwise.psi(Interval(-eta, eta), Interval(low * unit, high * unit))
        assert found.low is not None
        assert found.high is not None
        return ceil(max(-found.low, found.high) / steps.psi_step)

    def _whole_steps(self, value: Fraction, region: Region) -> Fraction:
        """Round a largest value up to a whole step, where values are rounded to public steps.

        No value has more than LOSS steps, a power of two of which is 1.
        """
        scale = self.pointwise.scale
        if scale is None or self.lattice is None:
            return value
        rows = self.rows
        step, sides = self.lattice.step[0], zip(*_corners(region), strict=True)
        reach = ENDS * sum(floor(max(abs(low), abs(high)) / step) for low, high in sides)
        residual = reach + max(map(abs, rows.ends()))
        own = scale / self.design.half_y / rows.unit
        steps = Fraction(LOSS, 2 ** int(residual / own).bit_length())
        return max(ceil(value * steps), 1) / steps


def _between(low: Fraction, high: Fraction, scale: Fraction) -> Interval:
    return Interval(low * scale, high * scale)


def _middle(lattice: Lattice) -> tuple[int, ...]:
    return tuple(last // 2 for last in lattice.last)


def _corners(region: Region) -> tuple[Sequence[Fraction], Sequence[Fraction]]:
    assert region.low is not None
    assert region.high is not None
    return region.low, region.high


def _length(region: Region) -> Fraction | None:
    """Return the largest ||theta||_1."""
    if not region.bounded:
        return region.length
    sides = zip(*_corners(region), strict=True)
    box = sum((max(abs(low), abs(high)) for low, high in sides), _NONE)
    return box if region.length is None else min(box, region.length)


def _measured(plan: DensityPlan) -> Length | None:
    """Return the norm of a plan that weighs gradients, and None for one that weighs values."""
    return plan.problem.norm.value if plan.score == "gradient" else None


def _most(plan: DensityPlan) -> int:
    """Return the largest prediction over a plan's box, in whole numbers."""
    sides = zip(plan.domain.first, plan.domain.last, strict=True)
    return ENDS * sum(max(abs(first), abs(last)) for first, last in sides)
