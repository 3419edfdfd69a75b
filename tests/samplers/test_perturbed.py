"""Objective perturbation is exact: cells, laws, holes, faces, and constants that round one way.

One coefficient has a law that can be written down. With g the derivative of the loss and its ridge,
the minimiser for the noise u is at least b if and only if u <= -g(b), and u is a Laplace variable
in every norm. So a cell's probability is a difference of two values of its distribution function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from math import exp

import numpy as np
import pytest
from flint import arb
from regression.setting import ADD, NORMS, RELATIONS, REPLACE, problem
from samplers.laws import ALARM, p_value
from samplers.tapes import Enumeration, enumerate_tapes
from scipy.stats import gamma, kstest

from kng.bases import Uniform
from kng.core.bits import Bits, SeededBits, SystemBits
from kng.core.capabilities import LazyNorm
from kng.core.enclosures import ball, precision, root_above
from kng.core.lattice import Lattice
from kng.core.perturbed import PerturbedPlan
from kng.core.quadratic import Quadratic
from kng.core.uniforms import LazyUniform
from kng.domains import L1Ball, Whole
from kng.losses import Huber, Squared
from kng.mechanisms import ObjectivePerturbation
from kng.samplers.exact.objective import LinearTerm, Perturbed

Record = tuple[Fraction, Fraction]
HALF, INFINITY = Fraction(1, 2), Fraction(10**9)


@dataclass(frozen=True)
class Line:
    """A loss on one coefficient, by the record: squared up to ``bend``, then linear."""

    records: tuple[Record, ...]
    bend: Fraction

    def derivative(self, theta: Fraction) -> Fraction:
        residuals = [(z, z * theta - y) for z, y in self.records]
        return sum((z * max(-self.bend, min(self.bend, r)) for z, r in residuals), Fraction(0))

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        bend = self.bend if self.bend == INFINITY else width
        a = b = Fraction(0)
        for z, y in self.records:
            residual = z * theta[0] - y
            if abs(residual) <= bend:
                a, b = a + z * z / width, b + z * y / width
            else:
                b -= z if residual > 0 else -z
        return Quadratic.of(((a,),), (b,))


def planned(
    loss: object,
    norm: str = "linf",
    relation: str = REPLACE,
    *,
    radius: Fraction | None = None,
    epsilon: Fraction = Fraction(1),
    share: Fraction | None = None,
    centre: Fraction | None = None,
    steps: int = 4,
) -> PerturbedPlan:
    """Return a plan for one coefficient on a coarse lattice: 2 ``steps`` + 1 points."""
    domain = Whole(1, base=Uniform()) if radius is None else L1Ball(radius, dim=1)
    asked = problem(
        1, n=2, norm=NORMS[norm], relation=relation, pointwise=loss, domain=domain, unit=4
    )
    plan = ObjectivePerturbation(share, None if centre is None else (centre,)).plan(asked, epsilon)
    reach = radius or Fraction(3)
    return replace(plan, lattice=Lattice((-reach,), (reach / steps,), (2 * steps,)))


def law(plan: PerturbedPlan, line: Line) -> list[float]:
    """Return the probability of each cell, from the formula above."""

    def at_least(border: Fraction) -> float:
        g = line.derivative(border) + plan.ridge * (border - plan.centre[0])
        u = float(-g * plan.rate)
        return 1 - exp(-u) / 2 if u > 0 else exp(u) / 2

    origin, step, last = plan.lattice.origin[0], plan.lattice.step[0], plan.lattice.last[0]
    upper = [at_least(origin + (k + HALF) * step) for k in range(last)]
    return [a - b for a, b in pairwise([1.0, *upper, 0.0])]


LINE = Line(((Fraction(1), Fraction(1, 2)), (Fraction(-1, 2), Fraction(2))), Fraction(1))
PARABOLA = Line(((Fraction(1), Fraction(1, 2)), (Fraction(-1, 2), Fraction(1))), INFINITY)
PLANS: dict[str, tuple[PerturbedPlan, Line]] = {
    **{f"Huber {norm}": (planned(Huber(1), norm), LINE) for norm in ("linf", "l2", "l1")},
    "Huber add-remove": (planned(Huber(1), "l1", ADD, epsilon=Fraction(3)), LINE),
    "Huber centred": (planned(Huber(1), "l1", centre=Fraction(-2)), LINE),
    "Huber on a ball": (planned(Huber(1), "l1", radius=Fraction(1, 3), epsilon=Fraction(4)), LINE),
    "squares on a ball": (planned(Squared(), "l1", radius=Fraction(2, 3)), PARABOLA),
    "squares, pulled": (
        planned(Squared(), "l1", radius=Fraction(1), centre=Fraction(2)), PARABOLA,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_every_tape_agrees_with_the_law(name: str) -> None:
    """Brackets from all short tapes: no statistics, and the program itself.

    In l1 a coordinate is one uniform number, and a few hundred tapes leave nothing open. The other
    norms mix three, and their brackets stay wide.
    """
    plan, line = PLANS[name]
    found = enumerate_tapes(lambda bits: Perturbed().draw(plan, line, bits), 600)
    # float64 in the stated law is good to 2**-40
    slack = Fraction(1, 2**40)
    lower = {k: p - slack for k, p in found.lower.items()}
    bracket = Enumeration(lower, found.unresolved + 2 * slack)
    assert not bracket.escapes({(k,): Fraction(p) for k, p in enumerate(law(plan, line))})
    assert found.unresolved < 2**-5 or name in ("Huber linf", "Huber l2")


@pytest.mark.every(3)
@pytest.mark.parametrize("name", PLANS)
def test_draws_have_the_law_and_no_other(name: str) -> None:
    plan, line = PLANS[name]
    bits = SeededBits(7)
    draws = [Perturbed().draw(plan, line, bits)[0] for _ in range(4000)]

    def judged(factor: Fraction) -> float:
        return p_value(draws, dict(enumerate(law(replace(plan, rate=plan.rate * factor), line))))

    assert judged(Fraction(1)) > ALARM
    assert judged(Fraction(4, 5)) < ALARM
    assert judged(Fraction(6, 5)) < ALARM


# --- privacy loss on cells -----------------------------------------------------------------------

UNIVERSE = tuple(product((Fraction(-1), HALF, Fraction(1)), (Fraction(-3), HALF, Fraction(3))))


def losses(plan: PerturbedPlan, bend: Fraction, relation: str) -> float:
    """Return the largest privacy loss over all neighbours with at most two records."""
    shrink = 1 if bend != INFINITY else Fraction(1, 3)  # squares need |y| <= 1
    universe = [(z, y * shrink) for z, y in UNIVERSE]
    pairs = list(combinations_with_replacement(universe, 2))
    laws = {pair: np.log(law(plan, Line(pair, bend))) for pair in pairs}
    ones = {(r,): np.log(law(plan, Line((r,), bend))) for r in universe}
    worst = 0.0
    for pair, other in product(pairs, pairs):
        if relation == REPLACE and len({*pair} & {*other}) >= 1:
            worst = max(worst, float(np.max(laws[pair] - laws[other])))
    if relation == ADD:
        for pair in pairs:
            for record in pair:
                apart = laws[pair] - ones[(record,)]
                worst = max(worst, float(np.max(np.abs(apart))))
    return worst


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("centre", [None, Fraction(-4)])
def test_no_pair_of_neighbours_loses_more_than_epsilon(relation: str, centre: Fraction) -> None:
    tight = []
    for epsilon in (HALF, Fraction(1), Fraction(3)):
        for share in (None, HALF):
            facts = {"epsilon": epsilon, "share": share, "centre": centre, "steps": 12}
            for loss, bend, radius in (
                (Huber(1), Fraction(1), None),
                (Huber(1), Fraction(1), Fraction(2)),
                (Squared(), INFINITY, Fraction(1)),
            ):
                plan = planned(loss, relation=relation, radius=radius, **facts)
                worst = losses(plan, bend, relation)
                assert worst <= float(epsilon) + 1e-9
                tight.append(worst / float(epsilon))
    assert max(tight) > 0.9


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_ridge_or_a_rate_that_is_off_loses_more(relation: str) -> None:
    plan = planned(Huber(1), relation=relation, steps=12, share=HALF)
    for wrong in (
        replace(plan, rate=plan.rate * 2),
        replace(plan, ridge=plan.ridge / 4),
        replace(plan, rate=plan.rate * Fraction(5, 4), ridge=plan.ridge / 2),
    ):
        assert losses(wrong, Fraction(1), relation) > 1 + 1e-6


# --- holes ---------------------------------------------------------------------------------------


class Words(SystemBits):
    """Bits that are told: the first words of each uniform, then fresh ones."""

    def __init__(self, uniforms: Sequence[Fraction]) -> None:
        super().__init__()
        self._numbers, self._at = uniforms, 0

    def take(self, k: int) -> int:
        turn, which = divmod(self._at, len(self._numbers))
        self._at += 1
        return int(self._numbers[which] * 2 ** (k * (turn + 1))) % 2**k


def words_for(u: Fraction, rate: Fraction) -> Words:
    """Return bits from which the sup norm's noise in one coordinate is u: R V = u."""
    with precision(400):
        radius = ball(max(abs(u) * rate * 2, Fraction(1, 10)))
        share = ball(u * rate) / radius
        both = [(-radius / 2).exp(), (-radius / 2).exp(), (share + 1) / 2]
        whole = [int((number * arb(2) ** 380).mid().floor().unique_fmpz()) for number in both]
    return Words([Fraction(k, 2**380) for k in whole])


