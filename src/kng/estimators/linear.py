"""Private least squares."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar

from kng.bases import Uniform
from kng.core.design import Design, design_of
from kng.core.parts import Domain
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.core.regions import Theta
from kng.domains import Whole
from kng.estimators.fit import Fit
from kng.estimators.part_options import norm_for
from kng.estimators.planned import planned
from kng.estimators.public_facts import (
    Columns,
    Kind,
    Opening,
    centre_of,
    norm_of,
    on_effects,
    response_range,
)
from kng.estimators.request import Request
from kng.estimators.responses import PrivateRegressor
from kng.estimators.scale_stages import LEVELS, SCALED_RESPONSE_STEPS, ScaledFit, scaled_problem
from kng.losses.linear import Linear
from kng.losses.linear_encoding import encoded, linear_design
from kng.losses.pointwise.squared import Squared
from kng.mechanisms import KNG, Exponential, ObjectivePerturbation
from kng.mechanisms.scaled import Clipped
from kng.norms import LInf

_SQUARED = Squared()
_LINEAR = {intercept: Linear(_SQUARED, intercept=intercept) for intercept in (True, False)}
# What each mechanism weighs.
_WEIGHED: dict[str, tuple[Kind, KNG | Exponential]] = {
    "kng": ("gradient", KNG()),
    "exponential": ("value", Exponential()),
}
_EVERYTHING = Whole(base=Uniform())


class LinearRegression(PrivateRegressor):
    """Linear regression by private least squares.

    One fit is one release: it spends epsilon once and leaves nothing but coefficients and the
    threshold at which residuals were clipped. Every argument is public and by keyword.

    By default residuals are clipped at a private scale of the response, which a tenth of epsilon
    buys (more where records are few): least squares for all but outliers. The noise follows the
    spread of the response and not its bounds, and the draw is exact.

    Parameters
    ----------
    epsilon : number
        Privacy budget of one fit.
    bounds_X : (low, high), numbers or one array per end, or {column: (low, high)}
        Public range of each covariate. Records outside are clipped.
    bounds_y : (low, high)
        Public range of the response. Records outside are clipped. Bounds that are far too wide cost
        little, except where a mechanism is named: its noise is proportional to them.
    coef_bound : number, optional
        Bound on  sum_j |coef_j| * (half the range of covariate j)  plus the size of the prediction
        at the middle of the covariates, measured from the middle of bounds_y; in the units of y.
        In standardised units this is the paper's ||theta||_1 <= B with B = coef_bound / (half the
        range of y). None needs no guess; with ``mechanism="kng"`` the sensitivity is then the one
        at theta, and coefficients have a heavy-tailed base measure. Without an intercept read
        max(|low|, |high|) for half a range, of a covariate or of y, and 0 for the second term.
    domain : domain of `kng.domains`, optional
        In place of coef_bound: where effects are looked for, in units of y.
    base : {"uniform", "heavy-tailed", "gaussian", "student"}, a base of `kng.bases`, or a Release
        How likely effects are before the records are seen, for "kng" and "exponential": an earlier
        release of the same model is what to start from. "gaussian" and "student" have half the
        range of y as their scale.
    centre : array-like, optional
        A public guess of the intercept, if there is one, and the coefficients, in the order of
        ``release_.value``: an earlier release, or what theory says. Estimates are shrunk towards it
        instead of towards a flat plane through the middle of the response.
    fit_intercept : bool
        Without it the plane goes through 0; covariates and y are measured from there.
    mechanism : {"auto", "kng", "exponential", "objective"} or a mechanism
        "auto" is objective perturbation with residuals clipped as above. The others weigh squared
        residuals: "kng" is the paper's, "exponential" and "objective" need coef_bound or domain. A
        mechanism such as ``kng.ObjectivePerturbation(share=0.5)`` states more than its name; that
        one clips residuals as above unless there is a bound.
    norm : {"auto", "linf", "l2", "l1"} or a norm of `kng.norms`
        "auto" is the sup norm; for "kng" in units of each coordinate's sensitivity.
    sampler : {"auto", "perturbed", "affine", "gaussian", "hit-and-run", "metropolis"}
        "perturbed" draws objective perturbation, "affine" and "gaussian" the other mechanisms.
        "auto" never takes a Markov chain.
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
        Account to charge before the data are read. Copies and clones charge the same account, so
        cross-validation and grid search pay for every fit.
    random_state : int, optional
        Makes the fit repeatable: a simulation. Do not publish it; ledgers reject it.

    Attributes
    ----------
    coef_ : numpy.ndarray
        Coefficients in the caller's units.
    intercept_ : float
        Prediction where all covariates are 0.
    threshold_ : float
        Where residuals were clipped, in the units of y; a released number. Only by default.
    release_ : Release
        The receipt; its value is the intercept, if there is one, then the coefficients.
    n_features_in_ : int

    Notes
    -----
    ``score`` compares predictions with the response it is given. On private data that is a
    further release, and it is not protected: take the mean of the errors by `kng.mean` instead.

    Examples
    --------
    >>> import numpy as np, kng
    >>> X = np.linspace(-1, 1, 20000).reshape(-1, 1)
    >>> model = kng.LinearRegression(epsilon=1, bounds_X=(-1, 1), bounds_y=(-3, 3))
    >>> bool(abs(model.fit(X, 2 * X[:, 0]).coef_[0] - 2) < 0.2)
    True
    """

    _statistic: ClassVar[str] = "linear regression"
    _mechanisms: ClassVar[tuple[str, ...]] = ("auto", "kng", "exponential", "objective")

    def __init__(
        self,
        *,
        epsilon: Any = None,
        bounds_X: Any = None,
        bounds_y: Any = None,
        coef_bound: Any = None,
        domain: Any = None,
        base: Any = None,
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
        self.base = base
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

    @property
    def _clips(self) -> bool:
        """Whether residuals are clipped: by default, and where a perturbation has no domain."""
        way = self._way
        stated = isinstance(self.mechanism, str) or self.coef_bound is not None or way.domain
        return way.name == "auto" or (way.name == "objective" and not stated)

    def _design(self, columns: Columns) -> Design:
        response, intercept = response_range(self.bounds_y), bool(self.fit_intercept)
        if not self._clips:
            return linear_design(_SQUARED, intercept, self._covariates(columns), response)
        column = self._cut(*response, SCALED_RESPONSE_STEPS)
        return design_of(encoded(self._covariates(columns), column, self._cut), intercept)

    def _planned(
        self,
        design: Design,
        ask: Request,
        coef_bound: Fraction | None,
        unit: PrivacyUnit,
        response: Opening,
    ) -> Fit:
        way = self._way
        centre = centre_of(way.centre, design)
        if way.name in ("auto", "objective"):
            way.refuse_base()
        if self._clips:
            return self._scaled(design, ask, coef_bound, unit, centre).stages(response)
        domain: Domain | None = self._ball(coef_bound)
        if way.name == "objective":
            over = on_effects(_LINEAR[design.intercept], design, domain or _EVERYTHING, "smooth")
            weigh: Any = ObjectivePerturbation(way.share, centre)
        else:
            way.refuse_norm()
            way.refuse_centre()
            kind, weigh = _WEIGHED[way.name]
            known = self._based(domain or Whole(), design.half_y)
            over = on_effects(_LINEAR[design.intercept], design, known, kind)
        loss, known, answers = over
        norm = norm_for(way.norm, loss, unit, bounded=known.bounded or way.name == "objective")
        problem = Problem(loss, norm, known, design.records, answers, unit)
        return Fit(planned(weigh, problem, ask.epsilon, way.sampler))

    def _scaled(
        self,
        design: Design,
        ask: Request,
        coef_bound: Fraction | None,
        unit: PrivacyUnit,
        centre: Theta | None,
    ) -> ScaledFit:
        """Clip residuals at a private scale."""
        way = self._way
        problem = scaled_problem(design, norm_of(way.norm, LInf()), self._ball(coef_bound), unit)

        def rule(epsilon: Fraction) -> Clipped:
            return Clipped.of(epsilon, design.dim, unit)

        bounds, levels = response_range(self.bounds_y), tuple(LEVELS)
        return ScaledFit(
            problem, design, bounds, ask.epsilon, rule, levels, centre, way.sampler, way.share
        )

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if not self._clips:
            return facts
        return {"estimates": "least squares with residuals clipped at the threshold", **facts}
