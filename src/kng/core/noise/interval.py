"""Where the answer without noise lies, as far as public numbers say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from kng.core.errors import SpecError
from kng.core.lattice import AffineMap, Lattice

# What is left beyond is far above the error of sums, quadratures and smoothed draws.
_LARGEST = 0.99999999

Kind = Literal["exact", "ranks", "predicted"]


@dataclass(frozen=True, slots=True)
class NoiseInterval:
    """Where the answer on the same clipped, encoded records lies without privacy noise.

    It says nothing about sampling error: another sample of records has another answer.

    Attributes
    ----------
    low, high : float, or tuple of float for several numbers
        The ends. Of ranks: which quantiles of the records the answer lies between (0.48 to 0.52),
        or, where the number of records is private, how many records it is away from the one asked
        for.
    margin : float or tuple of float
        How far the farther end is from the answer: what is printed after the plus-minus sign.
    level : float
        How often such an interval holds the answer, at least; a prediction about as often.
    kind : {"exact", "ranks", "predicted"}
        "exact" and "ranks" hold for all records whatever they are. "predicted" holds if records
        look as declared.
    unit : str
        What the ends are measured in.
    """

    low: float | tuple[float, ...]
    high: float | tuple[float, ...]
    margin: float | tuple[float, ...]
    level: float
    kind: Kind
    unit: str

    def __iter__(self) -> Iterator[float | tuple[float, ...]]:
        """Yield low and high."""
        return iter((self.low, self.high))


class Released(Protocol):
    """What an interval asks of a release."""

    @property
    def integers(self) -> tuple[int, ...]:
        """The lattice point that was drawn."""
        ...

    @property
    def lattice(self) -> Lattice:
        """Where answers live."""
        ...

    @property
    def units(self) -> AffineMap | None:
        """The public map to the caller's units."""
        ...

    @property
    def exact_value(self) -> tuple[Fraction, ...]:
        """The answer."""
        ...


@dataclass(frozen=True, slots=True)
class Ends:
    """Ends and margins of an interval for each number of a value."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    margin: tuple[float, ...]


def read_level(level: float) -> float:
    """Refuse what is no level."""
    found = float(level)
    if not 0 < found < 1:
        raise SpecError(f"level must lie strictly between 0 and 1, as in 0.95; got {level}.")
    if found > _LARGEST:
        raise SpecError(
            f"level must be at most {_LARGEST}: laws are computed in floats, which know no chances "
            f"as small as that of the rest; got {level}."
        )
    return found
