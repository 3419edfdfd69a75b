"""Linear models: the privacy loss of every tiny dataset, for every part that can be combined."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from audit.oracle import RELATIONS
from audit.regression import (
    Model,
    Pieces,
    audit,
    derivatives,
    lattice,
    log_laws,
    pieces_of,
    read,
)
from audit.regression_cases import FLOORS, MODELS, ONE, points, universe

from kng.bases import Uniform
from kng.core.errors import IncompatibleParts
from kng.core.plan import DensityPlan
from kng.corridor import certified
from kng.domains import Whole
from kng.losses import Huber, Squared
from kng.losses.pointwise.function import Pointwise
from kng.mechanisms import KNG, Exponential, ObjectivePerturbation
from kng.samplers.chains.target import Target


@pytest.mark.every(2)
@pytest.mark.parametrize("name", MODELS)
def test_no_tiny_dataset_exceeds_epsilon(name: str) -> None:
    model = MODELS[name]
    verdict = audit(model, universe(model), points(model))
    assert verdict.private, verdict
    loss, width = FLOORS[name]
    assert verdict.tightness >= loss, verdict
    assert verdict.spread >= width * verdict.width, verdict


@pytest.mark.parametrize(("epsilon", "people"), [(Fraction(1, 4), 1), (Fraction(4), 2)])
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, model in MODELS.items()
        if model.norm in ("coordinate", "l1") and "-1/2" not in name
    ],
)
def test_other_epsilons_and_persons_with_two_records(
    name: str, epsilon: Fraction, people: int
) -> None:
    model = replace(MODELS[name], epsilon=epsilon, people=people)
    verdict = audit(model, universe(model), points(model) // 2 + 1)
    assert verdict.private, verdict
    assert verdict.tightness > FLOORS[name][0] / 2, verdict


@pytest.mark.parametrize("relation", RELATIONS)
def test_what_cannot_be_bounded_is_refused(relation: str) -> None:
    for pointwise, mechanism in (
        (Squared(), Exponential()),
        (Squared(), ObjectivePerturbation()),
        (Huber(1), Exponential()),
    ):
        with pytest.raises(IncompatibleParts, match="coef_bound"):
            Model(pointwise, mechanism, 2, relation=relation).plan()
    # Scores of Huber's loss are bounded, but nothing draws from them on the whole space.
    with pytest.raises(IncompatibleParts, match="No sampler draws"):
        certified(Model(Huber(1), KNG(), 2, relation=relation).plan())


# --- the ruler itself ----------------------------------------------------------------------------


@pytest.mark.parametrize("pointwise", [Squared(), Huber(1)], ids=["squared", "huber"])
def test_datasets_are_the_sums_of_their_records(pointwise: Pointwise) -> None:
    model = Model(pointwise, ObjectivePerturbation(), 2, radius=ONE)
    records, at = universe(model), lattice(2, ONE, 5, boundary=True)
    counts = np.array([[2, 0, 1, 3, 0, 1, 1, 0, 1][: len(records)]])
    summed = pieces_of(model, records, at).sums(counts)
    dataset = [r for r, k in zip(records, counts[0], strict=True) for _ in range(k)]
    field = read(model.plan(len(dataset)), dataset)
    for p, theta in enumerate(at.points):
        value, gradient, hessian = derivatives(field, theta)
        assert summed.value[0, p] == pytest.approx(value, abs=1e-12)
        np.testing.assert_allclose(summed.gradient[0, p], gradient, atol=1e-12)
        np.testing.assert_allclose(summed.hessian[0, p], hessian, atol=1e-12)


@pytest.mark.parametrize(
    "name", [name for name, model in MODELS.items() if model.mechanism.name != "objective"]
)
def test_the_audited_law_is_the_one_that_samplers_are_given(name: str) -> None:
    model = MODELS[name]
    plan, dataset = model.plan(), universe(model)[:3]
    assert isinstance(plan, DensityPlan)
    at = lattice(model.dim, model.radius, 7, boundary=False)
    laws = log_laws(plan, Pieces.of(plan, dataset, at.points).sums(np.ones((1, 3), int)), at)
    target = Target(plan, read(plan, dataset))
    # the base measure is the lattice's own density in the chart
    base = -(model.dim + 1) * np.log1p(np.abs(at.points).sum(axis=1)) * (model.radius is None)
    inside = np.abs(at.points).sum(axis=1) < float(model.radius or np.inf) * (1 - 1e-9)
    constant = [
        target.log_density(theta) - weight - law
        for theta, weight, law, keep in zip(at.points, base, laws[0], inside, strict=True)
        if keep
    ]
    assert np.ptp(constant) < 1e-9


def test_domains_are_what_the_audit_thinks() -> None:
    whole = MODELS["objective-huber-d2-whole-l1-add-remove"].problem().domain
    assert whole == Whole(2, base=Uniform())
    assert {model.dim for model in MODELS.values()} == {1, 2}
