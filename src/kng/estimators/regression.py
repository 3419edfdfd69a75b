"""What private linear models share: a fit that is one release, in the caller's units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from kng.core.bounds import Bounds
from kng.core.design import Cut, Design, across, from_zero
from kng.core.errors import SchemaError, SpecError
from kng.core.exact import exact, positive, show
from kng.core.parts import Domain, Point, described
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.receipt_text import model_html
from kng.core.records import Source
from kng.core.release import Fact, Release
from kng.corridor import Answer, Stage, release
from kng.data import (
    Engine,
    Present,
    Table,
    open_columns,
    open_regression,
    open_response,
    open_table,
)
from kng.data.formula.tree import Formula, plain_formula
from kng.domains import L1Ball
from kng.estimators.array_shapes import checked, covariates_in, names_in, no_covariate, response_in
from kng.estimators.based import effects_based, said
from kng.estimators.fit import Fit
from kng.estimators.model_plans import PlannedModel
from kng.estimators.planes import planes_at
from kng.estimators.predicted_noise import predicted_noise
from kng.estimators.predictions import covariates_to_predict
from kng.estimators.public_facts import (
    Columns,
    Look,
    Opening,
    Openings,
    covariate_bounds,
    declared_width,
    filled,
    has_dates,
    remember,
    resolved,
    response_bounds,
    table_columns,
)
from kng.estimators.request import Request, Way, details, present_of, request_of, stated, way_of
from kng.estimators.unfitted import Unfitted

if TYPE_CHECKING:
    from kng.data.formula.covariates import Covariates


class PrivateModel(PlannedModel, BaseEstimator):  # type: ignore[misc]
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
    centre: Any = None
    domain: Any = None
    base: Any = None
    fit_intercept: bool
    mechanism: Any
    norm: Any
    sampler: str
    neighbours: str
    n_max: int | None
    records_per_person: int
    missing: Any
    where: Any
    person: Any
    max_records: Any
    ledger: Any
    random_state: Any
    intercept_: Any
    threshold_: float

    _statistic: ClassVar[str]
    _mechanisms: ClassVar[tuple[str, ...]]

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        target: Any = None,
        features: Any = None,
        formula: Any = None,
    ) -> Self:
        """Spend epsilon and fit the coefficients.

        Parameters
        ----------
        X : array-like of shape (n, features); or a table
            With ``target``: a data frame, the path of a file, an address, or a `kng.Table`.
        y : array-like of shape (n,), optional
            The response, or labels; where X is no table that holds them.
        target : str, optional
            The column of the table that holds the response.
        features : list of str, optional
            The columns to predict it from: those that bounds_X names unless given, or all others.
            Categories that a `kng.Table` declares become indicators of their levels.
        formula : str, optional
            In place of target and features, as in "wages ~ education + I(age ** 2) + C(sex,
            levels=['F', 'M'])"; bounds_X then names the columns that it uses. docs/formulas.md.

        Returns
        -------
        estimator
            This estimator.
        """
        stated: dict[str, Any] = {}
        if formula is not None:
            from kng.estimators.formulas import only_formula, stated_with  # few fits need it

            said = only_formula(formula, y, target, features)
            return self._fit(
                partial(self._in_formula, X, said, formula), stated_with(X, self, said)
            )
        if isinstance(X, Table):
            # Imported here: few fits need it.
            from kng.estimators.declarations import fitted_with

            stated = fitted_with(X, self, target, features)
        elif target is None and features is None:
            return self._fit(partial(self._in_memory, X, y))
        return self._fit(partial(self._in_table, X, y, target, features), stated)

    def _fit(self, look: Look, declared: Mapping[str, Any] | None = None) -> Self:
        """Fit to the columns that ``look`` finds, once the options are read.

        What a table declares stands in for parameters while the model is fitted.
        """
        way = self._way
        if way.domain is not None and self.coef_bound is not None:
            raise SpecError(
                "coef_bound and domain both say where coefficients are looked for. Give one of "
                "them; both are in units of y."
            )
        former = dict(vars(self))
        stated = declared or {}
        try:
            self.__dict__.update(stated)
            self._refit(look)
        except BaseException:
            # What an earlier fit has paid for is not lost to one that is refused.
            self.__dict__ = former
            raise
        self.__dict__.update({name: former[name] for name in stated})
        return self

    def _refit(self, look: Look) -> None:
        ask = self._request()
        coef_bound = None if self.coef_bound is None else positive(self.coef_bound, "coef_bound")
        columns, openings = look()
        design = self._filled(self._design(columns), columns)
        resolved(ask.epsilon, coef_bound, design)
        source = openings.table(design.records)
        unit = ask.unit(source)
        fit = self._planned(design, ask.of(source), coef_bound, unit, openings.response)
        self.release_ = self._release(columns, design, fit, source, ask)
        value = np.atleast_1d(self.release_.value)
        self.intercept_ = float(value[0]) if self.fit_intercept else 0.0
        self.coef_ = value[1:] if self.fit_intercept else value

    @property
    def _way(self) -> Way:
        """How theta is weighed: a name or an object, and the options that speak of the same."""
        return way_of(
            self.mechanism,
            self._mechanisms,
            norm=self.norm,
            domain=self.domain,
            sampler=self.sampler,
            centre=self.centre,
            base=self.base,
        )

    def _based(self, domain: Domain, half: Fraction | None) -> Domain:
        """Return a domain of ours with the base that is stated; by name its scale is ``half``."""
        return effects_based(b, domain, half) if (b := self._way.base) is not None else domain

    def _ball(self, coef_bound: Fraction | None) -> Domain | None:
        """Return where effects are looked for: a domain, or the ball that coef_bound is."""
        return self._way.domain if coef_bound is None else L1Ball(coef_bound)

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
            present=self._present,
        )

    @property
    def _present(self) -> Present:
        """Which records count."""
        return present_of(self.where, self.person, self.max_records, self.records_per_person)

    def _filled(self, design: Design, columns: Columns) -> Design:
        """Return a design with what missing cells count as, where it is stated."""
        return filled(design, columns, self.missing)

    def _design(self, columns: Columns) -> Design:
        raise NotImplementedError

    def _planned(
        self,
        design: Design,
        ask: Request,
        coef_bound: Fraction | None,
        unit: PrivacyUnit,
        response: Opening,
    ) -> Fit:
        raise NotImplementedError

    def _in_memory(self, X: Any, y: Any) -> tuple[Columns, Openings]:
        """Look at the shapes of X and y and at the names of columns, and leave the cells alone."""
        remember(self)
        X = covariates_in(X, self._declared_width())
        checked(self, X)
        if self.n_features_in_ == 0:
            raise no_covariate(X, public=self.neighbours == ReplaceOne.name)
        columns = Columns(self.n_features_in_, names_in(X))
        response = response_in(y)
        present, width = self._present, self.n_features_in_
        table = partial(open_regression, X, response, present=present)
        return columns, Openings(table, partial(open_response, X, response, width, present=present))

    def _in_table(self, X: Any, y: Any, target: Any, features: Any) -> tuple[Columns, Openings]:
        """Take columns of a table by name."""
        if y is not None:
            raise SpecError("give y, or the name of its column as target; not both.")
        engine = open_table(X)
        if engine is None:
            raise SchemaError(
                "target names a column of a table, and X has no column names. Give a data frame, "
                "the path of a file, an address or a kng.Table."
            )
        names = table_columns(engine, target, features, self.bounds_X)
        if engine.stated or has_dates(self.bounds_X, "X") or has_dates(self.bounds_y, "y"):
            return self._in_formula(engine, plain_formula(target, names), None)
        self._read(names)
        return Columns(len(names), names, target), self._of_columns(engine, (*names, target))

    def _in_formula(self, X: Any, formula: Formula, shown: str | None) -> tuple[Columns, Openings]:
        """Take the columns of a formula, and the covariates that it makes of them."""
        from kng.estimators.formulas import covariates_over

        engine, made = covariates_over(X, formula, self)
        self._read(made.columns, covariates_=made, formula_=shown)
        columns = Columns(len(made.names), made.names, formula.target, made.bounds)
        return columns, self._of_formula(engine, made, formula.target)

    def _of_formula(self, engine: Engine, made: Covariates, target: str) -> Openings:
        """Open the covariates of a formula and, last, the response."""
        from kng.estimators.formulas import opened_beside

        return opened_beside(engine, made, (target, has_dates(self.bounds_y, "y")), self._present)

    def _read(self, names: Sequence[str], **formula: Any) -> None:
        """Remember which columns of a table are read, and what a formula makes of them."""
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        remember(self, **formula)

    def _of_columns(self, engine: Engine, names: Sequence[str]) -> Openings:
        """Open columns of a table, the last of them the response."""
        table = partial(open_columns, engine, names, present=self._present)
        return Openings(table, partial(open_columns, engine, names[-1:], present=self._present))

    def _release(
        self, columns: Columns, design: Design, fit: Fit, source: Source, ask: Request
    ) -> Release:
        facts: dict[str, Fact] = {
            "coefficients": self._coefficients(columns),
            **self._facts(),
            **fit.facts,
            **details(design.records, fit.plan.problem.unit),
        }
        lattice, units, also = fit.plan.lattice, design.units, fit.also
        if also is not None:
            facts["also released"] = also.names
            lattice, units = lattice.beside(also.lattice), units.ignoring(len(also.names))

        def finish(drawn: Sequence[Point]) -> Point:
            return fit.plan.place(drawn[-1]) + (() if also is None else also.of(drawn))

        answer = Answer(
            self._statistic, lattice, False, self._public_bounds(columns), facts, finish, units,
            lambda drawn: predicted_noise([fit.plan], drawn, design.half_y),
        )  # fmt: skip
        self.__dict__.pop("threshold_", None)
        result = release([*fit.before, Stage([fit.plan], source)], answer, ask.ledger, ask.bits)
        if (threshold := fit.threshold or result.also.get("threshold")) is not None:
            self.threshold_ = float(threshold)
        return result

    def _coefficients(self, columns: Columns) -> tuple[str, ...]:
        """Return what the receipt calls the coefficients, in their order."""
        return (columns.intercept,) * bool(self.fit_intercept) + columns.covariates

    def _public_bounds(self, columns: Columns) -> Bounds:
        """Return the caller's bounds; a response without any is not shown as if it had."""
        bounds, names = self._covariates(columns), columns.covariates
        low, high = bounds.low, bounds.high
        if self.bounds_y is None:
            return Bounds(low, high, names)
        low_y, high_y = response_bounds(self.bounds_y)
        return Bounds((*low, low_y), (*high, high_y), (*names, columns.target))

    def _facts(self) -> dict[str, str]:
        """Return what else the caller has stated."""
        facts = stated(self._present)
        if hasattr(self, "formula_"):
            facts["formula"] = self.formula_
        if self.coef_bound is not None:
            facts["coef_bound"] = show(exact(self.coef_bound, "coef_bound"))
        way = self._way
        if way.domain is not None:
            facts["domain"] = described(way.domain)
        if way.base is not None:
            facts |= said(way.base)
        if way.centre is not None:
            facts["centre"] = ", ".join(show(exact(v, "centre")) for v in way.centre)
        return facts

    @property
    def _cut(self) -> Cut:
        """How the range of a column becomes steps."""
        return across if self.fit_intercept else from_zero

    def _covariates(self, columns: Columns) -> Bounds:
        """Read bounds_X: one pair for all columns, one array per end, or named columns."""
        return covariate_bounds(self.bounds_X, columns)

    def _declared_width(self) -> int | None:
        """Return the number of covariates that bounds_X states, if it does."""
        return declared_width(self.bounds_X)

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        """Return  coef_ x + intercept_  of every record, NaN where a cell is missing."""
        self._require_fit()
        cells = covariates_to_predict(self, X)
        return planes_at(cells, np.asarray(self.coef_), self.intercept_)

    def _require_fit(self) -> None:
        try:
            check_is_fitted(self)
        except NotFittedError as error:
            raise Unfitted(str(error)) from None

    def _repr_html_inner(self) -> str:
        """Show coefficients and receipt in a notebook; before a fit scikit-learn's diagram."""
        if "release_" not in vars(self):
            return str(super()._repr_html_inner())
        return model_html(self.release_, type(self).__name__)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Offer the same page where a notebook asks for all forms at once."""
        bundle = dict(super()._repr_mimebundle_(**options))
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.allow_nan = True
        return tags
