"""Private Huber regression."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from kng.core.design import Design, design_of
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, positive, show
from kng.core.naming import argument
from kng.core.parts import Domain
from kng.core.privacy import PrivacyUnit
from kng.core.release import Fact
from kng.corridor import Answer, Stage, release
from kng.domains import Box
from kng.estimators.fit import Fit
from kng.estimators.huber_boxes import boxed_plan
from kng.estimators.planned import planned
from kng.estimators.predicted_noise import predicted_noise
from kng.estimators.public_facts import (
    Columns,
    Look,
    Opening,
    centre_of,
    norm_of,
    resolved,
    response_bounds,
    response_range,
)
from kng.estimators.request import Request, Way, details
from kng.estimators.responses import PrivateRegressor
from kng.estimators.scale_stages import LEVELS, SCALED_RESPONSE_STEPS, ScaledFit, scaled_problem
from kng.losses.linear_encoding import (
    LEAST_BOUND,
    MOST,
    SCALES,
    encoded,
    linear_design,
)
from kng.losses.pointwise.huber import Huber
from kng.losses.reading import Weighs
from kng.mechanisms import ObjectivePerturbation
from kng.mechanisms.scaled import Bent
from kng.norms import LInf

# Half ranges of y that a coefficient in a box may be worth unless coef_bound says otherwise.
_REACH = 4
# Thresholds that leave room in float64 for steps, and for coefficients in units of them.
_SMALLEST, _LARGEST = Fraction(1, 10**290), 10**290
# Samplers that draw from a weighed box of coefficients, which objective perturbation is not.
_DRAWING = ("branch-and-bound", "push-forward", "hit-and-run")
# Those that draw any number of coefficients.
_ANY = ("push-forward", "hit-and-run")
# Coefficients that are drawn in seconds.
_DRAWN = 4
# The outermost quantile of |y - centre| that a robust threshold looks at.
_WIDEST = Fraction(7, 8)


class HuberRegressor(PrivateRegressor):
    """Linear regression by a private Huber loss, which needs no bound on the response.

    Residuals up to the threshold count squared, larger ones linearly. One record can then move
    the gradient by twice the threshold at most, whatever its response is, so the noise follows
    the spread of the residuals and not the range of y.

    Note the names: here ``epsilon`` is the privacy budget. What scikit-learn's HuberRegressor calls
    epsilon is the ``threshold`` of this one, except that theirs is in units of a fitted scale and
    ours in the units of y.

    Parameters
    ----------
    epsilon : number
        Privacy budget of one fit.
    threshold : number or "auto"
        Residuals larger than this get less weight; in the units of y. Use about the typical size of
        a residual: a factor of two either way costs little. "auto" takes three quarters of a
        private standard deviation of the response, which a tenth of epsilon buys (more where
        records are few); it needs bounds_y.
    bounds_X : (low, high), numbers or one array per end, or {column: (low, high)}
        Public range of each covariate. Records outside are clipped.
    bounds_y : (low, high), optional
        Public range of the response. With threshold="auto" records outside are clipped, and bounds
        that are far too wide cost little. With a number for the threshold only their middle is
        used, as the point that coefficients are shrunk towards; 0 without them or without an
        intercept. Give them where y lies many thresholds away from 0: the pull towards that point
        biases the intercept, by more the farther y is, and the prediction at the middle of the
        covariates cannot leave it by more than 1,024 thresholds. Records outside are then not
        clipped, unless they are 2**20 thresholds away. The exponential mechanism needs bounds_y,
        and clips to them.
    coef_bound : number, optional
        Bound on  sum_j |coef_j| * (half the range of covariate j)  plus the size of the prediction
        at the middle of the covariates, measured from the middle of bounds_y; in the units of y.
        Without an intercept on  sum_j |coef_j| * max(|low_j|, |high_j|).
    domain : domain of `kng.domains`, optional
        In place of coef_bound: where effects are looked for, in units of y.
    base : {"uniform", "heavy-tailed", "gaussian", "student"}, a base of `kng.bases`, or a Release
        How likely effects are before the records are seen, for "kng" and "exponential": an earlier
        release of the same model is what to start from. "gaussian" and "student" have half the
        range of y as their scale.
    centre : array-like, optional
        A public guess of the intercept, if there is one, and the coefficients, in the order of
        ``release_.value``: an earlier release, or what theory says. Estimates are
        shrunk towards it instead of towards 0.
    fit_intercept : bool
        Without it the plane goes through 0, and covariates are measured from there.
    mechanism : {"auto", "objective", "kng", "exponential"} or a mechanism
        "auto" is objective perturbation, its budget split from public facts. "kng" weighs
        coefficients by the gradient and draws them exactly; it needs coef_bound or bounds_y, which
        then bound each term of coef_bound's sum by itself (twice the range of y unless given, or
        four times its farther end without an intercept). "exponential" weighs them by the loss
        itself, whose noise follows these bounds and bounds_y: KNG is nearly always more accurate.
    norm : {"auto", "linf", "l2", "l1"} or a norm of `kng.norms`
        "auto" is the sup norm; the exponential mechanism has none.
    sampler : {"auto", "perturbed", "branch-and-bound", "push-forward", "hit-and-run"}
        "perturbed" is the noise, then a convex solve. KNG and the exponential mechanism are drawn
        by branch and bound for up to four coefficients, the intercept among them. "push-forward"
        draws KNG with any number of them, in real arithmetic, and is quick where records are many
        for their number. It and the Markov chain are taken only by name.
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
    threshold_ : float
        The threshold, in the units of y; a released number where it was drawn.
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
    >>> model = kng.HuberRegressor(epsilon=1, threshold=0.5, bounds_X=(-1, 1))
    >>> bool(abs(model.fit(X, 2 * X[:, 0]).coef_[0] - 2) < 0.2)
    True
    """

    _statistic: ClassVar[str] = "Huber regression"
    _mechanisms: ClassVar[tuple[str, ...]] = ("auto", "objective", "kng", "exponential")

    def __init__(
        self,
        *,
        epsilon: Any = None,
        threshold: Any = None,
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
        self.threshold = threshold
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

    def _refit(self, look: Look) -> None:
        if self._way.name in ("kng", "exponential"):
            self._draw(look)
        else:
            super()._refit(look)
        if not self._drawn_threshold:
            self.threshold_ = float(exact(self.threshold, "threshold"))

    @property
    def _way(self) -> Way:
        """How theta is weighed; a sampler that draws KNG and nothing else names KNG."""
        way = super()._way
        named = way.name == "auto" and way.sampler == "push-forward"
        return replace(way, name="kng") if named else way

    @property
    def _drawn_threshold(self) -> bool:
        return isinstance(self.threshold, str) and self.threshold == "auto"

    def _draw(self, look: Look) -> None:
        """Weigh a box of coefficients and draw from it exactly."""
        ask, way = self._request(), self._way
        way.refuse_norm()
        way.refuse_centre()
        columns, openings = look()
        design = self._filled(self._design(columns), columns)
        resolved(ask.epsilon, None, design)
        if design.dim > _DRAWN and way.sampler not in _ANY:
            raise IncompatibleParts(
                f"{argument('mechanism', way.name)} draws up to {_DRAWN} coefficients exactly, the "
                f"intercept among them; these are {design.dim}. Use "
                f"{argument('mechanism', 'objective')}, or name a sampler: 'push-forward', which "
                "draws 'kng' in real arithmetic, or the Markov chain 'hit-and-run'."
            )
        domain = self._box(design) if way.domain is None else way.domain
        source = openings.table(design.records)
        unit = ask.unit(source)
        plan = boxed_plan(way, design, domain, ask.epsilon, unit, memory=source.memory)
        answers = plan.problem.answers
        facts: dict[str, Fact] = {
            "coefficients": self._coefficients(columns),
            **self._target(columns),
            **self._facts(),
            **details(design.records, unit),
        }
        answer = Answer(
            self._statistic, answers, False, self._public_bounds(columns), facts,
            lambda drawn: plan.place(drawn[0]), design.units,
            lambda drawn: predicted_noise([plan], drawn, design.half_y),
        )  # fmt: skip
        self.release_ = release([Stage([plan], source)], answer, ask.ledger, ask.bits)
        value = np.atleast_1d(self.release_.value)
        self.intercept_ = float(value[0]) if self.fit_intercept else 0.0
        self.coef_ = value[1:] if self.fit_intercept else value

    def _box(self, design: Design) -> Domain:
        """Return where effects are looked for: within coef_bound, or what bounds_y suggest."""
        name = self._way.name
        if self.coef_bound is not None:
            bound = positive(self.coef_bound, "coef_bound")
        elif self.bounds_y is not None:
            low, high = response_bounds(self.bounds_y)
            middle = self._middle()
            bound = _REACH * max(high - middle, middle - low)
        else:
            raise SpecError(
                f"{argument('mechanism', name)} draws coefficients from a box; give "
                f"{argument('coef_bound')}, or {argument('bounds_y')}."
            )
        if not LEAST_BOUND <= bound / design.half_y <= MOST:
            raise SpecError(
                f"{argument('mechanism', name)} needs a bound on coefficients of 1/256 to {MOST} "
                f"thresholds, got {show(bound / design.half_y)}. Give another "
                f"{argument('coef_bound')} or threshold."
            )
        return self._based(Box(-bound, bound), self._half())

    def _half(self) -> Fraction | None:
        """Return half the range of y, if it is stated."""
        if self.bounds_y is None:
            return None
        low, high = response_bounds(self.bounds_y)
        return (high - low) / 2

    def _design(self, columns: Columns) -> Design:
        if self.threshold is None:
            raise SpecError(
                f"{argument('threshold')} is missing. Give the residual beyond which records get "
                "less weight, in the units of y: about the typical size of a residual. "
                f"{argument('threshold', 'auto')} finds one."
            )
        if self._drawn_threshold:
            return self._scaled_design(columns)
        threshold = positive(self.threshold, "threshold")
        if not _SMALLEST <= threshold <= _LARGEST:
            raise SpecError(
                f"{argument('threshold')} must lie between 1e-290 and 1e290, which coefficients in "
                f"float64 need; got {float(threshold):g}. Use other units."
            )
        response = None if self.bounds_y is None else response_bounds(self.bounds_y)
        weighs: Weighs = "value" if self._way.name == "exponential" else "gradient"
        covariates = self._covariates(columns)
        return linear_design(
            Huber(threshold), bool(self.fit_intercept), covariates, response, weighs
        )

    def _scaled_design(self, columns: Columns) -> Design:
        name = self._way.name
        if name in ("kng", "exponential"):
            raise IncompatibleParts(
                f"{argument('threshold', 'auto')} is for objective perturbation; "
                f"{argument('mechanism', name)} needs a number. State one, in the units of y."
            )
        response = self._cut(*response_range(self.bounds_y), SCALED_RESPONSE_STEPS)
        records = encoded(self._covariates(columns), response, self._cut)
        return design_of(records, bool(self.fit_intercept))

    def _middle(self) -> Fraction:
        """Return what predictions are shrunk towards; without an intercept they pass 0."""
        if self.bounds_y is None or not self.fit_intercept:
            return Fraction(0)
        low, high = response_bounds(self.bounds_y)
        return (low + high) / 2

    def _facts(self) -> dict[str, str]:
        if self._drawn_threshold:
            return {"estimates": "Huber regression at the threshold", **super()._facts()}
        middle = show(self._middle())
        reach = show(SCALES * exact(self.threshold, "threshold"))
        response = f"shrunk towards {middle}; values more than {reach} away are clipped"
        way = self._way
        if way.name == "exponential":
            response = "clipped to its bounds"
        elif way.centre is not None:
            response = f"values more than {reach} away from {middle} are clipped"
        return {
            "threshold": show(exact(self.threshold, "threshold")),
            "response": response,
            **super()._facts(),
        }

    def _planned(
        self,
        design: Design,
        ask: Request,
        coef_bound: Fraction | None,
        unit: PrivacyUnit,
        response: Opening,
    ) -> Fit:
        way = self._way
        way.refuse_base()
        if way.sampler in _DRAWING:
            raise IncompatibleParts(
                f"{argument('sampler', way.sampler)} does not serve objective perturbation, which "
                f"is noise and a solve. It serves {argument('mechanism', 'kng')} and "
                f"'exponential'; name one of them, or leave {argument('sampler')} at 'auto'."
            )
        centre, norm = centre_of(way.centre, design), norm_of(way.norm, LInf())
        problem = scaled_problem(design, norm, self._ball(coef_bound), unit)
        if not self._drawn_threshold:
            weigh = ObjectivePerturbation(way.share, centre)
            return Fit(planned(weigh, problem, ask.epsilon, way.sampler))
        levels = tuple(level for level in LEVELS if level <= _WIDEST)
        bounds, bent = response_range(self.bounds_y), Bent()
        fit = ScaledFit(
            problem, design, bounds, ask.epsilon, lambda _: bent, levels, centre,
            way.sampler, way.share,
        )  # fmt: skip
        return fit.stages(response)
