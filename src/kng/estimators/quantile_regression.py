"""Private quantile regression."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np

from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, positive, show
from kng.core.lattice import Lattice
from kng.core.parts import Domain, Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.core.release import Fact
from kng.corridor import Answer, Stage, release
from kng.domains import Box, Uncrossed
from kng.estimators.part_options import norm_for
from kng.estimators.planned import planned
from kng.estimators.public_facts import (
    Columns,
    Kind,
    Look,
    on_effects,
    resolved,
    response_bounds,
    response_range,
)
from kng.estimators.regression import PrivateRegressor
from kng.estimators.request import details
from kng.losses.linear import Linear
from kng.losses.linear_encoding import (
    JITTER,
    LEAST_BOUND,
    MOST_SPLIT,
    linear_design,
)
from kng.losses.pointwise.pinball import Pinball
from kng.mechanisms import KNG, Exponential

# Records and lattice are the same for every quantile.
_TILTED = Pinball(Fraction(1, 2))
# The largest denominator of a quantile: it multiplies sums over records in float64.
_DIGITS = 10**30
# Half ranges of y that a coefficient may be worth unless coef_bound says otherwise.
_REACH = 4


class QuantileRegressor(PrivateRegressor):
    """Linear quantile regression, drawn exactly.

    One fit is one release: it spends epsilon once and leaves nothing but coefficients. Several
    quantiles are released one after the other, from the middle outwards, each from the planes that
    do not cross the last one anywhere within the bounds of the covariates.

    Parameters
    ----------
    quantile : number or increasing list of numbers
        Strictly between 0 and 1. Several share epsilon equally.
    epsilon : number
        Privacy budget of one fit, for all quantiles together.
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
    fit_intercept : bool
        Without it the plane goes through 0; covariates and y are measured from there.
    mechanism : {"auto", "kng", "exponential"} or a mechanism
        "auto" is KNG.
    norm : {"auto", "linf", "l2", "l1"} or a norm of `kng.norms`
        "auto" is the best norm there is for one record's change.
    sampler : {"auto", "branch-and-bound", "hit-and-run"}
        "auto" is branch and bound, which draws exactly for up to five coefficients, the intercept
        among them. The Markov chain is taken only by name.
    neighbours : {"replace-one", "add-remove"}
        Whether the number of records is public (one record replaced) or private.
    n_max : int, optional
        Public bound on the number of records under add-remove.
    records_per_person : int
        How many records one person may have; the guarantee is per person.
    ledger : Ledger or path, optional
        Account to charge before the data are read. Copies and clones charge the same account.
    random_state : int, optional
        Makes the fit repeatable. It is then a simulation: do not publish it; ledgers reject it.

    Attributes
    ----------
    coef_ : numpy.ndarray
        Coefficients in the caller's units; one row per quantile if there is a list of them.
    intercept_ : float or numpy.ndarray
        Prediction where all covariates are 0.
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
    _mechanisms: ClassVar[tuple[str, ...]] = ("auto", "kng", "exponential")

    def __init__(
        self,
        *,
        quantile: Any = 0.5,
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
        ledger: Any = None,
        random_state: Any = None,
    ) -> None:
        self.quantile = quantile
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
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Spend epsilon and fit the coefficients.

        Parameters
        ----------
        X : array-like of shape (n, features)
        y : array-like of shape (n,)

        Returns
        -------
        QuantileRegressor
            This estimator.
        """
        return self._fit(partial(self._in_memory, X, y))

    def _refit(self, look: Look) -> None:
        ask = self._request()
        taus = self._taus()
        columns, openings = look()
        design = self._design(columns)
        resolved(ask.epsilon, None, design)
        source = openings.table(design.records)
        share = ask.epsilon / len(taus)
        unit = ask.unit(source)
        order = _outwards(taus)
        plans = self._stepwise(design, unit, [taus[i] for i in order], share)
        answers = plans[0].problem.answers

        def finish(drawn: Sequence[Point]) -> Point:
            """Put quantiles in the caller's order and count lattice points from their origin."""
            placed = dict(zip(order, drawn, strict=True))
            return tuple(k for i in range(len(taus)) for k in plans[i].place(placed[i]))

        facts = self._described(columns, design, unit, taus, share)
        answer = Answer(
            self._statistic,
            Lattice(answers.origin * len(taus), answers.step * len(taus), answers.last * len(taus)),
            False,
            self._public_bounds(columns),
            facts,
            finish,
            design.units.repeated(len(taus)),
        )
        self.release_ = release([Stage(plans, source)], answer, ask.ledger, ask.bits)
        value = np.asarray(self.release_.value).reshape(len(taus), design.dim)
        intercept = value[:, 0] if self.fit_intercept else np.zeros(len(taus))
        slopes = value[:, 1:] if self.fit_intercept else value
        several = _several(self.quantile)
        self.intercept_ = intercept if several else float(intercept[0])
        self.coef_ = slopes if several else slopes[0]

    def _taus(self) -> list[Fraction]:
        """Read the quantiles: one number, or an increasing list."""
        taus = [
            exact(item, "quantile")
            for item in (list(self.quantile) if _several(self.quantile) else [self.quantile])
        ]
        if not taus:
            raise SpecError("quantile is empty; give a quantile such as 0.5, or a list of them.")
        for tau in taus:
            if not 0 < tau < 1:
                raise SpecError(
                    f"quantile must lie strictly between 0 and 1, got {show(tau)}. For the ends of "
                    "a distribution use for example 0.01 or 0.99."
                )
            if tau.denominator > _DIGITS:
                raise SpecError(
                    "quantile has more than thirty digits, which the search for a draw does not "
                    "follow. Give it shorter, such as 0.333333."
                )
        if any(a >= b for a, b in pairwise(taus)):
            raise SpecError(
                f"quantile must be increasing, got {', '.join(map(show, taus))}. Sort the list "
                "and name each quantile once."
            )
        if len(taus) > 1 and not self.fit_intercept:
            raise IncompatibleParts(
                "Several quantiles without an intercept would all meet where the covariates are 0. "
                "Use fit_intercept=True, or fit one quantile at a time."
            )
        return taus

    def _design(self, columns: Columns) -> Design:
        response, intercept = response_range(self.bounds_y), bool(self.fit_intercept)
        return linear_design(_TILTED, intercept, self._covariates(columns), response)

    def _box(self, design: Design) -> Domain:
        """Return where effects are looked for: a domain, or within coef_bound."""
        domain = self._way.domain
        if domain is not None:
            return domain
        bound = _REACH * design.half_y
        if self.coef_bound is not None:
            bound = positive(self.coef_bound, "coef_bound")
        if not LEAST_BOUND <= bound / design.half_y <= MOST_SPLIT:
            raise SpecError(
                f"coef_bound must lie between 1/256 and 256 times {show(design.half_y)}, the unit "
                f"of the response; got {self.coef_bound}. Leave it out for twice the range of y."
            )
        return self._based(Box(-bound, bound), design.half_y)

    def _stepwise(
        self, design: Design, unit: PrivacyUnit, taus: Sequence[Fraction], share: Fraction
    ) -> list[DensityPlan]:
        """Plan one draw per quantile, each beside the nearest that was drawn before it."""
        way, effects = self._way, self._box(design)
        way.refuse_norm()
        kind: Kind = "value" if way.name == "exponential" else "gradient"
        weigh = Exponential() if kind == "value" else KNG()
        plans: list[DensityPlan] = []
        for step, tau in enumerate(taus):
            linear = Linear(Pinball(tau), intercept=design.intercept)
            loss, domain, answers = on_effects(linear, design, effects, kind)
            norm = norm_for(way.norm, loss, unit, bounded=domain.bounded)
            if step:
                nearest = min(range(step), key=lambda i: abs(taus[i] - tau))
                domain = _beside(domain, 1 if tau > taus[nearest] else -1, nearest)
            problem = Problem(loss, norm, domain, design.records, answers, unit)
            plans.append(planned(weigh, problem, share, way.sampler))
        return plans

    def _described(
        self,
        columns: Columns,
        design: Design,
        unit: PrivacyUnit,
        taus: Sequence[Fraction],
        share: Fraction,
    ) -> dict[str, Fact]:
        names = self._coefficients(columns)
        rest: dict[str, Fact] = {**self._facts(), **details(design.records, unit)}
        if len(taus) == 1:
            return {"quantile": show(taus[0]), "coefficients": names, **rest}
        return {
            "quantile": ", ".join(show(tau) for tau in taus),
            "epsilon per quantile": f"{show(share)}, drawn from the middle outwards",
            "coefficients": tuple(f"{name} at {show(tau)}" for tau in taus for name in names),
            **rest,
        }

    def _facts(self) -> dict[str, str]:
        low, high = response_bounds(self.bounds_y)
        shift = (high - low) * JITTER / 4
        return {
            "response": f"clipped to its bounds, then shifted at random by up to {show(shift)}",
            **super()._facts(),
        }


def _beside(domain: Domain, side: Literal[1, -1], than: int) -> Uncrossed:
    """Return the planes of a box that will not cross one that is drawn before."""
    if not isinstance(domain, Box):
        raise IncompatibleParts(
            f"Several quantiles are drawn from a Box, whose planes can be kept from crossing, not "
            f"from {described(domain)}. Use a Box, or fit one quantile at a time."
        )
    return Uncrossed(domain, side, than)


def _several(quantile: Any) -> bool:
    """Tell a list of quantiles from one."""
    return isinstance(quantile, list | tuple) or (
        isinstance(quantile, np.ndarray) and quantile.ndim > 0
    )


def _outwards(taus: Sequence[Fraction]) -> list[int]:
    """Return positions from the quantile nearest to the median outwards, up first and then down."""
    middle = min(range(len(taus)), key=lambda i: (abs(taus[i] - Fraction(1, 2)), i))
    return [middle, *range(middle + 1, len(taus)), *range(middle - 1, -1, -1)]
