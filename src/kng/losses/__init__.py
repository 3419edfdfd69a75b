"""Losses: what is minimised. Formulas first; they read records only below the charge."""

from kng.losses.geometric_median import GeometricMedian
from kng.losses.huber import Huber
from kng.losses.huber_plane import HuberPlane
from kng.losses.least_squares import LeastSquares
from kng.losses.pinball import Pinball
from kng.losses.quantile_plane import QuantilePlane
from kng.losses.radius import Radius
from kng.losses.squared import Squared

__all__ = [
    "GeometricMedian",
    "Huber",
    "HuberPlane",
    "LeastSquares",
    "Pinball",
    "QuantilePlane",
    "Radius",
    "Squared",
]
