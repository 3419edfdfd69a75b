"""Covariates of records to predict, as a fitted model knows them; nothing is charged for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from kng.core.errors import SchemaError
from kng.data import covariates_of
from kng.estimators.array_shapes import covariates_in


def covariates_to_predict(model: Any, X: Any) -> NDArray[np.float64]:
    """Return covariates in the order of the coefficients; NaN where a cell is missing."""
    if hasattr(model, "covariates_"):
        # Imported here: few models have a formula.
        from kng.data.formula.opening import formula_covariates

        return formula_covariates(X, model.covariates_)
    X = covariates_in(X, model.n_features_in_)
    checked(model, X, reset=False)
    return covariates_of(X, model.n_features_in_)


def remember(model: Any, covariates_: Any = None, formula_: str | None = None) -> None:
    """Keep what a formula makes of columns for predictions; without one forget an earlier one."""
    for name, value in {"covariates_": covariates_, "formula_": formula_}.items():
        vars(model).pop(name, None)
        if value is not None:
            setattr(model, name, value)


def checked(model: Any, X: Any, *, reset: bool = True) -> None:
    """Check widths and names as scikit-learn does, in its words, by an error of ours."""
    try:
        validate_data(model, X, skip_check_array=True, reset=reset)
    except (TypeError, ValueError) as error:
        raise SchemaError(str(error)) from None
