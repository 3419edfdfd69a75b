"""What private regressions share: a fit that is one release, in the caller's units."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from kng.core.bounds import Bounds, bounds_of
from kng.core.design import Column, Design, across, from_zero
from kng.core.encoding import Encoding, encoding_of
from kng.core.errors import SchemaError, SpecError
from kng.core.exact import exact, positive, show
from kng.core.privacy import ReplaceOne
from kng.core.protocols import Norm, Point, Source
from kng.core.regression import Plan
from kng.core.released import Release
from kng.data import open_regression
from kng.estimators.request import Request, details, one_of, request_of
from kng.norms import L1, L2, LInf
from kng.release import Answer, certified, release

# Steps between the bounds of a covariate. 2**17 records times squares of 2**17 stay below 2**53,
# so BLAS adds products exactly; and 2**-16 of a range is far below any statistical error.
_STEPS = 2**16
# Noise is drawn in float64: outside these it would be lost in rounding, or overflow.
_EPSILON = (Fraction(1, 10**12), Fraction(10**6))
_RADIUS = (Fraction(1, 10**9), Fraction(10**9))
_LARGEST = 10**300

Cut = Callable[[Fraction, Fraction, int], Column]


class PrivateRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A linear model that is fitted by one private release.

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

    epsilon: Any
    bounds_X: Any  # noqa: N815 - scikit-learn's capital X
    bounds_y: Any
    coef_bound: Any
    fit_intercept: bool
    mechanism: str
    norm: str
    sampler: str
    neighbours: str
    n_max: int | None
    records_per_person: int
    ledger: Any
    random_state: Any
    intercept_: Any

    def _fit(self, X: Any, y: Any, statistic: str) -> Self:
        former = dict(vars(self))
        try:
            self._refit(X, y, statistic)
        except BaseException:
            # What an earlier fit has paid for is not lost to one that is refused.
            self.__dict__ = former
            raise
        return self

    def _refit(self, X: Any, y: Any, statistic: str) -> None:
        ask = self._request()
        coef_bound = None if self.coef_bound is None else positive(self.coef_bound, "coef_bound")
        X, y = self._shapes(X, y)
        design = self._design(self.n_features_in_)
        resolved(ask.epsilon, coef_bound, design)
        source = open_regression(X, y, design.records)
        plan = certified(self._plan(design, ask, coef_bound, source), self.sampler)
        self.release_ = self._release(statistic, design, plan, source, ask)
        value = np.atleast_1d(self.release_.value)
        self.intercept_ = float(value[0]) if self.fit_intercept else 0.0
        self.coef_ = value[1:] if self.fit_intercept else value

    def _request(self) -> Request:
        """Read the options that all regressions share."""
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise SpecError(f"fit_intercept must be True or False, got {self.fit_intercept!r}.")
        return request_of(
            epsilon=self.epsilon,
            neighbours=self.neighbours,
            n_max=self.n_max,
            records_per_person=self.records_per_person,
            ledger=self.ledger,
            random_state=self.random_state,
        )

    def _design(self, features: int) -> Design:
        raise NotImplementedError

    def _plan(
        self, design: Design, ask: Request, coef_bound: Fraction | None, source: Source
    ) -> Plan:
        raise NotImplementedError

    def _shapes(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Check shapes as scikit-learn does, and leave the contents alone.

        Neither a type conversion nor a check for NaN may look at a record before the charge.
        Lists become arrays of objects, because a common type would let one record change how
        another is read; and scikit-learn's check of y is not used, because it insists on
        finite numbers.
        """
        public = self.neighbours == ReplaceOne.name
        if isinstance(X, list | tuple):
            X = _table(X, self._declared_width())
        if hasattr(type(X), "columns"):
            # Columns are read one by one: a common type for all would depend on what they hold.
            validate_data(self, X, skip_check_array=True)
        else:
            X = X if sparse.issparse(X) else _array(X, "X")
            # scikit-learn's own words for these faults would show records, or their number.
            if X.dtype.kind == "c":
                raise SchemaError("Complex data not supported: covariates must be real numbers.")
            if X.ndim < 2:
                raise SchemaError(
                    f"Expected 2D array for X, got {X.ndim}D. Reshape your data: one row per "
                    "record and one column per covariate."
                )
            X = validate_data(
                self,
                X,
                dtype=None,
                ensure_all_finite=False,
                ensure_min_samples=int(public),
                ensure_min_features=int(public),
            )
        if self.n_features_in_ == 0:
            raise SchemaError("X has no column; a regression needs at least one covariate.")
        return X, _response(y)

    def _release(
        self, statistic: str, design: Design, plan: Plan, source: Source, ask: Request
    ) -> Release:
        names = self._names()
        facts = {
            "coefficients": ", ".join((["intercept"] if self.fit_intercept else []) + names),
            **self._facts(),
            **details(design.records, plan.problem.unit),
        }
        answer = Answer(
            statistic,
            design.lattice,
            False,
            self._public_bounds(),
            facts,
            _first,
            design.units,
        )
        return release([plan], answer, source, ask.ledger, ask.bits)

    def _public_bounds(self) -> Bounds:
        """Return the caller's bounds; a response without any is not shown as if it had."""
        bounds, names = self._covariates(self.n_features_in_), tuple(self._names())
        low, high = bounds.low, bounds.high
        if self.bounds_y is None:
            return Bounds(low, high, names)
        low_y, high_y = response_bounds(self.bounds_y)
        return Bounds((*low, low_y), (*high, high_y), (*names, "response"))

    def _facts(self) -> dict[str, str]:
        """Return the other numbers that the caller has stated."""
        if self.coef_bound is None:
            return {}
        return {"coef_bound": show(exact(self.coef_bound, "coef_bound"))}

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j}" for j in range(self.n_features_in_)]
        return [str(name) for name in names]

    @property
    def _cut(self) -> Cut:
        """How the range of a column becomes steps."""
        return across if self.fit_intercept else from_zero

    def _covariates(self, features: int) -> Bounds:
        """Read bounds_X: one pair for all columns, one pair each, or named columns."""
        if self.bounds_X is None:
            raise SpecError(
                "bounds_X is missing. The public range of each covariate is never read from the "
                "data; state it, as in bounds_X=(0, 100) or {'age': (0, 100)}."
            )
        bounds = bounds_of(self.bounds_X, "bounds_X")
        if bounds.columns is not None:
            bounds = self._ordered(bounds)
        if len(bounds) == 1:
            return Bounds(bounds.low * features, bounds.high * features)
        if len(bounds) != features:
            raise SpecError(
                f"bounds_X describe {len(bounds)} covariates, X has {features}. Give one pair "
                "for all, or one per column."
            )
        return bounds

    def _declared_width(self) -> int | None:
        """Return the number of covariates that bounds_X states, if it does."""
        if self.bounds_X is None:
            return None
        bounds = bounds_of(self.bounds_X, "bounds_X")
        return len(bounds) if len(bounds) > 1 or bounds.columns is not None else None

    def _ordered(self, bounds: Bounds) -> Bounds:
        """Put named bounds into the order of X's columns."""
        assert bounds.columns is not None
        if not hasattr(self, "feature_names_in_"):
            raise SchemaError(
                "bounds_X name columns, but X has no column names. Give a data frame, or bounds "
                "as a pair of arrays."
            )
        names = [str(name) for name in self.feature_names_in_]
        absent = [name for name in names if name not in bounds.columns]
        unknown = [name for name in bounds.columns if name not in names]
        if absent or unknown:
            raise SpecError(
                f"bounds_X and X do not name the same columns: "
                f"{', '.join(map(repr, absent + unknown))}."
            )
        at = [bounds.columns.index(name) for name in names]
        return Bounds(tuple(bounds.low[i] for i in at), tuple(bounds.high[i] for i in at))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predictions; post-processing of the release, hence free.

        Parameters
        ----------
        X : array-like of shape (n, features)

        Returns
        -------
        numpy.ndarray of shape (n,), or (n, quantiles) where several were fitted
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, ensure_all_finite=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)

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
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = True
        tags.regressor_tags.poor_score = True
        return tags


