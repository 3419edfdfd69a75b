"""Private expectile regression."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, show
from kng.core.naming import argument, call
from kng.core.parts import Domain
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.domains import Box
from kng.estimators.fit import Fit
from kng.estimators.part_options import norm_for
from kng.estimators.planned import planned
from kng.estimators.public_facts import Columns, Opening, on_effects, response_range
from kng.estimators.request import Request
from kng.estimators.responses import PrivateRegressor
from kng.losses.linear import Linear
from kng.losses.linear_encoding import LEAST_BOUND, MOST, linear_design
from kng.losses.pointwise.expectile import Expectile
from kng.mechanisms import KNG

# Half ranges of y that a coefficient may be worth unless coef_bound says otherwise.
_REACH = 4
# Coefficients that are drawn in seconds.
_DRAWN = 4


class ExpectileRegressor(PrivateRegressor):
    """Linear expectile regression by KNG, drawn exactly.

    Squared residuals count tau times if the response lies above the plane, 1 - tau times otherwise:
    0.5 is least squares, and other expectiles are to it what quantiles are to the median.

    Parameters
    ----------
    expectile : number
        tau, strictly between 0 and 1.
    epsilon : number
        Privacy budget of one fit.
    bounds_X : (low, high), numbers or one array per end, or {column: (low, high)}
        Public range of each covariate. Records outside are clipped.
    bounds_y : (low, high)
        Public range of the response. Records outside are clipped; the noise follows it.
    coef_bound : number, optional
        Bound on each effect, in units of y: |coef_j| times half the range of covariate j, and the
        prediction at the middle of the covariates, from the middle of bounds_y. Twice the range of
        y unless given; a smaller one means less noise.
    domain : domain of `kng.domains`, optional
        In place of coef_bound: where effects are looked for, in units of y.
    base : {"uniform", "heavy-tailed", "gaussian", "student"}, a base of `kng.bases`, or a Release
        How likely effects are before the records are seen.
    fit_intercept : bool
        Without it the plane goes through 0; covariates and y are measured from there.
    mechanism : {"auto", "kng"} or `kng.KNG`
    norm : {"auto", "linf", "l2", "l1"} or a norm of `kng.norms`
        "auto" is the sup norm.
    sampler : {"auto", "branch-and-bound", "hit-and-run"}
        Up to four coefficients, the intercept among them, are drawn by branch and bound; the Markov
        chain is taken only by name.
    neighbours : {"replace-one", "add-remove"}
        Whether the number of records is public (one record replaced) or private.
    n_max : int, optional
        Public bound on the number of records under add-remove.
    records_per_person : int
        How many records one person may have; the guarantee is per person.
    missing : "drop", a number, or {column: number}
        What becomes of a record with a missing cell (NaN, None, text that is no number). "drop"
        leaves it out, and how many are left out stays private; a number takes its place.
    where : str, optional
        A condition on columns of a table, such as "age >= 40"; records for which it does not hold
        are left out. docs/conditions.md.
    person, max_records : str and int, optional
        The column of a table that says whose a record is, and how many records of each person are
        used at most. The promise is then for people. docs/people.md.
    ledger : Ledger or path, optional
        Account to charge before the data are read. Copies and clones charge the same account.
    random_state : int, optional
        Makes the fit repeatable: a simulation. Do not publish it; ledgers reject it.

    Attributes
    ----------
    coef_ : numpy.ndarray
        Coefficients in the caller's units.
    intercept_ : float
        Prediction where all covariates are 0.
    release_ : Release
        The receipt; its value is the intercept, if there is one, then the coefficients.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np, kng
    >>> X = np.linspace(-1, 1, 20000).reshape(-1, 1)
    >>> model = kng.ExpectileRegressor(expectile=0.5, epsilon=1, bounds_X=(-1, 1), bounds_y=(-3, 3))
    >>> bool(abs(model.fit(X, 2 * X[:, 0]).coef_[0] - 2) < 0.2)
    True
    """

    _statistic: ClassVar[str] = "expectile regression"
    _mechanisms: ClassVar[tuple[str, ...]] = ("auto", "kng")

    def __init__(
        self,
        *,
        expectile: Any = 0.5,
        epsilon: Any = None,
        bounds_X: Any = None,
        bounds_y: Any = None,
        coef_bound: Any = None,
        domain: Any = None,
        base: Any = None,
        fit_intercept: bool = True,
        mechanism: Any = "auto",
        norm: Any = "auto",
        sampler: str = "auto",
        neighbours: str = "replace-one",
        n_max: int | None = None,
        records_per_person: int = 1,
        missing: Any = "drop",
        where: str | None = None,
        person: str | None = None,
        max_records: int | None = None,
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.expectile = expectile
        self.epsilon = epsilon
        self.bounds_X = bounds_X
        self.bounds_y = bounds_y
        self.coef_bound = coef_bound
        self.domain = domain
        self.base = base
        self.fit_intercept = fit_intercept
        self.mechanism = mechanism
        self.norm = norm
        self.sampler = sampler
        self.neighbours = neighbours
        self.n_max = n_max
        self.records_per_person = records_per_person
        self.missing = missing
        self.where = where
        self.person = person
        self.max_records = max_records
        self.ledger = ledger
        self.random_state = random_state

    def _tau(self) -> Fraction:
        tau = exact(self.expectile, "expectile")
        if not 0 < tau < 1:
            raise SpecError(
                f"{argument('expectile')} must lie strictly between 0 and 1, got {show(tau)}."
            )
        return tau

    def _design(self, columns: Columns) -> Design:
        response, intercept = response_range(self.bounds_y), bool(self.fit_intercept)
        return linear_design(Expectile(self._tau()), intercept, self._covariates(columns), response)

    def _box(self, design: Design, coef_bound: Fraction | None) -> Domain:
        """Return where effects are looked for: a domain, or within coef_bound."""
        domain = self._way.domain
        if domain is not None:
            return domain
        bound = _REACH * design.half_y if coef_bound is None else coef_bound
        if not LEAST_BOUND <= bound / design.half_y <= MOST:
            raise SpecError(
                f"{argument('coef_bound')} must lie between 1/256 and {MOST} times "
                f"{show(design.half_y)}, the unit of the response; got {show(bound)}. Leave it out "
                "for twice the range of y."
            )
        return self._based(Box(-bound, bound), design.half_y)

    def _planned(
        self,
        design: Design,
        ask: Request,
        coef_bound: Fraction | None,
        unit: PrivacyUnit,
        response: Opening,  # noqa: ARG002
    ) -> Fit:
        way = self._way
        way.refuse_centre()
        if design.dim > _DRAWN and way.sampler != "hit-and-run":
            raise IncompatibleParts(
                f"Expectile regression draws up to {_DRAWN} coefficients exactly, the intercept "
                f"among them; these are {design.dim}. Use fewer covariates, "
                f"{call('LinearRegression')} for the expectile 0.5, or name the Markov chain "
                f"{argument('sampler', 'hit-and-run')}."
            )
        linear = Linear(Expectile(self._tau()), intercept=design.intercept)
        domain = self._box(design, coef_bound)
        loss, known, answers = on_effects(linear, design, domain, "gradient")
        norm = norm_for(way.norm, loss, unit, bounded=known.bounded)
        problem = Problem(loss, norm, known, design.records, answers, unit, ask.memory)
        return Fit(planned(KNG(), problem, ask.epsilon, way.sampler))

    def _facts(self) -> dict[str, str]:
        return {"expectile": show(self._tau()), **super()._facts()}
