"""Private logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags

from kng.core.design import Design, design_of
from kng.core.encoding import Encoding
from kng.core.exact import positive, show
from kng.core.lattice import Lattice
from kng.core.parts import Domain, Point
from kng.core.release import Fact
from kng.corridor import Answer, Stage, release
from kng.data import Engine, open_labelled, open_labelled_columns
from kng.estimators.array_shapes import covariates_in, response_in
from kng.estimators.class_plans import REACH, ClassPlans, effects_box
from kng.estimators.declared_classes import declared, labels_of
from kng.estimators.predicted_noise import predicted_noise
from kng.estimators.public_facts import RESPONSE, Columns, Look, Openings, declared_width, resolved
from kng.estimators.regression import PrivateModel
from kng.estimators.request import Request, details
from kng.losses.linear_encoding import linear_design
from kng.losses.pointwise.odds import Odds

if TYPE_CHECKING:
    from kng.data.formula.covariates import Covariates


class LogisticRegression(ClassifierMixin, PrivateModel):  # type: ignore[misc]
    """Logistic regression, fitted by one private release.

    Which classes there are is stated and never read from the data. A record whose label is none of
    them, or that lacks a covariate, is absent: it counts for nothing, and nothing tells of it.

    By default noise is added to the gradient of the loss, and the perturbed loss is minimised to
    the last digit that is released (objective perturbation): any number of covariates, and an exact
    draw. With up to three coefficients "auto" compares it with KNG by what public facts predict,
    and takes KNG where records are many and epsilon is small: there the ridge would draw strong
    effects to 0 by more than KNG's noise moves them (docs/logistic.md).

    Parameters
    ----------
    epsilon : number
        Privacy budget of one fit, all classes together.
    classes : list of labels
        Two or more: numbers, booleans or text. With three or more each class is fitted against the
        rest with epsilon / classes.
    bounds_X : (low, high), numbers or one array per end, or {column: (low, high)}
        Public range of each covariate. Records outside are clipped.
    coef_bound : number, optional
        Bound on  sum_j |coef_j| * (half the range of covariate j)  plus the size of the log-odds at
        the middle of the covariates. Without an intercept on sum_j |coef_j| * max(|low_j|,
        |high_j|). With ``mechanism="kng"`` a bound on each of these terms, 16 unless given.
    domain : domain of `kng.domains`, optional
        In place of coef_bound: where effects are looked for, in log-odds.
    base : {"uniform", "heavy-tailed", "gaussian", "student"} or a base of `kng.bases`
        How likely effects are before the records are seen, for "kng".
    centre : array-like, optional
        A public guess of the intercept, if there is one, and the coefficients, which the ridge of
        objective perturbation draws to instead of 0; for two classes.
    fit_intercept : bool
        Without it the log-odds are 0 where the covariates are.
    mechanism : {"auto", "objective", "kng"} or a mechanism
        "auto" takes the smaller predicted error; a sampler of densities by name asks for "kng",
        which weighs coefficients by the gradient and draws up to four of them exactly.
    norm : {"auto", "linf", "l2", "l1"} or a norm of `kng.norms`
        "auto" is the sup norm.
    sampler : {"auto", "perturbed", "branch-and-bound", "hit-and-run"}
        The Markov chain is taken only by name.
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
    classes_ : numpy.ndarray
        The classes, sorted.
    coef_ : numpy.ndarray of shape (1, features), or (classes, features) for three or more
        Coefficients in the caller's units; for two classes of the log-odds of the second.
    intercept_ : numpy.ndarray of shape (1,) or (classes,)
    release_ : Release
        The receipt; its value is the intercept, if there is one, then the coefficients, class by
        class.
    n_features_in_ : int

    Notes
    -----
    ``score`` compares predictions with the labels it is given. On private data that is a further
    release, and it is not protected: release the share of hits by `kng.mean` instead.

    Examples
    --------
    >>> import numpy as np, kng
    >>> X = np.linspace(-1, 1, 20000).reshape(-1, 1)
    >>> model = kng.LogisticRegression(epsilon=1, classes=("no", "yes"), bounds_X=(-1, 1))
    >>> model = model.fit(X, np.where(X[:, 0] > 0.25, "yes", "no"))
    >>> model.predict([[-1.0], [1.0]]).tolist()
    ['no', 'yes']
    """

    _statistic: ClassVar[str] = "logistic regression"
    _mechanisms: ClassVar[tuple[str, ...]] = ("auto", "objective", "kng")
    bounds_y = None

    def __init__(
        self,
        *,
        epsilon: Any = None,
        classes: Any = None,
        bounds_X: Any = None,
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
        self.classes = classes
        self.bounds_X = bounds_X
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
        ask, classes = self._request(), declared(self.classes)
        columns, openings = look()
        design = self._filled(self._design_for(columns, len(classes)), columns)
        resolved(ask.epsilon, None, design)
        source = openings.table(design.records)
        # A record whose label is no class is absent, and has the score 0.
        unit = replace(ask.unit(source), presence="optional")
        # Of two classes one coefficient vector says everything.
        fitted = [1] if len(classes) == 2 else list(range(len(classes)))
        bound = None if self.coef_bound is None else positive(self.coef_bound, "coef_bound")
        sizes = len(classes), self._box, source.memory
        asked = ClassPlans(self._way, design, unit, bound, fitted, *sizes)
        plans = asked.plans(ask.epsilon)
        each = plans[0].lattice
        times = len(fitted)

        def finish(drawn: Sequence[Point]) -> Point:
            pairs = zip(plans, drawn, strict=True)
            return tuple(k for plan, point in pairs for k in plan.place(point))

        answer = Answer(
            self._statistic,
            Lattice(each.origin * times, each.step * times, each.last * times),
            False,
            self._public_bounds(columns),
            self._described(columns, classes, ask, details(_unlabelled(design.records), unit)),
            finish,
            design.units.repeated(times),
            lambda drawn: predicted_noise(plans, drawn, design.half_y),
        )
        self.release_ = release([Stage(plans, source)], answer, ask.ledger, ask.bits)
        value = np.asarray(self.release_.value).reshape(times, design.dim)
        self.classes_ = classes
        self.intercept_ = value[:, 0] if self.fit_intercept else np.zeros(times)
        self.coef_ = value[:, 1:] if self.fit_intercept else value

    def _design_for(self, columns: Columns, classes: int) -> Design:
        """Return how records become whole numbers; the code after the last class is absence."""
        found = linear_design(
            Odds(1, classes),
            bool(self.fit_intercept),
            self._covariates(columns),
            (Fraction(0), Fraction(classes)),
        )
        records = replace(found.records, missing=(*found.records.missing[:-1], classes))
        return design_of(records, found.intercept, found.scale, found.origin)

    def _box(self) -> Domain:
        """Return where KNG looks for effects."""
        if self._way.domain is not None:
            return self._way.domain
        bound = REACH if self.coef_bound is None else positive(self.coef_bound, "coef_bound")
        return self._based(effects_box(bound), Fraction(1))

    def _in_memory(self, X: Any, y: Any) -> tuple[Columns, Openings]:
        """Look at shapes and names only; labels are read as classes."""
        columns, _ = super()._in_memory(X, y)
        table = covariates_in(X, declared_width(self.bounds_X))
        labels = labels_of(declared(self.classes))
        opening = partial(open_labelled, table, response_in(y), labels, present=self._present)
        return columns, Openings(opening, opening)

    def _of_columns(self, engine: Engine, names: Sequence[str]) -> Openings:
        """Open columns of a table, the last of them the label."""
        labels = labels_of(declared(self.classes))
        opening = partial(open_labelled_columns, engine, names, labels, present=self._present)
        return Openings(opening, opening)

    def _of_formula(self, engine: Engine, made: Covariates, target: str) -> Openings:
        """Open the covariates of a formula and, last, the label."""
        from kng.data.formula.opening import open_labelled_formula

        label = target, labels_of(declared(self.classes))
        opening = partial(open_labelled_formula, engine, made, label, present=self._present)
        return Openings(opening, opening)

    def _described(
        self,
        columns: Columns,
        classes: NDArray[Any],
        ask: Request,
        rest: dict[str, str],
    ) -> dict[str, Fact]:
        names, shown = self._coefficients(columns), tuple(map(_shown, classes))
        if len(classes) == 2:
            odds = f"of {shown[1]} against {shown[0]}"
            found: dict[str, Fact] = {"classes": shown, "log-odds": odds, "coefficients": names}
        else:
            found = {
                "classes": shown,
                "log-odds": "of each class against the rest",
                "epsilon per class": show(ask.epsilon / len(classes)),
                "coefficients": tuple(f"{name} for {label}" for label in shown for name in names),
            }
        if columns.response != RESPONSE:
            found["labels"] = f"column {columns.response}"
        return {**found, **self._facts(), **rest, "other labels": "their records are left out"}

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return log-odds, of the second of two classes or of each class against the rest.

        Post-processing of the release, hence free; NaN where a cell is missing.

        Parameters
        ----------
        X : array-like of shape (n, features)

        Returns
        -------
        numpy.ndarray of shape (n,), or (n, classes) for three or more
        """
        found = self._predictions(X)
        return found[:, 0] if len(self.classes_) == 2 else found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return a probability for each class; with three or more, shares of their odds' own.

        Parameters
        ----------
        X : array-like of shape (n, features)

        Returns
        -------
        numpy.ndarray of shape (n, classes)
        """
        odds = self.decision_function(X)
        with np.errstate(all="ignore"):
            each = 1 / (1 + np.exp(-odds))
            if each.ndim == 1:
                return np.column_stack([1 - each, each])
            total = each.sum(axis=1, keepdims=True)
            return np.asarray(np.where(total > 0, each / total, 1 / each.shape[1]))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n, features)

        Returns
        -------
        numpy.ndarray of shape (n, classes)
        """
        with np.errstate(all="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class of each record, the first one where a cell is missing.

        Parameters
        ----------
        X : array-like of shape (n, features)

        Returns
        -------
        numpy.ndarray of shape (n,)
        """
        odds = np.nan_to_num(self.decision_function(X), nan=-np.inf)
        at = (odds > 0).astype(int) if odds.ndim == 1 else odds.argmax(axis=1)
        return np.asarray(self.classes_[at])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _unlabelled(records: Encoding) -> Encoding:
    """Return the encoding as a receipt tells it: a missing label is left out, as is any other."""
    return replace(records, missing=(*records.missing[:-1], None))


def _shown(label: Any) -> str:
    """Write a label as people do: 1 and not 1.0."""
    return f"{label:.0f}" if isinstance(label, float) and label.is_integer() else str(label)
