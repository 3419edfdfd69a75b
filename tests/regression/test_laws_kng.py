"""KNG for least squares is drawn from its density: chi-square against quadrature, d = 1 and 2.

Densities are the oracle's own, written from the definition of a record's gradient. Every case is
drawn in bulk from the sampler's proposals and must also reject rates that are 20 % off, so that
a test which could not fail does not pass. False-alarm rate 1e-6 a test, seeds fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from regression.formulas import Score
from regression.quadrature import (
    ALARM,
    Cells,
    cells,
    diamond,
    into_square,
    log_base,
    p_value,
    verdict,
    whole_space,
)
from regression.setting import (
    ADD,
    NORMS,
    REPLACE,
    Array,
    accepted,
    accepted_from,
    field_of,
    problem,
    with_ones,
)

from kng import LinearRegression
from kng.core.bits import SeededBits
from kng.core.plan import DensityPlan
from kng.core.quadratic import AffineGradient
from kng.mechanisms import KNG
from kng.samplers.real.affine import coefficients
from kng.samplers.real.envelopes.linear_programs import Sup
from kng.samplers.real.envelopes.long_theta import LongTheta
from kng.samplers.real.envelopes.projective import Frame, Proposals
from kng.samplers.real.envelopes.radial import lengths_of, log_bounds
from kng.samplers.real.envelopes.sup_inside import SupInside


def plain(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    X = rng.uniform(-1, 1, (40, d))
    return X, np.clip(X @ np.linspace(0.5, -0.3, d) + 0.2 * rng.normal(size=40), -1, 1)


def steep(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    """Covariates in a tenth of their bounds: ||theta_hat||_1 is near 6, so the chart is shifted."""
    X = rng.uniform(-0.1, 0.1, (3000, d))
    return X, np.clip(X @ np.linspace(5, -1, d), -1, 1)


def tilted(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    """Covariates in a third of their bounds; fewer, or the density is a needle for the grid."""
    X = rng.uniform(-0.3, 0.3, (150, d))
    return X, np.clip(X @ np.linspace(3, -1, d), -1, 1)


def long(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    """An estimate near ||theta||_1 = 2 that the data vouch for, against a tail that says 0."""
    X = rng.uniform(-0.5, 0.5, (400, d))
    return X, np.clip(X @ np.linspace(2, 0.3, d), -1, 1)


def far(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    """An estimate near ||theta||_1 = 1.1, for a ball that ends at 0.7."""
    X = rng.uniform(-1, 1, (12, d))
    return X, np.clip(X @ np.linspace(0.8, -0.3, d), -1, 1)


def collinear(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    X, y = plain(rng, d)
    X[:, 1:] = X[:, :1]
    return X, y


def empty_column(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    X, y = plain(rng, d)
    X[:, -1] = 0
    return X, y


def at_a_bound(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    X, _ = plain(rng, d)
    return X, np.ones(len(X))


def tiny(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    X, y = plain(rng, d)
    return X[:2], y[:2]


def nobody(rng: np.random.Generator, d: int) -> tuple[Array, Array]:
    return np.zeros((0, d)), np.zeros(0)


@dataclass(frozen=True)
class Case:
    """One problem and one dataset."""

    d: int
    data: Any
    norm: str = "coordinate"
    radius: Fraction | None = None
    relation: str = REPLACE
    intercept: bool = False
    epsilon: Fraction = Fraction(2)
    people: int = 1
    draws: int = 30_000
    freedom: int = 3

    def __str__(self) -> str:
        where = "whole" if self.radius is None else f"ball{float(self.radius):g}"
        extra = "+1" * self.intercept + f"-{self.people}people" * (self.people > 1)
        extra += f"-t{self.freedom}" * (self.freedom != 3)
        return f"d{self.d}{extra}-{self.data.__name__}-{self.norm}-{where}-{self.relation}"

    def build(self) -> tuple[DensityPlan, AffineGradient]:
        X, y = self.data(np.random.default_rng(7), self.d - self.intercept)
        field = field_of(with_ones(X, self.intercept), y)
        regression = problem(
            self.d,
            n=len(y),
            norm=NORMS[self.norm],
            radius=self.radius,
            intercept=self.intercept,
            relation=self.relation,
            people=self.people,
            freedom=self.freedom,
        )
        return KNG().plan(regression, self.epsilon), field

    def law(self, parts: tuple[int, int] = (10, 7), draws: int | None = None) -> Cells:
        """Integrate the oracle's density; the rate and the ridge are written out again."""
        _, field = self.build()
        slope = 2 if self.relation == REPLACE else 1
        ridge = slope * (self.d + 1) * self.people / (2 * float(self.epsilon))
        radius = None if self.radius is None else float(self.radius)
        score = Score(
            field,
            0.0 if radius else ridge,
            self.norm,
            self.intercept,
            self.relation,
            radius,
        )
        rate = float(self.epsilon) / (2 * self.people)

        def log_density(square: Array) -> tuple[Array, Array]:
            theta = whole_space(square) if radius is None else radius * diamond(square)
            return log_base(theta, radius, self.freedom), rate * score(theta)

        return cells(log_density, self.d, parts=parts, draws=draws or self.draws)

    def p_values(self, draws: Array, law: Cells) -> dict[float, float]:
        square = into_square(draws, None if self.radius is None else float(self.radius))
        counts = law.counts(square)
        return {factor: p_value(counts, mass) for factor, mass in law.mass.items()}


