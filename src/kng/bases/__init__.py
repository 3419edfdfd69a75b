"""Base measures: how likely each theta is before the records are seen."""

from kng.bases.density import Density
from kng.bases.earlier import Earlier
from kng.bases.gaussian import Gaussian
from kng.bases.heavy import HeavyTailed
from kng.bases.student import Student
from kng.bases.uniform import Uniform

__all__ = ["Density", "Earlier", "Gaussian", "HeavyTailed", "Student", "Uniform"]
