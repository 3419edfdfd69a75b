"""Norms: the K of the K-norm gradient mechanism."""

from kng.norms.comparison import Comparison, compare
from kng.norms.coordinate import CoordinateSup
from kng.norms.exchange import Exchange
from kng.norms.hull import Hull
from kng.norms.intercept import InterceptSup
from kng.norms.lp import L1, L2, LInf
from kng.norms.polytope import Polytope
from kng.norms.variation import Variation
from kng.norms.weighted import WeightedSup

__all__ = [
    "L1",
    "L2",
    "Comparison",
    "CoordinateSup",
    "Exchange",
    "Hull",
    "InterceptSup",
    "LInf",
    "Polytope",
    "Variation",
    "WeightedSup",
    "compare",
]