def _table(rows: Any, width: int | None) -> Any:
    """Return rows of cells as a table of objects; a row of another width is missing throughout."""
    if width is None:
        # No row may decide it: the number of covariates is a public fact.
        raise SchemaError(
            "X is a list, which does not say how many covariates a record has. Reshape your data "
            "into an array, or give bounds_X with one pair per column."
        )
    table = np.full((len(rows), width), None, dtype=object)
    for i, row in enumerate(rows):
        if isinstance(row, list | tuple) or (isinstance(row, np.ndarray) and row.ndim == 1):
            cells = list(row)
            table[i] = cells if len(cells) == width else None
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


def _response(y: Any) -> Any:
    """Return y as one column, by its shape alone."""
    if y is None:
        raise SpecError("fit requires y to be passed, but the target y is None.")
    if isinstance(y, list | tuple):
        return np.fromiter(y, dtype=object, count=len(y))
    y = _array(y, "y")
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as one column.",
            DataConversionWarning,
            stacklevel=4,
        )
        y = y[:, 0]
    if y.ndim != 1:
        raise SchemaError(f"y should be a 1d array, got an array of {y.ndim} dimensions instead.")
    return y


def resolved(epsilon: Fraction, coef_bound: Fraction | None, design: Design) -> None:
    """Refuse public numbers that a draw in float64 could not follow."""
    if not _EPSILON[0] <= epsilon <= _EPSILON[1]:
        raise SpecError(
            f"epsilon must lie between 1e-12 and 1e6 for a linear model, whose noise is computed "
            f"in float64; got {float(epsilon):g}."
        )
    if coef_bound is not None and not _RADIUS[0] <= coef_bound / design.half_y <= _RADIUS[1]:
        raise SpecError(
            f"coef_bound must lie between 1e-9 and 1e9 times {show(design.half_y)}, the unit of "
            f"the response; got {float(coef_bound):g}. Half the range of y is a value to start "
            "from."
        )
    units, reach = design.units, -design.lattice.origin[0]
    for row, offset in zip(units.matrix, units.offset, strict=True):
        if sum(map(abs, row)) * reach + abs(offset) > _LARGEST:
            raise SpecError(
                "bounds_X are so narrow, for this range of the response, that a coefficient "
                "could exceed 1e300, more than float64 holds. Use other units."
            )


