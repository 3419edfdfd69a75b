"""Regressions of named columns of a file, which is read as a stream and never held whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from kng.core.errors import SpecError
from kng.estimators.public_facts import Columns, Openings
from kng.estimators.regression import PrivateModel


def fit_file(
    model: PrivateModel, path: str | Path, *, covariates: Sequence[str], target: str
) -> None:
    """Fit a model to columns of a CSV file: the same corridor as ``model.fit``.

    Before the charge the header is read and, where their number is public, records are counted.

    Parameters
    ----------
    model : one of the regressions
    path : str or Path
    covariates : sequence of str
        Columns to predict from, in the order of the coefficients.
    target : str
        Column to predict.
    """
    names = tuple(covariates)
    if not names or len({*names, target}) <= len(names):
        raise SpecError(
            "covariates must be one column or more, different from each other and from the target."
        )
    model._fit(partial(_in_file, model, path, names, target))


def _in_file(
    model: PrivateModel, path: str | Path, names: tuple[str, ...], target: str
) -> tuple[Columns, Openings]:
    """Take the columns by name; whether the file has them is seen when it is opened."""
    model.n_features_in_, model.feature_names_in_ = len(names), np.array(names, dtype=object)
    columns = Columns(len(names), names, target)
    return columns, model._of_file(path, (*names, target))
