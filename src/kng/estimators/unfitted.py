"""The error of a model that is used before it is fitted."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

from kng.core.errors import KngError


class Unfitted(KngError, NotFittedError):  # type: ignore[misc]  # noqa: N818 - what it says
    """A model was asked for predictions and has no coefficients yet."""
