"""What a loss asks of a plan when it reads records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Literal, Protocol

from kng.core.parts import Domain, Norm, Point, Points
from kng.core.privacy import PrivacyUnit
from kng.core.regions import Grid

Weighs = Literal["gradient", "value"]
# The norm of a vector at a lattice point.
Measure = Callable[[Point, Sequence[Fraction]], Fraction]


def measured_in(norm: Norm) -> Measure:
    """Return the norm that is the same at every theta."""
    return lambda _, vector: norm.value(vector)


class ReadProblem(Protocol):
    """What is asked."""

    @property
    def loss(self) -> Any:
        """The loss, over its records; plans that are read together may have several."""
        ...

    @property
    def norm(self) -> Norm:
        """How scores are measured."""
        ...

    @property
    def domain(self) -> Domain:
        """Where theta may lie."""
        ...

    @property
    def unit(self) -> PrivacyUnit:
        """Who is protected."""
        ...

    @property
    def memory(self) -> int:
        """How many bytes what is made of the records may take."""
        ...


class ReadPlan(Protocol):
    """What is weighed, and where."""

    @property
    def problem(self) -> ReadProblem:
        """What is asked."""
        ...

    @property
    def weighs(self) -> Weighs:
        """The norm of the sum of scores, or the summed loss."""
        ...

    @property
    def grid(self) -> Grid:
        """Where lattice points stand."""
        ...

    @property
    def domain(self) -> Points:
        """The lattice points."""
        ...

    @property
    def depth(self) -> int | None:
        """How far above the least exponent the sampler looks; None if it looks everywhere."""
        ...

    def measure(self, theta: Point, vector: Sequence[Fraction]) -> Fraction:
        """Return the norm of a sum of scores at theta."""
        ...

    def exponent(self, theta: Point, score: Fraction) -> Fraction:
        """Return gamma(theta), so that the density is exp(-gamma)."""
        ...

    def score_at(self, theta: Point, exponent: Fraction) -> Fraction:
        """Return the score that has this exponent."""
        ...