def test_no_tail_answer_is_impossible_for_a_neighbour() -> None:
    """Every answer has bits that lead a neighbour to it; 10^4 answers from the tails.

    Version 0.1 (commit e301d72) took u from 2**52 values of a uniform: between them lay lattice
    points that one of two neighbours could not answer, 41 of 60 in its tails.
    """
    rng = np.random.default_rng(3)
    plan = planned(Huber(1), epsilon=Fraction(1), share=HALF)
    step = Fraction(1, 2**30)
    plan = replace(plan, lattice=Lattice((Fraction(-1024),), (step,), (2**41,)))
    for _ in range(10_000):
        n = int(rng.integers(0, 4))
        z, y = (Fraction(int(k), 2**10) for k in rng.integers(-(2**10), 2**10, 2))
        other = (-z, -y)
        tail = Fraction(int(rng.integers(2**30, 2**33)), 2**29) * int(rng.choice([-1, 1]))
        neighbour = Line(((z, y),) * n + (other,), Fraction(1))
        (k,) = plan.lattice.nearest([tail])
        theta = plan.lattice.units((k,))[0]
        u = -(neighbour.derivative(theta) + plan.ridge * theta)
        assert Perturbed().draw(plan, neighbour, words_for(u, plan.rate)) == (k,)


# --- faces and vertices --------------------------------------------------------------------------


