"""What a model says that is asked before it was fitted."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

from kng.core.errors import KngError


class Unfitted(KngError, NotFittedError):  # type: ignore[misc]  # noqa: N818 - what it says
    """A model was asked for predictions and has no coefficients yet."""
