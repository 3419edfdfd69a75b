"""Norms of all kinds in plans made by hand: measured as they are, or refused before the charge."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from conformance.norms import norms
from regression.setting import design as design_of
from regression.setting import problem as regression

from kng.bases import Uniform
from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.core.errors import IncompatibleParts
from kng.core.lattice import Lattice
from kng.core.parts import Norm
from kng.core.plan import NoisePlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.domains import Box, L1Ball, Whole
from kng.losses import Distance, Huber, Linear, Location, Pinball, Squared
from kng.losses.accelerators import accelerator_of
from kng.mechanisms import KNG, KNorm, ObjectivePerturbation
from kng.mechanisms.objective import Perturbation
from kng.norms import L1, L2, LInf, Polytope, WeightedSup
from kng.samplers.exact.boxes import BranchAndBound
from kng.samplers.exact.noise import Noise
from kng.samplers.real.affine import Affine
from kng.samplers.registry import certified

ONE = Fraction(1)


def noise_plan(norm: Norm, dim: int) -> NoisePlan:
    records = encoding_of(bounds_of(([0] * dim, [4] * dim)), granularity=1, missing=None, bits=20)
    unit = PrivacyUnit(ReplaceOne(7))
    whole = Whole(dim, base=Uniform())
    loss = Location(Squared()).over(records)
    return KNorm().plan(Problem(loss, norm, whole, records, records.lattice, unit), ONE)


@pytest.mark.parametrize("norm", norms(2).values(), ids=norms(2).keys())
def test_noise_is_measured_in_the_norm(norm):
    """The sum moves by anything in [-4, 4]^2."""
    plan = noise_plan(norm, 2)
    corners = [(4 * ONE, 4 * ONE), (4 * ONE, -4 * ONE)]
    assert plan.sensitivity == max(map(plan.problem.norm.value, corners))
    assert Noise().refusal(plan) is None
    assert Noise().certify(plan).certificate is not None


@pytest.mark.parametrize("norm", norms(1).values(), ids=norms(1).keys())
def test_every_norm_has_noise_on_a_line(norm):
    plan = noise_plan(norm, 1)
    assert Noise().certify(plan).certificate is not None
    assert plan.rate * plan.problem.norm.value((ONE,)) == plan.epsilon / 4


@pytest.mark.parametrize("domain", [Box(0, 4, 2), Box(-1, 5, 2), L1Ball(3, 2)], ids=repr)
@pytest.mark.parametrize("norm", norms(2).values(), ids=norms(2).keys())
def test_a_density_is_measured_in_the_norm_that_its_delta_is_of(norm, domain):
    """A norm that follows the changes too: scores are measured in the norm at theta."""
    records = encoding_of(bounds_of(([0, 0], [4, 4])), granularity=1, missing=None, bits=20)
    loss = Location(Squared()).over(records)
    for unit in (PrivacyUnit(ReplaceOne(7)), PrivacyUnit(AddRemove())):
        plan = KNG().plan(Problem(loss, norm, domain, records, records.lattice, unit), ONE)
        assert certified(plan).certificate.sampler == BranchAndBound()
        most = ONE * 0
        for theta in product(range(-3, 6), repeat=2):
            if not plan.domain.contains(theta):
                continue
            replaced = isinstance(unit.neighbours, ReplaceOne)
            ends = [(-4, 4)] * 2 if replaced else [(t - 4, t) for t in theta]
            moved = [plan.measure(theta, [ONE * v for v in g]) for g in product(*ends)]
            most = max(most, plan.exponent(theta, max(moved)))
        assert most <= plan.epsilon / 2
        if isinstance(domain, Box):  # on a ball it is that of the box around it
            assert most == plan.epsilon / 2


@pytest.mark.parametrize("weigh", [L1, L2, LInf])
def test_weights_count_in_regression_and_samplers_that_know_none_refuse_them(weigh):
    weights = (Fraction(1, 2), Fraction(3), Fraction(1))
    weighted, plain = (regression(3, radius=1, norm=norm) for norm in (weigh(weights), weigh()))
    ratio = weigh(weights).value((ONE,) * 3) / weigh().value((ONE,) * 3)
    posed = [Perturbation.of(problem).sensitivity for problem in (weighted, plain)]
    assert float(posed[0] / posed[1]) == pytest.approx(float(ratio))
    plan = KNG().plan(weighted, ONE)
    assert float(plan.steady / KNG().plan(plain, ONE).steady) == pytest.approx(float(ratio))
    assert "cannot draw from the norm" in Affine().refusal(plan)
    assert certified(plan).certificate.sampler == BranchAndBound()


class Bare:
    """A norm of somebody's that can only measure."""

    shape, follows = None, False

    def __init__(self) -> None:
        self._measure = LInf()

    def value(self, vector):
        return self._measure.value(vector)

    def bounds(self, low, high):
        return self._measure.bounds(low, high)

    def largest(self, low, high):
        return self._measure.largest(low, high)

    def largest_in_ball(self, radius, dim):
        return self._measure.largest_in_ball(radius, dim)

    def at(self, changes):
        return self

    def refusal(self, dim):
        return None


