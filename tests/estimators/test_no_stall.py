"""No data make the draw slow: proposals for each draw, and seconds, over a catalogue at d = 12.

A draw takes the inverse of the mean acceptance probability on average. It is looked at from
outside, behind the fit: nothing of it may leave by itself. docs/sampling-regression.md has the
same numbers as tables, with n = 10**7 and with the cases that are slow.
"""

from __future__ import annotations

import time
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import kng
from kng.core.bits import SeededBits
from kng.samplers.real.affine import Affine, acceptance

TRUTH = -1 + 2 * np.arange(11) / 11  # the paper's, whose intercept is 0
LENGTH = Fraction(61, 11)  # its l1 norm
SPAN = 8  # public bounds of the response: -8 to 8
SIZES = [10**2, 10**3, 10**4, 10**5, 10**6]
# One proposal takes some microseconds, so these are milliseconds.
MOST_PROPOSALS = 1000
MOST_SECONDS = 1.0

Table = tuple[np.ndarray, np.ndarray]


@pytest.fixture
def cost(monkeypatch):
    """Fit, and return mean proposals for a draw and the seconds that this draw took."""

    def measured(data: Table, **options: Any) -> tuple[float, float]:
        seen: list[tuple[float, float]] = []

        def draw(self: Affine, plan: Any, field: Any, bits: Any) -> Any:
            started = time.perf_counter()
            theta = original(self, plan, field, bits)
            seconds = time.perf_counter() - started
            seen.append((1 / acceptance(plan, field, SeededBits(1), 2**14), seconds))
            return theta

        original = Affine.draw
        with monkeypatch.context() as patch:
            patch.setattr(Affine, "draw", draw)
            kng.LinearRegression(
                **{
                    "epsilon": 1,
                    "bounds_X": (-1, 1),
                    "bounds_y": (-SPAN, SPAN),
                    "random_state": 0,
                    "mechanism": "kng",
                    **options,
                }
            ).fit(*data)
        return seen[0]

    return measured


@cache
def paper(n: int) -> Table:
    """Return the data of the paper's Algorithm 1, without its column of ones."""
    rng = np.random.default_rng(n)
    X = rng.uniform(-1, 1, (n, 11))
    return X, X @ TRUTH + rng.normal(size=n)


def degenerate(X: np.ndarray, y: np.ndarray) -> Table:
    X = X.copy()
    X[:, 1], X[:, 2], X[:, 3], X[:, 4] = X[:, 0], 1.0, 0.0, -X[:, 0]
    return X, y


def one_far_record(X: np.ndarray, y: np.ndarray) -> Table:
    X, y = X.copy(), y.copy()
    X[0], y[0] = 1e9, -1e9
    return X, y


def one_record_alone(X: np.ndarray, y: np.ndarray) -> Table:
    X, y = np.zeros_like(X), np.full_like(y, -SPAN)
    X[0], y[0] = 1.0, SPAN
    return X, y


KINDS = {
    "paper's data": lambda X, y: (X, y),
    "duplicated, mirrored, constant and dead columns": degenerate,
    "all columns alike": lambda X, y: (np.repeat(X[:, :1], 11, axis=1), y),
    "all columns constant": lambda X, y: (np.full_like(X, 0.3), y),
    "columns that fill 1/100 of their bounds": lambda X, y: (X / 100, y),
    "response at one bound": lambda X, y: (X, np.full_like(y, SPAN)),
    "response at both bounds": lambda X, y: (X, SPAN * np.sign(y)),
    "one wild leverage point": one_far_record,
    "one record at a corner, the others at the middle": one_record_alone,
    "everything missing": lambda X, y: (np.full_like(X, np.nan), np.full_like(y, np.nan)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_the_default_is_fast_everywhere(kind, n, cost):
    proposals, seconds = cost(KINDS[kind](*paper(n)))
    assert proposals < MOST_PROPOSALS
    assert seconds < MOST_SECONDS


@pytest.mark.parametrize("n", [1, 2, 6, 11])
@pytest.mark.parametrize("options", [{}, {"coef_bound": LENGTH}], ids=["default", "ball"])
def test_fewer_records_than_coefficients(n, options, cost):
    X, y = paper(100)
    proposals, seconds = cost((X[:n], y[:n]), **options)
    assert proposals < MOST_PROPOSALS
    assert seconds < MOST_SECONDS


@pytest.mark.parametrize("share", ["4/5", "1", "2", "10"])
@pytest.mark.parametrize("n", SIZES)
def test_kng_by_name_on_the_paper_s_ball(share, n, cost):
    proposals, seconds = cost(paper(n), coef_bound=Fraction(share) * LENGTH)
    assert proposals < 2 * MOST_PROPOSALS
    assert seconds < MOST_SECONDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [10**2, 10**4])
def test_kng_by_name_on_a_ball_with_room(kind, n, cost):
    proposals, seconds = cost(KINDS[kind](*paper(n)), coef_bound=10 * LENGTH)
    assert proposals < MOST_PROPOSALS
    assert seconds < MOST_SECONDS


def test_the_hook_sees_a_slow_draw(cost):
    # Slopes far above 1 in standardised units: the hard case of the documentation.
    X = np.random.default_rng(0).uniform(-1, 1, (10**6, 11))
    proposals, _ = cost((X / 50, np.sign(X[:, 0])), bounds_y=(-1, 1))
    assert proposals > MOST_PROPOSALS