@dataclass(frozen=True)
class Plane:
    """A quadratic in two coefficients."""

    matrix: tuple[tuple[Fraction, ...], ...]
    vector: tuple[Fraction, ...]

    def piece(self, theta: Sequence[Fraction], width: Fraction) -> Quadratic:
        return Quadratic.of(self.matrix, self.vector)


@pytest.mark.parametrize("radius", [Fraction(1, 3), Fraction(2, 7), Fraction(1, 2**30)])
@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_draws_end_on_faces_and_vertices(radius: Fraction, norm: str) -> None:
    """0 and the tips of a ball are lattice points, so that no atom lies on a border of cells."""
    asked = problem(2, n=3, norm=NORMS[norm], radius=radius)
    plan = ObjectivePerturbation(HALF).plan(asked, Fraction(20))
    one = Fraction(1)
    field = Plane(((3 * one, one), (one, 2 * one)), (Fraction(4, 3), Fraction(1)))
    bits = SeededBits(11)
    draws = [plan.lattice.units(Perturbed().draw(plan, field, bits)) for _ in range(300)]
    tips = sum(max(map(abs, theta)) == radius for theta in draws)
    zeros = sum(0 in theta for theta in draws)
    assert zeros >= tips
    assert all(max(map(abs, theta)) <= radius for theta in draws)
    assert tips > 50


