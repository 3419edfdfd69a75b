"""A float decides a coin only where the exact enclosure would decide it the same way."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from audit.oracle import REPLACE, Setting, field_of
from flint import arb, ctx, fmpq
from hypothesis import example, given
from hypothesis import strategies as st

import kng
from kng.core import enclosures
from kng.core.bits import SeededBits, TapeBits
from kng.core.enclosures import exp_minus
from kng.losses import Location, Pinball, Squared
from kng.mechanisms import KNG, Exponential
from kng.samplers.exact import leaves
from kng.samplers.exact.coins import MARGIN, below, below_near, exp_near
from kng.samplers.exact.leaves import draw
from kng.samplers.exact.line import envelope_of

SCALE = 200
Enclosure = Callable[[int], tuple[int, int]]


class Words:
    """Given words first, then seeded ones; says how many were read."""

    word = 64
    seeded = True

    def __init__(self, *words: int) -> None:
        self.words, self.rest, self.used = list(words), SeededBits(1), 0

    def take(self, k: int) -> int:
        self.used += 1
        return self.words.pop(0) if self.words else self.rest.take(k)


def acceptance(t: Fraction, weight: int) -> Enclosure:
    """Enclose 2**SCALE exp(-t) / weight, as an attempt does."""

    def enclosure(length: int) -> tuple[int, int]:
        low, high = exp_minus(t, length + SCALE)
        return low // weight, -(-high // weight)

    return enclosure


def error(t: float) -> float:
    """Return how far `exp_near` is from exp(-t), from above."""
    with ctx.workprec(200):
        difference = abs(arb(exp_near(t)) - (-arb(t)).exp())
        return float(difference.upper())


@given(st.floats(0, 0.25))
@example(0.25)
@example(0.0)
@example(5e-324)
@example(2.0**-53)
def test_the_series_stays_within_its_bound(t: float) -> None:
    assert error(t) < 2.0**-46


def test_the_series_comes_close_to_its_bound_and_fewer_terms_would_not_do(monkeypatch) -> None:
    assert max(error(0.25 - k / 10**6) for k in range(2000)) > 2.0**-48
    monkeypatch.setattr("kng.samplers.exact.coins._SHARES", tuple(1 / k for k in range(9, 0, -1)))
    assert error(0.25) > MARGIN


# Exponents above a floor, and words that lie as near to the border as is wanted.
NEAR = st.one_of(
    st.integers(-(2**6), 2**6),
    st.integers(-(2**22), 2**22),
    st.sampled_from([s * int(2**64 * MARGIN * f) for s in (-1, 1) for f in (0.5, 0.99, 1, 1.01)]),
)


@given(
    st.fractions(0, Fraction(1, 4), max_denominator=10**9),
    NEAR,
    st.integers(0, 2),
    st.fractions(0, 100, max_denominator=8),
)
@example(Fraction(1, 4), 0, 0, Fraction(0))
@example(Fraction(0), 0, 1, Fraction(3))
@example(Fraction(0), -1, 0, Fraction(0))
def test_a_float_decides_as_the_enclosure_would(
    t: Fraction, off: int, excess: int, floor: Fraction
) -> None:
    """The border is attacked from both sides, with weights that are rounded up by 0, 1 or 2."""
    weight = exp_minus(floor, SCALE)[1] + (excess if floor else 0)
    probability = acceptance(floor + t, weight)
    word = min(max(probability(64)[0] + off, 0), 2**64 - 1)
    exact, quick = Words(word), Words(word)
    expected = below(exact, probability)  # type: ignore[arg-type]
    near = exp_near(t.numerator / t.denominator)
    assert below_near(quick, near, probability) == expected  # type: ignore[arg-type]
    assert quick.used == exact.used


def test_a_float_beyond_its_bound_is_caught() -> None:
    """Guards the test above: its words do lie where a wrong margin decides wrongly."""
    t, weight = Fraction(1, 5), 1 << SCALE
    probability = acceptance(t, weight)
    word = probability(64)[0] - 2**18
    assert below(Words(word), probability)  # type: ignore[arg-type]
    wrong = exp_near(0.2) - 2 * MARGIN
    assert not below_near(Words(word), wrong, probability)  # type: ignore[arg-type]


@pytest.mark.parametrize("t", ["0", "1/1000", "1/7", "1/4"])
def test_every_short_tape_is_read_alike(t: str) -> None:
    """One bit at a time, a float may only decide where the enclosure does."""
    gamma = Fraction(t)
    probability = acceptance(gamma, (1 << SCALE) + 1)
    for value in range(2**10):
        tape = [value >> k & 1 for k in reversed(range(10))] + [0, 1] * 100
        exact, quick = TapeBits(tape), TapeBits(tape)
        expected = below(exact, probability)
        assert below_near(quick, exp_near(float(gamma)), probability) == expected
        assert quick.used == exact.used


@pytest.mark.parametrize(
    ("loss", "mechanism"),
    [
        (Location(Pinball(Fraction(1, 2))), KNG()),
        (Location(Pinball(Fraction(123, 1000))), KNG()),
        (Location(Pinball(Fraction(3, 4))), Exponential()),
        (Location(Squared()), KNG()),
    ],
    ids=["median", "quantile", "exponential", "mean"],
)
@pytest.mark.parametrize("epsilon", ["1/50", "1", "40"])
def test_whole_draws_are_what_enclosures_alone_would_draw(
    loss, mechanism, epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(5)
    dataset = tuple((rng.randrange(2**20),) for _ in range(300))
    plan = Setting(loss, mechanism, REPLACE, Fraction(epsilon), (2**20,)).plan(300)
    envelope, exponent = envelope_of(plan, field_of(plan, dataset))

    def drawn() -> list[int]:
        bits = SeededBits(11)
        whole = 0, plan.domain.points
        return [draw(envelope, exponent, whole, plan.smoothing, bits) for _ in range(6)]

    quick = drawn()
    monkeypatch.setattr(leaves, "_HEAVY", 10**6)  # no weight is that heavy: Arb decides them all
    assert drawn() == quick


def test_quantiles_ask_arb_for_nothing_that_was_asked_before(monkeypatch) -> None:
    """Fails on 0.1 (e301d72), where each draw took over a hundred exponentials from Arb."""
    asked: list[int] = []
    ask = enclosures.floor_ceil
    monkeypatch.setattr(
        enclosures, "floor_ceil", lambda value, bits: asked.append(bits) or ask(value, bits)
    )
    x = np.random.default_rng(0).lognormal(10, 1, 1000)
    options = {"bounds": (0, 200_000), "epsilon": 1, "sampler": "order"}
    kng.quantile(x, [0.25, 0.5, 0.75], **options)
    asked.clear()
    for seed in range(10):
        kng.quantile(x, [0.25, 0.5, 0.75], random_state=seed, **options)
    assert len(asked) < 10, "only a word within the margin, or a coarse leaf, needs Arb"


def test_quotients_of_whole_numbers_are_rounded_once() -> None:
    """What the bound assumes of Python: int / int is the nearest float, however long they are."""
    rng = random.Random(3)
    for _ in range(300):
        under = rng.getrandbits(rng.randrange(1, 3000)) + 4
        above = rng.randrange(under // 4 + 1)
        with ctx.workprec(4000):
            gap = abs(arb(above / under) - arb(fmpq(above, under)))
            assert gap <= arb(2) ** -55
        assert math.isfinite(above / under)
