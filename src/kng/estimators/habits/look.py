"""``kng.check``: walks through a pipeline or a search and lists what would leak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kng.core.errors import SpecTypeError
from kng.estimators.habits.report import Finding, Report
from kng.estimators.habits.searches import cost
from kng.estimators.habits.transformers import classes_of, learned

_SEARCHES = {"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"}
_SPLIT = (
    "Choose settings by what you know without the data, or pay for the choice: fit each candidate "
    "on a part of epsilon and compare private errors (docs/habits.md)."
)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where we are: the steps so far, the search around us, and how it calls what is inside."""

    steps: tuple[str, ...]
    search: Any = None
    prefix: str = ""

    def into(self, name: str, parameter: str) -> _Place:
        inside = f"{self.prefix}{parameter}__" if self.search is not None else ""
        return replace(self, steps=(*self.steps, name), prefix=inside)

    def found(self, part: Any, problem: str, remedy: str) -> Finding:
        return Finding(" > ".join(self.steps), type(part).__name__, problem, remedy)


def check(pipeline: Any) -> Report:
    """Say what a pipeline or a search would release without paying; looks at no record.

    A scaler, an imputer or an encoder that is fitted to private records stores exact facts about
    them, and cross-validation compares predictions with them. Neither is covered by the epsilon of
    the model at the end. This function names such steps from the objects alone, and says what to do
    instead. What is called as a function, such as ``cross_val_score``, cannot be seen.

    Parameters
    ----------
    pipeline : estimator
        A Pipeline, ColumnTransformer, FeatureUnion, TransformedTargetRegressor, a search such as
        GridSearchCV, or an estimator, of `kng` or not.

    Returns
    -------
    Report
        True if anything was found. ``.findings`` has one item for each: where, what, problem and
        remedy.

    Examples
    --------
    >>> import kng
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> model = kng.LinearRegression(epsilon=1, bounds_X=(0, 100), bounds_y=(0, 9))
    >>> report = kng.check(make_pipeline(StandardScaler(), model))
    >>> bool(report), report.findings[0].what
    (True, 'StandardScaler')
    >>> bool(kng.check(model))
    False
    """
    if isinstance(pipeline, type) or not (hasattr(pipeline, "fit") or classes_of(pipeline)):
        what = pipeline.__name__ if isinstance(pipeline, type) else type(pipeline).__name__
        raise SpecTypeError(
            f"check looks at an estimator, a pipeline or a search, got {what}. Give the object "
            "that is going to be fitted."
        )
    start = _Place((type(pipeline).__name__,))
    return Report(tuple(_look(pipeline, start)))


def _look(part: Any, place: _Place) -> Iterator[Finding]:
    """Yield what is found in a part and in what is inside it."""
    known = set(classes_of(part))
    if part is None or isinstance(part, str):  # "passthrough", "drop"
        return
    if _is_ours(part):
        yield from _private(part, place)
    elif known & _SEARCHES:
        yield from _search(part, place)
    elif "Pipeline" in known:
        for name, step in part.steps:
            yield from _look(step, place.into(name, name))
    elif "ColumnTransformer" in known:
        for name, step, _ in part.transformers:
            yield from _look(step, place.into(name, name))
        yield from _look(part.remainder, place.into("remainder", "remainder"))
    elif "FeatureUnion" in known:
        for name, step in part.transformer_list:
            yield from _look(step, place.into(name, name))
    elif "TransformedTargetRegressor" in known:
        yield from _transformed_target(part, place)
    elif _transforms(part):
        yield from _transformer(part, place)
    else:
        yield from _other(part, place)


def _private(model: Any, place: _Place) -> Iterator[Finding]:
    """Look at a model of ours, which pays for itself."""
    if getattr(model, "random_state", None) is not None:
        yield place.found(
            model,
            "random_state makes the fit repeatable, so it is a simulation and not private.",
            "Leave random_state at None for a release.",
        )
    if place.search is None:
        return
    name = f"{place.prefix}epsilon"
    spent = cost(place.search, name, model.epsilon)
    counted = "" if model.ledger is not None else " No ledger counts them."
    yield place.found(
        model,
        f"The search multiplies the budget: {spent}.{counted}",
        "Give ledger=... so that every fit is counted, and divide epsilon by the number of fits; "
        "or fit once.",
    )


def _search(search: Any, place: _Place) -> Iterator[Finding]:
    """Look at a search: it scores on records, and fits many times."""
    yield place.found(
        search,
        "It compares predictions with held-out records. best_score_, cv_results_ and the choice of "
        "the best setting are exact facts about them, which no epsilon covers.",
        _SPLIT,
    )
    inside = replace(place, search=search, prefix="", steps=(*place.steps, "estimator"))
    yield from _look(search.estimator, inside)


def _transformer(part: Any, place: _Place) -> Iterator[Finding]:
    found = learned(part)
    if found is not None:
        stored, remedy = found
        yield place.found(part, f"Its fit releases {stored}, without paying.", remedy)


def _transformed_target(part: Any, place: _Place) -> Iterator[Finding]:
    if part.transformer is not None:
        yield from _look(part.transformer, place.into("transformer", "transformer"))
    elif part.func is not None and part.check_inverse:
        yield place.found(
            part,
            "check_inverse tries records and warns if a function does not undo the other: the "
            "warning depends on them.",
            "Set check_inverse=False.",
        )
    if part.regressor is not None:
        yield from _look(part.regressor, place.into("regressor", "regressor"))
    else:
        yield place.found(
            part,
            "Its regressor is LinearRegression of scikit-learn, which is not private.",
            "Give regressor=kng.LinearRegression(...).",
        )


def _other(part: Any, place: _Place) -> Iterator[Finding]:
    """Look at a model that is not ours, or at one that fits copies of others."""
    inner = [
        (name, getattr(part, name))
        for name in ("estimator", "regressor", "classifier")
        if getattr(part, name, None) is not None
    ]
    inner += [(name, step) for name, step in _pairs(getattr(part, "estimators", None))]
    inner += [("final_estimator", part.final_estimator)] if _has(part, "final_estimator") else []
    if any(_is_ours(step) for _, step in inner):
        yield place.found(
            part,
            "It fits several copies of the models inside, each of which costs its own epsilon, and "
            "may score them on records.",
            "Fit one model, or give ledger=... to the models inside so that every fit is counted.",
        )
    elif not inner:
        yield place.found(
            part,
            "It is fitted without privacy: its coefficients or trees show the records.",
            "Use a model of kng.",
        )
    for name, step in inner:
        yield from _look(step, place.into(name, name))


def _transforms(part: Any) -> bool:
    """Tell a transformer from a model; selections of columns offer the methods of both."""
    selects = any(".feature_selection." in module for module in classes_of(part).values())
    return selects or (hasattr(part, "transform") and not hasattr(part, "predict"))


def _pairs(estimators: Any) -> list[tuple[str, Any]]:
    return list(estimators) if isinstance(estimators, list) else []


def _has(part: Any, name: str) -> bool:
    return getattr(part, name, None) is not None


def _is_ours(part: Any) -> bool:
    return any(c.__module__.split(".")[0] == "kng" for c in type(part).__mro__)
