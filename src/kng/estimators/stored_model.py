"""A regression as its receipt holds it: predictions without the records it was fitted to.

    eta = coef x + intercept, one for each plane of the release

and from it what the model predicts: eta itself, sorted for several quantiles; exp(eta) for counts;
the share of each class for classes. All of it is post-processing of a release, hence free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SpecError
from kng.core.release import Release
from kng.estimators.planes import planes_at

Array = NDArray[np.float64]

# What stands between a coefficient and the plane that it is of.
_AT, _FOR = " at ", " for "


@dataclass(frozen=True, slots=True)
class StoredModel:
    """The planes of a stored regression.

    Attributes
    ----------
    covariates : tuple of str
        The columns that predictions are made from.
    outputs : tuple of str
        What the columns of predictions are called.
    """

    covariates: tuple[str, ...]
    outputs: tuple[str, ...]
    coef: Array
    intercept: Array
    _link: Callable[[Array], Array]

    @classmethod
    def of(cls, release: Release) -> StoredModel:
        """Read the planes off a release; refuse one that is no regression.

        Parameters
        ----------
        release : Release
            What a regression has released.
        """
        names = release.details.get("coefficients")
        if not isinstance(names, tuple) or release.statistic not in _MODELS:
            raise SpecError(
                f"predictions need the receipt of a regression, and this one is of a "
                f"{release.statistic}."
            )
        if "formula" in release.details:
            raise SpecError(
                "this receipt is of a formula, whose terms it does not hold. Predict in Python, "
                "with the fitted model."
            )
        covariates, planes = _planes(release, names)
        numbers = np.atleast_1d(release.value).reshape(len(planes), -1)
        slopes = numbers[:, -len(covariates) :]
        free = numbers.shape[1] > len(covariates)
        intercept = numbers[:, 0] if free else np.zeros(len(planes))
        outputs, link = _MODELS[release.statistic](release, planes)
        return cls(covariates, outputs, slopes, intercept, link)

    def predict(self, cells: Array) -> Array:
        """Return a column for each output; NaN where a cell is missing.

        Parameters
        ----------
        cells : numpy.ndarray of shape (n, covariates)
        """
        with np.errstate(all="ignore"):
            return self._link(planes_at(cells, self.coef, self.intercept))


def _planes(release: Release, names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the covariates, and what the planes are of: "" for one, " at 0.9" and so on.

    Bounds are those of the covariates and, if it has any, of the response.
    """
    columns = release.bounds.columns or ()
    for covariates in (columns, columns[:-1]):
        width = len(covariates)
        for size in {width, width + 1}:
            found = _suffixes(names, covariates, size) if covariates else None
            if found is not None:
                return tuple(covariates), found
    raise SpecError("this receipt does not name the columns of its coefficients.")


def _suffixes(names: Sequence[str], covariates: Sequence[str], size: int) -> tuple[str, ...] | None:
    """Return what is behind the covariates in each run of ``size`` names; None if they differ."""
    if len(names) % size:
        return None
    found = []
    for start in range(0, len(names), size):
        run = names[start + size - len(covariates) : start + size]
        rest = {
            name.removeprefix(covariate) if name.startswith(covariate) else None
            for name, covariate in zip(run, covariates, strict=True)
        }
        found.append(rest.pop() if len(rest) == 1 else None)
    kept = [suffix for suffix in found if suffix is not None]
    single = len(found) == 1 and found[0] == ""
    several = len(set(kept)) == len(found) > 1 and all(s.startswith((_AT, _FOR)) for s in kept)
    return tuple(kept) if single or several else None


_Model = tuple[tuple[str, ...], Callable[[Array], Array]]


def _straight(_: Release, planes: Sequence[str]) -> _Model:
    """Return predictions as they are; planes of quantiles are sorted, as no quantiles cross."""
    if len(planes) == 1:
        return ("prediction",), lambda eta: eta
    # They are released in increasing order.
    return tuple(f"prediction{plane}" for plane in planes), lambda eta: np.sort(eta, axis=1)


def _counts(release: Release, _: Sequence[str]) -> _Model:
    """Return means, at most the upper bound of the response."""
    high = float(release.bounds.high[-1])
    return ("prediction",), lambda eta: np.asarray(np.minimum(np.exp(eta), high))


def _classes(release: Release, planes: Sequence[str]) -> _Model:
    """Return a probability for each class; with three or more, shares of their odds' own."""
    classes: Any = release.details.get("classes")
    if not isinstance(classes, tuple) or len(classes) != max(2, len(planes)):
        raise SpecError("this receipt does not name its classes; it was made by another version.")
    return tuple(f"probability of {label}" for label in classes), _shares


def _shares(eta: Array) -> Array:
    each = 1 / (1 + np.exp(-eta))
    if each.shape[1] == 1:
        return np.column_stack([1 - each, each])
    total = each.sum(axis=1, keepdims=True)
    even = np.where(total == 0, 1 / each.shape[1], np.nan)  # NaN stays where a cell is missing
    return np.asarray(np.where(total > 0, each / total, even))


_MODELS: dict[str, Callable[[Release, Sequence[str]], _Model]] = {
    "linear regression": _straight,
    "Huber regression": _straight,
    "expectile regression": _straight,
    "quantile regression": _straight,
    "Poisson regression": _counts,
    "logistic regression": _classes,
}
