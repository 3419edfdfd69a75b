"""How often a search fits its model, and what that costs; from its options alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from kng.core.errors import KngError
from kng.core.exact import exact, show


def splits(cv: Any) -> int | None:
    """Return the number of folds; None where it depends on the records."""
    if cv is None:
        return 5
    if isinstance(cv, int):
        return cv
    try:
        number = cv.get_n_splits()
    except (AttributeError, TypeError, ValueError):  # a split that asks for the records, or a list
        return len(cv) if isinstance(cv, Sequence) else None
    return number if isinstance(number, int) else None


def candidates(search: Any) -> int | None:
    """Return how many settings a search tries at most."""
    if hasattr(search, "param_grid"):
        return sum(prod(len(values) for values in grid.values()) for grid in _grids(search))
    number = getattr(search, "n_iter", getattr(search, "n_candidates", None))
    return number if isinstance(number, int) else None


def cost(search: Any, name: str, epsilon: Any) -> str:
    """Return what a search of a private model costs in all, in words.

    Parameters
    ----------
    name : str
        The parameter of the search that is the model's epsilon, as in ``model__epsilon``.
    epsilon : number
        Its value where the search does not try several.
    """
    tried, folds, again = candidates(search), splits(search.cv), bool(search.refit)
    one = _number(epsilon)
    if tried is None or folds is None:
        return "every candidate is fitted once for each fold, and every fit costs epsilon"
    parts = f"{tried} candidate{'s'[: tried != 1]} x {folds} folds{' + 1 refit' if again else ''}"
    # Halving tries the best ones again, how many times depends on the number of records.
    least = "at least " if hasattr(search, "factor") else ""
    fitted = f"{least}{tried * folds + again} fits ({parts})"
    if not hasattr(search, "param_grid") and _draws(search, name):
        return f"{fitted}, each at its own epsilon"
    tries = list(_epsilons(search, name, one))
    if any(e is None for e in tries):
        return f"{fitted}, each at its own epsilon"
    if not hasattr(search, "param_grid"):
        tries = [one] * tried
    known = [e for e in tries if e is not None]
    if not known:
        return f"{fitted}, each at the model's epsilon"
    total = sum(known) * folds + (max(known) if again else 0)
    if len(set(known)) == 1:
        each = show(known[0])
        return f"{fitted} at epsilon {each} cost {least}epsilon {show(Fraction(total))} in all"
    return f"{fitted} cost up to epsilon {show(Fraction(total))} in all"


def _grids(search: Any) -> list[Mapping[str, Any]]:
    grid = search.param_grid
    return [grid] if isinstance(grid, Mapping) else list(grid)


def _draws(search: Any, name: str) -> bool:
    return name in getattr(search, "param_distributions", {})


def _epsilons(search: Any, name: str, usual: Fraction | None) -> Iterator[Fraction | None]:
    """Yield the epsilon of every candidate of a grid."""
    if not hasattr(search, "param_grid"):
        return
    for grid in _grids(search):
        number = prod(len(values) for key, values in grid.items() if key != name)
        tried = [_number(value) for value in grid[name]] if name in grid else [usual]
        for epsilon in tried:
            yield from [epsilon] * number


def _number(value: Any) -> Fraction | None:
    try:
        return exact(value, "epsilon")
    except KngError:
        return None
