"""A linear model of a response: any pointwise function of its residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, ClassVar, cast

from kng.core.bodies import Body, Cuboid, Hull, product_set
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lattice import Lattice
from kng.core.naming import argument, call
from kng.core.parts import Field, Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.quadratic import Matrix
from kng.core.records import Source
from kng.core.regions import Grid, Region
from kng.core.shapes import BoxShape, Shape, with_intercept
from kng.losses.accelerators import accelerator_of, load_cells, load_plane_covers, minimisable
from kng.losses.accelerators import load_smooth_covers as load_smooth
from kng.losses.fields.cell_field import read_cells
from kng.losses.fields.linear_field import read_linear
from kng.losses.fields.piecewise_field import read_smooth
from kng.losses.fields.sloped_field import read_sloped
from kng.losses.kernels.gram import load_products
from kng.losses.kernels.linear_rows import ENDS, WHOLE, LinearRows
from kng.losses.linear_encoding import Range, linear_design, linear_jitter, linear_lattice
from kng.losses.linear_factor import LinearFactor
from kng.losses.linear_reach import LinearReach
from kng.losses.linear_spread import LinearSpread
from kng.losses.pointwise.function import Interval, Pointwise, Ranged, Stepped
from kng.losses.pointwise.sloped import Sloped
from kng.losses.pointwise.steps import exactly_stepped
from kng.losses.reading import ReadPlan, Weighs
from kng.losses.room import GENERIC, refuse_large, stays
from kng.losses.whole_values import whole_steps

if TYPE_CHECKING:
    from kng.core.parts import Loader, Plan, Reader

_EVERY = Interval(None, None)
# Up to how many coordinates a ball has walls, and boxes are a way to draw.
MOST_WALLS = 10
_NONE, _ONE = Fraction(0), Fraction(1)
_BOUNDED = f"Use a bounded domain ({argument('coef_bound')}, or kng.domains.L1Ball), or KNG"


@dataclass(frozen=True, slots=True)
class Linear:
    """A pointwise function of the residuals of a linear model.

        l(theta; z, y) = rho(z'theta, y'),      score = psi(z'theta, y') z
        z_j in [a_j, b_j] within [-1, 1],  z_0 = 1 for an intercept

    theta is in units of the response for a covariate at its bound: the prediction at the middle of
    the covariates, if there is an intercept, then coefficient times half a range for each.

    A bounded psi in [u, v] has the body  { w z : u <= w <= v }  (`LinearFactor`); where its range
    depends on the prediction, so do u and v on theta. One that grows without end has the closed
    forms of `LinearSpread`, at a theta or over a bounded region.

    Parameters
    ----------
    pointwise : Pointwise
        A function of a prediction and a response: ``Squared()``, ``Pinball(tau)``, ...
    target : str, optional
        The column of a table that is the response.
    intercept : bool
        Whether predictions have a constant term; without one covariates and response are measured
        from 0.

    Paper    Sections 4.2 and 4.5, and beyond it.
    Privacy  docs/proofs/losses/linear.md.
    Cost     One pass; the records are kept, unless psi is proportional to the residual.
    """

    pointwise: Pointwise
    target: str | None = None
    intercept: bool = True
    records: Design | None = None
    answers: Lattice | None = None
    # The width, in units of y', of a random shift that every response gets by itself before a
    # draw. No plane splits a heap of equal responses; a shift far below the noise makes it a slope
    # that planes can split. It moves with no other record, so it costs nothing.
    jitter: Fraction = _NONE
    model: ClassVar[str] = "linear"
    noun: ClassVar[str] = "coefficients, the intercept among them"
    served: ClassVar[str] = "Use objective perturbation."
    remedy: ClassVar[str] = f"L1Ball (least squares), {call('HuberRegressor')} or fewer covariates"

    def __post_init__(self) -> None:
        if self.records is None:
            return
        if self.records.intercept != self.intercept:
            raise SpecError("Linear: loss and design must agree on whether there is an intercept.")
        if self.answers is None:
            return
        step, zero = self.answers.step, (_NONE,) * self.records.dim
        middle = [last // 2 for last in self.answers.last]
        if len(set(step)) > 1 or self.answers.units(middle) != zero:
            raise SpecError("Linear: coefficients live on a lattice centred on 0 with one step.")
        if self.proportion is None and any(span != ENDS for span in self.records.spans[:-1]):
            raise SpecError(f"Linear reads covariates in steps of 2/{ENDS} of their unit.")
        if self.proportion is None:
            self.stepped(ENDS * sum(middle))  # refuses what would not stay exact

    def encode(
        self, covariates: Bounds, response: Range | None, weighs: Weighs = "gradient"
    ) -> Design:
        """Return how records with these bounds become whole numbers."""
        return linear_design(self.pointwise, self.intercept, covariates, response, weighs)

    def lattice(self, design: Design, bound: Fraction | None) -> Lattice:
        """Return where coefficients of at most this size live; None where they have no bound."""
        return linear_lattice(self.pointwise, design, bound)

    def best_shape(self, unit: PrivacyUnit, bounded: bool) -> Shape | None:
        """Return the ball that fits one record's changes best; None if each theta has another."""
        if self.proportion is not None and not bounded:
            return None
        found = self._bounded()
        # Scores lie around 0, so a record that becomes absent moves them no farther than another.
        kept = isinstance(unit.neighbours, ReplaceOne)
        return with_intercept(*found) if found and self.intercept and kept else BoxShape()

    def over(
        self, design: Design, answers: Lattice | None = None, jitter: Fraction | None = None
    ) -> Linear:
        """Return the loss of records with this design, and coefficients on this lattice."""
        wide = linear_jitter(self.pointwise, design) if jitter is None else jitter
        return replace(self, records=design, answers=answers, jitter=wide)

    @property
    def design(self) -> Design:
        """The records' bounds and steps, in standardised units."""
        if self.records is None:
            raise IncompatibleParts("losses.Linear knows no bounds of records. Use .over(design).")
        return self.records

    @property
    def dim(self) -> int:
        """Number of coefficients, the intercept included."""
        return self.design.dim

    @property
    def grid(self) -> Grid | None:
        """Where coefficients live."""
        return None if self.answers is None else Grid((_NONE,) * self.dim, self.answers.step)

    @property
    def proportion(self) -> Fraction | None:
        """The slope of psi where it is the same everywhere: sums of products are then enough."""
        sides = self.pointwise.sides
        return sides[0] if sides is not None and sides[0] == sides[1] else None

    def body(self, region: Region) -> Body:
        """Return what holds the score of any record at any theta of a region."""
        self._refuse_beyond(region)
        if self.factor is not None:
            return self.factor.over(region)
        bounded = self._bounded()
        return product_set(bounded, self._rows()) if bounded else self._spread(region).over(region)

    def smallest(self, region: Region) -> Body:
        """Return what reaches no farther than the scores at any theta of a region."""
        if self.factor is not None:
            return self.factor.under(region)
        bounded = self._bounded()
        return product_set(bounded, self._rows()) if bounded else self._spread(region).under(region)

    def values(self, region: Region) -> Body:
        """Return what holds the value of any record, in one coordinate.

        rho >= 0 is largest at an end of |z'theta| <= ||theta||_1 and of y'. As computed y' may
        have been rounded, cut off and shifted, and rho rounded down to a step.
        """
        self._refuse_beyond(region)
        (low, high), length = self.ends, region.length
        if length is None:
            raise IncompatibleParts(
                f"The value of the {self.pointwise.name} loss of a linear model grows with theta, "
                f"and the domain is unbounded. {_BOUNDED}, which weighs the gradient."
            )
        if self.proportion is None and self.answers is not None:
            rows = self.rows
            if rows.rounded == "up":
                length += self.jitter / 2 + rows.unit  # y' is rounded up and shifted
            else:
                low, high = (rows.unit * end for end in rows.ends())
        scale = self.prediction_unit
        etas = Interval(-length * scale, length * scale)
        rho = self.pointwise.rho(etas, Interval(low * scale, high * scale))
        assert rho.high is not None  # of bounded ranges
        return Hull((Cuboid((_NONE,), (whole_steps(self, rho.high, region),)),))

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
        assert self.answers is not None
        step = self.answers.step[0]
        if self.pointwise.curvature is None:
            return LinearRows(self.design, step, "up")
        if self.pointwise.scale is None:
            return LinearRows(self.design, step, "nearest")
        scale = self.pointwise.scale / self.design.half_y * ENDS / step
        reach = ENDS * sum(last // 2 + 1 for last in self.answers.last)
        return LinearRows(self.design, step, "nearest", reach + int(2 * scale))

    def stepped(self, most: int) -> Stepped:
        """Return the function in whole numbers, for predictions of at most so many of them."""
        low, high = self.rows.ends()
        if most + max(-low, high) > WHOLE:
            raise IncompatibleParts(
                f"The {self.pointwise.name} loss is exact while residuals are below 2**52 steps; "
                "coefficients and responses reach beyond. Use a larger step of the coefficients."
            )
        return exactly_stepped(
            self.pointwise, self.rows.unit * self.prediction_unit, *self._ranges(most)
        )

    @property
    def described(self) -> str:
        """What a receipt calls it."""
        return f"Linear({described(self.pointwise)}{'' if self.intercept else ', intercept=False'})"

    @property
    def units(self) -> str:
        """What theta is measured in."""
        unit = "of the response" if self.pointwise.residual else "of the prediction"
        return f"effects in units {unit}, for a covariate at its bound"

    @property
    def slow_from(self) -> int:
        """Planes that split records are quicker than smooth losses."""
        return 5 if self.pointwise.curvature is None else 4

    def offers(self, plan: DensityPlan) -> frozenset[str]:
        """Return what its field can do for a plan."""
        found = set()
        if self.proportion is not None:
            found = {"space", "score", "affine" if plan.weighs == "gradient" else "quadratic"}
        if plan.problem.domain.bounded and self.answers is not None:
            found |= {"score", "enclosed"} if self.dim <= MOST_WALLS else {"score"}
            if self.dim <= MOST_WALLS and accelerator_of([plan]) and not stays(plan):
                found.add("covered")
            if plan.weighs == "gradient" and isinstance(self.pointwise, Sloped):
                found |= {"sloped"} if self.proportion is None else set()
        return frozenset(found)

    def loaders(self, plan: Plan) -> tuple[Loader, ...]:
        """Return what loads sums of products, and covers."""
        jumps = self.pointwise.curvature is None
        products = () if jumps else (load_products,)
        if plan.weighs == "gradient" and stays(plan):
            return (*products, load_cells)
        covers = (load_plane_covers,) if jumps else (load_smooth,)
        return (*products, *(covers if "covered" in plan.offers else ()))

    def given(self, drawn: Sequence[Point]) -> Linear:  # noqa: ARG002
        """Return the same: it depends on nothing that was drawn."""
        return self

    def widths(self, theta: Matrix, unit: PrivacyUnit) -> Matrix:
        """Return how far one record moves each coordinate of the gradient, for rows of theta."""
        return self._growing.widths(theta, unit)

    def growth(self, unit: PrivacyUnit) -> Fraction | None:
        """Return s: no coordinate moves by more than s (1 + ||theta||_1); None if not affine."""
        if self.proportion is None:
            return None
        replaced = isinstance(unit.neighbours, ReplaceOne)
        return self.proportion * (self._growing.longest if replaced else _ONE)

    @property
    def factor(self) -> LinearFactor | None:
        """What a record's row is multiplied by, where that depends on theta and is bounded."""
        ranged = self.pointwise
        return LinearFactor(ranged, self._rows()) if isinstance(ranged, Ranged) else None

    @property
    def reach(self) -> LinearReach | None:
        """How far scores reach along any direction, where psi is one line."""
        return None if self.proportion is None else self._growing.reach

    def curvature(self) -> Fraction | None:
        """Return the largest eigenvalue of one record's Hessian, at most ||z||^2 times psi'.

        None where psi jumps, or where neither the quadratic pieces of the loss can be read nor its
        true gradient.
        """
        steepest = self.pointwise.curvature
        known = minimisable(self.pointwise, self.proportion, self.design)
        return (
            self.dim * steepest * self.prediction_unit if steepest is not None and known else None
        )

    def typical_size(self, length: Fraction | None) -> Fraction:
        """Return a public guess of the length of theta in a domain of this l1 length.

        2 scales, at which signal and noise are alike, or 2 units of a prediction that has one of
        its own, such as log-odds; otherwise half the length.
        """
        if self.pointwise.scale is None and self.pointwise.residual:
            return (length or _ONE) / 2
        return Fraction(2) if length is None else min(Fraction(2), length)

    def rescaled(self, threshold: Fraction) -> Linear:
        """Return the loss with this scale, in units of it."""
        pointwise = self.pointwise.rescaled(threshold)
        return replace(self, pointwise=pointwise, records=replace(self.design, scale=threshold))

    def read(self, source: Source, plans: Sequence[Plan]) -> Sequence[Field]:
        """Read the records once for all plans; below the charge."""
        if plans[0].weighs == "smooth":
            return read_smooth(source, plans)
        asked = cast("Sequence[ReadPlan]", plans)
        return self.reader(*asked)(source, asked)

    def reader(self, *plans: DensityPlan | ReadPlan) -> Reader:
        """Return the accelerator that serves plans, or the generic way."""
        if any(map(stays, plans)):
            return read_cells
        boxes = plans[0].problem.domain.bounded and self.dim <= MOST_WALLS
        found = accelerator_of(plans) if boxes else None
        if self.proportion is None:
            refuse_large(plans[0].problem, self.dim if found else GENERIC * self.dim)
        return found.read if found else read_linear

    @property
    def sloped_reader(self) -> Reader:
        """How records are read for samplers that ask for slopes of psi."""
        return read_sloped

    def largest(self, most: int) -> int:
        """Return the largest |psi| in whole steps, for predictions of at most so many of them."""
        found = self.pointwise.psi(*self._ranges(most))
        assert found.largest is not None  # of bounded ranges
        return ceil(found.largest / self.stepped(most).psi_step)

    def _ranges(self, most: int) -> tuple[Interval, Interval]:
        """Return where predictions of at most so many whole numbers lie, and where responses do."""
        unit, (low, high) = self.rows.unit * self.prediction_unit, self.rows.ends()
        return Interval(-most * unit, most * unit), Interval(low * unit, high * unit)

    @property
    def prediction_unit(self) -> Fraction:
        """What y' is measured in for a pointwise function that has a scale of its own."""
        return _ONE if self.pointwise.scale is None else self.design.half_y

    def _bounded(self) -> tuple[Fraction, Fraction] | None:
        found = self.pointwise.psi(_EVERY, _EVERY)
        return None if found.low is None or found.high is None else (found.low, found.high)

    def _rows(self) -> Cuboid:
        lows, highs = zip(*self.design.rows, strict=True)
        return Cuboid(lows, highs)

    def _refuse_beyond(self, region: Region) -> None:
        """Refuse a domain that reaches beyond the lattice, where whole numbers are not exact."""
        if self.answers is None or self.proportion is not None or not region.bounded:
            return
        room = self.answers.step[0] * (self.answers.last[0] // 2 + 1)
        if any(max(abs(low), abs(high)) >= room for low, high in region.sides()):
            raise IncompatibleParts(
                f"The domain reaches beyond {float(room):g}, where coefficients of this linear "
                "model are no longer exact. Use a smaller domain, or a lattice made for this one."
            )

    @property
    def _growing(self) -> LinearSpread:
        sides = self.pointwise.sides
        assert sides is not None  # psi grows without end
        return LinearSpread(self.pointwise, sides, self.design)

    def _spread(self, region: Region) -> LinearSpread:
        sides = self.pointwise.sides
        if sides is None or not region.bounded:
            raise IncompatibleParts(
                f"The score of the {self.pointwise.name} loss of a linear model grows with theta, "
                f"and the domain is unbounded, so it has no constant sensitivity. {_BOUNDED}, "
                "which takes the one at theta."
            )
        return self._growing
