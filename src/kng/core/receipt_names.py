"""What the numbers of one answer are called: quantiles, coefficients, bins or columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kng.core.release import Release

# The fact that names the bins of a histogram.
BINS = "bins"
_KINDS = ("quantiles", "coefficients", "coordinates", BINS)


def stated(release: Release) -> Sequence[str] | None:
    """Return the names that the facts of a release state, or those of the columns."""
    names = next((release.details[kind] for kind in _KINDS if release.details.get(kind)), None)
    if not names:
        return release.bounds.columns
    # Quantiles are one text, and so were coefficients in receipts of the first versions.
    return names.split(", ") if isinstance(names, str) else names


def kind_of(release: Release) -> str:
    """Return what one of the named numbers is, for the head of a table: a coefficient, say."""
    kind = next((kind for kind in _KINDS if release.details.get(kind)), "columns")
    return kind.removesuffix("s")


def answer_of(release: Release) -> str:
    """Return what stands above named numbers."""
    return {"bin": "count", "coefficient": "estimate"}.get(kind_of(release), "answer")
