"""How much each norm wins: the noise that each of them would ask for, for the same changes.

    noise of a norm = root mean square length of u,  density prop. to exp(-||u||_K / Delta)

The hull of the changes is the smallest ball of sensitivity 1, so its noise is the measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from kng.core.bits import SeededBits
from kng.core.delta import changes, delta
from kng.core.errors import KngError, MissingExtra, SpecError
from kng.core.exact import exact
from kng.core.parts import Array, Norm, described
from kng.core.problem import Problem
from kng.core.regions import Region
from kng.norms.coordinate import CoordinateSup
from kng.norms.hull import Hull
from kng.norms.lp import L1, L2, LInf

# Directions over which lengths are averaged; the same ones each time.
_DIRECTIONS = 2**14
# Directions of a picture.
_AROUND = 720


@dataclass(frozen=True, slots=True)
class Row:
    """One norm: its Delta, and the noise it asks for beside that of the best norm."""

    norm: str
    delta: float
    noise: float
    fitted: Norm

    def radius(self, directions: Array) -> Array:
        """Return how far the ball of changes that the norm allows for reaches along directions."""
        least, most = self.fitted.bounds(directions, directions)
        return np.asarray(self.delta / ((least + most) / 2))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What each norm costs for the changes that one record can make at a theta.

    Attributes
    ----------
    rows : tuple
        The norms from the least noise on: ``norm``, ``delta`` and ``noise``, the root mean square
        length of the noise of a K-norm mechanism in units of the first.
    theta : tuple of numbers
        Where the changes were looked at, in the units of the loss.
    refused : dict
        Norms that cannot measure these changes, and why.

    Paper    none; it calls the choice of K the major advantage of KNG.
    Privacy  Public facts alone.
    Cost     Some ten thousand lengths a norm.
    """

    rows: tuple[Row, ...]
    theta: tuple[float, ...]
    refused: dict[str, str]

    def __repr__(self) -> str:
        width = max(len(row.norm) for row in self.rows)
        lines = [f"{'norm':{width}}  {'Delta':>9}  {'noise':>6}"]
        lines += [f"{r.norm:{width}}  {r.delta:9.4g}  {r.noise:6.2f}" for r in self.rows]
        lines += [f"{name:{width}}  {why}" for name, why in self.refused.items()]
        return "\n".join(lines)

    def plot(self, ax: Any = None) -> Any:
        """Draw the ball of changes that each norm allows for, in two coordinates.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        matplotlib axes
        """
        if len(self.theta) != 2:
            raise SpecError(
                f"plot draws balls in two coordinates; these have {len(self.theta)}. Print the "
                "comparison instead."
            )
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise MissingExtra(
                    "plot needs matplotlib. Install it, as in pip install matplotlib."
                ) from None
            _, ax = pyplot.subplots()
        angle = np.linspace(0, 2 * np.pi, _AROUND + 1)
        around = np.column_stack([np.cos(angle), np.sin(angle)])
        for row, style in zip(self.rows, _styles(len(self.rows)), strict=True):
            edge = around * row.radius(around)[:, None]
            ax.plot(*edge.T, label=f"{row.norm}: noise {row.noise:.2f}", **style)
        ax.set_aspect("equal")
        ax.set_xlabel("change of the first coordinate")
        ax.set_ylabel("change of the second coordinate")
        ax.legend(loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False)
        return ax


def compare(asked: Any, theta: Sequence[Any] | None = None) -> Comparison:
    """Compare norms for a problem: which draws closest, from public facts alone.

    Parameters
    ----------
    asked : plan or problem
        What ``kng.KNG(...).plan(...)`` returns.
    theta : sequence of numbers, optional
        Where to look at the changes, in the units of the loss; 0 or, where the domain does not
        hold 0, the middle of the box around it. It matters where the changes depend on theta.

    Returns
    -------
    Comparison

    Paper    none; it calls the choice of K the major advantage of KNG.
    Privacy  Public facts alone: no record is looked at.
    Cost     Some ten thousand lengths a norm.

    Examples
    --------
    >>> import kng
    >>> plane = kng.losses.Linear(kng.losses.Pinball(0.9))
    >>> plan = kng.KNG(plane, domain=kng.domains.Box(-1, 1)).plan(
    ...     bounds_X=(0, 1), bounds_y=(0, 1), epsilon=1
    ... )
    >>> kng.norms.compare(plan).rows[0].norm
    'Hull()'
    """
    problem = getattr(asked, "problem", asked)
    if not isinstance(problem, Problem):
        raise SpecError(
            "compare needs a plan, as in kng.norms.compare(kng.KNG(...).plan(...)); got "
            f"{type(asked).__name__}."
        )
    at = _point(problem, theta)
    body = problem.loss.body(Region.at(at))
    pieces = changes(body, problem.unit)
    rows, refused = [], {}
    candidates: list[Norm] = [Hull(), CoordinateSup(), LInf(), L2(), L1()]
    if all(described(problem.norm) != described(norm) for norm in candidates):
        candidates.append(problem.norm)
    for norm in candidates:
        try:
            fitted = norm.at(pieces)
            length = delta(fitted, body, problem.unit)
        except KngError as refusal:
            refused[described(norm)] = str(refusal)
            continue
        rows.append(Row(described(norm), float(length), 0.0, fitted))
    return Comparison(_ordered(rows, len(at)), tuple(float(v) for v in at), refused)


def _ordered(rows: Sequence[Row], dim: int) -> tuple[Row, ...]:
    """Return norms from the least noise on, with their noise in units of the first."""
    directions = _sphere(dim)
    found = []
    for row in rows:
        reach = row.radius(directions)
        # Of a K-norm noise E |u|^2 = d (d + 1) times the mean of reach^(d + 2) over reach^d.
        found.append(sqrt(float((reach ** (dim + 2)).mean() / (reach**dim).mean())))
    least = min(found)
    scored = [
        Row(row.norm, row.delta, noise / least, row.fitted)
        for row, noise in zip(rows, found, strict=True)
    ]
    return tuple(sorted(scored, key=lambda row: round(row.noise, 9)))


def _sphere(dim: int) -> Array:
    """Return directions that are spread over the sphere, the same ones each time."""
    if dim == 1:
        return np.ones((1, 1))
    return L2().directions(SeededBits(7), _DIRECTIONS, dim)


def _point(problem: Problem, theta: Sequence[Any] | None) -> tuple[Fraction, ...]:
    dim = problem.loss.dim
    if theta is not None:
        found = tuple(exact(v, "theta") for v in theta)
        if len(found) != dim:
            raise SpecError(f"theta must have {dim} numbers, one per coordinate; got {len(found)}.")
        return found
    zero, region = (Fraction(0),) * dim, problem.domain.region()
    if problem.domain.contains(zero) or not region.bounded:
        return zero
    return tuple((a + b) / 2 for a, b in region.sides())


def _styles(count: int) -> list[dict[str, Any]]:
    """Return lines that are told apart without red and green."""
    colours = ["#000000", "#0072b2", "#e69f00", "#56b4e9", "#cc79a7", "#009e73"]
    dashes = ["-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1))]
    return [{"color": colours[i % 6], "linestyle": dashes[i % 6]} for i in range(count)]
