"""The minimiser of a strongly convex loss that is quadratic in pieces, and how far it can be.

    J(theta) = F(theta) + (gamma / 2) ||theta - c||^2 + u'theta       over R^d or ||theta||_1 <= B

Newton's step is to the minimiser of the piece that holds the current point, in rational numbers; if
the piece that holds the new point is the same one, that is the minimiser of J itself, exactly.
Steps that go too far are shortened until the slope along them has fallen to half. If that leads
nowhere, smoother losses are minimised first; and if that does not help either, steps are taken that
cannot fail: J falls with each, and every point comes with a bound on its distance,

    R^d    ||g||_2 / gamma,              ball   sqrt( (g'theta + B max_j |g_j|) / gamma ),

g the gradient at theta. Both tend to 0 (`docs/proofs/mechanisms/objective.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import count

from kng.core.capabilities import SmoothField
from kng.core.enclosures import root_above
from kng.core.quadratic import Quadratic
from kng.core.regions import Theta
from kng.core.solve.quadratic_minimiser import gradient, minimiser, slope

# Steps before smoother losses are tried, and on each of them.
_STEPS = 30
_STEPS_BELOW = 8
# Widths of smoother losses, from above the farthest residual down.
_WIDTHS = tuple(Fraction(4**k) for k in range(11, 0, -1))
# The width of the smoother loss whose minimiser is a start: beyond most residuals.
_SMOOTH = Fraction(8)
# Points of a step that is too long are looked for so often.
_ATTEMPTS = 40
# Points on the way are rounded to multiples of 2**-64, and finer where steps may not fail.
_GRID = 64


@dataclass(frozen=True)
class PiecewiseObjective:
    """The loss with its linear term and ridge, in rational numbers."""

    field: SmoothField
    linear: Theta
    ridge: Fraction
    centre: Theta
    radius: Fraction | None

    def piece(self, theta: Theta, width: Fraction) -> Quadratic:
        """Return the quadratic that holds theta."""
        return self.field.piece(theta, width).plus(self.ridge, self._tilt)

    @cached_property
    def _tilt(self) -> Theta:
        """What the noise and the ridge's centre add to the gradient."""
        both = zip(self.linear, self.centre, strict=True)
        return tuple(u - self.ridge * c for u, c in both)

    def distance(self, piece: Quadratic, theta: Theta) -> Fraction:
        """Return how far theta, which lies in Theta and on this piece, is from the minimiser."""
        slopes = gradient(piece, theta)
        if self.radius is None:
            return root_above(sum((g * g for g in slopes), Fraction(0))) / self.ridge
        along = sum((g * t for g, t in zip(slopes, theta, strict=True)), Fraction(0))
        return root_above((along + self.radius * max(map(abs, slopes))) / self.ridge)


def first_point(objective: PiecewiseObjective) -> Theta:
    """Return where to start: nearly the minimiser of squared residuals.

    The look at a smoother loss is from a little off 0, where records often lie on a kink exactly.
    """
    origin = tuple(Fraction(2 * j + 1, 3 * 2**20) for j in range(len(objective.linear)))
    found, _ = minimiser(objective.piece(origin, _SMOOTH), objective.radius)
    return _towards_0(found, _GRID)


def descent(
    objective: PiecewiseObjective, start: Theta, fineness: int = 0
) -> Iterator[tuple[Theta, Fraction]]:
    """Yield points and bounds on their distance from the minimiser, ever smaller.

    The last one, if there is a last one, is the minimiser: its distance is 0, or at most
    2**-fineness of something far below any cell of a lattice.
    """
    width = Fraction(1)
    # From outside the ball a step may lead uphill, and there would be no slope to halve.
    theta, away = _newton(objective, _inside(objective, start), width, _STEPS, fineness)
    if away is None:
        for wider in _WIDTHS:
            theta, _ = _newton(objective, theta, wider, _STEPS_BELOW, fineness)
        theta, away = _newton(objective, theta, width, 2 * _STEPS, fineness)
    if away is None:
        yield from _safely(objective, _inside(objective, theta), fineness)
    else:
        yield theta, away


