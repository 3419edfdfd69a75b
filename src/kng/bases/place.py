"""Where a base measure stands and how wide it is: a centre and a scale for each coordinate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import exact, positive, show
from kng.core.parts import Array
from kng.core.regions import Region, Theta

# Sums of a few terms in float64, logarithms included, are off by less than this, in parts of them.
OUTWARDS = 2.0**-44
# More than the rounding of a logarithm to a step of 2**-64.
SMALL = 2.0**-60


@dataclass(frozen=True, slots=True)
class Place:
    """A centre and a scale, each one number for all coordinates or one number per coordinate.

    square(theta) = sum_j ((theta_j - centre_j) / scale_j)^2
    """

    centre: Theta
    scale: Theta

    @classmethod
    def of(cls, scale: Any, centre: Any, name: str) -> Place:
        """Read what a caller states."""
        widths = tuple(positive(v, f"scale of {name}") for v in _listed(scale))
        middle = tuple(exact(v, f"centre of {name}") for v in _listed(centre))
        if (
            not widths
            or not middle
            or (len(widths) != len(middle) and 1 not in _sizes(widths, middle))
        ):
            raise SpecError(
                f"{name}: scale has {len(widths)} numbers and centre has {len(middle)}; give one "
                "for all coordinates, or as many of both."
            )
        size = max(_sizes(widths, middle))
        return cls(_spread(middle, size), _spread(widths, size))

    @property
    def stated(self) -> str:
        """What a caller would write: the scale, and the centre where it is not 0."""
        return _shown(self.scale)

    @property
    def where(self) -> str:
        """The centre as an argument, empty where it is 0."""
        return f", centre={_shown(self.centre)}" if any(self.centre) else ""

    def limits(self, reach: int) -> tuple[Theta, Theta]:
        """Return the corners so many scales away from the centre."""
        pairs = list(zip(self.centre, self.scale, strict=True))
        return tuple(c - reach * s for c, s in pairs), tuple(c + reach * s for c, s in pairs)

    def fitted(self, region: Region, name: str) -> Place:
        """Return it with as many coordinates as a region has, or refuse."""
        if len(self.centre) not in {1, region.dim}:
            raise IncompatibleParts(
                f"{name} has {len(self.centre)} coordinates, and theta has {region.dim}. Give one "
                "number for all of them, or one for each."
            )
        return Place(_spread(self.centre, region.dim), _spread(self.scale, region.dim))

    def scaled(self, factor: Fraction) -> Place:
        """Return the same in other units."""
        return Place(
            tuple(factor * c for c in self.centre), tuple(abs(factor) * s for s in self.scale)
        )

    def square(self, theta: Theta) -> Fraction:
        """Return the squared distance from the centre in scales, exactly."""
        centre, scale = (_spread(v, len(theta)) for v in (self.centre, self.scale))
        terms = zip(theta, centre, scale, strict=True)
        return sum((((v - c) / s) ** 2 for v, c, s in terms), Fraction(0))

    def square_bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return bounds on it between two corners, for rows of them, rounded outwards."""
        centre, scale = self._floats(low.shape[1])
        size = OUTWARDS * (np.abs(centre) + np.maximum(np.abs(low), np.abs(high)))
        below, above = low - centre - size, high - centre + size
        near = np.maximum(0.0, np.maximum(below, -above)) / scale
        far = np.maximum(np.abs(below), np.abs(above)) / scale
        with np.errstate(over="ignore"):
            least = (near**2).sum(axis=1) * (1 - OUTWARDS)
            most = (far**2).sum(axis=1) * (1 + OUTWARDS)
        return least, most

    def squares(self, theta: Array) -> Array:
        """Return it at rows of theta in float64."""
        centre, scale = self._floats(theta.shape[1])
        return np.asarray((((theta - centre) / scale) ** 2).sum(axis=1))

    def _floats(self, dim: int) -> tuple[Array, Array]:
        centre, scale = (
            np.array([float(v) for v in _spread(each, dim)]) for each in (self.centre, self.scale)
        )
        return centre, scale


def _listed(value: Any) -> list[Any]:
    """Return one number, or several, as a list."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    return list(value) if several and getattr(value, "ndim", 1) > 0 else [value]


def _sizes(*several: Theta) -> set[int]:
    return {len(each) for each in several}


def _spread(values: Theta, dim: int) -> Theta:
    """Return one number for each coordinate."""
    return values * dim if len(values) == 1 else values


def _shown(values: Theta) -> str:
    texts = [show(v) for v in values]
    return texts[0] if len(set(texts)) == 1 else f"[{', '.join(texts)}]"
