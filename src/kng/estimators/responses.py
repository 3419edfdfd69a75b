"""Linear models of a response: what they predict, and how that is scored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import Tags

from kng.core.design import Design
from kng.core.errors import KngError, SchemaError, SpecError
from kng.core.records import Source
from kng.core.release import Release
from kng.estimators.fit import Fit
from kng.estimators.public_facts import RESPONSE, Columns
from kng.estimators.regression import PrivateModel
from kng.estimators.request import Request


class PrivateRegressor(RegressorMixin, PrivateModel):  # type: ignore[misc]
    """A linear model of a response, fitted by one private release.

    Attributes
    ----------
    coef_ : numpy.ndarray
        Coefficients in the caller's units.
    intercept_ : float
        Prediction where all covariates are 0.
    release_ : Release
        The receipt; ``release_.value`` is the intercept, if there is one, then the coefficients.
    n_features_in_ : int
    """

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predictions; post-processing of the release, hence free.

        Cells are read as in `fit`: what is missing there has the prediction NaN here, and no record
        raises.

        Parameters
        ----------
        X : array-like of shape (n, features)
            Columns in the order of `fit`, by name if they had names. A row of a list that has
            another width is missing.

        Returns
        -------
        numpy.ndarray of shape (n,), or (n, quantiles) where several were fitted
        """
        return self._predictions(X)

    def _release(
        self, columns: Columns, design: Design, fit: Fit, source: Source, ask: Request
    ) -> Release:
        fit = replace(fit, facts={**self._target(columns), **fit.facts})
        return super()._release(columns, design, fit, source, ask)

    def _target(self, columns: Columns) -> dict[str, str]:
        """Name the response where no bounds of it are on the receipt."""
        named = self.bounds_y is None and columns.response != RESPONSE
        return {"target": f"column {columns.response}"} if named else {}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R^2 of the predictions; on private records a release that nothing protects.

        For data that are public. The safe way to judge a model on private records is a release of
        its own, charged to the same ledger: predictions are free, so the mean absolute error is

            kng.mean(abs(y - model.predict(X)), bounds=(0, 500), epsilon=0.1, ledger=...)

        Parameters
        ----------
        X : array-like of shape (n, features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        self._require_fit()
        if self.coef_.ndim > 1:
            raise SpecError(
                "score compares one prediction with each response, and this model predicts "
                f"{len(self.coef_)} quantiles. Score the columns of predict(X) one by one."
            )
        try:
            return float(super().score(X, y, sample_weight))
        except KngError:
            raise
        except (TypeError, ValueError):
            raise SchemaError(
                "score needs a prediction, a response and a weight, if there are any, for every "
                "record, all of them finite numbers. Leave incomplete records out."
            ) from None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
