"""Every base measure: an exponent of at least 0, bounds that hold, the density it says it is."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats

from kng.bases import Density, Gaussian, HeavyTailed, Student, Uniform
from kng.core.enclosures import log_below
from kng.core.parts import Base, Standing, described, standing_of
from kng.core.regions import Region
from kng.domains import Box, L1Ball, L2Ball, Polytope, Simplex, Uncrossed, Whole

DIMS = (1, 2, 3)


def table(d: int) -> Density:
    weights = np.random.default_rng(d).integers(1, 9, (5,) * d)
    return Density(edges=[[-9, -4, "-1/3", 0.5, 2, 9]] * d, weights=weights)


def waves(theta):
    return np.cos(theta).sum(axis=1) - 0.1 * (theta**2).sum(axis=1)


BASES = {
    "uniform": lambda d: Uniform(),
    "heavy": lambda d: HeavyTailed(1),
    "heavy 3": lambda d: HeavyTailed(3),
    "gaussian": lambda d: Gaussian("1/3", centre=0.7).fitted(Region.everything(d)),
    "gaussian, each": lambda d: Gaussian([0.5, 3, 40][:d], centre=[1, -2, 7][:d]),
    "gaussian, far": lambda d: Gaussian(1, centre=10**6).fitted(Region.everything(d)),
    "student": lambda d: Student(2).fitted(Region.everything(d)),
    "student, each": lambda d: Student([0.1, 2, 5][:d], "5/2", centre=[3, 0, -1][:d]),
    "cauchy": lambda d: Student(1e-3, 1, centre=-4).fitted(Region.everything(d)),
    "table": table,
    "function": lambda d: Density(waves, grid=9).fitted(Region.between((F(-9),) * d, (F(9),) * d)),
}
EACH = [pytest.param(make, d, id=f"{n}-{d}") for n, make in BASES.items() for d in DIMS]


@pytest.mark.parametrize(("make", "d"), EACH)
def test_bounds_hold_at_every_point_of_a_box(make, d):
    base, rng = make(d), np.random.default_rng(1)
    for rows in range(70):
        ends = np.sort(rng.uniform(-9, 9, (2, 50, d)) * 10.0 ** -(rows % 4), axis=0)
        ends[1] = np.where(rng.random((50, d)) < 0.1, ends[0], ends[1])  # flat ones, too
        inside = ends[0] + rng.random((50, d)) * (ends[1] - ends[0])
        inside = np.clip(inside, *ends)
        inside[:5], inside[5:10] = ends[0][:5], ends[1][5:10]
        least, most = base.exponent_bounds(*ends)
        assert least.shape == most.shape == (50,)
        for theta, low, high in zip(inside.tolist(), least.tolist(), most.tolist(), strict=True):
            exponent = base.exponent(tuple(map(F, theta)))
            assert 0 <= F(low) <= exponent <= F(high)


@pytest.mark.parametrize(("make", "d"), EACH)
def test_bounds_at_a_point_are_tight(make, d):
    base = make(d)
    theta = np.random.default_rng(2).uniform(-9, 9, (300, d))
    theta = np.round(theta * 64) / 64 + 1 / 256  # off the edges of tables
    least, most = base.exponent_bounds(theta, theta)
    assert (most - least <= 1e-6 * (1 + most)).all()


@pytest.mark.parametrize(("make", "d"), EACH)
def test_the_exponent_is_minus_the_log_density(make, d):
    base = make(d)
    theta = np.random.default_rng(3).uniform(-9, 9, (200, d))
    exact = np.array([float(base.exponent(tuple(map(F, row)))) for row in theta.tolist()])
    logs = base.log_density(theta)
    assert logs.shape == (200,)
    np.testing.assert_allclose(exact, exact[0] + logs[0] - logs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", DIMS)
def test_densities_are_those_of_scipy(d):
    theta = np.random.default_rng(4).normal(size=(100, d)) * 3
    centre, scale = np.array([1.0, -2, 0.5])[:d], np.array([0.5, 2, 1.25])[:d]
    spread = np.diag(scale**2)
    laws = {
        Gaussian(scale, centre=centre): stats.multivariate_normal(centre, spread),
        Student(scale, 3, centre=centre): stats.multivariate_t(centre, spread, df=3),
        Student(scale, 1.5, centre=centre): stats.multivariate_t(centre, spread, df=1.5),
    }
    for base, law in laws.items():
        exact = np.array([float(base.exponent(tuple(map(F, row)))) for row in theta.tolist()])
        np.testing.assert_allclose(exact, law.logpdf(centre) - law.logpdf(theta), rtol=1e-9)


def test_exact_exponents_are_attained():
    assert Gaussian(2, centre=1).exponent((F(4),)) == F(9, 8)
    assert Gaussian([2, "1/3"], centre=[1, 0]).exponent((F(4), F(1))) == F(9, 8) + F(9, 2)
    assert all(make(1).exponent((F(0),)) == 0 for make in (BASES["heavy"], BASES["uniform"]))
    assert Student(1, centre=2).exponent((F(2),)) == 0
    base = Density(edges=[0, 1, 3, 4], weights=["1/2", 2, 1])
    assert base.exponent((F(1),)) == base.exponent((F(5, 2),)) == 0
    assert base.exponent((F(4),)) == base.exponent((F(3),)) == log_below(F(2), F(1))
    assert base.exponent((F(0),)) == base.exponent((F(9, 10),)) == log_below(F(4), F(1))


def test_logarithms_are_rounded_down_and_always_alike():
    rng = np.random.default_rng(5)
    for _ in range(300):
        number = 1 + F(int(rng.integers(1, 10**9)), int(rng.integers(1, 10**9)))
        times = F(int(rng.integers(1, 50)), int(rng.integers(1, 5)))
        found = log_below(number, times)
        assert (found * 2**64).denominator == 1
        assert abs(float(found) - float(times) * np.log(float(number))) < 1e-9 * (1 + float(found))
        assert log_below(number, times) == found
    with localcontext(prec=80):
        true = Decimal(3).ln() * 5
        found = log_below(F(3), F(5))
        down = Decimal(found.numerator) / Decimal(found.denominator)
        assert 0 < true - down < Decimal(2) ** -64
    assert log_below(F(1), F(7)) == 0
    assert log_below(1 + F(1, 2**300), F(7)) == 0


@pytest.mark.parametrize(("make", "d"), EACH)
def test_other_units_are_another_scale_and_the_same_measure(make, d):
    base, factor = make(d), F(5, 16)
    moved = base.scaled(factor)
    rng = np.random.default_rng(6)
    for row in rng.integers(-500, 500, (50, d)).tolist():
        theta = tuple(F(v, 64) for v in row)
        there = tuple(factor * v for v in theta)
        kept = theta if isinstance(base, HeavyTailed) else there
        assert moved.exponent(kept) == base.exponent(theta)


DOMAINS = {
    "box": lambda base: Box(-2, 2, base=base),
    "ball": lambda base: L1Ball(2, base=base),
    "whole": lambda base: Whole(base=base),
    "round ball": lambda base: L2Ball(2, base=base),
    "simplex": lambda base: Simplex(2, base=base),
    "polytope": lambda base: Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], [2, 2, 2, 2], base),
    "uncrossed": lambda base: Uncrossed(Box(-2, 2, 2, base=base), 1, 0, (F(0), F(0))),
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("base", [Gaussian(3, centre=1), Student(2, 5), Gaussian([1, 2], [0, 1])])
def test_a_domain_in_other_units_takes_its_base_along(domain, base):
    made = DOMAINS[domain](base).scaled(F(1, 4)).sized(2)
    fitted = base.fitted(Region.everything(2)).scaled(F(1, 4))
    assert made.base == fitted
    assert described(fitted) in described(made)


def test_a_function_is_asked_in_the_units_of_its_domain_and_once():
    asked = []

    def log(theta):
        asked.append(theta)
        return -np.abs(theta).sum(axis=1)

    domain = Box(-4, 4, base=Density(log, grid=8)).scaled(F(1, 16)).sized(2)
    assert len(asked) == 1
    assert asked[0].shape == (64, 2)
    assert asked[0].min() == -3.5
    assert domain.base.exponent((F(1, 100), F(1, 100))) == 0
    assert domain.base.exponent((F(-1, 4), F(1, 4))) == 6  # -3.5 and 3.5, against 0.5 and 0.5
    assert domain.sized(2) == domain
    assert len(asked) == 1


def test_whole_is_the_limits_of_its_base():
    space = Whole(2, base=Gaussian([1, 2], centre=[0, 1]))
    assert space.bounded
    assert space.region() == Region.between((F(-40), F(-79)), (F(40), F(81)))
    assert space.contains((F(40), F(81)))
    assert not space.contains((F(41), F(0)))
    assert "cut to [-40, -79] .. [40, 81]" in described(space)
    assert Whole(base=Student(2)).sized(1).region().high == (F(256),)
    assert not Whole(base=HeavyTailed()).bounded
    assert Whole(1, base=table(1)).region() == Region.between((F(-9),), (F(9),))
    # What is left out, as the docstrings say.
    assert 2 * stats.t(3).sf(128) < 1.1e-6
    assert 2 * stats.t(1).sf(128) < 0.005
    assert 2 * stats.norm.logsf(40) < -800


@pytest.mark.parametrize(("make", "d"), EACH)
def test_our_bases_are_proved_and_others_are_not(make, d):
    base = make(d)
    assert standing_of(Box(-9, 9, d, base=base)) is Standing.PROVED
    assert hash(base) == hash(make(d))
    assert base == make(d)
    assert all(hasattr(base, name) for name in vars(Base) if not name.startswith("_"))


@pytest.mark.parametrize(
    "base",
    [Gaussian(0.5), Gaussian([1, 2], centre=[0, "1/3"]), Student(2), Student(1, 1.5, centre=-3)],
)
def test_a_base_is_written_as_a_caller_would(base):
    assert eval(repr(base).replace("1/3", "'1/3'")) == base
