"""Private quantile regression: planes drawn from a box, or a smoothed loss and noise."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kng.core.design import Design, design_of
from kng.core.errors import SpecError
from kng.core.exact import positive, show
from kng.core.lattice import Lattice
from kng.core.naming import argument
from kng.core.parts import Domain, Point
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.core.records import USUAL_MEMORY
from kng.core.release import Fact
from kng.corridor import Answer, Stage, release
from kng.domains import Box
from kng.estimators.part_options import norm_for
from kng.estimators.planned import planned
from kng.estimators.predicted_noise import predicted_noise
from kng.estimators.public_facts import (
    Columns,
    Kind,
    Look,
    Openings,
    on_effects,
    resolved,
    response_bounds,
    response_range,
)
from kng.estimators.request import Request, details, one_of
from kng.estimators.responses import PrivateRegressor
from kng.estimators.scale_stages import SCALED_RESPONSE_STEPS
from kng.estimators.several_quantiles import (
    NONCROSSING,
    Quantiles,
    beside,
    kept_apart,
)
from kng.estimators.smoothed_quantiles import (
    SmoothedRequest,
    bandwidth_of,
    drawn_bandwidth,
    is_smoothed,
    refuse_bandwidth,
    refuse_unsmoothed,
)
from kng.estimators.spread_responses import Spread, largest_shift
from kng.losses.linear import Linear
from kng.losses.linear_encoding import (
    LEAST_BOUND,
    MOST,
    MOST_SPLIT,
    encoded,
    linear_design,
)
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.mechanisms import KNG, Exponential

# Records and lattice are the same for every quantile.
_TILTED = Pinball(Fraction(1, 2))
# What a receipt says of planes that are drawn by themselves, and of those that are kept apart.
_DRAWN = ("drawn by itself", "drawn from the middle outwards")
# Half ranges of y that a coefficient may be worth unless coef_bound says otherwise.
_REACH = 4


class QuantileRegressor(PrivateRegressor):
    """Linear quantile regression, drawn exactly: of up to five coefficients, or smoothed.

    One fit is one release: it spends epsilon once and leaves nothing but coefficients. Predictions
    of several quantiles are in order at every row of covariates.

    Parameters
    ----------
    quantile : number or increasing list of numbers
        Strictly between 0 and 1. Several share epsilon.
    epsilon : number
        Privacy budget of one fit, for all quantiles together.
    weights : list of positive numbers, optional
        One per quantile: quantile j is drawn with the part weights[j] / sum(weights) of epsilon.
        Equal parts unless given.
    noncrossing : {"auto", "predictions", "planes"}
        How several quantiles are kept in order. "predictions": planes are drawn by themselves, and
        `predict` sorts the predictions of each row. "planes": each plane is drawn from those that
        do not cross the last one anywhere within the bounds of the covariates, from the middle
        outwards. That helps where records are few, and biases planes that do cross in the data.
        "auto" is "planes" where the number of records is public and times the smallest part of
        epsilon below 300 for each coefficient, else "predictions".
    bounds_X : (low, high), numbers or one array per end, or {column: (low, high)}
        Public range of each covariate. Records outside are clipped. Noise is proportional to it,
        and without an intercept to max(|low|, |high|).
    bounds_y : (low, high)
        Public range of the response. It sets where coefficients are looked for, and only that: the
        noise follows the spread of the residuals.
    coef_bound : number, optional
        Bound on |coef_j| * (half the range of covariate j) for each j, and on the distance of the
        prediction at the middle of the covariates from the middle of bounds_y; in the units of y.
        Twice the range of y unless given. Without an intercept read max(|low|, |high|) for half a
        range, of a covariate or of y.
    domain : domain of `kng.domains`, optional
        In place of coef_bound: where effects are looked for, in units of y.
    base : {"uniform", "heavy-tailed", "gaussian", "student"}, a base of `kng.bases`, or a Release
        How likely effects are before the records are seen: an earlier release of the same model is
        what to start from. "gaussian" and "student" have half the range of y as their scale.
    smoothing : number or "auto", optional
        Bandwidth, in units of y: the check loss is averaged over shifts of y by up to so much, and
        minimised with noise in the objective, for any number of coefficients. "auto" finds one for
        the least predicted error from public facts and private scales of y and of the residuals,
        which some 13 percent of epsilon buy (more where records are few). Where records times
        epsilon are below some thousand there is no scale of the residuals, and they are taken to be
        about as large as what the covariates explain.
    fit_intercept : bool
        Without it the plane goes through 0; covariates and y are measured from there.
    mechanism : {"auto", "kng", "exponential", "objective"} or a mechanism
        "auto" is KNG for up to five coefficients, the intercept among them, and objective
        perturbation of the smoothed loss for more of them, or where smoothing is given.
    norm : {"auto", "linf", "l2", "l1"} or a norm of `kng.norms`
        "auto" is the best norm there is for one record's change.
    sampler : {"auto", "branch-and-bound", "push-forward", "hit-and-run", "perturbed"}
        "auto" is branch and bound for KNG and the exponential mechanism, and "perturbed", noise and
        a convex solve, for objective perturbation. By name only: the Markov chain, and
        "push-forward", KNG of the loss smoothed by a number, in real arithmetic.
    neighbours, n_max, records_per_person, missing, where, person, max_records
        As for `LinearRegression`.
    ledger, random_state
        As for `LinearRegression`.

    Attributes
    ----------
    coef_ : numpy.ndarray
        Coefficients in the caller's units; one row per quantile if there is a list of them.
    intercept_ : float or numpy.ndarray
        Prediction where all covariates are 0.
    smoothing_ : float or numpy.ndarray
        Where the loss was smoothed: the bandwidth in units of y, one for each quantile if there is
        a list of them; a released number where it was drawn.
    release_ : Release
        The receipt; its value is the intercept, if there is one, then the coefficients, quantile
        by quantile.
    n_features_in_ : int

    Notes
    -----
    ``score`` compares predictions with the response it is given. On private data that is a
    further release, and it is not protected.

    Examples
    --------
    >>> import numpy as np, kng
    >>> X = np.linspace(-1, 1, 5000).reshape(-1, 1)
    >>> y = 2 * X[:, 0] + np.tile([-0.1, 0, 0.1, 0.2, 0.3], 1000)
    >>> model = kng.QuantileRegressor(quantile=0.5, epsilon=1, bounds_X=(-1, 1), bounds_y=(-3, 3))
    >>> bool(abs(model.fit(X, y).coef_[0] - 2) < 0.1)
    True
    """

    _statistic: ClassVar[str] = "quantile regression"
    _mechanisms: ClassVar[tuple[str, ...]] = ("auto", "kng", "exponential", "objective")

    def __init__(
        self,
        *,
        quantile: Any = 0.5,
        epsilon: Any = None,
        weights: Any = None,
        noncrossing: str = "auto",
        bounds_X: Any = None,
        bounds_y: Any = None,
        coef_bound: Any = None,
        domain: Any = None,
        base: Any = None,
        smoothing: Any = None,
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
        self.quantile = quantile
        self.epsilon = epsilon
        self.weights = weights
        self.noncrossing = noncrossing
        self.bounds_X = bounds_X
        self.bounds_y = bounds_y
        self.coef_bound = coef_bound
        self.domain = domain
        self.base = base
        self.smoothing = smoothing
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
        ask = self._request()
        asked = Quantiles.of(self.quantile, self.weights, ask.epsilon)
        one_of("noncrossing", self.noncrossing, NONCROSSING)
        columns, openings = look()
        dim = columns.width + bool(self.fit_intercept)
        if is_smoothed(self._way, self.smoothing, dim, self.coef_bound):
            self._minimise(ask, asked, columns, openings)
            return
        self.__dict__.pop("smoothing_", None)
        width = drawn_bandwidth(self._way, self.smoothing)
        design = self._filled(self._design(columns), columns)
        resolved(ask.epsilon, None, design)
        source = openings.table(design.records)
        unit, m = ask.unit(source), len(asked)
        effects = self._box(design)
        apart = kept_apart(self.noncrossing, effects, design, unit, asked)
        memory, order, scale = source.memory, asked.order(apart), design.half_y
        plans = self._plans(design, unit, effects, asked, apart, memory=memory)
        answers = plans[0].problem.answers
        facts = self._described(columns, design, unit, asked, _DRAWN[apart])
        drawn_from: Any = plans[0].problem.loss
        facts |= Spread(self._shift, width).told(drawn_from.pointwise)

        def finish(drawn: Sequence[Point]) -> Point:
            """Put quantiles in the caller's order and count lattice points from their origin."""
            placed = dict(zip(order, drawn, strict=True))
            return tuple(k for i in range(m) for k in plans[i].place(placed[i]))

        answer = Answer(
            self._statistic, Lattice(answers.origin * m, answers.step * m, answers.last * m),
            False, self._public_bounds(columns), facts, finish, design.units.repeated(m),
            lambda drawn: predicted_noise([plans[order.index(i)] for i in range(m)], drawn, scale),
        )  # fmt: skip
        self.release_ = release([Stage(plans, source)], answer, ask.ledger, ask.bits)
        self._read_off(asked, design.dim)
        if width is not None:
            self.smoothing_ = np.full(m, float(width)) if asked.several else float(width)

    def _minimise(
        self, ask: Request, asked: Quantiles, columns: Columns, openings: Openings
    ) -> None:
        """Minimise a smoothed loss with noise in the objective."""
        way = self._way
        refuse_unsmoothed(way, self.coef_bound, self.noncrossing)
        bounds = response_range(self.bounds_y)
        response = self._cut(*bounds, SCALED_RESPONSE_STEPS)
        records = encoded(self._covariates(columns), response, self._cut)
        design = self._filled(design_of(records, bool(self.fit_intercept)), columns)
        resolved(ask.epsilon, None, design)
        width = bandwidth_of(self.smoothing, design)
        source = openings.table(design.records)
        unit = ask.unit(source)
        fit = SmoothedRequest(design, unit, bounds, asked, way, width).fit(
            source, openings.response
        )
        facts = self._described(columns, design, unit, asked, "a part of the scale of y included")
        facts["response"] = "clipped to its bounds"
        if fit.also is not None:
            facts["also released"] = fit.also.names
        answer = Answer(
            self._statistic, fit.lattice, False, self._public_bounds(columns),
            {**facts, **fit.facts}, fit.finish, fit.units,
        )  # fmt: skip
        self.release_ = release(fit.stages, answer, ask.ledger, ask.bits)
        self._read_off(asked, design.dim)
        released = self.release_.also
        widths = [v for name, v in released.items() if name.startswith("bandwidth")]
        scale = released.get("scale of y", 1.0)
        widths = widths or [float(width) * scale for width in fit.bandwidths]
        self.smoothing_ = np.array(widths) if asked.several else float(widths[0])

    def _read_off(self, asked: Quantiles, dim: int) -> None:
        """Set the coefficients that a release holds."""
        value = np.asarray(self.release_.value).reshape(len(asked), dim)
        intercept = value[:, 0] if self.fit_intercept else np.zeros(len(asked))
        slopes = value[:, 1:] if self.fit_intercept else value
        self.intercept_ = intercept if asked.several else float(intercept[0])
        self.coef_ = slopes if asked.several else slopes[0]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return predictions, as other models do; those of several quantiles are sorted.

        Sorting a row keeps quantiles in order wherever the covariates lie, and brings none farther
        from the true ones, which are in order.

        Parameters
        ----------
        X : array-like of shape (n, features)

        Returns
        -------
        numpy.ndarray of shape (n,), or (n, quantiles) where several were fitted
        """
        found = super().predict(X)
        return np.sort(found, axis=1) if found.ndim > 1 else found

    def _design(self, columns: Columns) -> Design:
        width = drawn_bandwidth(self._way, self.smoothing)
        response, intercept = response_range(self.bounds_y), bool(self.fit_intercept)
        design = linear_design(_TILTED, intercept, self._covariates(columns), response)
        if width is None:
            return design
        refuse_bandwidth(width, design)
        smoothed = SmoothedPinball(_TILTED.tau, width)
        return linear_design(smoothed, intercept, self._covariates(columns), response)

    def _box(self, design: Design) -> Domain:
        """Return where effects are looked for: a domain, or within coef_bound."""
        domain = self._way.domain
        if domain is not None:
            return domain
        low, high = response_range(self.bounds_y)
        half = (high - low) / 2 if self.fit_intercept else max(abs(low), abs(high))
        bound = _REACH * half
        if self.coef_bound is not None:
            bound = positive(self.coef_bound, "coef_bound")
        most = MOST_SPLIT if design.half_y == half else MOST
        if not LEAST_BOUND <= bound / design.half_y <= most:
            raise SpecError(
                f"{argument('coef_bound')} must lie between 1/256 and {most} times "
                f"{show(design.half_y)}, the unit of the response; got "
                f"{self.coef_bound or show(bound)}. Leave it out for twice the range of y."
            )
        return self._based(Box(-bound, bound), half)

    def _plans(
        self,
        design: Design,
        unit: PrivacyUnit,
        effects: Domain,
        asked: Quantiles,
        apart: bool,
        *,
        memory: int = USUAL_MEMORY,
    ) -> list[DensityPlan]:
        """Plan one draw per quantile, beside the nearest that was drawn before it if ``apart``."""
        way, order = self._way, asked.order(apart)
        taus = [asked.taus[i] for i in order]
        way.refuse_norm()
        kind: Kind = "value" if way.name == "exponential" else "gradient"
        weigh = Exponential() if kind == "value" else KNG()
        plans: list[DensityPlan] = []
        spread = Spread(self._shift, drawn_bandwidth(way, self.smoothing))
        for step, (tau, at) in enumerate(zip(taus, order, strict=True)):
            pointwise = spread.tilted(tau, design, unit, memory, kind)
            linear = Linear(pointwise, intercept=design.intercept)
            loss, domain, answers = on_effects(linear, design, effects, kind)
            norm = norm_for(way.norm, loss, unit, bounded=domain.bounded)
            if step and apart:
                nearest = min(range(step), key=lambda i: abs(taus[i] - tau))
                domain = beside(domain, design.intercept, 1 if tau > taus[nearest] else -1, nearest)
            problem = Problem(loss, norm, domain, design.records, answers, unit, memory)
            plans.append(planned(weigh, problem, asked.parts[at], way.sampler))
        return plans

    def _described(
        self,
        columns: Columns,
        design: Design,
        unit: PrivacyUnit,
        asked: Quantiles,
        how: str,
    ) -> dict[str, Fact]:
        names = self._coefficients(columns)
        rest: dict[str, Fact] = {**self._facts(), **details(design.records, unit)}
        if len(asked) == 1:
            return {"quantile": show(asked.taus[0]), "coefficients": names, **rest}
        return {
            "quantile": ", ".join(map(show, asked.taus)),
            "epsilon per quantile": f"{asked.shown_parts()}, {how}",
            "coefficients": tuple(f"{name} at {show(tau)}" for tau in asked.taus for name in names),
            **rest,
        }

    @property
    def _shift(self) -> Fraction:
        return largest_shift(*response_bounds(self.bounds_y))
