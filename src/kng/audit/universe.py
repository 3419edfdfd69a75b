"""Tiny universes: every dataset of a few record values, and which of them are neighbours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement

from kng.core.privacy import AddRemove, ReplaceOne

Record = tuple[int, ...]
Dataset = tuple[Record, ...]  # sorted: a multiset, because every score is a sum over records
Pairs = Sequence[tuple[Dataset, Dataset]]

REPLACE, ADD = ReplaceOne.name, AddRemove.name
RELATIONS = (REPLACE, ADD)
# A record that is there and lacks a cell.
ABSENT: Record = ()


def datasets(values: Iterable[int | Record], sizes: Iterable[int]) -> tuple[Dataset, ...]:
    """Return every multiset of the given record values, of each of the given sizes."""
    records = sorted(v if isinstance(v, tuple) else (v,) for v in values)
    return tuple(d for n in sizes for d in combinations_with_replacement(records, n))


def are_neighbours(left: Dataset, right: Dataset, relation: str, k: int = 1) -> bool:
    """Tell whether at most k records were replaced, or at most k were added or removed."""
    a, b = Counter(left), Counter(right)
    gone, come = (a - b).total(), (b - a).total()
    if relation == REPLACE:
        return gone == come <= k
    return 0 < gone + come <= k


@lru_cache(maxsize=64)
def pairs(universe: tuple[Dataset, ...], relation: str, k: int = 1) -> Pairs:
    """Return every unordered pair of neighbours; a loss is taken in absolute value anyway."""
    found = [
        (a, b) for a, b in combinations(universe, 2) if a != b and are_neighbours(a, b, relation, k)
    ]
    assert found, "an audit without neighbours proves nothing"
    return found


def sizes(relation: str, most: int = 4) -> range:
    """Return the sizes to enumerate: an empty file exists only where n is private."""
    return range(relation == REPLACE, most + 1)
