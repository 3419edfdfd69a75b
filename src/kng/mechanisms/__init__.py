"""Mechanisms: how theta is weighed. None of them can see data."""

from kng.mechanisms.exponential import Exponential
from kng.mechanisms.kng import KNG
from kng.mechanisms.knorm import KNorm
from kng.mechanisms.objective import ObjectivePerturbation
from kng.mechanisms.scaled import ScaledPerturbation

__all__ = ["KNG", "Exponential", "KNorm", "ObjectivePerturbation", "ScaledPerturbation"]
