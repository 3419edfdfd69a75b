"""Linear programs that say from which corner of a ball the sup norm's density is seen best.

    nearest    least  t             with  ||A theta - b||_inf <= t,  ||theta||_1 <= B
    sparsest   least  ||theta||_1   with  ||A theta - b||_inf <= t

Both have signed multipliers w on the rows, and any w with ||w||_1 <= 1 bounds the norm from below,

    ||A theta - b||_inf  >=  w'(A theta - b)  >=  -w'b - B ||A w||_inf      on the ball,

so a solver's answer is a guess that can be slow and never wrong. The second program is asked at
a few levels above the first: where the noise is wider than a coefficient, that coefficient is
better taken for 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from kng.core.capabilities import AffineField, BallDomain
from kng.core.plan import DensityPlan
from kng.core.quadratic import Matrix, Vector
from kng.samplers.real.space import Scale

# Levels above the least, in units of the noise for each coordinate.
_ABOVE = (1 / 12, 1 / 3, 1.0, 3.0)


@dataclass(frozen=True)
class Sup:
    """The exponent rate ||matrix theta - vector||_inf on the ball ||theta||_1 < radius."""

    matrix: Matrix
    vector: Vector
    rate: float
    radius: float

    @classmethod
    def of(cls, plan: DensityPlan, field: AffineField) -> Sup:
        """Take a plan and the data apart."""
        domain = plan.problem.domain
        assert isinstance(domain, BallDomain)
        rate = float(plan.rate) / Scale.of(plan).bound
        return cls(field.matrix, field.vector, rate, float(domain.l1_radius))

    def score(self, theta: Matrix) -> Vector:
        """Return the norm for rows of theta."""
        return np.asarray(np.abs(theta @ self.matrix - self.vector).max(axis=1))

    def level(self, weights: Vector) -> float:
        """Return what the norm is at least everywhere in the ball, by these weights."""
        inward = float(np.abs(self.matrix @ weights).max())
        return -float(weights @ self.vector) - self.radius * inward


@dataclass(frozen=True)
class Guess:
    """A point to look from, and signed weights of the rows, of total size one."""

    theta: Vector
    weights: Vector


def load_solver() -> None:
    """Import the solver, before anything is charged: half a second, and only a ball needs it."""
    import_module("scipy.optimize")


def guesses(sup: Sup) -> list[Guess]:
    """Return guesses, those that differ in the signs of theta, and centred ones beside them."""
    d = len(sup.vector)
    scale = float(np.abs(sup.matrix).max())
    if not scale or not sup.vector.any():
        return []
    a, b = sup.matrix / scale, sup.vector / scale
    rows = np.block([[a, -a], [-a, a]])
    capped = np.block([[rows, -np.ones((2 * d, 1))], [np.ones((1, 2 * d)), np.zeros((1, 1))]])
    found = _solved(np.r_[np.zeros(2 * d), 1.0], capped, np.r_[b, -b, sup.radius])
    least = 0.0 if found is None else max(0.0, float(found.x[-1]))
    solved = [found]
    for above in _ABOVE:
        room = least + above * d / (sup.rate * scale)
        solved.append(_solved(np.ones(2 * d), rows, np.r_[b + room, -b + room]))
    kept: dict[bytes, Guess] = {}
    for program in solved:
        guess = None if program is None else _polished(a, _guess(program, d))
        if guess is not None and guess.weights.any() and guess.theta.any():
            kept.setdefault(np.sign(guess.theta).tobytes(), guess)
    centred = [_centred(sup, guess) for guess in kept.values()]
    return [*kept.values(), *(guess for guess in centred if guess is not None)]


def _solved(
    cost: Vector, rows: Matrix, limits: Vector, equal: Matrix | None = None, most: Any = None
) -> Any:
    """Solve a program in variables that are not negative; None if the solver gives up."""
    from scipy.optimize import linprog  # by `load_solver`

    found = linprog(
        cost,
        rows,
        limits,
        equal,
        None if equal is None else np.zeros(len(equal)),
        bounds=(0, None) if most is None else np.column_stack([np.zeros(len(cost)), most]),
        method="highs-ds",
    )
    return found if found.success else None


def _guess(found: Any, d: int) -> Guess:
    """Read theta = p - q and the rows' multipliers from a solved program."""
    x, held = np.asarray(found.x), np.asarray(found.ineqlin.marginals)
    theta = x[:d] - x[d : 2 * d]
    theta[np.abs(theta) <= 1e-9 * np.abs(theta).max()] = 0.0
    # A multiplier is what the cost loses for each unit of room, so it is not positive.
    weights = held[d : 2 * d] - held[:d]
    size = float(np.abs(weights).sum())
    return Guess(theta, weights / size if size > 0 else np.zeros(d))


