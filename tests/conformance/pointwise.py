"""What every pointwise function promises, checked against its definition in fractions.

conforms(function, truth) checks a function of anybody's; truth(eta, y) returns psi and rho.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from kng.losses.pointwise.function import Interval, Pointwise, Stepped
from kng.losses.pointwise.steps import RHO

Truth = Callable[[Fraction, Fraction], tuple[Fraction, Fraction]]
# Units, and how many of them predictions and responses reach.
SIZES = [
    (Fraction(1), 3),
    (Fraction(1, 10), 1000),
    (Fraction(1, 2**30), 2**22),
    (Fraction(1, 2**30), 2**44),
    (Fraction(1), 2**51),
]


class Case(NamedTuple):
    """A function on whole numbers of a unit, and what it should be."""

    function: Pointwise
    truth: Truth
    unit: Fraction
    reach: int
    span: Interval
    stepped: Stepped
    rng: np.random.Generator


def case_of(function: Pointwise, truth: Truth, unit: Fraction, reach: int) -> Case:
    """Return a function in whole numbers up to so many."""
    span = Interval(-reach * unit, reach * unit)
    stepped = function.stepped(unit, span, span)
    return Case(function, truth, unit, reach, span, stepped, np.random.default_rng(reach))


def numbers(rng: np.random.Generator, reach: int, size: int) -> np.ndarray:
    """Return whole numbers: any, the ends, few distinct ones, and near 0."""
    kinds = [
        rng.integers(-reach, reach + 1, size),
        rng.choice([-reach, 0, reach], size),
        rng.integers(-3, 4, size),
    ]
    return np.choose(rng.integers(0, 3, size), kinds).astype(np.float64)


def the_program_is_the_function_rounded_towards_0_within_its_public_range(case: Case) -> None:
    """Psi and rho against their definition."""
    function, truth, unit, reach, span, stepped, rng = case
    eta, y = numbers(rng, reach, 60), numbers(rng, reach, 60)
    psi, rho = stepped.psi(eta, y), stepped.rho(eta, y)
    whole, public = function.psi(span, span), function.rho(span, span)
    for e, x, p, v in zip(eta, y, psi, rho, strict=True):
        at, response = int(e) * unit, int(x) * unit
        true_psi, true_rho = truth(at, response)
        assert float(p).is_integer()
        assert float(v).is_integer()
        found, value = int(p) * stepped.psi_step, int(v) * stepped.rho_step
        # tau with more than 24 bits is truncated as well
        assert abs(found - true_psi) <= 2 * stepped.psi_step + abs(true_psi) / 2**20
        assert whole.low <= found <= whole.high
        assert true_rho * (1 - Fraction(1, 2**20)) - 2 * stepped.rho_step <= value <= true_rho
        assert 0 <= v <= RHO
        assert public.low <= true_rho <= public.high
        here = function.rho(Interval.at(at), Interval.at(response))
        assert here.low <= true_rho <= here.high
        # an irrational rho is enclosed
        assert here.high - here.low <= Fraction(1, 2**63)
        point = function.psi(Interval.at(at), Interval.at(response))
        assert point.low <= true_psi <= point.high


def apart_holds_all_differences_and_squared_attains_it(case: Case) -> None:
    """Two responses at one eta, by the formula and as computed, near each other and far away."""
    function, truth, unit, reach, _, stepped, rng = case
    for _ in range(60):
        at, one, other = numbers(rng, reach, 3)
        other = rng.choice([other, min(one + 1, reach)])
        found = int(np.ptp(stepped.psi(np.array([at]), np.array([one, other])))) * stepped.psi_step
        between = Interval(*sorted(int(v) * unit for v in (one, other)))
        assert found <= function.apart(Interval.at(int(at) * unit), between).high
    eta, low, high = (int(v) * unit for v in np.sort(numbers(rng, reach, 3)))
    y = Interval(low, high)
    apart = function.apart(Interval.at(eta), y)
    found = abs(truth(eta, low)[0] - truth(eta, high)[0])
    assert found <= apart.high + Fraction(1, 2**190)  # how well the truth is known
    if function.sides == (1, 1):
        assert found == apart.low == apart.high


def psi_does_not_fall_and_places_do_not_matter(case: Case) -> None:
    """Psi is monotone, and a record alone has the score that it has among others."""
    _, _, _, reach, _, stepped, rng = case
    eta, y = numbers(rng, reach, 301), numbers(rng, reach, 301)
    step = np.minimum(eta + np.abs(numbers(rng, reach, 301)), float(reach))
    assert (stepped.psi(eta, y) <= stepped.psi(np.maximum(eta, step), y)).all()
    for response in numbers(rng, reach, 4):
        edge = _edge(stepped, float(response), reach, rng)
        near = np.clip(np.arange(edge - 5000, edge + 5000), -reach, reach).astype(float)
        beside = stepped.psi(near, np.full(len(near), response))
        assert (np.diff(beside) >= 0).all(), f"psi falls near eta = {edge}, y = {int(response)}"
    for program in (stepped.psi, stepped.rho):
        together = program(eta, y)
        alone = [program(eta[i : i + 1], y[i : i + 1])[0] for i in range(len(eta))]
        turned = program(eta[::-1], y[::-1])[::-1]
        assert (together == alone).all()
        assert (together == turned).all()


def _edge(stepped: Stepped, y: float, reach: int, rng: np.random.Generator) -> int:
    """Return a prediction at which psi takes a step, where a rounding would make it fall."""

    def psi(eta: int) -> float:
        return float(stepped.psi(np.array([float(eta)]), np.array([y]))[0])

    low, high = -reach, reach
    goal = rng.uniform(psi(low), psi(high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if psi(middle) > goal else (middle, high)
    return high


def lines_hold_at_ends_kinks_and_between(case: Case) -> None:
    """Lines against the program."""
    function, _, unit, reach, _, stepped, rng = case
    one, other, y = (numbers(rng, reach, 80) for _ in range(3))
    low, high = np.minimum(one, other), np.maximum(one, other)
    if function.scale is not None:  # intervals that cross a kink closely
        kink = np.clip(np.rint(y + float(function.scale / unit)), -reach, reach)
        low[:20], high[:20] = np.maximum(kink[:20] - 3, -reach), np.minimum(kink[:20] + 2, reach)
    single = rng.random(80) < 0.2
    high[single] = low[single]
    inside = [low, high, np.floor((low + high) / 2), np.clip(y, low, high)]
    inside += [np.clip(y + k, low, high) for k in (-1, 1)]
    inside += [np.floor(low + rng.random(80) * (high - low)) for _ in range(4)]
    for program, chords in (
        (stepped.psi, stepped.psi_chords(low, high, y)),
        (stepped.rho, stepped.rho_chords(low, high, y)),
    ):
        assert (chords.miss >= 0).all()
        assert (chords.miss[single] == 0).all()
        for eta in inside:
            found = program(eta, y)
            for i in range(80):
                middle = Fraction(int(low[i]) + int(high[i]), 2)
                line = Fraction(chords.middle[i]) + Fraction(chords.slope[i]) * (
                    int(eta[i]) - middle
                )
                assert abs(int(found[i]) - line) <= Fraction(chords.miss[i])


CHECKS = (
    the_program_is_the_function_rounded_towards_0_within_its_public_range,
    apart_holds_all_differences_and_squared_attains_it,
    psi_does_not_fall_and_places_do_not_matter,
    lines_hold_at_ends_kinks_and_between,
)


def conforms(function: Pointwise, truth: Truth) -> None:
    """Check every promise at every size."""
    for unit, reach in SIZES:
        for check in CHECKS:
            check(case_of(function, truth, unit, reach))
