"""Expected errors, and the number of records or epsilon that a smaller one needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, hypot, log10
from typing import Any

from kng.core.errors import IncompatibleParts, SpecError

# A release is worth its epsilon if its error is at most so many times the one without privacy.
WORTH = 2.0
_MOST_RECORDS, _MOST_EPSILON, _LEAST_EPSILON = 2**40, 1e4, 1e-5


@dataclass(frozen=True, slots=True)
class Expected:
    """Root mean squared errors of one number, in the caller's units.

    Attributes
    ----------
    name : str
        What the number is called.
    noise : float
        What privacy adds.
    sampling : float
        How far the same estimate without privacy is from the truth about the population.
    """

    name: str
    noise: float
    sampling: float

    @property
    def total(self) -> float:
        """How far the private answer is from the truth about the population."""
        return hypot(self.noise, self.sampling)

    @property
    def ratio(self) -> float:
        """Noise over sampling error."""
        return self.noise / self.sampling if self.sampling else float("inf")

    @property
    def times(self) -> float:
        """The whole error over that without privacy."""
        return self.total / self.sampling if self.sampling else float("inf")


# Errors for a number of records and an epsilon.
Errors = Callable[[int, Fraction], Sequence[Expected]]


def worst(errors: Sequence[Expected]) -> float:
    """Return the largest error of all numbers."""
    return max(each.total for each in errors)


def worth(errors: Sequence[Expected]) -> bool:
    """Whether no error is more than twice the one without privacy."""
    return all(each.total <= WORTH * each.sampling for each in errors)


def records_for(
    errors: Errors, epsilon: Fraction, fine: Callable[[Sequence[Expected]], bool]
) -> int | None:
    """Return about the fewest records for which errors are fine, to two digits; None for none."""
    found: int | None = _least(
        lambda n: _fine(errors, fine, ceil(n), epsilon), 4.0, float(_MOST_RECORDS)
    )
    return found


def epsilon_for(errors: Errors, n: int, fine: Callable[[Sequence[Expected]], bool]) -> float | None:
    """Return about the least epsilon for which errors are fine, to two digits; None for none."""
    found: float | None = _least(
        lambda e: _fine(errors, fine, n, Fraction(e)), _LEAST_EPSILON, _MOST_EPSILON, whole=False
    )
    return found


def _fine(
    errors: Errors, fine: Callable[[Sequence[Expected]], bool], n: int, epsilon: Fraction
) -> bool:
    try:
        return fine(errors(n, epsilon))
    except (IncompatibleParts, SpecError):  # no release at all with so few records
        return False


def _least(fine: Callable[[float], bool], low: float, high: float, whole: bool = True) -> Any:
    """Return about the least number that is fine, by doubling and halving."""
    first = low
    while not fine(first):
        first *= 2
        if first > high:
            return None
    if first == low:
        return ceil(low) if whole else low
    low, high = first / 2, first
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if fine(middle) else (middle, high)
    digits = 1 - floor(log10(high))
    up = ceil(high * 10.0**digits - 1e-9) / 10.0**digits
    return ceil(up) if whole else up
