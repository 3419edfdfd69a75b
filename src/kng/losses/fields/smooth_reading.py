"""Which field a minimiser asks: of one quadratic, of quadratics in pieces, or a true gradient."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from kng.core.design import Design
from kng.core.parts import Field
from kng.core.records import EVERY, Source
from kng.losses.fields.curved_field import CurvedSums, encloses
from kng.losses.fields.piecewise_field import read_pieces
from kng.losses.fields.quadratic_field import QuadraticField
from kng.losses.kernels.curved_rows import CurvedRows
from kng.losses.kernels.gram import Gram
from kng.losses.pointwise.function import Pointwise
from kng.losses.pointwise.huber import Huber
from kng.losses.reading import measured_in

if TYPE_CHECKING:
    from kng.core.parts import Plan


def minimisable(pointwise: Pointwise, proportion: Fraction | None, design: Design) -> bool:
    """Tell whether a minimiser can be decided, by pieces (Huber's only) or the true gradient."""
    pieces = type(pointwise) is Huber and pointwise.scale == design.half_y
    return proportion is not None or pieces or encloses(pointwise, design)


def read_smooth(source: Source, plans: Sequence[Plan]) -> list[Field]:
    """Read what minimisers need; records that all plans look at many times are kept once."""
    rows: Any = None
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
            rows = source.collect(CurvedRows(design), EVERY) if rows is None else rows
            curved = CurvedSums(rows, design, pointwise, loss.prediction_unit)
            fields.append(cast("Field", curved))
    return fields