def _polished(matrix: Matrix, guess: Guess) -> Guess:
    """Solve again for the weights, which a solver leaves with an error of its tolerance.

    On the support of theta A w is to be -nu sign(theta), with sum |w| = 1.
    """
    support, rows = np.flatnonzero(guess.theta), np.flatnonzero(np.abs(guess.weights) > 1e-7)
    m = len(support)
    if not 0 < len(rows) <= m:
        return guess
    system = np.zeros((m + 1, len(rows) + 1))
    system[:m, :-1] = matrix[np.ix_(support, rows)]
    system[:m, -1] = np.sign(guess.theta[support])
    system[m, :-1] = np.sign(guess.weights[rows])
    solved = np.linalg.lstsq(system, np.r_[np.zeros(m), 1.0], rcond=None)[0][:-1]
    if not np.array_equal(np.sign(solved), np.sign(guess.weights[rows])):
        return guess
    weights = np.zeros_like(guess.weights)
    weights[rows] = solved / np.abs(solved).sum()
    return Guess(guess.theta, weights)


def _centred(sup: Sup, guess: Guess) -> Guess | None:
    """Return weights that leave fewer rates and rows at 0; None if there are none at 0.

    Where more rows and edges meet in a corner than its dimension needs, as they do in designs with
    few distinct values, a solver's multipliers are one end of many that are as good, with zeros
    that make the simplex long. Here their sum is made large, each up to a cap, at no more than a
    tenth of the exponent.
    """
    d, scale = len(sup.vector), float(np.abs(sup.matrix).max())
    a, b = sup.matrix / scale, sup.vector / scale
    slope = a @ guess.weights
    inward = float(np.abs(slope).max())
    signs = np.sign(guess.theta)
    support, edge = np.flatnonzero(signs), np.flatnonzero(signs == 0)
    residual = a @ guess.theta - b
    tight = np.flatnonzero(np.abs(residual) >= (1 - 1e-6) * np.abs(residual).max())
    few = 1e-6 * inward
    if len(tight) <= np.count_nonzero(np.abs(guess.weights) > 1e-7) and (
        not len(edge) or inward - np.abs(slope[edge]).max() > few
    ):
        return None
    # Variables: positive and negative parts of w, nu, and the rates and weights to be enlarged.
    count = 2 * len(edge) + len(tight)
    rows = np.zeros((count + 2, 2 * d + 1 + count))
    rows[: len(edge), : 2 * d] = np.hstack([a[edge], -a[edge]])
    rows[len(edge) : 2 * len(edge), : 2 * d] = np.hstack([-a[edge], a[edge]])
    rows[: 2 * len(edge), 2 * d] = -1.0
    for i, row in enumerate(tight):
        sign = np.sign(residual[row])
        rows[2 * len(edge) + i, [row, d + row]] = -sign, sign
    share = np.r_[np.full(2 * len(edge), inward), np.full(len(tight), 1 / len(tight))]
    rows[:count, 2 * d + 1 :] = np.diag(share)
    rows[count, : 2 * d] = 1.0
    rows[count + 1, : 2 * d + 1] = [*b, *-b, sup.radius]
    level = sup.level(guess.weights) / scale - 0.1 / (sup.rate * scale)
    equal = np.zeros((len(support), rows.shape[1]))
    equal[:, : 2 * d] = np.hstack([a[support], -a[support]])
    equal[:, 2 * d] = signs[support]
    most = np.r_[np.full(2 * d + 1, np.inf), np.full(count, 0.3)]
    cost = np.r_[np.zeros(2 * d + 1), -np.ones(count)]
    found = _solved(cost, rows, np.r_[np.zeros(count), 1.0, -level], equal, most)
    if found is None:
        return None
    weights = found.x[:d] - found.x[d : 2 * d]
    size = float(np.abs(weights).sum())
    return Guess(guess.theta, weights / size) if size > 0 else None
