"""K-norm noise on the sum: for every neighbouring pair the log ratio is at most epsilon.

The law is the one that production asks its samplers for. Its log ratio between two shifts is an
exact rational number, so `<= epsilon` and `== epsilon` are decided without any tolerance. For
the rounded box noise the cells are integrated as well, which shows that rounding hides nothing.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from audit.cases import LINE, MEAN, PLANE, norms, universe_of
from audit.oracle import (
    ADD,
    PRECISION,
    RELATIONS,
    REPLACE,
    RoundedBox,
    Separate,
    Setting,
    audit_noise,
    ball,
    ends,
    noise_law,
)
from flint import arb, ctx
from scipy.integrate import dblquad

from kng.core.parts import Point
from kng.mechanisms import KNorm
from kng.norms import L1


@pytest.mark.parametrize("records_per_person", [1, 2])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("norm", norms((1,), REPLACE))
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", [LINE, PLANE], ids=["line", "plane"])
def test_the_loss_of_every_neighbouring_pair_is_at_most_epsilon_and_reaches_it(
    shape: tuple[Point, tuple[int | Point, ...]],
    relation: str,
    norm: str,
    epsilon: str,
    records_per_person: int,
) -> None:
    last, values = shape
    setting = Setting(
        MEAN,
        KNorm(),
        relation,
        Fraction(epsilon),
        last,
        records_per_person,
        norms(last, relation)[norm],
    )
    worst, _ = audit_noise(setting, universe_of(values, relation))
    # Equality, not only a bound: the corners of the box are records, so Delta is attained.
    assert worst == setting.epsilon or (
        "l2" in norm and abs(worst - setting.epsilon) < setting.epsilon / 2**80  # rounded roots
    )


@pytest.mark.parametrize(
    ("shape", "relation"), [(PLANE, REPLACE), (LINE, ADD), (PLANE, ADD)], ids=str
)
def test_integrated_cells_of_the_box_noise_lose_at_most_epsilon(
    shape: tuple[Point, tuple[int | Point, ...]], relation: str
) -> None:
    """Two and three coordinates; every shift between neighbours, every cell of a window."""
    last, values = shape
    setting = Setting(
        MEAN, KNorm(), relation, Fraction(1), last, norm=norms(last, relation)["weighted-sup"]
    )
    _, shifts = audit_noise(setting, universe_of(values, relation))
    law = noise_law(setting.noise_plan(1))
    assert isinstance(law, RoundedBox)
    assert len(law.widths) == len(last) + (relation == ADD)
    worst = arb(0)
    with ctx.workprec(PRECISION):
        # Beyond three widths in one direction the ratio is already constant.
        side = range(-9, 10) if len(law.widths) == 2 else range(-5, 6)
        window = list(product(side, repeat=len(law.widths)))
        logs: dict[Point, arb] = {}

        def log(cell: Point) -> arb:
            if cell not in logs:
                logs[cell] = law.probability(cell).log()
            return logs[cell]

        for shift in shifts:
            for cell in window:
                moved = tuple(k - s for k, s in zip(cell, shift, strict=True))
                worst = worst.max(abs(log(cell) - log(moved)))
        low, high = ends(worst)
    # Where one coordinate dominates, the ratio of cells is exactly exp(epsilon): allow the
    # enclosure's own width there, and nothing else.
    assert high <= setting.epsilon + Fraction(1, 10**50)
    assert low >= Fraction(99, 100) * setting.epsilon


def test_plane_noise_in_l1_is_two_discrete_laplace_variables() -> None:
    last = PLANE[0]
    setting = Setting(MEAN, KNorm(), REPLACE, Fraction(1), last, norm=L1())
    law = noise_law(setting.noise_plan(3))
    # widths 2 and 3 in steps of one: Delta = 5 and both coordinates get the rate 1/5
    assert law == Separate((Fraction(1, 5), Fraction(1, 5)))
    assert law.loss((2, -3)) == 1


def test_the_probabilities_of_the_oracle_are_those_of_the_density() -> None:
    """The ruler itself: closed forms against quadrature, and total mass one."""
    law = RoundedBox(Fraction(3, 2), (Fraction(2), Fraction(3)))

    def density(y: float, x: float) -> float:
        c, (a, b) = 1.5, (2.0, 3.0)
        return c**2 / (8 * a * b) * 2.718281828459045 ** (-c * max(abs(x) / a, abs(y) / b))

    with ctx.workprec(PRECISION):
        for cell in ((0, 0), (1, 0), (-2, 3), (4, -5)):
            x, y = cell
            options = {"epsabs": 1e-9, "epsrel": 1e-9}
            value, _ = dblquad(density, x - 0.5, x + 0.5, y - 0.5, y + 0.5, **options)
            assert float(law.probability(cell)) == pytest.approx(value, rel=1e-5)
        three = RoundedBox(Fraction(2), (Fraction(1), Fraction(1), Fraction(1)))
        mass = sum(
            (three.probability(c) for c in product(range(-2, 3), repeat=3)), arb(0)
        )  # the cube |u| < 5/2 of a Gamma(3, 2) radius
        r = ball(Fraction(5))
        assert abs(mass - (1 - (-r).exp() * (1 + r + r * r / 2))) < arb(10) ** -50
        line = Separate((Fraction(1, 3),))
        tail = (-ball(Fraction(41, 3))).exp() * 2 / ((ball(Fraction(1, 3))).exp() + 1)
        total = sum((line.probability((k,)) for k in range(-41, 42)), arb(0))
        assert abs(total - 1 + tail) < arb(10) ** -50