def test_a_cell_is_certain_only_if_all_of_the_ball_is() -> None:
    lattice = Lattice((Fraction(-1),), (HALF,), (4,))
    assert lattice.cell((Fraction(0),), Fraction(1, 5)) == (2,)
    assert lattice.cell((Fraction(0),), Fraction(1, 4)) is None  # its end is a border
    assert lattice.cell((Fraction(9),), Fraction(1)) == (4,)  # clamped, both ends alike
    assert lattice.cell((Fraction(1),), Fraction(10)) is None
    around = Lattice((Fraction(-1024),), (Fraction(1, 2**30),), (2**41,)).around(Fraction(1, 3))
    assert around.units((0,)) == (-Fraction(1, 3),)
    assert around.units((around.last[0] // 2,)) == (0,)
    assert around.units(around.last) == (Fraction(1, 3),)
    assert around.step[0] <= Fraction(1, 2**30)


# --- constants and noise -------------------------------------------------------------------------


def test_rates_are_not_above_and_ridges_not_below_what_epsilon_pays_for() -> None:
    """As floats, as in version 0.1 (commit e301d72), half of them were off by a rounding."""
    rng = np.random.default_rng(5)
    for _ in range(300):
        d, people = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        epsilon = Fraction(int(rng.integers(1, 10**6)), int(rng.integers(1, 10**6)))
        share = Fraction(int(rng.integers(1, 100)), 100)
        norm = str(rng.choice(["linf", "l2", "l1"]))
        asked = problem(
            d,
            n=9,
            norm=NORMS[norm],
            people=people,
            pointwise=Huber(1),
            domain=Whole(d, base=Uniform()),
            unit=4,
        )
        plan = ObjectivePerturbation(share).plan(asked, epsilon)
        with precision(300):
            corner = {"linf": arb(1), "l2": arb(d).sqrt(), "l1": arb(d)}[norm]
            rate = ball(share * epsilon) / (2 * people * corner)
            rest = min((1 - share) * epsilon / people, Fraction(10))
            ridge = d / ball(rest).expm1()
            assert not ball(plan.rate) > rate
            assert not ball(plan.ridge) < ridge
            assert ball(plan.rate) > rate * (1 - arb(2) ** -80)
            assert ball(plan.ridge) < ridge * (1 + arb(2) ** -22)


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_noise_has_its_length_and_no_direction_is_preferred(norm: str, dim: int) -> None:
    """The length is Gamma(d); a rate 20 % off is rejected, and signs are fair coins."""
    part = NORMS[norm]
    assert isinstance(part, LazyNorm)
    bits = SeededBits(13)
    points = np.array([_point(part, dim, bits) for _ in range(1500)])
    lengths = part.lengths(points)  # type: ignore[attr-defined]
    assert kstest(lengths, gamma(dim).cdf).pvalue > 1e-4
    assert kstest(lengths, gamma(dim, scale=1.25).cdf).pvalue < 1e-4
    directions = points / lengths[:, None]
    for j in range(dim):
        assert abs((directions[:, j] > 0).mean() - 0.5) < 0.07
        same = part.directions(SeededBits(17), 1500, dim)[:, j]  # type: ignore[attr-defined]
        if dim > 1:
            assert kstest(directions[:, j], same).pvalue > 1e-4


def _point(norm: LazyNorm, dim: int, bits: Bits) -> list[float]:
    numbers = [LazyUniform() for _ in range(norm.uniforms(dim))]
    for number in numbers:
        number.refine(bits)
    with precision(128):
        return [float(value) for value in norm.noise([n.ball() for n in numbers], dim)]


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_enclosures_of_noise_nest_and_shrink(norm: str) -> None:
    asked = problem(
        3, n=9, norm=NORMS[norm], pointwise=Huber(1), domain=Whole(3, base=Uniform()), unit=4
    )
    plan = ObjectivePerturbation(HALF).plan(asked, Fraction(1))
    term, bits = LinearTerm(plan), SeededBits(19)
    found = [term.refined(bits) for _ in range(4)]
    assert all(found)
    for (middle, error), (finer, less) in pairwise(found):  # type: ignore[misc]
        apart = root_above(sum(((a - b) ** 2 for a, b in zip(middle, finer, strict=True))))
        assert apart <= (error + less) * (1 + Fraction(1, 2**50))
        assert less < error / 2**50


def test_roots_are_rounded_up() -> None:
    for square in (
        Fraction(2),
        Fraction(1, 3),
        Fraction(10**40 + 1),
        Fraction(1, 10**40),
        Fraction(4),
    ):
        root = root_above(square)
        assert square <= root**2 <= square * (1 + Fraction(1, 2**55))
    assert root_above(Fraction(0)) == 0
