"""The prediction of planes,  intercept + sum_j coef_j x_j,  for records one by one.

Products are added in the order of the columns, so that a record has one prediction, whatever stands
beside it and however a table lies in memory; a product of matrices rounds as its tiles fall.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def planes_at(cells: Array, coef: Array, intercept: Array) -> Array:
    """Return the predictions of records.

    Parameters
    ----------
    cells : numpy.ndarray of shape (n, d)
        NaN where a cell is missing, and then the prediction is NaN.
    coef : numpy.ndarray of shape (d,) or (k, d)
        Of one plane, or of several.
    intercept : numpy.ndarray of shape () or (k,)

    Returns
    -------
    numpy.ndarray of shape (n,) or (n, k)
    """
    found = np.zeros((len(cells), *coef.shape[:-1]))
    with np.errstate(all="ignore"):
        for cell, slope in zip(cells.T, coef.T, strict=True):
            found += np.multiply.outer(cell, slope)
        return found + intercept