ONE, HALF = Fraction(3, 2), Fraction(7, 10)
CASES = [
    *(Case(1, data) for data in (plain, steep, at_a_bound)),
    Case(1, plain, relation=ADD),
    Case(1, plain, "linf", radius=ONE),
    Case(1, far, "linf", radius=HALF, epsilon=Fraction(6)),
    *(Case(2, plain, norm, None, relation) for norm in NORMS for relation in (REPLACE, ADD)),
    *(Case(2, plain, "linf", ONE, relation) for relation in (REPLACE, ADD)),
    Case(2, steep, epsilon=Fraction(1, 2)),
    Case(2, steep, "l1"),
    *(Case(2, data) for data in (collinear, at_a_bound, empty_column)),
    Case(2, tiny, epsilon=Fraction(30)),
    # rate times ridge does not depend on epsilon, so without records a wrong rate shows little
    Case(2, nobody, relation=ADD, draws=300_000),
    Case(2, collinear, "linf", ONE),
    Case(2, tiny, "linf", ONE, epsilon=Fraction(30)),
    # on a ball that leaves the estimate out, a little and far
    Case(2, far, "linf", HALF, epsilon=Fraction(6)),
    Case(2, far, "linf", Fraction(1, 4), epsilon=Fraction(20)),
    Case(2, far, "linf", HALF, ADD, epsilon=Fraction(6)),
    Case(1, far, "linf", radius=Fraction(1, 4), epsilon=Fraction(20)),
    *(Case(2, data, intercept=True) for data in (plain, tilted, at_a_bound)),
    Case(2, plain, relation=ADD, intercept=True),
    Case(2, plain, "linf", ONE, intercept=True),
    *(Case(2, data, freedom=f) for data in (plain, tilted, long) for f in (1, 6)),
    *(Case(1, data, freedom=9) for data in (plain, long)),
    Case(2, long, "l1"),
    Case(2, long, "l2", relation=ADD, freedom=6),
    Case(2, plain, people=3, epsilon=Fraction(4)),
    Case(2, plain, "linf", ONE, people=2, epsilon=Fraction(4)),
]


