"""Which field a minimiser asks: of one quadratic, of quadratics in pieces, or a true gradient."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from kng.core.design import Design
from kng.core.parts import Field, Norm
from kng.core.privacy import PrivacyUnit
from kng.core.records import Source
from kng.losses.fields.curved_field import encloses, read_curved
from kng.losses.fields.piecewise_field import PLAIN, Clipped, read_pieces
from kng.losses.fields.quadratic_field import QuadraticField
from kng.losses.kernels.gram import Gram
from kng.losses.pointwise.curved import Curved
from kng.losses.pointwise.function import Pointwise
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.reading import measured_in


def minimisable(pointwise: Pointwise, proportion: Fraction | None, design: Design) -> bool:
    """Tell whether a minimiser can be decided, by quadratic pieces or the true gradient."""
    pieces = _clipped(pointwise) is not None and pointwise.scale == design.half_y
    return proportion is not None or pieces or encloses(pointwise, design)


def _clipped(pointwise: object) -> Clipped | None:
    """Return A and b if psi = A clip(r, -1, 1) + b: of Huber's and of the smoothed check loss."""
    if type(pointwise) is SmoothedPinball:
        return pointwise.clipped
    return PLAIN if type(pointwise) is Huber else None


def read_smooth(  # noqa: PLR0917
    source: Source,
    design: Design,
    pointwise: Pointwise,
    proportion: Fraction | None,
    scale: Fraction,
    unit: PrivacyUnit,
    norm: Norm,
) -> Field:
    """Read what a minimiser needs; ``proportion`` is the slope of psi where it has only one."""
    if proportion is not None:
        state = source.reduce(Gram(design.records.last))
        return QuadraticField.of(state, design, proportion, Fraction(1), measured_in(norm))
    clipped = _clipped(pointwise)
    if clipped is not None:
        return read_pieces(source, design, unit, norm, clipped)
    curved = cast("Curved", pointwise)  # or it could not be minimised
    return cast("Field", read_curved(source, design, curved, scale))
