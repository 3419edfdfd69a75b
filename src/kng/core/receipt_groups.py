"""Groups in words: a table with a row for each, for terminals, notebooks and data frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kng.core.noise.shown import numbers_shown, words_for
from kng.core.receipt_names import stated
from kng.core.receipt_table import Table

if TYPE_CHECKING:
    from kng.core.release import Release

_RIGHT = (int, float)


def summary(release: Release) -> str | None:
    """Return what stands in place of the value: how many groups there are; None without any."""
    groups = release.groups
    if groups is None:
        return None
    interval = None if release.noise is None else release.noise_interval()
    return f"{len(groups)} group{'s'[: len(groups) > 1]}{words_for(interval)}"


def labels(release: Release) -> list[str]:
    """Return what each number is called: its group, and with several in a group its column."""
    assert release.groups is not None
    inner = _inner(release)
    if len(inner) == 1:
        return release.groups.names
    return [f"{group}: {name}" for group in release.groups.names for name in inner]


def columns(release: Release) -> dict[str, list[Any]]:
    """Return the levels of each group, and its numbers, column by column."""
    groups = release.groups
    assert groups is not None
    found: dict[str, list[Any]] = {
        name: [row[at] for row in groups.rows] for at, name in enumerate(groups.columns)
    }
    numbers = [float(number) for number in release.exact_value]
    names = _inner(release)
    for at, name in enumerate(names):
        # A column of groups may be called like a column of numbers.
        label = name if name not in found else f"{release.statistic} of {name}"
        found[label] = numbers[at :: len(names)]
    return found


def table(release: Release) -> Table:
    """Return the groups as a table: a row for each."""
    return Table(_cells(release), _numeric(release))


def _cells(release: Release) -> list[list[str]]:
    """Return columns of texts, each under its name; numbers with their noise."""
    interval = None if release.noise is None else release.noise_interval()
    shown = numbers_shown([float(number) for number in release.exact_value], interval)
    size = len(_inner(release))
    texts = [shown[at::size] for at in range(size)]
    found = list(columns(release).items())
    levels, numbers = found[: len(found) - size], found[len(found) - size :]
    return [
        *([_text(name), *map(_text, cells)] for name, cells in levels),
        *([_text(name), *cells] for (name, _), cells in zip(numbers, texts, strict=True)),
    ]


def _numeric(release: Release) -> list[bool]:
    return [
        all(isinstance(c, _RIGHT) and not isinstance(c, bool) for c in cells)
        for cells in columns(release).values()
    ]


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.10g}"
    text = str(cell)
    return text if text and text.isprintable() else repr(text)


def _inner(release: Release) -> Sequence[str]:
    """Return what the numbers of one group are called."""
    assert release.groups is not None
    size = len(release.integers) // len(release.groups)
    if size == 1:
        return [release.statistic]
    found = stated(release)
    return found if found is not None and len(found) == size else [str(at) for at in range(size)]
