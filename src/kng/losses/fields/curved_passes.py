"""The true gradient of a smooth loss over records that stay where they are: a pass a question.

Every batch is asked as if it were all records (`curved_field.CurvedSums`), and what it answers is
added: sums of enclosures enclose the sum. Each entry is added by `math.fsum`, which rounds once and
in no order.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import fsum
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kng.core.curvature import Around
from kng.core.design import Design
from kng.core.records import Integers, Records
from kng.core.regions import Theta
from kng.losses.fields.curved_field import REACH, CurvedSums
from kng.losses.kernels.curved_rows import CurvedRows
from kng.losses.pointwise.curved import Curved

Array = NDArray[np.float64]
Answer_co = TypeVar("Answer_co", covariant=True)
# A sum of bounds is rounded once, and then made larger than that.
_ROUNDED = 1 + 2.0**-50


class Question(Protocol[Answer_co]):
    """What is asked of some records; picklable."""

    def __call__(self, sums: CurvedSums) -> Answer_co:
        """Return the answer of some records."""
        ...


@dataclass(frozen=True, slots=True)
class Slopes:
    """Gradient and Hessian at theta, without bounds."""

    theta: tuple[float, ...]

    def __call__(self, sums: CurvedSums) -> tuple[Array, Array]:
        """Return both."""
        return sums.slopes(np.array(self.theta))


@dataclass(frozen=True, slots=True)
class SumsAround:
    """Sums with bounds on what they are off by."""

    theta: Theta

    def __call__(self, sums: CurvedSums) -> Around:
        """Return them."""
        return sums.around(self.theta)


@dataclass(frozen=True, slots=True)
class Enclosed:
    """The gradient from psi of every record, and what it is off by."""

    theta: Theta
    bits: int

    def __call__(self, sums: CurvedSums) -> tuple[Theta, Fraction]:
        """Return both."""
        return sums.gradient(self.theta, self.bits)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Answer_co]):
    """A question to every batch."""

    design: Design
    pointwise: Curved
    scale: Fraction
    question: Question[Answer_co]

    def zero(self) -> list[Answer_co]:
        """No records."""
        return []

    def partial(self, batch: Integers) -> list[Answer_co]:
        """Ask one batch."""
        blocks = CurvedRows(self.design).partial(batch)
        return [self.question(CurvedSums(blocks, self.design, self.pointwise, self.scale))]

    def merge(self, left: list[Answer_co], right: list[Answer_co]) -> list[Answer_co]:
        """Return all answers; the left ones are given up."""
        left.extend(right)
        return left


@dataclass(frozen=True, slots=True)
class CurvedPasses:
    """What `CurvedSums` answers, of records that are read anew each time."""

    source: Records
    records: int
    design: Design
    pointwise: Curved
    scale: Fraction

    def __len__(self) -> int:
        return self.records

    def steepest(self) -> Fraction:
        """Return n d times the largest slope."""
        curvature = self.pointwise.curvature
        assert curvature is not None  # a curved function states it
        return len(self) * self.design.dim * curvature * self.scale

    def slopes(self, theta: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian."""
        d, answers = self.design.dim, self._asked(Slopes(tuple(theta.tolist())))
        return _added([a for a, _ in answers], (d,)), _added([b for _, b in answers], (d, d))

    def around(self, theta: Theta) -> Around:
        """Return sums with bounds on what they are off by.

        An entry that is rounded once is off by 2**-53 of it, and an operator norm is at most d
        entries.
        """
        d, parts = self.design.dim, self._asked(SumsAround(theta))
        gradient = _added([part.gradient for part in parts], (d,))
        least = _added([part.least for part in parts], (d, d))
        doubts = _added([part.doubts for part in parts], (d, d))

        def off(bounds: list[float], sums: Array) -> float:
            largest = float(np.abs(sums).max(initial=0.0))
            return fsum(bounds) * _ROUNDED + d * 2.0**-52 * largest

        return Around(
            theta,
            REACH,
            gradient,
            off([part.rounding for part in parts], gradient),
            least,
            off([part.fuzz for part in parts], least),
            doubts,
            off([part.doubts_fuzz for part in parts], doubts),
            fsum([part.doubt for part in parts]) * _ROUNDED,
        )

    def gradient(self, theta: Theta, bits: int) -> tuple[Theta, Fraction]:
        """Return the gradient from psi of every record, enclosed; rational numbers are added."""
        answers = self._asked(Enclosed(theta, bits))
        columns = zip(*(found for found, _ in answers), strict=True)
        total = tuple(sum(column, Fraction(0)) for column in columns)
        return total or (Fraction(0),) * len(theta), sum((o for _, o in answers), Fraction(0))

    def _asked(self, question: Question[Answer_co]) -> list[Answer_co]:
        return self.source.reduce(Asked(self.design, self.pointwise, self.scale, question))


def _added(arrays: list[Array], shape: tuple[int, ...]) -> Array:
    """Return the sum, each entry rounded once."""
    if not arrays:
        return np.zeros(shape)
    entries = np.stack(arrays).reshape(len(arrays), -1).T.tolist()
    return np.array([fsum(each) for each in entries]).reshape(shape)
