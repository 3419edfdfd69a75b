"""What transformers of scikit-learn learn from records, by their classes and options.

Classes are known by name, and packages by theirs, so that nothing is imported to look at one.
"""

from __future__ import annotations

from typing import Any

_BOUNDS = (
    "Leave it out: bounds_X puts all covariates on one scale already. To change units use public "
    "numbers, as in FunctionTransformer(lambda X: X / 1000)."
)
_PUBLIC_CUTS = "Use edges that you know without the data, in a FunctionTransformer."
_MISSING = (
    "Leave it out: records with missing cells are absent, or fill in a public number with "
    "SimpleImputer(strategy='constant', fill_value=...)."
)
_LEVELS = "State the levels: categories=[[...]] with handle_unknown={!r}."
_CHOOSE = (
    "Choose the columns by what you know without the data, with ColumnTransformer or features=."
)

# By class: what it stores of the records, and what to do.
_LEARNS = {
    "StandardScaler": ("exact means and standard deviations", _BOUNDS),
    "MinMaxScaler": ("the smallest and the largest record of each column", _BOUNDS),
    "MaxAbsScaler": ("the largest record of each column", _BOUNDS),
    "RobustScaler": ("exact quantiles", _BOUNDS),
    "QuantileTransformer": ("up to a thousand exact quantiles of each column", _BOUNDS),
    "PowerTransformer": ("exponents, means and deviations fitted to the records", _BOUNDS),
    "KBinsDiscretizer": ("the edges of bins, taken from the records", _PUBLIC_CUTS),
    "SplineTransformer": ("knots taken from the records", _PUBLIC_CUTS),
    "KernelCenterer": ("means over all records", _BOUNDS),
    "KNNImputer": ("all records, to look up neighbours", _MISSING),
    "IterativeImputer": ("models of every column, fitted without privacy", _MISSING),
    "MissingIndicator": (
        "which columns have missing cells",
        "Leave it out, or set features='all'.",
    ),
    "TargetEncoder": (
        "means of the target in each level",
        "Use indicators of levels that you state: OneHotEncoder(categories=[[...]]).",
    ),
    "LabelEncoder": ("the labels that occur", "Give labels as they are, with classes=(...)."),
    "LabelBinarizer": ("the labels that occur", "Give labels as they are, with classes=(...)."),
    "DictVectorizer": ("the names that occur", "Use FeatureHasher, which learns nothing."),
    "Nystroem": ("some of the records themselves", "Use PolynomialFeatures, which learns nothing."),
}
# By package: what its classes have in common.
_PACKAGES = {
    "decomposition": (
        "directions fitted to the records without privacy",
        "Leave it out, or project with a public matrix in a FunctionTransformer.",
    ),
    "cross_decomposition": (
        "directions fitted to records and response without privacy",
        "Leave it out, or project with a public matrix in a FunctionTransformer.",
    ),
    "feature_selection": ("which columns the records and the response favour", _CHOOSE),
    "manifold": ("positions fitted to the records", _CHOOSE),
    "cluster": ("centres fitted to the records", "Leave it out, or state public groups."),
    "neighbors": ("the records themselves", _CHOOSE),
}
_UNKNOWN = (
    "whatever it takes from the records (this class is not known here)",
    "Leave it out, unless its fit looks at no cell.",
)
# Nothing of the records stays in these.
_STATELESS = {
    *("FunctionTransformer", "Normalizer", "Binarizer", "PolynomialFeatures"),
    *("HashingVectorizer", "FeatureHasher", "AdditiveChi2Sampler", "GaussianRandomProjection"),
    *("SkewedChi2Sampler", "PolynomialCountSketch"),
}


def classes_of(part: Any) -> dict[str, str]:
    """Return the classes of scikit-learn that a part is one of, with the module of each."""
    line = type(part).__mro__
    return {c.__name__: c.__module__ for c in line if c.__module__.split(".")[0] == "sklearn"}


def learned(part: Any) -> tuple[str, str] | None:
    """Return what fitting a transformer releases and what to do; None if it learns nothing."""
    known = classes_of(part)
    for read in (_encoder, _imputer, _vectorizer, _projection):
        found = read(part, known)
        if found is not None:
            return found or None
    if _STATELESS & set(known):
        return None
    for name in known:
        if name in _LEARNS:
            return _LEARNS[name]
    for module in known.values():
        package = module.split(".")[1]
        if package in _PACKAGES:
            return _PACKAGES[package]
    return None if _needs_no_fit(part) else _UNKNOWN


def _needs_no_fit(part: Any) -> bool:
    """Whether a part says by scikit-learn's tags that fitting does nothing."""
    tags = getattr(part, "__sklearn_tags__", None)
    return callable(tags) and getattr(tags(), "requires_fit", True) is False


# Each returns None if the part is of another kind, an empty tuple if it is harmless.
_Found = tuple[str, str] | tuple[()] | None


def _encoder(part: Any, known: dict[str, str]) -> _Found:
    remedies = {"OneHotEncoder": "ignore", "OrdinalEncoder": "use_encoded_value"}
    name = next((name for name in remedies if name in known), None)
    if name is None:
        return None
    remedy = _LEVELS.format(remedies[name])
    if isinstance(part.categories, str):
        return "the levels that occur, rare ones included", remedy
    if getattr(part, "min_frequency", None) or getattr(part, "max_categories", None):
        return "which levels are frequent", "Leave out min_frequency and max_categories."
    if part.handle_unknown == "error":
        return "a cell that is none of the levels, in the text of an error", remedy
    return ()


def _imputer(part: Any, known: dict[str, str]) -> _Found:
    if "SimpleImputer" not in known:
        return None
    if part.strategy != "constant":
        return f"the exact {str(part.strategy).replace('_', ' ')} of each column", _MISSING
    if part.add_indicator:
        return "which columns have missing cells", "Leave out add_indicator."
    return ()


def _vectorizer(part: Any, known: dict[str, str]) -> _Found:
    if "TfidfTransformer" in known or "TfidfVectorizer" in known:
        return (
            "in how many records each word occurs",
            "Use HashingVectorizer, which learns nothing.",
        )
    if "CountVectorizer" not in known:
        return None
    if part.vocabulary is None:
        return "the words that occur", "State vocabulary=[...], or use HashingVectorizer."
    return ()


def _projection(part: Any, known: dict[str, str]) -> _Found:
    if "RBFSampler" not in known:
        return None
    if part.gamma == "scale":
        return "the exact variance of the records", "Give gamma as a number."
    return ()