@pytest.mark.every(3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_proposals_have_the_stated_law(case: Case) -> None:
    plan, field = case.build()
    verdict(case.p_values(accepted(plan, field, case.draws, seed=11), case.law()))


@pytest.mark.parametrize("case", [Case(1, nobody), Case(2, nobody), Case(2, tiny)], ids=str)
def test_a_tail_one_degree_off_is_seen(case: Case) -> None:
    plan, field = case.build()
    draws = accepted(plan, field, case.draws, seed=14)
    found = {
        freedom: replace(case, freedom=freedom).p_values(
            draws, replace(case, freedom=freedom).law()
        )
        for freedom in (2, 3, 4)
    }
    assert found[3][1.0] > ALARM
    assert found[2][1.0] < ALARM
    assert found[4][1.0] < ALARM


def far_from(frame: Frame, chosen: list[int]) -> list[LongTheta]:
    """Return the proposals that know a length: what the data vouch for, and half of that."""
    everything = np.arange(len(frame.vector))
    if len(chosen) == len(everything):
        return []
    center = np.linalg.solve(frame.matrix, frame.vector)
    known = lengths_of(frame.matrix, frame.vector, everything, center, frame.noise)[1:]
    halved = known * [[0.5, 1.0]] if len(known) else known
    return LongTheta.splits(frame, chosen, np.concatenate([known, halved]))


def splits(case: Case, chosen: list[int]) -> list[Any]:
    """Return every way to propose with these coordinates strong."""
    plan, field = case.build()
    if case.radius is not None:
        return list(SupInside.splits(Sup.of(plan, field), chosen, 0.0))
    frame = Frame.of(plan, field)
    return [Proposals.split(frame, chosen), *far_from(frame, chosen)]


@pytest.mark.every(3)
@pytest.mark.parametrize("freedom", [1, 3, 13])
@pytest.mark.parametrize("data", [plain, steep, tilted, long, collinear, at_a_bound, tiny, nobody])
def test_no_proposal_is_accepted_more_than_surely(data: Any, freedom: int) -> None:
    """Every split's envelope is one: in three and five coordinates, in each norm."""
    for d, norm in ((3, "coordinate"), (5, "l1"), (5, "l2"), (3, "linf")):
        plan, field = Case(d, data, norm, freedom=freedom, relation=ADD).build()
        frame, bits = Frame.of(plan, field), SeededBits(15)
        for k in range(d + 1):
            for proposals in (
                Proposals.split(frame, list(range(k))),
                *far_from(frame, list(range(k))),
            ):
                _, log_accept = proposals.batch(bits, 2**12)
                assert log_accept.max() < 1e-9


@pytest.mark.every(5)
@pytest.mark.parametrize(
    "case",
    [
        Case(1, plain),
        Case(2, plain),
        Case(2, tilted, "l1"),
        Case(2, plain, "linf", ONE),
        Case(2, collinear),
        Case(2, plain, intercept=True, relation=ADD),
        Case(2, long, freedom=2),
        Case(1, tilted, freedom=1),
        Case(2, tilted, intercept=True),
        Case(2, long, "l2", relation=ADD),
    ],
    ids=str,
)
def test_every_split_has_the_same_law(case: Case) -> None:
    """Which coordinates are strong is a matter of speed, not of law."""
    law = case.law(draws=5_000)
    for k in range(case.d + 1):
        for chosen in combinations(range(case.d), k):
            for proposals in splits(case, list(chosen)):
                draws = accepted_from(proposals, 5_000, seed=12)
                verdict(case.p_values(draws, law))


@pytest.mark.parametrize(
    ("case", "draws"),
    [(Case(1, plain), 1800), (Case(2, tilted, intercept=True), 900)],
    ids=str,
)
def test_draw_keeps_the_law(case: Case, draws: int) -> None:
    """One draw at a time: the first accepted of a batch, as a release takes it."""
    plan, field = case.build()
    bits = SeededBits(13)
    drawn = np.array([coefficients(plan, field, bits) for _ in range(draws)])
    verdict(case.p_values(drawn, case.law((3, 3), draws=2000)))


def test_released_coefficients_have_the_law_in_the_callers_units() -> None:
    """From records in other units, through ingestion and lattice, to `coef_` and `intercept_`."""
    case = Case(2, tilted, intercept=True)
    X, y = tilted(np.random.default_rng(7), 1)
    model = LinearRegression(mechanism="kng", epsilon=2, bounds_X=(10, 50), bounds_y=(7, 13))
    drawn = []
    for seed in range(1000, 2000):
        model.set_params(random_state=seed).fit(30 + 20 * X, 10 + 3 * y)
        slope = model.coef_[0] * 20 / 3
        drawn.append([(model.intercept_ + 30 * model.coef_[0] - 10) / 3, slope])
    verdict(case.p_values(np.array(drawn), case.law((3, 3), draws=2000)))


@pytest.mark.parametrize("epsilon", [1, 1000, 10**6])
def test_much_data_and_columns_nearly_alike_lose_nothing_to_rounding(epsilon: int) -> None:
    """The estimate's numbers are large, and noise must not be lost in them."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (20, 3)) * 10.0 ** -rng.integers(0, 3)
        X[:, 0] = X[:, 1] + rng.choice([0, 2.0**-12, -(2.0**-12)], 20)
        y = np.clip(X @ rng.normal(size=3), -1, 1) if seed % 2 else np.sign(X[:, 0])
        plan = KNG().plan(problem(3, n=10**7), Fraction(epsilon))
        few = field_of(X, y)
        frame = Frame.of(plan, AffineGradient(5e5 * few.matrix, 5e5 * few.vector))
        _, log_accept = Proposals.best(frame).batch(SeededBits(1), 2**12)
        assert log_accept.max() < 1e-8


def test_the_radial_bound_holds_on_coarse_bins() -> None:
    """At every x of a bin, for every w that the data allow."""
    known = np.array(list(product((0, 2), (0.5, 5), (0.1, 1))))  # k, length, kappa
    for shift in (1.5, 6.0):
        ends = np.array([0.0, 0.5, 2.0, 8.0, 40.0])
        bounds = log_bounds(ends[:-1], ends[1:], 4, shift, known)
        for (k, length, kappa), row in zip(known, bounds, strict=True):
            for first, last, bound in zip(ends[:-1], ends[1:], row, strict=True):
                x, w = np.meshgrid(np.linspace(first, last, 80), np.linspace(1e-3, 1, 400))
                rho = 1 + (shift - 1) * w
                allowed = w * (1 + length) <= 1 + kappa * rho * x
                value = 4 * np.log(rho) + k * np.log(w) - (rho - 1) * x
                assert value[allowed].max() <= bound + 1e-12
