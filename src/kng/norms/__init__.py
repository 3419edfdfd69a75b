"""Norms: the K of the K-norm gradient mechanism."""

from kng.norms.lp import L1, LInf
from kng.norms.weighted import WeightedSup

__all__ = ["L1", "LInf", "WeightedSup"]
