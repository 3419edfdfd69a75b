"""Covariates and responses by their shape alone: no cell is looked at, none can raise.

Neither a type conversion nor a check for NaN may look at a record before the charge. So what
scikit-learn checks by reading is checked here by shape, in its words where its own tests ask for
them; they show neither records nor, where it is private, their number.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from kng.core.errors import SchemaError, SpecError
from kng.core.naming import argument


def covariates_in(X: Any, width: int | None) -> Any:
    """Return covariates as a data frame or an array of two dimensions.

    A list of rows becomes an array of objects, because a common type would let one record change
    how another is read. It has ``width`` columns, whatever its rows hold.
    """
    if isinstance(X, list | tuple):
        return _table(X, width)
    if is_frame(X):
        names_in(X)
        return X
    if sparse.issparse(X):
        raise SchemaError(
            "Sparse data was passed for X, but dense data is required. Use X.toarray()."
        )
    X = _array(X, "X")
    if X.dtype.kind == "c":
        raise SchemaError("Complex data not supported: covariates must be real numbers.")
    if X.ndim != 2:
        raise SchemaError(
            f"Expected 2D array for X, got {X.ndim}D. Reshape your data: one row per record and "
            "one column per covariate."
        )
    return X


def no_covariate(X: Any, *, public: bool) -> SchemaError:
    """Return the error about covariates without a column; ``public`` is how many records are."""
    shown = public and isinstance(X, np.ndarray)
    found = f" (shape=({len(X)}, 0)) while a minimum of 1 is required" if shown else ""
    return SchemaError(
        f"Found array with 0 feature(s){found}. Give X at least one column, a covariate."
    )


def is_frame(X: Any) -> bool:
    """Tell a data frame from an array; asked of the type, because a series may answer for it."""
    return hasattr(type(X), "columns")


def names_in(X: Any) -> tuple[str, ...] | None:
    """Return the names of a data frame's columns as text, None for an array."""
    if not is_frame(X):
        return None
    if not hasattr(type(X), "__len__"):
        raise SchemaError(f"X must be a table in memory, got {type(X).__name__}. Collect it first.")
    # Arrow's tables call their arrays columns.
    names = list(X.column_names if hasattr(type(X), "column_names") else X.columns)
    kinds = {isinstance(name, str) for name in names}
    if len(kinds) > 1:
        raise SchemaError(
            "X has column names of which some are text and some are not. Make all of them text, "
            "as in X.columns = X.columns.astype(str)."
        )
    texts = tuple(str(name) for name in names)
    twice = [text for text in texts if texts.count(text) > 1]
    if twice:
        raise SchemaError(f"X has two columns named {twice[0]!r}; rename one of them.")
    return texts


def response_in(y: Any) -> Any:
    """Return y as one column."""
    if y is None:
        raise SpecError("fit requires y to be passed, but the target y is None.")
    if isinstance(y, list | tuple):
        return np.fromiter(y, dtype=object, count=len(y))
    y = _array(y, "y")
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as one column.",
            DataConversionWarning,
            stacklevel=6,
        )
        y = y[:, 0]
    if y.ndim != 1:
        raise SchemaError(f"y should be a 1d array, got an array of {y.ndim} dimensions instead.")
    return y


def _table(rows: Any, width: int | None) -> NDArray[Any]:
    """Return rows of cells as a table of objects; a row of another width is missing throughout."""
    if width is None:
        # No row may decide it: the number of covariates is a public fact.
        raise SchemaError(
            "X is a list, which does not say how many covariates a record has. Reshape your data "
            f"into an array, or give {argument('bounds_X')} with one low and one high per "
            "covariate."
        )
    table = np.full((len(rows), width), None, dtype=object)
    for i, row in enumerate(rows):
        if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1):
            cells = list(row)
            if len(cells) == width:
                # One by one: NumPy would look into the cells of a row to find their common shape.
                for j, cell in enumerate(cells):
                    table[i, j] = cell
    return table


def _array(data: Any, name: str) -> NDArray[Any]:
    """Return what calls itself an array as one; its shape and type are public, its cells not."""
    if isinstance(data, np.ma.MaskedArray):
        # Cell by cell through objects; otherwise the mask would be dropped.
        return np.asarray(np.ma.filled(data.astype(object), None))
    if not hasattr(type(data), "__array__"):
        # Other sequences would be given a common type, and one record would decide which.
        raise SchemaError(
            f"{name} must be an array, a list or a data frame, got {type(data).__name__}."
        )
    return np.asarray(data)


def checked(model: Any, X: Any, *, reset: bool = True) -> None:
    """Check widths and names as scikit-learn does, in its words, by an error of ours."""
    try:
        validate_data(model, X, skip_check_array=True, reset=reset)
    except (TypeError, ValueError) as error:
        raise SchemaError(str(error)) from None
