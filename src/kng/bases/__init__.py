"""Base measures: how likely each theta is before the records are seen."""

from kng.bases.heavy import HeavyTailed
from kng.bases.uniform import Uniform

__all__ = ["HeavyTailed", "Uniform"]
