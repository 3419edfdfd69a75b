"""Covariates of records to predict, as a fitted model knows them; nothing is charged for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.data import covariates_of
from kng.estimators.array_shapes import checked, covariates_in


def covariates_to_predict(model: Any, X: Any) -> NDArray[np.float64]:
    """Return covariates in the order of the coefficients; NaN where a cell is missing."""
    if hasattr(model, "covariates_"):
        # Imported here: few models have a formula.
        from kng.data.formula.opening import formula_covariates

        return formula_covariates(X, model.covariates_)
    X = covariates_in(X, model.n_features_in_)
    checked(model, X, reset=False)
    return covariates_of(X, model.n_features_in_)
