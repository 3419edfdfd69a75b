"""Norms of all kinds in plans made by hand: measured as they are, or refused before the charge."""

from __future__ import annotations

from fractions import Fraction

import pytest
from conformance.norms import norms
from samplers.balls import problem as regression

from kng.bases import Uniform
from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.core.errors import IncompatibleParts
from kng.core.parts import Norm
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.domains import Whole
from kng.losses import GeometricMedian, HuberPlane, QuantilePlane, Squared
from kng.mechanisms import KNG, KNorm, ObjectivePerturbation
from kng.mechanisms.objective import sensitivity
from kng.norms import L1, L2, InterceptSup, LInf, Polytope, WeightedSup
from kng.samplers.exact.noise import Noise

ONE = Fraction(1)


def noise_plan(norm: Norm, dim: int) -> NoisePlan:
    records = encoding_of(bounds_of(([0] * dim, [4] * dim)), granularity=1, missing=None, bits=20)
    unit = PrivacyUnit(ReplaceOne(7))
    whole = Whole(dim, base=Uniform())
    return KNorm().plan(Problem(Squared(), norm, whole, records, records.lattice, unit), ONE)


@pytest.mark.parametrize(("name", "norm"), norms(2).items(), ids=norms(2).keys())
def test_noise_is_measured_in_the_norm_or_refused(name, norm):
    """The sum moves by anything in [-4, 4]^2."""
    plan = noise_plan(norm, 2)
    corners = [(4 * ONE, 4 * ONE), (4 * ONE, -4 * ONE)]
    assert plan.sensitivity == max(map(norm.value, corners))
    if any(word in name for word in ("l1", "linf", "weighted sup")):
        assert Noise().certify(plan).certificate is not None
    else:
        with pytest.raises(IncompatibleParts, match="No exact noise"):
            Noise().certify(plan)


@pytest.mark.parametrize("norm", norms(1).values(), ids=norms(1).keys())
def test_every_norm_has_noise_on_a_line(norm):
    plan = noise_plan(norm, 1)
    assert Noise().certify(plan).certificate is not None
    assert plan.rate * norm.value((ONE,)) == plan.epsilon / 4


@pytest.mark.parametrize("weigh", [L1, L2, LInf])
def test_regression_by_kng_refuses_weights_and_objective_perturbation_counts_them(weigh):
    weights = (Fraction(1, 2), Fraction(3), Fraction(1))
    weighted, plain = (regression(2, 10, ONE, norm) for norm in (weigh(weights), weigh()))
    with pytest.raises(IncompatibleParts, match="without weights"):
        KNG().plan(weighted, ONE)
    with pytest.raises(IncompatibleParts, match="without weights"):
        KNG().plan(regression(2, 10, ONE, weigh((1, 1, 1))), ONE)
    ratio = sensitivity(weighted) / sensitivity(plain)
    assert ratio == weigh(weights).value((ONE,) * 3) / weigh().value((ONE,) * 3)


def test_objective_perturbation_refuses_norms_without_noise():
    for norm in (Polytope([[1, 1, 0], [10, -10, 0], [0, 0, 1]]), InterceptSup(1)):
        with pytest.raises(IncompatibleParts, match="No noise"):
            ObjectivePerturbation().plan(regression(2, 10, ONE, norm), ONE)


@pytest.mark.parametrize(
    ("loss", "norm"),
    [
        ("distance", L1([Fraction(5, 7)] * 2)),
        ("distance", L2([1, 2])),
        ("huber", LInf([1, "1/2"])),
        ("huber", WeightedSup([1, 2])),
        ("quantile", LInf([1, "1/2"])),
        ("quantile", WeightedSup([1, 2])),
        ("quantile", Polytope([[1, 0], [0, "1/2"]])),
    ],
    ids=lambda part: part if isinstance(part, str) else type(part).__name__,
)
def test_a_norm_that_looks_like_another_is_not_taken_for_it(loss, norm):
    """5/7 of l1 passes for l2 at (3, 4), and a box for the sup norm at (1, 1) and (1, 0)."""
    posed = regression(1, 10, ONE)
    made = {
        "distance": GeometricMedian(),
        "huber": HuberPlane(posed.design),
        "quantile": QuantilePlane(Fraction(1, 2), posed.design),
    }[loss]
    with pytest.raises(IncompatibleParts):
        made.gradient_sensitivity(norm, posed.design.records, ReplaceOne(10))
