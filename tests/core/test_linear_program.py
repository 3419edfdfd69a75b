"""Linear programs in rational numbers: against a solver in float64, and by their own corners."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from scipy.optimize import linprog

from kng.core.solve.linear_program import EmptyError, EndlessError, farthest


def program(rng: np.random.Generator, d: int, m: int) -> tuple[list[list[F]], list[F], list[F]]:
    """Return rows of small numbers, many of them 0, so that corners are degenerate."""
    rows = [[F(int(v), 3) for v in rng.integers(-3, 4, d)] for _ in range(m)]
    limits = [F(int(v), 2) for v in rng.integers(-1, 5, m)]
    return rows, limits, [F(int(v)) for v in rng.integers(-2, 3, d)]


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_a_program_has_the_answer_of_a_solver_and_a_corner_that_attains_it(d):
    rng = np.random.default_rng(d)
    outcomes = set()
    for _ in range(120):
        m = int(rng.integers(1, 4 * d + 3))
        rows, limits, direction = program(rng, d, m)
        a, b, c = (np.array(v, float) for v in (rows, limits, direction))
        feasible = linprog(np.zeros(d), a, b, bounds=(None, None)).status == 0
        solved = linprog(-c, a, b, bounds=(None, None))
        try:
            found = farthest(rows, limits, direction)
        except EmptyError:
            outcomes.add("empty")
            assert not feasible
            continue
        except EndlessError:
            outcomes.add("endless")
            assert not feasible or solved.status == 3
            continue
        outcomes.add("corner")
        assert solved.status == 0
        assert float(found.value) == pytest.approx(-solved.fun, abs=1e-9)
        assert found.value == sum(u * v for u, v in zip(direction, found.at, strict=True))
        for row, limit in zip(rows, limits, strict=True):
            assert sum(u * v for u, v in zip(row, found.at, strict=True)) <= limit
    assert outcomes == {"empty", "endless", "corner"}


def test_a_program_that_makes_the_steepest_descent_go_round_ends():
    """Beale's example, as a program in y: the steepest column leads in a circle of six corners."""
    cost = [F(-3, 4), F(150), F(-1, 50), F(6), F(0), F(0), F(0)]
    equations = [
        [F(1, 4), F(-60), F(-1, 25), F(9), F(1), F(0), F(0)],
        [F(1, 2), F(-90), F(-1, 50), F(3), F(0), F(1), F(0)],
        [F(0), F(0), F(1), F(0), F(0), F(0), F(1)],
    ]
    columns = [list(column) for column in zip(*equations, strict=True)]
    assert farthest(columns, cost, [F(0), F(0), F(1)]).value == F(-1, 20)


def test_numbers_are_exact_however_close_two_planes_are():
    tiny = F(1, 10**200)
    assert farthest([[1], [-1]], [tiny, 0], [1]).value == tiny
    with pytest.raises(EmptyError):
        farthest([[1], [-1]], [-tiny, 0], [1])
