"""The front door: functions and estimators in the caller's words."""

from kng.estimators.geometric_median import geometric_median
from kng.estimators.mean import mean
from kng.estimators.quantile import median, quantile

__all__ = ["geometric_median", "mean", "median", "quantile"]
