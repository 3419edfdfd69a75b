"""The sampler is the pmf: every short tape, fed to the production code, brackets the exact law.

Each test states how much probability its tapes leave unresolved. The coins are resolved to 1e-6 or
better and one attempt on a lattice of five points to 1e-3 or better; the noise samplers nest many
coins and stay at a fraction, so their laws are also tested by sampling (test_laws.py). Planted bugs
show that brackets of this width do catch something.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from audit.oracle import (
    ADD,
    PRECISION,
    REPLACE,
    Dataset,
    RoundedBox,
    Separate,
    Setting,
    ball,
    field_of,
    released_law,
    with_smoothing,
)
from flint import arb, ctx
from samplers.tapes import Enumeration, enumerate_tapes

from kng.core.bits import TapeBits
from kng.core.enclosures import exp_minus
from kng.core.smoothing import Smoothing
from kng.losses import Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential
from kng.samplers.exact.coins import below, bernoulli, bernoulli_exp, choose, uniform
from kng.samplers.exact.leaves import Leaf, LeafEnvelope, draw, weighed
from kng.samplers.exact.line import envelope_of
from kng.samplers.exact.noise import discrete_laplace, rounded_box_noise

Run = Callable[[TapeBits], Any]
MANY = 10**5


def exp(gamma: Fraction) -> arb:
    with ctx.workprec(PRECISION):
        return (-ball(gamma)).exp()


def assert_law(found: Enumeration, law: dict[Any, arb | Fraction], unresolved: float) -> None:
    assert found.unresolved <= unresolved, float(found.unresolved)
    assert found.escapes(law) == []


# --- coins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_uniform(size: int) -> None:
    found = enumerate_tapes(lambda bits: uniform(bits, size), 5000)
    assert_law(found, {k: Fraction(1, size) for k in range(size)}, 0.01)


@pytest.mark.parametrize("p", ["0", "1", "1/2", "1/3", "2/7", "1/1024", "999/1000"])
def test_bernoulli(p: str) -> None:
    found = enumerate_tapes(lambda bits: bernoulli(bits, Fraction(p)), 150)
    assert_law(found, {True: Fraction(p), False: 1 - Fraction(p)}, 2**-70)


@pytest.mark.parametrize("gamma", ["0", "1/1000", "3/7", "1", "22/7", "20"])
def test_bernoulli_exp(gamma: str) -> None:
    p = exp(Fraction(gamma))
    found = enumerate_tapes(lambda bits: bernoulli_exp(bits, Fraction(gamma)), 150)
    with ctx.workprec(PRECISION):
        assert_law(found, {True: p, False: 1 - p}, 2**-70)


@pytest.mark.parametrize("weights", [[1], [1, 1], [3, 0, 7, 1, 12], [1, 10**20, 1], [2**70, 3]])
def test_choose(weights: list[int]) -> None:
    cumulative = [sum(weights[: i + 1]) for i in range(len(weights))]
    law = {i: Fraction(w, cumulative[-1]) for i, w in enumerate(weights) if w}
    assert_law(enumerate_tapes(lambda bits: choose(bits, cumulative), 2000), law, 2**-70)


# --- one attempt ---------------------------------------------------------------------------------

ATTEMPTS: dict[str, tuple[Setting, Dataset]] = {
    "median-ties": (
        Setting(Location(Pinball(Fraction(1, 2))), KNG(), REPLACE, Fraction(1), (4,)),
        ((0,), (3,), (3,)),
    ),
    "low-quantile": (
        Setting(Location(Pinball(Fraction(1, 10))), KNG(), REPLACE, Fraction(2), (4,)),
        ((1,), (2,), (2,), (4,)),
    ),
    "high-quantile-private-n": (
        Setting(Location(Pinball(Fraction(9, 10))), KNG(), ADD, Fraction(3), (4,)),
        ((0,), (0,), (3,)),
    ),
    "no-records": (Setting(Location(Pinball(Fraction(1, 2))), KNG(), ADD, Fraction(1), (4,)), ()),
    "mean": (Setting(Location(Squared()), KNG(), REPLACE, Fraction(2), (4,)), ((0,), (1,), (4,))),
    "mean-private-n": (
        Setting(Location(Squared()), KNG(), ADD, Fraction(2), (4,)),
        ((0,), (3,), (3,)),
    ),
    "exponential-median": (
        Setting(Location(Pinball(Fraction(1, 2))), Exponential(), REPLACE, Fraction(3), (4,)),
        ((0,), (1,), (4,)),
    ),
    "exponential-mean": (
        Setting(Location(Squared()), Exponential(), ADD, Fraction(2), (4,)),
        ((0,), (3,), (3,)),
    ),
}


def attempt_law(envelope: LeafEnvelope, exponent: Callable[[int], Fraction]) -> dict[Any, arb]:
    """Return 2**P exp(-gamma(k)) / sum W for every point of a leaf, and the rest for None."""
    with ctx.workprec(PRECISION):
        unit = arb(2) ** envelope.scale / arb(envelope.cumulative[-1])
        law: dict[Any, arb] = {
            k: unit * (-ball(exponent(k))).exp()
            for leaf in envelope.leaves
            for k in range(leaf.first, leaf.first + leaf.count)
        }
        law[None] = 1 - sum(law.values(), arb(0))
    return law


def envelope_for(name: str) -> tuple[LeafEnvelope, Callable[[int], Fraction]]:
    setting, dataset = ATTEMPTS[name]
    plan = setting.plan(len(dataset))
    return envelope_of(plan, field_of(plan, dataset))


@pytest.mark.parametrize("name", ATTEMPTS)
def test_one_attempt_has_exactly_its_law(name: str) -> None:
    envelope, exponent = envelope_for(name)
    law = attempt_law(envelope, exponent)
    assert set(law) == {0, 1, 2, 3, 4, None}, "the leaves must cover the lattice"
    found = enumerate_tapes(lambda bits: envelope.attempt(exponent, bits), 4000)
    # Three of eight draws of a leaf of five points start over, so these take longer.
    fives = any(leaf.count == 5 for leaf in envelope.leaves)
    assert_law(found, law, 0.02 if fives else 1e-3)


def test_an_attempt_remembers_that_its_weights_were_rounded() -> None:
    """With three bits of scale the weights are far off; the acceptance must make up for it.

    Accepting with exp(-(gamma - floor)) instead would pass every test at the production scale,
    where the rounding is one part in 2**64, and still break privacy in the tails.
    """
    leaves = [Leaf(0, 2, Fraction(0)), Leaf(2, 3, Fraction(3, 2))]
    gammas = [Fraction(0), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(17, 7)]
    envelope = weighed(leaves, 0)
    envelope.scale = 3
    envelope.weights = [leaf.count * exp_minus(leaf.floor, 3)[1] for leaf in leaves]
    envelope.cumulative = [envelope.weights[0], sum(envelope.weights)]
    assert envelope.weights == [16, 6]
    found = enumerate_tapes(lambda bits: envelope.attempt(gammas.__getitem__, bits), 6000)
    assert_law(found, attempt_law(envelope, gammas.__getitem__), 1e-3)
    # the tempting mistake would accept point 2 always: 3/11 * 1/3
    assert found.escapes({2: Fraction(1, 11)})


def test_a_wrong_bound_stops_the_process() -> None:
    envelope = weighed([Leaf(0, 1, Fraction(1))], 4)
    with pytest.raises(AssertionError, match="below its leaf's bound"):
        enumerate_tapes(lambda bits: envelope.attempt(lambda k: Fraction(1, 2), bits), 100)


# --- the whole draw ------------------------------------------------------------------------------


class Dice:
    """An envelope of two bits: no point with 1/4, point 0 with 1/4, point 1 with 1/2."""

    def attempt(self, exponent: object, bits: TapeBits) -> int | None:
        return (None, 0, 1, 1)[bits.take(2)]


@pytest.mark.parametrize("attempts", [1, 2, 4])
@pytest.mark.parametrize("beta", [Fraction(1, 4), Fraction(1, 2), Fraction(3, 8)])
def test_the_loop_keeps_the_first_accepted_point_and_falls_back_uniformly(
    attempts: int, beta: Fraction
) -> None:
    smoothing = Smoothing(4, Fraction(1, 4), attempts, 9, beta)
    dice: Any = Dice()
    found = enumerate_tapes(
        lambda bits: draw(dice, lambda k: Fraction(0), (0, 4), smoothing, bits), MANY
    )
    none = Fraction(1, 4) ** attempts
    uniform_part = ((1 - beta) * none + beta) / 4
    accepted = (1 - beta) * (1 - none)
    law = {
        0: uniform_part + accepted / 3,
        1: uniform_part + accepted * 2 / 3,
        2: uniform_part,
        3: uniform_part,
    }
    assert_law(found, law, 0)


def test_every_attempt_is_made_even_after_an_acceptance() -> None:
    """The number of attempts, and with it the bits that are read, is public."""
    smoothing = Smoothing(4, Fraction(1, 4), 5, 9, Fraction(1, 2))
    dice: Any = Dice()
    for tape in ((1, 1) * 5, (0, 0) * 5, (0, 1) * 5):
        bits = TapeBits((*tape, 0, 0, 1))
        draw(dice, lambda k: Fraction(0), (0, 4), smoothing, bits)
        assert bits.used == 13


def test_the_first_accepted_point_is_kept() -> None:
    """Any rule that looks at no point would do for the law; the documents say the first."""
    smoothing = Smoothing(4, Fraction(1, 4), 3, 9, Fraction(1, 2))
    dice: Any = Dice()
    # nothing, then point 0, then point 1; the spare is 3; the beta coin says no
    bits = TapeBits((0, 0, 0, 1, 1, 1, 1, 1, 1))
    assert draw(dice, lambda k: Fraction(0), (0, 4), smoothing, bits) == 0


@pytest.mark.parametrize(
    ("setting", "dataset"),
    [
        (
            Setting(Location(Pinball(Fraction(2, 3))), KNG(), REPLACE, Fraction(3), (1,)),
            ((0,), (0,)),
        ),
        (Setting(Location(Squared()), KNG(), ADD, Fraction(3), (1,)), ((0,), (1,), (1,))),
    ],
    ids=["quantile", "mean"],
)
def test_the_whole_release_has_the_law_that_is_audited(setting: Setting, dataset: Dataset) -> None:
    """Ties tests/audit/test_released.py to the program, on a lattice of two points."""
    smoothing = Smoothing(2, Fraction(1, 4), 2, 3, Fraction(1, 4))
    plan = with_smoothing(setting.plan(len(dataset)), smoothing)
    envelope, exponent = envelope_of(plan, field_of(plan, dataset))
    with ctx.workprec(PRECISION):
        law = dict(enumerate(released_law(plan, dataset)))
    found = enumerate_tapes(lambda bits: draw(envelope, exponent, (0, 2), smoothing, bits), 10_000)
    assert_law(found, law, 0.01)
    assert found.escapes({0: law[1], 1: law[0]})


# --- noise ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "unresolved"), [("1/2", 0.12), ("1", 0.05), ("2", 0.12), ("3/2", 0.30)]
)
def test_discrete_laplace(rate: str, unresolved: float) -> None:
    found = enumerate_tapes(lambda bits: discrete_laplace(bits, Fraction(rate)), 5000)
    with ctx.workprec(PRECISION):
        law = {k: Separate((Fraction(rate),)).probability((k,)) for k in range(-60, 61)}
        assert_law(found, law, unresolved)
        # two coins of the same kind with another parameter are told apart
        other = {k: Separate((2 * Fraction(rate),)).probability((k,)) for k in range(-60, 61)}
        assert found.escapes(other)


@pytest.mark.parametrize(
    ("rate", "widths", "runs", "unresolved"),
    [
        ("2", ("1",), 20_000, 0.20),
        ("8", ("1",), 10_000, 0.10),
        ("10", ("1", "2"), 60_000, 0.47),
    ],
)
def test_rounded_box_noise(
    rate: str, widths: tuple[str, ...], runs: int, unresolved: float
) -> None:
    sides = tuple(map(Fraction, widths))
    found = enumerate_tapes(lambda bits: rounded_box_noise(bits, Fraction(rate), sides), runs)
    law = RoundedBox(Fraction(rate), sides)
    assert len(found.lower) > 1
    with ctx.workprec(PRECISION):
        assert_law(found, {cell: law.probability(cell) for cell in found.lower}, unresolved)
        if len(sides) == 1:
            other = RoundedBox(Fraction(rate) / 2, sides)
            assert found.escapes({cell: other.probability(cell) for cell in found.lower})


@pytest.mark.parametrize("widths", [("1",), ("1", "2"), ("3", "1", "2")])
def test_box_noise_is_decided_by_the_bits_it_has_read(widths: tuple[str, ...]) -> None:
    """No continuation of the tape could change the answer: all corners of what is known agree.

    Rounding a midpoint instead has nearly the right law, so brackets do not see it; but which
    cells are reached would then depend on the number of bits.
    """
    sides, rate = tuple(map(float, widths)), 2.0
    dim = len(sides)
    rng = random.Random(1905)
    for _ in range(1000):
        tape = [rng.getrandbits(1) for _ in range(60 * (2 * dim + 1))]
        bits = TapeBits(tape)
        cell = rounded_box_noise(bits, Fraction(2), tuple(map(Fraction, widths)))
        # Bits come in rounds, one for each radial uniform and then one for each side.
        columns = [tape[j : bits.used : 2 * dim + 1] for j in range(2 * dim + 1)]
        known = [(int("".join(map(str, c)), 2), 2 ** len(c)) for c in columns]
        corners = [(value / scale, (value + 1) / scale) for value, scale in known]
        radii = [-sum(math.log(ends[e]) for ends in corners[: dim + 1]) / rate for e in (1, 0)]
        for k, (low, high), width in zip(cell, corners[dim + 1 :], sides, strict=True):
            for radius, side in product(radii, (low, high)):
                u = radius * (2 * side - 1) * width
                assert k - 0.5 - 1e-9 <= u <= k + 0.5 + 1e-9


# --- planted bugs --------------------------------------------------------------------------------


def early(bits: TapeBits, probability: Callable[[int], tuple[int, int]]) -> bool:
    """`value <= low` for `value + 1 <= low`: says yes while the bits are still undecided."""
    value, length = 0, 0
    while True:
        value, length = 2 * value + bits.take(1), length + 1
        low, high = probability(length)
        if value <= low:
            return True
        if value >= high:
            return False


def late(bits: TapeBits, probability: Callable[[int], tuple[int, int]]) -> bool:
    """`value + 1 >= high` for `value >= high`: says no while the bits are still undecided."""
    value, length = 0, 0
    while True:
        value, length = 2 * value + bits.take(1), length + 1
        low, high = probability(length)
        if value + 1 <= low:
            return True
        if value + 1 >= high:
            return False


def one_too_many(bits: TapeBits, size: int) -> int:
    """`> size` for `>= size`."""
    width = (size - 1).bit_length()
    while (value := bits.take(width)) > size:
        pass
    return min(value, size - 1)


def left_choice(bits: TapeBits, cumulative: Sequence[int]) -> int:
    """`bisect_left` for `bisect_right`: an end of a cell goes to the wrong side."""
    total, value, length = cumulative[-1], 0, 0
    while True:
        value, length = 2 * value + bits.take(1), length + 1
        first = bisect_left(cumulative, (value * total) >> length)
        if first == bisect_left(cumulative, ((value + 1) * total - 1) >> length):
            return first


@pytest.mark.parametrize("bug", [early, late])
@pytest.mark.parametrize("gamma", ["1/1000", "3/7", "1", "22/7"])
def test_an_off_by_one_in_the_exp_coin_is_caught(
    bug: Callable[..., bool], gamma: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kng.samplers.exact.coins.below", bug)
    p = exp(Fraction(gamma))
    found = enumerate_tapes(lambda bits: bernoulli_exp(bits, Fraction(gamma)), 150)
    with ctx.workprec(PRECISION):
        assert set(found.escapes({True: p, False: 1 - p})) == {True, False}


@pytest.mark.parametrize(
    ("place", "bug"),
    [("below", early), ("below", late), ("uniform", one_too_many), ("choose", left_choice)],
)
def test_an_off_by_one_in_a_coin_of_an_attempt_is_caught(
    place: str, bug: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two leaves of three points, and whole-number weights whose ends a few bits can hit.
    leaves = [Leaf(0, 3, Fraction(0)), Leaf(3, 3, Fraction(2))]
    envelope = weighed(leaves, 0)
    envelope.scale, envelope.weights, envelope.cumulative = 3, [24, 6], [24, 30]
    gammas = [Fraction(k, 3) if k < 3 else Fraction(k - 1) for k in range(6)]
    law = attempt_law(envelope, gammas.__getitem__)

    def run(bits: TapeBits) -> int | None:
        return envelope.attempt(gammas.__getitem__, bits)

    assert enumerate_tapes(run, 6000).escapes(law) == []
    monkeypatch.setattr(f"kng.samplers.exact.leaves.{place}", bug)
    assert enumerate_tapes(run, 6000).escapes(law)


def test_the_coin_under_test_is_the_one_that_production_uses() -> None:
    """Guards the planted bugs above: they replace names that the samplers really look up."""
    import kng.samplers.exact.geometric as geometric_module
    import kng.samplers.exact.leaves as leaves_module

    assert leaves_module.below is below
    assert leaves_module.uniform is uniform
    assert leaves_module.choose is choose
    assert geometric_module.bernoulli_exp is bernoulli_exp