def _first(drawn: Any) -> Point:
    point: Point = drawn[0]
    return point


def norm_of(name: str, automatic: Norm) -> Norm:
    """Return a norm by its name."""
    one_of("norm", name, ("auto", "linf", "l2", "l1"))
    norms: dict[str, Norm] = {"auto": automatic, "linf": LInf(), "l2": L2(), "l1": L1()}
    return norms[name]


def encoded(covariates: Bounds, response: Column, cut: Cut = across) -> Encoding:
    """Encode covariates in 2**16 steps and a response given by low, high and step."""
    ranges = zip(covariates.low, covariates.high, strict=True)
    columns = [*(cut(low, high, _STEPS) for low, high in ranges), response]
    lows, highs, steps = zip(*columns, strict=True)
    return encoding_of(Bounds(lows, highs), granularity=steps, missing=None, bits=0)


def response_bounds(value: Any) -> tuple[Fraction, Fraction]:
    """Read bounds_y, one pair of numbers."""
    if value is None:
        raise SpecError(
            "bounds_y is missing. The public range of the response is never read from the data; "
            "state it, as in bounds_y=(0, 100)."
        )
    bounds = bounds_of(value, "bounds_y")
    if len(bounds) != 1:
        raise SpecError(f"bounds_y must be one pair (low, high), got {len(bounds)}.")
    return bounds.low[0], bounds.high[0]
