"""Private regression of counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.bases import Uniform
from kng.core.design import Design
from kng.core.errors import SpecError
from kng.core.exact import show
from kng.core.naming import argument
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.domains import Whole
from kng.estimators.fit import Fit
from kng.estimators.part_options import norm_for
from kng.estimators.planned import planned
from kng.estimators.public_facts import Columns, Opening, centre_of, on_effects, response_range
from kng.estimators.request import Request
from kng.estimators.responses import PrivateRegressor
from kng.losses.linear import Linear
from kng.losses.linear_encoding import linear_design
from kng.losses.pointwise.counts import Counts
from kng.mechanisms import ObjectivePerturbation

_EVERYTHING = Whole(base=Uniform())


class PoissonRegressor(PrivateRegressor):
    """Poisson regression with a logarithmic link, fitted by one private release.

        E y = exp(intercept + coef'x),  cut off at the upper end of bounds_y

    The loss is the Poisson likelihood where the mean is below the largest count, and linear beyond,
    so that one record can move its gradient by twice the largest count at most. It is minimised
    with noise in its gradient (objective perturbation): any number of covariates, an exact draw.

    Parameters
    ----------
    epsilon : number
        Privacy budget of one fit.
    bounds_X : (low, high), numbers or one array per end, or {column: (low, high)}
        Public range of each covariate. Records outside are clipped.
    bounds_y : (low, high)
        Public range of the counts, low >= 0. Records outside are clipped, and responses are rounded
        to whole numbers. The noise is proportional to high: cutting off a few counts costs less.
    coef_bound : number, optional
        Bound on  sum_j |coef_j| * (half the range of covariate j)  plus the size of the logarithm
        of the mean at the middle of the covariates.
    domain : domain of `kng.domains`, optional
        In place of coef_bound: an L1Ball, in units of the logarithm of the mean.
    centre : array-like, optional
        A public guess of the intercept, if there is one, and the coefficients; the ridge draws to
        it instead of to 0.
    fit_intercept : bool
    mechanism : {"auto", "objective"} or `kng.ObjectivePerturbation`
    norm : {"auto", "linf", "l2", "l1"} or a norm of `kng.norms`
        "auto" is the sup norm.
    sampler : {"auto", "perturbed"}
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
        Coefficients of the logarithm of the mean, in the caller's units.
    intercept_ : float
    release_ : Release
        The receipt; its value is the intercept, if there is one, then the coefficients.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np, kng
    >>> X = np.linspace(-1, 1, 20000).reshape(-1, 1)
    >>> model = kng.PoissonRegressor(epsilon=1, bounds_X=(-1, 1), bounds_y=(0, 20))
    >>> bool(abs(model.fit(X, np.rint(np.exp(1 + X[:, 0]))).coef_[0] - 1) < 0.1)
    True
    """

    _statistic: ClassVar[str] = "Poisson regression"
    _mechanisms: ClassVar[tuple[str, ...]] = ("auto", "objective")

    def __init__(
        self,
        *,
        epsilon: Any = None,
        bounds_X: Any = None,
        bounds_y: Any = None,
        coef_bound: Any = None,
        domain: Any = None,
        centre: Any = None,
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
        self.epsilon = epsilon
        self.bounds_X = bounds_X
        self.bounds_y = bounds_y
        self.coef_bound = coef_bound
        self.domain = domain
        self.centre = centre
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

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return means, at most the upper end of bounds_y; NaN where a cell is missing.

        Parameters
        ----------
        X : array-like of shape (n, features)

        Returns
        -------
        numpy.ndarray of shape (n,)
        """
        found = self._predictions(X)
        _, high = self._range()
        with np.errstate(all="ignore"):
            return np.asarray(np.minimum(np.exp(found), float(high)))

    def _range(self) -> tuple[Fraction, Fraction]:
        low, high = response_range(self.bounds_y)
        if low < 0 or low.denominator > 1 or high.denominator > 1:
            raise SpecError(
                f"{argument('bounds_y')} must be whole numbers from 0 on, got ({show(low)}, "
                f"{show(high)}): responses are counts."
            )
        return low, high

    def _design(self, columns: Columns) -> Design:
        low, high = self._range()
        covariates = self._covariates(columns)
        return linear_design(Counts(high), bool(self.fit_intercept), covariates, (low, high))

    def _planned(
        self,
        design: Design,
        ask: Request,
        coef_bound: Fraction | None,
        unit: PrivacyUnit,
        response: Opening,  # noqa: ARG002
    ) -> Fit:
        way = self._way
        way.refuse_base()
        linear = Linear(Counts(self._range()[1]), intercept=design.intercept)
        domain = self._ball(coef_bound) or _EVERYTHING
        loss, known, answers = on_effects(linear, design, domain, "smooth")
        norm = norm_for(way.norm, loss, unit, bounded=True)
        problem = Problem(loss, norm, known, design.records, answers, unit, ask.memory)
        weigh = ObjectivePerturbation(way.share, centre_of(way.centre, design))
        return Fit(planned(weigh, problem, ask.epsilon, way.sampler))
