"""The covariates that a formula makes of columns: what they are called, and their public bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import product

from kng.core.bounds import Bounds
from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.data.formula.calculation import product_range, range_of
from kng.data.formula.coding import coded_parts
from kng.data.formula.functions import Range
from kng.data.formula.tree import Computed, Formula, Levels, Name, Term, Value
from kng.data.kinds import Category, Declared, Ends

# More would be a mistake: each covariate costs accuracy.
_MOST = 1000


@dataclass(frozen=True, slots=True)
class Indicator:
    """Whether a record has a level of a category."""

    column: str
    level: int


Part = Value | Indicator


@dataclass(frozen=True, slots=True)
class Covariate:
    """A product of values and indicators, from the left to the right."""

    name: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Covariates:
    """All covariates of a model, the columns that they are made of, and their bounds.

    ``ranges`` are those of columns of numbers, in the order of ``columns``; None for categories.
    """

    columns: tuple[str, ...]
    kinds: tuple[Declared, ...]
    ranges: tuple[Range | None, ...]
    covariates: tuple[Covariate, ...]
    bounds: Bounds

    @property
    def names(self) -> tuple[str, ...]:
        """What the covariates are called."""
        return tuple(covariate.name for covariate in self.covariates)


def covariates_of_formula(
    formula: Formula, kinds: Mapping[str, Declared], bounds: Mapping[str, Ends], intercept: bool
) -> Covariates:
    """Return the covariates of a formula, given the kinds of its columns and bounds of numbers.

    Parameters
    ----------
    formula : Formula
    kinds : mapping
        What each column holds.
    bounds : mapping
        The public ends of each column of numbers.
    intercept : bool
        Whether the model has one.
    """
    ranges = {name: (float(low), float(high)) for name, (low, high) in bounds.items()}
    covariates: list[Covariate] = []
    ends: list[Ends] = []
    for term, parts in zip(formula.terms, _coded(formula.terms, kinds, intercept), strict=True):
        for part in parts:
            for covariate in _expanded(term, part, kinds):
                covariates.append(covariate)
                ends.append(_bounded(covariate, ranges, bounds))
        if len(covariates) > _MOST:
            raise SpecError(
                f"{argument('formula')} has more than {_MOST} covariates. Give fewer terms."
            )
    names = [covariate.name for covariate in covariates]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SpecError(
            f"{argument('formula')} has two covariates called {twice[0]!r}. Leave one out."
        )
    columns = formula.columns
    return Covariates(
        columns,
        tuple(kinds[name] for name in columns),
        tuple(None if isinstance(kinds[name], Category) else ranges[name] for name in columns),
        tuple(covariates),
        Bounds(tuple(low for low, _ in ends), tuple(high for _, high in ends)),
    )


def _coded(
    terms: Sequence[Term], kinds: Mapping[str, Declared], intercept: bool
) -> list[list[dict[str, bool]]]:
    """Return how the categories of each term are coded."""
    split = []
    for term in terms:
        categories = [name for name in map(_category_name, term) if name in _categories(kinds)]
        numbers = frozenset(
            f.shown if isinstance(f, Computed) else f.name
            for f in term
            if _category_name(f) not in categories
        )
        split.append((numbers, [name for name in categories if name is not None]))
    return coded_parts(split, intercept)


def _categories(kinds: Mapping[str, Declared]) -> list[str]:
    return [name for name, kind in kinds.items() if isinstance(kind, Category)]


def _category_name(factor: Name | Levels | Computed) -> str | None:
    return None if isinstance(factor, Computed) else factor.name


def _expanded(
    term: Term, coded: Mapping[str, bool], kinds: Mapping[str, Declared]
) -> list[Covariate]:
    """Return a covariate for each combination of levels."""
    choices: list[list[tuple[str, Part]]] = []
    for factor in term:
        if isinstance(factor, Computed):
            choices.append([(factor.shown, factor.value)])
            continue
        kind = kinds[factor.name]
        if not isinstance(kind, Category):
            choices.append([(factor.name, Name(factor.name))])
        elif factor.name in coded:
            levels = range(len(kind.names)) if coded[factor.name] else kind.indicators
            choices.append(
                [
                    (f"{factor.name}[{kind.names[level]}]", Indicator(factor.name, level))
                    for level in levels
                ]
            )
    if not choices:  # the constant, where every level of a category was left out with an intercept
        return []
    return [
        Covariate(":".join(name for name, _ in chosen), tuple(part for _, part in chosen))
        for chosen in product(*choices)
    ]


def _bounded(covariate: Covariate, ranges: Mapping[str, Range], bounds: Mapping[str, Ends]) -> Ends:
    """Return public ends of a covariate; those of a column are exact."""
    first = covariate.parts[0]
    if len(covariate.parts) == 1 and isinstance(first, Name):
        return bounds[first.name]
    each = [
        (0.0, 1.0) if isinstance(part, Indicator) else range_of(part, ranges)
        for part in covariate.parts
    ]
    low, high = reduce(product_range, each)
    if not low < high:
        raise SpecError(f"term {covariate.name!r} of the formula is constant. Leave it out.")
    return Fraction(repr(low)), Fraction(repr(high))
