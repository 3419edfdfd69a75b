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
from kng.losses.fields.quadratic_field import QuadraticField
from kng.losses.kernels.curved_rows import Blocks, CurvedRows
from kng.losses.kernels.gram import Gram
from kng.losses.kernels.held import Everything, Held
from kng.losses.kernels.pieces import PieceSums
from kng.losses.pointwise.huber import Huber
from kng.losses.reading import measured_in

if TYPE_CHECKING:
    from kng.core.parts import Plan

# So many records are brought home once, where their number is public, and not once a step.
_HELD = 2**16


def read_pieces(source: Source, design: Design, unit: PrivacyUnit, norm: Norm) -> PiecewiseField:
    """Return the summed loss; each piece of it is one pass."""
    neighbours, records = unit.neighbours, source
    if isinstance(neighbours, ReplaceOne) and neighbours.n <= _HELD:
        return PiecewiseField(Held(records.collect(Everything(), neighbours.n)), design, norm)
    return PiecewiseField(records, design, norm)


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
        elif type(pointwise) is Huber:
            fields.append(read_pieces(source, design, problem.unit, problem.norm))
        else:
            kept = source.reduce(CurvedRows(design)) if kept is None else kept
            curved = CurvedSums(kept, design, pointwise, loss.prediction_unit)
            fields.append(cast("Field", curved))
    return fields


@dataclass(frozen=True)
class PiecewiseField:
    """A summed loss over a source of records: squared within a scale of its own, linear beyond."""

    source: Records
    design: Design
    norm: Norm

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        """Return the quadratic around theta, in one pass.

        With I the records whose residual is at most ``width``, in scales, and s the signs of the
        others,

            matrix = sum over I of z z' / width,    vector = sum over I of z y' / width - sum of s z

        which at a width of 1 is the loss, and above it a smoother one.
        """
        sums = self.source.reduce(PieceSums(self.design, tuple(theta), width))
        return sums.quadratic(self.design, width)

    def score(self, theta: Point) -> Fraction:
        """Return the norm of the gradient at a point of the design's lattice."""
        return self.norm.value(self.gradient(self.design.lattice.units(theta)))

    def gradient(self, theta: Theta) -> list[Fraction]:
        """Return the gradient of the summed loss."""
        found = self.piece(theta, Fraction(1))
        at = type(found.vector)(len(theta), 1, [rational(v) for v in theta])
        return [fraction(v) for v in (found.matrix * at - found.vector).entries()]
