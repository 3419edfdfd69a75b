"""Which levels of categories get a column, so that no column follows from others.

A category has a column for every level but the reference where the rest of its term is in the
model already, and one for every level where it is not: ``0 + C(sex)`` has both sexes, ``C(sex)``
beside an intercept has one. A term with several categories may fall into parts of different coding.

    1 + a + b + a:b     a, b and a:b without their references
    0 + a:b             all levels of a times all of b
    1 + a:b             all levels of a without the reference of b, and b without its reference

Each term spans the products of its categories' own contrasts and of all subsets of them. What an
earlier term spans is left out, and what is left is put together again into as few parts as can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

# Categories of one part of a term, each with whether all of its levels have a column.
Coded = dict[str, bool]
_Part = frozenset[tuple[str, bool]]


def coded_parts(
    terms: Sequence[tuple[frozenset[str], Sequence[str]]], intercept: bool
) -> list[list[Coded]]:
    """Return the parts of each term, given its numbers and its categories by name."""
    spanned: set[tuple[frozenset[str], frozenset[str]]] = set()
    if intercept:
        spanned.add((frozenset(), frozenset()))
    found = []
    for numbers, categories in terms:
        subsets = [subset for subset in _subsets(categories) if (numbers, subset) not in spanned]
        spanned.update((numbers, subset) for subset in subsets)
        parts = _together([frozenset((name, False) for name in subset) for subset in subsets])
        found.append([_in_order(part, categories) for part in parts])
    return found


def _subsets(names: Sequence[str]) -> Iterable[frozenset[str]]:
    """Yield all subsets, small ones first."""
    for size in range(len(names) + 1):
        yield from map(frozenset, combinations(names, size))


def _together(parts: list[_Part]) -> list[_Part]:
    """Join a part and one with a category more: that category then has all of its levels."""
    while True:
        pair = next(
            (
                (short, long)
                for short, long in combinations(parts, 2)
                if len(long) == len(short) + 1 and short < long
            ),
            None,
        )
        if pair is None:
            return parts
        short, long = pair
        ((name, _),) = long - short
        joined = short | {(name, True)}
        parts = [joined if part == long else part for part in parts if part != short]


def _in_order(part: _Part, categories: Sequence[str]) -> Coded:
    coded = dict(part)
    return {name: coded[name] for name in categories if name in coded}
