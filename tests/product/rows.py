"""Losses over tiny public records, each beside the same in plain arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from product.plain import (
    Away,
    Clipped,
    Function,
    Model,
    Odds,
    Place,
    Plane,
    Ranked,
    Sorted,
    Tilted,
    Vector,
)

from kng.core.bounds import Bounds
from kng.core.design import Design, across, from_zero
from kng.core.encoding import Encoding
from kng.core.lattice import Lattice
from kng.core.parts import Loss
from kng.core.regions import Grid
from kng.domains import Box
from kng.losses import Counts, Linear, Location, Quantiles, Score
from kng.losses.linear_encoding import encoded
from kng.norms import LInf

F = Fraction
ONE = F(1)


@dataclass(frozen=True)
class LossRow:
    """A loss over tiny public records, and the same in plain arithmetic.

    ``universe`` are records in the units of the plain model, ``rows`` what the library reads.
    ``boxed`` says that scores are only known by the box around them, so that Delta is exact in sup
    norms and an upper bound in others.
    """

    loss: Loss
    plain: Model
    records: Encoding
    answers: Lattice
    universe: tuple[Vector, ...]
    rows: Callable[[Sequence[Vector]], list[list[float]]]
    low: Vector  # where theta is at home: the bounds of a location, a part of a linear lattice
    high: Vector
    boxed: bool = False
    subgradients: bool = False  # in l2, records at theta may pull as they like
    ranks: bool = False  # on a line, records at theta count on either side

    @property
    def dim(self) -> int:
        return len(self.low)

    @property
    def grid(self) -> Grid:
        return self.loss.grid or Grid(self.answers.origin, self.answers.step)

    @property
    def bounded(self) -> bool:
        """Whether scores have a range that no theta leaves."""
        return getattr(getattr(self.plain, "function", None), "bounded", True)

    @property
    def steady(self) -> bool:
        """Whether scores have one range at every theta; that of log-odds grows with theta."""
        return self.bounded and not isinstance(self.plain, Sorted)


def located(function: Any, plain: Function | None, dim: int) -> LossRow:
    """Records 0, 1, 2, 3 in steps of 1; a second column -1, -1/2, 0, of another width."""
    low, high, step = (F(0), F(-1))[:dim], (F(3), F(0))[:dim], (ONE, F(1, 2))[:dim]
    if plain is None:  # distances need one step
        low, high, step = (F(0), F(-1))[:dim], (F(3), F(1))[:dim], (ONE, ONE)[:dim]
    records = Encoding(Bounds(low, high), step, (0,) * dim)
    loss = function.over(records) if plain is None else Location(function).over(records)
    model = Away(step[0], low, high) if plain is None else Place(plain, low, high)
    columns = [
        [a + h * k for k in range(n + 1)] for a, h, n in zip(low, step, records.last, strict=True)
    ]

    def rows(dataset: Sequence[Vector]) -> list[list[float]]:
        return [[float((x - a) / h) for x, a, h in zip(r, low, step, strict=True)] for r in dataset]

    universe = tuple(product(*columns))
    if dim == 2:  # corners and one inside
        universe = (*product(*((c[0], c[-1]) for c in columns)), tuple(c[1] for c in columns))
    return LossRow(
        loss, model, records, records.lattice, universe, rows, low, high,
        subgradients=plain is None, ranks=dim == 1 and isinstance(plain, Tilted),
    )  # fmt: skip


def linear(
    function: Any,
    plain: Function,
    columns: Sequence[tuple[int, int]],
    intercept: bool,
    scale: Fraction | None = None,
    boxed: bool = False,
) -> LossRow:
    """Covariates between bounds, a response in [-1, 1]; coefficients in quarters up to 2."""
    cut = across if intercept else from_zero
    lows, highs = (tuple(F(v) for v in ends) for ends in zip(*columns, strict=True))
    steps = 2**16 if scale is None else 2**8
    reach = scale or ONE
    records = encoded(Bounds(lows, highs), cut(-reach, reach, steps), cut)
    design = Design(records, intercept, scale)
    d, step = design.dim, F(1, 4)
    answers = Lattice((F(-2),) * d, (step,) * d, (16,) * d)
    # Functions that are not rounded to steps know no lattice.
    known = None if isinstance(function, Counts) else answers
    loss = Linear(function, intercept=intercept).over(design, known, F(0))
    unit = design.halves[-1] / design.half_y
    ends = (*design.ends[:-1], tuple(unit * v for v in design.ends[-1]))
    inside = tuple((a + 3 * b) / 4 for a, b in ends)
    universe = (*product(*ends), inside)
    if len(columns) == 2:  # half of the corners: opposite records have one score
        universe = (*universe[: len(universe) // 2], inside)

    coded_by = design.spans, design.offsets

    def rows(dataset: Sequence[Vector]) -> list[list[float]]:
        own = [(*r[:-1], r[-1] / unit) for r in dataset]
        coded = [
            [(v * span + offset) / 2 for v, span, offset in zip(r, *coded_by, strict=True)]
            for r in own
        ]
        assert all(k.denominator == 1 for row in coded for k in row)
        return [[float(k) for k in row] for row in coded]

    half = (ONE,) * d
    model = (Sorted if isinstance(plain, Odds) else Plane)(plain, intercept, ends)
    return LossRow(
        loss, model, records, answers, universe, rows,
        tuple(-v for v in half), half, boxed,
    )  # fmt: skip


def ranked(taus: Sequence[Fraction]) -> LossRow:
    """Records 0, 1, 2, 3 of one column, and a coordinate for each quantile."""
    m = len(taus)
    low, high = (F(0),) * m, (F(3),) * m
    records = Encoding(Bounds((F(0),), (F(3),)), (ONE,), (0,))
    answers = Lattice(low, (ONE,) * m, (3,) * m)
    universe = tuple((F(k),) for k in range(4))

    def rows(dataset: Sequence[Vector]) -> list[list[float]]:
        return [[float(x) for x in r] for r in dataset]

    loss, model = Quantiles(taus).over(records), Ranked(tuple(taus))
    return LossRow(loss, model, records, answers, universe, rows, low, high)


def moments(records: Any, theta: Any) -> Any:
    """Return two moments of a residual, as a caller would write them."""
    residual = theta[0] + theta[1] * records["x"] - records["y"]
    return np.stack([residual, records["x"] * residual], axis=1)


def traced(clip: tuple[Fraction, ...]) -> LossRow:
    """A caller's score of two columns between -1 and 1 in quarters, clipped; theta in quarters."""
    low, high, step = (-ONE, -ONE), (ONE, ONE), F(1, 4)
    records = Encoding(Bounds(low, high, ("x", "y")), (step, step), (0, 0))
    made = Score(moments, clip=clip).on(records, Box(-2, 2, dim=2)).in_norm(LInf())
    loss = replace(made, grid=Grid((F(0),) * 2, (step,) * 2))
    answers = Lattice((F(-2),) * 2, (step,) * 2, (16,) * 2)
    universe = (*product((-ONE, ONE), repeat=2), (F(1, 2), F(-1, 4)))

    def rows(dataset: Sequence[Vector]) -> list[list[float]]:
        return [[float((v + 1) / step) for v in r] for r in dataset]

    return LossRow(loss, Clipped(clip), records, answers, universe, rows, low, high)
