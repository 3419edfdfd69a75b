"""Smooth losses as minimisers ask them: quadratic in pieces, or else by their true gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from kng.core.design import Design
from kng.core.parts import Field, Norm, Point
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.quadratic import Quadratic, fraction, rational
from kng.core.records import Records, Source
from kng.core.regions import Theta
from kng.losses.fields.curved_field import CurvedSums
from kng.losses.fields.curved_passes import CurvedPasses
from kng.losses.fields.quadratic_field import QuadraticField
from kng.losses.kernels.curved_rows import Blocks, CurvedRows
from kng.losses.kernels.gram import Gram
from kng.losses.kernels.held import Everything, Held
from kng.losses.kernels.pieces import PieceSums
from kng.losses.kernels.totals import Totals
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.reading import measured_in
from kng.losses.room import held

if TYPE_CHECKING:
    from kng.core.parts import Plan

# A and b of  psi = A clip(r, -1, 1) + b,  r the residual in units of the scale.
Clipped = tuple[Fraction, Fraction]
PLAIN = Fraction(1), Fraction(0)

# So many records are brought home once, where their number is public, and not once a step.
_HELD = 2**16


def clipped_of(pointwise: object) -> Clipped | None:
    """Return A and b of Huber's function and of the smoothed check loss; None of any other."""
    if type(pointwise) is SmoothedPinball:
        return pointwise.clipped
    return PLAIN if type(pointwise) is Huber else None


def read_pieces(
    source: Source, design: Design, unit: PrivacyUnit, norm: Norm, clipped: Clipped = PLAIN
) -> PiecewiseField:
    """Return the summed loss; each piece of it is one pass."""
    neighbours = unit.neighbours
    records: Records = source
    if isinstance(neighbours, ReplaceOne) and neighbours.n <= _HELD:
        records = Held(source.collect(Everything()))
    times, push = clipped
    return PiecewiseField(records, design, norm, times, _pushed(records, design, push))


def _pushed(records: Records, design: Design, push: Fraction) -> Theta:
    """Return  push * sum of z,  exactly."""
    if not push:
        return (Fraction(0),) * design.dim
    n, *sums = records.reduce(Totals(len(design.spans)))
    columns = zip(sums, design.offsets, design.spans, strict=True)
    *slopes, _ = (push * Fraction(2 * value - n * c, s) for value, c, s in columns)
    return (push * n, *slopes) if design.intercept else tuple(slopes)


def read_smooth(source: Source, plans: Sequence[Plan]) -> list[Field]:
    """Read what minimisers need; records that all plans look at many times are kept once."""
    kept: Blocks | None = None
    fields: list[Field] = []
    for plan in plans:
        problem = plan.problem
        loss: Any = problem.loss
        design, pointwise, slope = loss.design, loss.pointwise, loss.proportion
        if slope is not None:
            state, measure = source.reduce(Gram(design.records.last)), measured_in(problem.norm)
            fields.append(QuadraticField.of(state, design, slope, Fraction(1), measure))
        elif (clipped := clipped_of(pointwise)) is not None:
            pieces = read_pieces(source, design, problem.unit, problem.norm, clipped)
            fields.append(pieces)
        else:
            scale = loss.prediction_unit
            if not held(problem.unit, len(design.spans), problem.memory):
                # Those that are present: how many rows the table has may be nobody's to ask.
                present, _ = source.sums()
                passed = CurvedPasses(source, present, design, pointwise, scale)
                fields.append(cast("Field", passed))
                continue
            kept = source.reduce(CurvedRows(design)) if kept is None else kept
            fields.append(cast("Field", CurvedSums(kept, design, pointwise, scale)))
    return fields


@dataclass(frozen=True)
class PiecewiseField:
    """A summed loss over a source of records: squared within a scale of its own, linear beyond.

    It is ``times`` Huber's loss, and ``push``'theta.
    """

    source: Records
    design: Design
    norm: Norm
    times: Fraction = Fraction(1)
    push: Theta | None = None

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        """Return the quadratic around theta, in one pass.

        With I the records whose residual is at most ``width``, in scales, and s the signs of the
        others,

            matrix = sum over I of z z' / width,    vector = sum over I of z y' / width - sum of s z

        which at a width of 1 is Huber's loss, and above it a smoother one.
        """
        sums = self.source.reduce(PieceSums(self.design, tuple(theta), width))
        found = sums.quadratic(self.design, width)
        if self.times == 1 and not any(self.push or ()):
            return found
        each = rational(self.times)
        scaled = Quadratic(found.matrix * each, found.vector * each)
        return scaled.plus(Fraction(0), self.push or (Fraction(0),) * found.dim)

    def score(self, theta: Point) -> Fraction:
        """Return the norm of the gradient at a point of the design's lattice."""
        return self.norm.value(self.gradient(self.design.lattice.units(theta)))

    def gradient(self, theta: Theta) -> list[Fraction]:
        """Return the gradient of the summed loss."""
        found = self.piece(theta, Fraction(1))
        at = type(found.vector)(len(theta), 1, [rational(v) for v in theta])
        return [fraction(v) for v in (found.matrix * at - found.vector).entries()]
