"""``estimator.plan``: what a fit would be worth; what it needs loads when asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kng.estimators.planning.report import ReleasePlan


class PlannedModel:
    """A model that can say what a fit would be worth."""

    def plan(
        self,
        *,
        n: int,
        features: Any = None,
        residual: Any = None,
        spread: Any = None,
        centre: Any = None,
        coef: Any = None,
        intercept: Any = None,
        error: Any = None,
        present: Any = None,
    ) -> ReleasePlan:
        """Return what a fit would be worth, from public facts and guesses; no record is read.

        Parameters
        ----------
        n : int
            Number of records.
        features : int or list of str, optional
            Covariates, where bounds_X is one pair for all of them.
        residual : number, optional
            Guess of the standard deviation of residuals; a sixth of the range of y unless given.
        spread, centre : number or one per covariate, optional
            Guesses of the standard deviation and the mean of covariates, which are then normal and
            clipped to their bounds; without a spread uniform between them.
        coef, intercept : optional
            Guesses of the coefficients; slopes of 0 and the middle of bounds_y unless given.
        error : number, optional
            Error that is asked for, in units of coefficients: the plan says what it needs.
        present : number, optional
            Guess of the share of records that count: those without a missing cell, for which the
            condition of ``where`` holds. All unless given.

        Returns
        -------
        ReleasePlan
            Expected errors, a verdict, what the error asked for needs, and a dry run. docs/plan.md.
        """
        from kng.estimators.planning.regressions import model_plan

        return model_plan(
            self, n=n, features=features, residual=residual, spread=spread, centre=centre,
            coef=coef, intercept=intercept, error=error, present=present,
        )  # fmt: skip
