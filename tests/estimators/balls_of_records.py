"""Balls of records that tests use: the round one stands in for a domain of that name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from kng.bases import Uniform
from kng.core.exact import show
from kng.core.regions import Region
from kng.core.shapes import FacetShape, RoundShape, Shape


@dataclass(frozen=True)
class L2Ball:
    """A domain by what records in a ball ask of it."""

    radius: Any
    dim: int
    base: ClassVar[Any] = Uniform()
    waits: ClassVar[bool] = False
    bounded: ClassVar[bool] = True

    @property
    def described(self) -> str:
        return f"L2Ball({show(Fraction(self.radius))})"

    @property
    def gauge(self) -> tuple[Shape, Fraction] | None:
        return RoundShape(), Fraction(self.radius)

    def sized(self, dim: int) -> Any:
        assert dim == self.dim
        return self

    def region(self) -> Region:
        return Region.ball(Fraction(self.radius), self.dim)

    def contains(self, theta: Sequence[Fraction]) -> bool:
        raise AssertionError("what a domain of somebody's says of points decides nothing")

    def scaled(self, factor: Fraction) -> Any:
        raise NotImplementedError

    def refusal(self) -> str | None:
        raise NotImplementedError

    def on(self, grid: Any) -> Any:
        raise NotImplementedError

    def given(self, grid: Any, drawn: Any) -> Any:
        raise NotImplementedError


class Walled(L2Ball):
    """A polytope between pairs of planes: |a_k'x| <= radius."""

    rows: ClassVar[tuple[tuple[int, ...], ...]] = ((1, 1), (4, -3), (1, 0))

    @property
    def described(self) -> str:
        return "Walled"

    @property
    def gauge(self) -> tuple[Shape, Fraction] | None:
        return FacetShape(tuple(tuple(map(Fraction, row)) for row in self.rows)), Fraction(
            self.radius
        )


class Lopsided(L2Ball):
    """A domain that is not symmetric about 0."""

    @property
    def described(self) -> str:
        return "Lopsided"

    @property
    def gauge(self) -> tuple[Shape, Fraction] | None:
        return None
