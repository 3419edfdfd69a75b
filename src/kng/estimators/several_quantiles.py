"""Quantiles of one release: which, what each may spend, and how several stay in order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, positive, show
from kng.core.naming import argument
from kng.core.parts import Domain, described
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.domains import Box, Uncrossed

# The largest denominator of a quantile: it multiplies sums over records in float64.
_DIGITS = 10**30
NONCROSSING = ("auto", "predictions", "planes")
# Records times epsilon for each coefficient: with fewer, planes that may not cross are closer to
# the truth than free ones, with more the bias of planes that do cross in the data is what counts.
# Measured: docs/quantile-regression.md.
_FEW = 300


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Increasing quantiles and the part of epsilon that each is drawn with; the parts add up.

    epsilon_j = weights_j / (sum of weights) * epsilon
    """

    taus: tuple[Fraction, ...]
    parts: tuple[Fraction, ...]
    several: bool

    @classmethod
    def of(cls, quantile: Any, weights: Any, epsilon: Fraction) -> Quantiles:
        """Read what a caller states: one number, or an increasing list, and its weights."""
        several = _several(quantile)
        taus = _taus(quantile if several else [quantile])
        return cls(taus, _parts(weights, len(taus), epsilon), several)

    def __len__(self) -> int:
        return len(self.taus)

    def order(self, apart: bool) -> list[int]:
        """Return positions in the order of draws.

        Planes that are kept apart are drawn from the one nearest to the median outwards, up and
        then down.
        """
        taus = self.taus
        if not apart:
            return list(range(len(taus)))
        middle = min(range(len(taus)), key=lambda i: (abs(taus[i] - Fraction(1, 2)), i))
        return [middle, *range(middle + 1, len(taus)), *range(middle - 1, -1, -1)]

    def shown_parts(self) -> str:
        """Return what each quantile may spend: one number where all are equal."""
        parts = self.parts[:1] if len(set(self.parts)) == 1 else self.parts
        return ", ".join(map(show, parts))


def kept_apart(
    noncrossing: str, domain: Domain, design: Design, unit: PrivacyUnit, asked: Quantiles
) -> bool:
    """Tell from public facts whether planes are drawn beside each other, or by themselves."""
    neighbours = unit.neighbours
    if len(asked) == 1 or noncrossing == "predictions":
        return False
    if noncrossing == "planes":
        return True
    if not design.intercept or not isinstance(domain, Box):
        return False
    if not isinstance(neighbours, ReplaceOne):
        return False
    return neighbours.n * min(asked.parts) < _FEW * design.dim * unit.rows


def beside(domain: Domain, intercept: bool, side: Literal[1, -1], than: int) -> Uncrossed:
    """Return the planes of a box that will not cross one that is drawn before."""
    if not intercept:
        raise IncompatibleParts(
            "Several planes without an intercept meet where the covariates are 0, so they cannot "
            f"be kept from crossing. Use {argument('noncrossing', 'predictions')}, or fit an "
            f"intercept ({argument('fit_intercept', True)})."
        )
    if not isinstance(domain, Box):
        raise IncompatibleParts(
            f"{argument('noncrossing', 'planes')} draws several quantiles from a Box, whose planes "
            f"can be kept from crossing, not from {described(domain)}. Use a Box, or "
            f"{argument('noncrossing', 'predictions')}."
        )
    return Uncrossed(domain, side, than)


def _several(value: Any) -> bool:
    """Tell a list of numbers from one."""
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _taus(stated: Any) -> tuple[Fraction, ...]:
    """Read increasing quantiles."""
    taus = tuple(exact(item, "quantile") for item in stated)
    if not taus:
        raise SpecError(
            f"{argument('quantile')} is empty; give a quantile such as 0.5, or a list of them."
        )
    for tau in taus:
        if not 0 < tau < 1:
            raise SpecError(
                f"{argument('quantile')} must lie strictly between 0 and 1, got {show(tau)}. For "
                "the ends of a distribution use for example 0.01 or 0.99."
            )
        if tau.denominator > _DIGITS:
            raise SpecError(
                f"{argument('quantile')} has more than thirty digits, which the search for a draw "
                "does not follow. Give it shorter, such as 0.333333."
            )
    if any(a >= b for a, b in pairwise(taus)):
        raise SpecError(
            f"{argument('quantile')} must be increasing, got {', '.join(map(show, taus))}. Sort "
            "the list and name each quantile once."
        )
    return taus


def _parts(weights: Any, size: int, epsilon: Fraction) -> tuple[Fraction, ...]:
    """Return what each quantile may spend of epsilon."""
    if weights is None:
        return (epsilon / size,) * size
    listed = list(weights) if _several(weights) else [weights]
    numbers = [positive(item, "weights") for item in listed]
    if len(numbers) != size:
        raise SpecError(
            f"{argument('weights')} must have one number per quantile; there are {len(numbers)} "
            f"for {size} quantile{'s'[: size > 1]}."
        )
    total = sum(numbers, Fraction(0))
    return tuple(number * epsilon / total for number in numbers)
