"""Expected errors, and the number of records or epsilon that a smaller one needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, hypot, isfinite, log10
from typing import Any

import numpy as np

from kng.core.errors import IncompatibleParts, SpecError

# A release is worth its epsilon if its error is at most so many times the one without privacy.
WORTH = 2.0
_EXTREME = (
    "No error can be computed: a guess or a number of records is far too large or too small for "
    "the bounds. Check n, spread, residual, coef and intercept."
)
_MOST_RECORDS, _MOST_EPSILON, _LEAST_EPSILON = 2**52, 1e4, 1e-5


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


def sound(errors: Errors) -> Errors:
    """Return the same function, which refuses what float64 cannot tell from 0 or from infinity."""

    def checked(n: int, epsilon: Fraction) -> Sequence[Expected]:
        with np.errstate(all="ignore"):
            try:
                found = errors(n, epsilon)
            except (OverflowError, ZeroDivisionError, np.linalg.LinAlgError):
                raise SpecError(_EXTREME) from None
        if not all(isfinite(each.total) and each.sampling > 0 for each in found):
            raise SpecError(_EXTREME)
        return found

    return checked


def worst(errors: Sequence[Expected]) -> float:
    """Return the largest error of all numbers."""
    return max(each.total for each in errors)


def worth(errors: Sequence[Expected]) -> bool:
    """Whether no error is more than twice the one without privacy."""
    return all(each.total <= WORTH * each.sampling for each in errors)


def records_for(
    errors: Errors, n: int, epsilon: Fraction, fine: Callable[[Sequence[Expected]], bool]
) -> int | None:
    """Return about how many records, near n, make errors fine, to two digits; None for none."""
    found: int | None = _nearest(
        lambda n: _fine(errors, fine, ceil(n), epsilon), float(n), (4.0, float(_MOST_RECORDS))
    )
    return found


def epsilon_for(
    errors: Errors, n: int, epsilon: Fraction, fine: Callable[[Sequence[Expected]], bool]
) -> float | None:
    """Return about which epsilon, near this one, makes errors fine; None for none."""
    found: float | None = _nearest(
        lambda e: _fine(errors, fine, n, Fraction(e)),
        float(epsilon),
        (_LEAST_EPSILON, _MOST_EPSILON),
        whole=False,
    )
    return found


def _fine(
    errors: Errors, fine: Callable[[Sequence[Expected]], bool], n: int, epsilon: Fraction
) -> bool:
    try:
        return fine(errors(n, epsilon))
    except (IncompatibleParts, SpecError):  # no release at all with so few records
        return False


def _nearest(
    fine: Callable[[float], bool], start: float, ends: tuple[float, float], whole: bool = True
) -> Any:
    """Return about where things begin to be fine, by doubling and halving from ``start``.

    Few records may look fine as well, because without privacy they tell nothing either: so it is
    not the least number of all that is asked for.
    """
    least, most = ends
    start = min(max(start, least), most)
    if fine(start):
        low = high = start
        while fine(low):
            high = low
            if low <= least:
                return ceil(low) if whole else low
            low = max(low / 2, least)
    else:
        low = high = start
        while not fine(high):
            if high >= most:
                return None
            low, high = high, min(high * 2, most)
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if fine(middle) else (middle, high)
    digits = 1 - floor(log10(high))
    up = ceil(high * 10.0**digits - 1e-9) / 10.0**digits
    return ceil(up) if whole else up
