"""Norms by the shape of their unit ball."""

from __future__ import annotations

from kng.core.parts import Norm
from kng.core.shapes import (
    BoxShape,
    ExchangeShape,
    FacetShape,
    InterceptShape,
    RoundShape,
    Shape,
    SumShape,
    VariationShape,
)
from kng.norms.coordinate import CoordinateSup
from kng.norms.exchange import Exchange
from kng.norms.intercept import InterceptSup
from kng.norms.lp import L1, L2, LInf
from kng.norms.polytope import Polytope
from kng.norms.variation import Variation
from kng.norms.weighted import WeightedSup


def norm_of_shape(shape: Shape | None) -> Norm:
    """Return the norm with this ball; None stands for one that follows what a record can do."""
    match shape:
        case BoxShape(half_widths):
            return WeightedSup(half_widths) if half_widths else LInf()
        case SumShape(weights):
            return L1(weights)
        case RoundShape(weights):
            return L2(weights)
        case InterceptShape(slope):
            return InterceptSup(slope)
        case FacetShape(facets):
            return Polytope(facets=facets)
        case VariationShape():
            return Variation()
        case ExchangeShape():
            return Exchange()
        case None:
            return CoordinateSup()