def test_norms_without_noise_are_refused_and_named():
    with pytest.raises(IncompatibleParts, match=r"cannot draw noise from the norm Bare\(\)"):
        ObjectivePerturbation().plan(regression(3, radius=1, norm=Bare()), ONE)
    assert "KNorm cannot draw noise from the norm Bare()" in Noise().refusal(noise_plan(Bare(), 2))


def test_norms_that_would_take_too_many_attempts_are_refused_and_named():
    """Many facets at random in nine coordinates, where 9! = 362,880 attempts are the worst."""
    facets = np.random.default_rng(0).integers(-9, 10, (120, 9)).tolist()
    says = Noise().refusal(noise_plan(Polytope(facets), 9))
    assert says.startswith("KNorm could take 274315 attempts")
    assert "in 9 coordinates" in says
    box = Polytope([[int(i == j) for i in range(9)] for j in range(9)])
    assert Noise().refusal(noise_plan(box, 9)) is None


@pytest.mark.parametrize(
    ("loss", "norm", "delta"),
    [
        ("distance", L1([Fraction(5, 7)] * 2), None),
        ("distance", L2([1, 2]), 4),
        ("huber", LInf([1, "1/2"]), 2),
        ("huber", WeightedSup([1, 2]), 2),
        ("quantile", LInf([1, "1/2"]), 1),
        ("quantile", WeightedSup([1, 2]), 1),
        ("quantile", Polytope([[1, 0], [0, "1/2"]]), 1),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_a_norm_that_looks_like_another_is_not_taken_for_it(loss, norm, delta):
    """5/7 of l1 passes for l2 at (3, 4), and a box for the sup norm at (1, 1) and (1, 0)."""
    columns = encoding_of(bounds_of(([0, 0], [4, 4])), granularity=1, missing=None, bits=20)
    design = design_of(2, intercept=True, steps=2**16)
    step = Fraction(1, 4)
    answers = Lattice((-4 * step,) * 2, (step,) * 2, (8, 8))
    made = {
        "distance": Distance().over(columns),
        "huber": Linear(Huber(ONE)).over(design, answers),
        "quantile": Linear(Pinball(Fraction(1, 2))).over(design, answers),
    }[loss]
    records, lattice = (columns, columns.lattice)
    if loss != "distance":
        records, lattice = design.records, answers
    unit = PrivacyUnit(ReplaceOne(10))
    posed = Problem(made, norm, Box.of(lattice), records, lattice, unit)
    plan = KNG().plan(posed, ONE)
    assert accelerator_of([plan]) is None
    assert accelerator_of([KNG().plan(replace(posed, norm=PLAIN[loss]), ONE)]) is not None
    if delta is None:  # 2 (5/7) sqrt(2), rounded up
        assert (
            Fraction(10, 7) ** 2 * 2 < plan.steady**2 < Fraction(10, 7) ** 2 * 2 + Fraction(1, 99)
        )
    else:
        assert plan.steady == delta


PLAIN = {"distance": L2(), "huber": LInf(), "quantile": LInf()}