def _newton(
    objective: PiecewiseObjective, theta: Theta, width: Fraction, steps: int, fineness: int
) -> tuple[Theta, Fraction | None]:
    """Take Newton's steps; return the last point and, if it is the minimiser, its distance."""
    piece = objective.piece(theta, width)
    for _ in range(steps):
        target, shift = minimiser(piece, objective.radius, fineness)
        there = objective.piece(target, width)
        if there == piece:
            return target, shift / objective.ridge
        step = _difference(target, theta)
        before = slope(piece, theta, step)
        if before >= 0:  # only a shift can lead uphill
            break
        if slope(there, target, step) <= -before / 2:
            theta, piece = target, there
        else:
            theta, piece = _shortened(objective, theta, step, before, width)
    return theta, None


def _shortened(
    objective: PiecewiseObjective, theta: Theta, step: Theta, before: Fraction, width: Fraction
) -> tuple[Theta, Quadratic]:
    """Return a point of a step that goes too far, and the piece there.

    The slope along the step rises, from ``before`` to something positive. A point is looked for
    where it is at most half as steep, by secants and halves in turn.
    """
    low, high = (Fraction(0), before), (Fraction(1), -before)
    for attempt in range(_ATTEMPTS):
        share = Fraction(1, 2) if attempt % 2 else low[1] / (low[1] - high[1])
        share = min(max(share, Fraction(1, 50)), Fraction(49, 50))
        at = Fraction(round((low[0] + share * (high[0] - low[0])) * 2**_GRID), 2**_GRID)
        point = _towards_0((a + at * s for a, s in zip(theta, step, strict=True)), _GRID)
        piece = objective.piece(point, width)
        here = slope(piece, point, step)
        if abs(here) <= -before / 2:
            break
        low, high = ((at, here), high) if here < 0 else (low, (at, here))
    return point, piece


def _safely(
    objective: PiecewiseObjective, theta: Theta, fineness: int
) -> Iterator[tuple[Theta, Fraction]]:
    """Take steps along which J falls, whole ones or to where its slope has fallen to half."""
    width = Fraction(1)
    piece = objective.piece(theta, width)
    for steps in count():
        yield theta, objective.distance(piece, theta)
        target, shift = minimiser(piece, objective.radius, fineness + steps)
        there = objective.piece(target, width)
        if there == piece:
            yield target, shift / objective.ridge
            return
        step = _difference(target, theta)
        before = slope(piece, theta, step)
        if before >= 0:  # only a shift can lead uphill, and the next one is smaller
            continue
        at, low, high = Fraction(1), Fraction(0), Fraction(1)
        while (here := slope(there, target, step)) > 0 or (here < before / 2 and at < 1):
            low, high = (low, at) if here > 0 else (at, high)
            at = (low + high) / 2
            target = tuple(a + at * s for a, s in zip(theta, step, strict=True))
            there = objective.piece(target, width)
        if at < 1:  # shorter fractions, and ever less of a change
            target = _towards_0(target, _GRID + 16 * steps)
            there = objective.piece(target, width)
        theta, piece = target, there


def _inside(objective: PiecewiseObjective, theta: Theta) -> Theta:
    """Return theta, shrunk towards 0 if it lies outside the ball."""
    size = sum(map(abs, theta), Fraction(0))
    if objective.radius is None or size <= objective.radius:
        return theta
    return tuple(v * objective.radius / size for v in theta)


def _difference(target: Theta, theta: Theta) -> Theta:
    return tuple(b - a for a, b in zip(theta, target, strict=True))


def _towards_0(theta: Iterable[Fraction], bits: int) -> Theta:
    """Return theta in multiples of 2**-bits, rounded towards 0: it stays inside a ball."""
    return tuple(Fraction(int(v * 2**bits), 2**bits) for v in theta)
