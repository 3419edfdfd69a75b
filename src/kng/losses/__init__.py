"""Losses: a pointwise function times a model. Formulas; they read records only below the charge."""

from kng.losses.distance import Distance
from kng.losses.linear import Linear
from kng.losses.location import Location
from kng.losses.own import Objective, Score
from kng.losses.pointwise.counts import Counts
from kng.losses.pointwise.expectile import Expectile
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.logistic import Logistic
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.pointwise.squared import Squared
from kng.losses.quantiles import Quantiles

__all__ = [
    "Counts",
    "Distance",
    "Expectile",
    "Huber",
    "Linear",
    "Location",
    "Logistic",
    "Objective",
    "Pinball",
    "Quantiles",
    "Score",
    "SmoothedPinball",
    "Squared",
]
