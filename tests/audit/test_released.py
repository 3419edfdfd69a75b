"""The law of the whole released point: attempts, depth, beta and fallback, not only exp(-gamma).

Production's own smoothing is so fine that nothing could be seen to go wrong. So the audit also uses
deliberately coarse ones: those that satisfy the lemma's condition must stay within epsilon, and
those that do not must be able to exceed it, or the test would have no power. That the program has
the law that is computed here is shown by tape in tests/samplers/test_tapes.py.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from audit.oracle import (
    PRECISION,
    RELATIONS,
    Setting,
    Verdict,
    audit_laws,
    ball,
    datasets,
    pairs,
    released_law,
    sizes,
    with_smoothing,
)
from flint import arb, ctx

from kng.core.parts import described
from kng.core.smoothing import Smoothing
from kng.losses import Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential

LAST, VALUES = (6,), (0, 1, 2, 5, 6)
MISS = Fraction(1, 4)  # what the order sampler promises
MEAN = Location(Squared())
MEDIAN, DECILE = (Location(Pinball(q)) for q in ("0.5", "0.9"))
LOSSES = (MEDIAN, DECILE, MEAN)


def verdict_of(setting: Setting, smoothing: Smoothing | None, most: int = 4) -> Verdict:
    """Audit released laws over all datasets of up to ``most`` records, under a smoothing."""
    universe = datasets(VALUES, sizes(setting.relation, most))
    plans = {n: setting.plan(n) for n in {len(d) for d in universe}}
    if smoothing is not None:
        plans = {n: with_smoothing(plan, smoothing) for n, plan in plans.items()}
    with ctx.workprec(PRECISION):
        laws = {d: released_law(plans[len(d)], d) for d in universe}
        for law in laws.values():
            assert abs(sum(law, arb(0)) - 1) < arb(10) ** -50
    neighbours = pairs(universe, setting.relation, setting.records_per_person)
    return audit_laws(laws, neighbours, setting.epsilon)


def holds(smoothing: Smoothing, epsilon: Fraction) -> bool:
    """Tell whether kappa <= tanh(epsilon / 2), decided by enclosure."""
    with ctx.workprec(PRECISION):
        return bool(ball(smoothing.kappa) <= (ball(epsilon) / 2).tanh())


@pytest.mark.parametrize(
    ("epsilon", "attempts", "depth", "beta"),
    [
        (1, 4, 7, Fraction(1, 4)),
        (1, 3, 6, Fraction(2, 5)),
        (8, 2, 5, Fraction(1, 2)),
        (8, 5, 8, Fraction(1, 32)),
        (8, 1, 5, Fraction(3, 4)),
    ],
)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=lambda m: m.name)
@pytest.mark.parametrize("loss", LOSSES, ids=described)
def test_a_coarse_smoothing_within_the_condition_is_private(
    loss: Location,
    mechanism: KNG | Exponential,
    relation: str,
    epsilon: int,
    attempts: int,
    depth: int,
    beta: Fraction,
) -> None:
    setting = Setting(loss, mechanism, relation, Fraction(epsilon), LAST)
    smoothing = Smoothing(7, MISS, attempts, depth, beta)
    assert holds(smoothing, setting.epsilon)
    verdict = verdict_of(setting, smoothing)
    assert verdict.private, verdict
    with ctx.workprec(PRECISION):  # the lemma's bound on the range
        assert ball(verdict.spread) <= ball(setting.epsilon) + 2 * ball(smoothing.kappa).atanh()


@pytest.mark.parametrize(("epsilon", "records_per_person"), [("0.1", 1), ("1", 2), ("40", 1)])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=lambda m: m.name)
@pytest.mark.parametrize("loss", LOSSES, ids=described)
def test_the_released_law_of_production_is_private(
    loss: Location,
    mechanism: KNG | Exponential,
    relation: str,
    epsilon: str,
    records_per_person: int,
) -> None:
    setting = Setting(loss, mechanism, relation, Fraction(epsilon), LAST, records_per_person)
    verdict = verdict_of(setting, None, most=3)
    assert verdict.private, verdict
    assert verdict.spread <= setting.plan(1).width, "the range on the receipt is too small"


@pytest.mark.parametrize(
    ("loss", "relation", "epsilon", "smoothing"),
    [
        # too shallow: a point inside one envelope and outside its neighbour's has only beta left
        (MEAN, RELATIONS[0], 1, Smoothing(7, MISS, 20, 1, Fraction(1, 2**30))),
        (DECILE, RELATIONS[1], 8, Smoothing(7, MISS, 20, 4, Fraction(1, 2**30))),
        # too few attempts: how often nothing is accepted depends on the data
        (MEDIAN, RELATIONS[1], 8, Smoothing(7, MISS, 1, 40, Fraction(1, 2**30))),
    ],
    ids=["depth-squared", "depth-pinball", "attempts"],
)
def test_a_smoothing_outside_the_condition_can_exceed_epsilon(
    loss: Location, relation: str, epsilon: int, smoothing: Smoothing
) -> None:
    setting = Setting(loss, KNG(), relation, Fraction(epsilon), LAST)
    assert not holds(smoothing, setting.epsilon)
    assert verdict_of(setting, smoothing).broken


def perturbed_ratio(excess: float) -> float:
    """Return the largest log ratio / epsilon over adversarial perturbations of size excess * phi.

    p is epsilon-private at random; q moves away from it by phi at every point, up on one side
    and down on the other where that hurts most; the released law mixes in the uniform.
    """
    rng = np.random.default_rng(20190515)
    worst = 0.0
    for _ in range(4000):
        size, epsilon = int(rng.integers(2, 8)), float(rng.choice([0.05, 0.5, 1.0, 4.0]))
        beta = float(rng.uniform(0.01, 0.9))
        phi = excess * np.tanh(epsilon / 2) * beta / ((1 - beta) * size)
        p = rng.dirichlet(np.full(size, rng.choice([0.05, 1.0]))) + 1e-12
        p /= p.sum()
        tilt = p * np.exp(epsilon * rng.choice([-0.5, 0.5], size))
        sides = [p, tilt / tilt.sum()]
        assert np.abs(np.log(sides[0] / sides[1])).max() <= epsilon * (1 + 1e-9)
        sign = rng.choice([-1.0, 1.0], size)
        # at most phi away, and no less than nothing
        q = [np.maximum(side + s * phi, 0) for side, s in zip(sides, (sign, -sign), strict=True)]
        r = [(1 - beta) * side + beta / size for side in q]
        worst = max(worst, float(np.abs(np.log(r[0] / r[1])).max() / epsilon))
    return worst


def test_the_smoothing_lemma_survives_adversarial_perturbations_and_is_not_idle() -> None:
    assert perturbed_ratio(1.0) <= 1 + 1e-9  # floating point, hence the slack
    assert perturbed_ratio(1.0) >= 0.99  # the condition is the right one, not merely enough
    assert perturbed_ratio(1.5) > 1.01
