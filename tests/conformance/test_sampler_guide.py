"""docs/adding-a-sampler.md is a program: its blocks run one after the other."""

from __future__ import annotations

import re
import sys
from fractions import Fraction as F
from itertools import accumulate
from pathlib import Path
from types import ModuleType

import pytest
from conformance import sampler_checks
from conformance.sampler_checks import conforms, points_of

import kng
from kng.core.certificate import Certificate
from kng.core.enclosures import exp_minus
from kng.core.privacy import Assumption, Guarantee
from kng.core.smoothing import smoothing
from kng.samplers import registry
from kng.samplers.exact.boxes import BranchAndBound
from kng.samplers.exact.coins import below, choose, uniform

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-sampler.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def stranger(monkeypatch) -> ModuleType:
    module = ModuleType("stranger")
    monkeypatch.setitem(sys.modules, "stranger", module)
    monkeypatch.setattr(registry, "SAMPLERS", registry.SAMPLERS)
    return module


def run(module: ModuleType, *blocks: str) -> None:
    for block in blocks:
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(module))


def test_the_page_runs(stranger):
    assert len(BLOCKS) == 3
    run(stranger, *BLOCKS)


def weighed(plan, field, *, leave_out=0, times=F(1)):
    points = points_of(plan)[leave_out:]
    exponents = [times * plan.exponent(point, field.score(point)) for point in points]
    least = min(exponents)
    return points, [gamma - least for gamma in exponents]


def drawn(plan, field, bits, *, end=1, scale=1, **faults):
    """The draw of the page with few bits, and with a fault."""
    points, exponents = weighed(plan, field, **faults)
    weights = [exp_minus(gamma, scale)[end] for gamma in exponents]
    cumulative = list(accumulate(weights))
    while True:
        i = choose(bits, cumulative)

        def acceptance(length, gamma=exponents[i], weight=weights[i]):
            low, high = exp_minus(gamma, length + scale)
            return low // weight, -(-high // weight)

        if below(bits, acceptance):
            return points[i]


def without_the_coin(plan, field, bits):
    points, exponents = weighed(plan, field)
    return points[choose(bits, list(accumulate(exp_minus(gamma, 3)[1] for gamma in exponents)))]


def by_a_float(plan, field, bits):
    """It fails where exponents leave float64, as records may make them."""
    points, exponents = weighed(plan, field)
    floors = [int(float(gamma)) for gamma in exponents]
    return points[0] if floors is None else drawn(plan, field, bits)


def the_first_below_one(plan, field, bits):
    """It asks for fewer scores where an early one is small."""
    for point in points_of(plan):
        if plan.exponent(point, field.score(point)) == 0:
            return point
    return drawn(plan, field, bits)


FAULTS = {
    "weights rounded down": lambda *a: drawn(*a, end=0),
    "a point left out": lambda *a: drawn(*a, leave_out=1),
    "a rate 20 % off": lambda *a: drawn(*a, times=F(6, 5)),
    "no coin after rounding": without_the_coin,
    "floats that overflow": by_a_float,
    "a count that depends on scores": the_first_below_one,
    "a uniform point": lambda plan, field, bits: (p := points_of(plan))[uniform(bits, len(p))],
}


def test_the_draw_with_few_bits_and_no_fault_passes(stranger, monkeypatch):
    run(stranger, BLOCKS[0])
    monkeypatch.setattr(stranger.Listed, "draw", lambda self, *a: drawn(*a))
    conforms(stranger.Listed())


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checks_of_the_page_catch_wrong_draws(stranger, monkeypatch, fault):
    run(stranger, BLOCKS[0])
    wrong = FAULTS[fault]
    monkeypatch.setattr(stranger.Listed, "draw", lambda self, *a: wrong(*a))
    with pytest.raises((AssertionError, OverflowError)):
        conforms(stranger.Listed())


def test_a_sampler_of_ones_own_is_never_called_exact(stranger):
    """All parts are ours, and the sampler says that it is exact."""
    run(stranger, BLOCKS[0])
    (plan, _), *_ = sampler_checks._plans()
    promise = stranger.Listed().certify(plan).certificate
    assert promise.guarantee is Guarantee.IDEAL
    assert promise.assumptions[-1] is Assumption.CALLERS_PARTS
    ours = BranchAndBound().certify(plan).certificate
    assert ours.guarantee is Guarantee.EXACT
    assert Assumption.CALLERS_PARTS not in ours.assumptions


def test_what_it_refuses_is_refused_before_the_charge(stranger, tmp_path):
    run(stranger, *BLOCKS[:2])
    ledger = kng.Ledger(tmp_path / "own.ledger", cap=1)
    with pytest.raises(kng.KngError, match=r"up to 4096 lattice points; Box\(1, 6, dim=1\) has"):
        stranger.middle.release([1, 2], bounds=(1, 6), epsilon=1, ledger=ledger)
    assert ledger.spent == 0
    with pytest.raises(kng.KngError, match=r"does not serve|needs a bounded domain"):
        kng.KNG(
            kng.losses.Linear(kng.losses.Squared()), domain=kng.domains.Whole(), sampler="listed"
        ).plan(bounds_X=(0, 1), bounds_y=(0, 1), epsilon=1)


def test_smoothed_samplers_pass_the_same_checks(stranger):
    """A sampler that may give up makes a public number of attempts."""
    run(stranger, BLOCKS[0])

    class Attempting(stranger.Listed):
        def certify(self, plan):
            smooth = smoothing(plan.domain.points, plan.epsilon, F(1, 2))
            assumed = (Assumption.RANDOM_BITS, Assumption.UNSEEN_CLOCK)
            return plan.certified(Certificate(self, Guarantee.EXACT, assumed, smooth))

    (plan, _), *_ = sampler_checks._plans()
    assert Attempting().certify(plan).width > plan.width
