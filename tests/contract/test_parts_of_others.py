"""Parts that are not ours, and parts of ours in places that they were not made for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import kng
from kng.core.errors import IncompatibleParts
from kng.domains import Box, L1Ball, Uncrossed
from kng.losses import Huber, Linear, Location, Pinball, Squared
from kng.norms import LInf

F = Fraction
PLANE = {"bounds_X": (0, 1), "bounds_y": (0, 5), "epsilon": 1}
X, Y = np.array([[0.1], [0.5], [0.9], [0.2]]), np.array([1.0, 2.0, 3.0, 4.0])


class Scaled:
    """A sup norm times a number that its equality forgets."""

    follows, shape = False, None

    def __init__(self, times: Fraction) -> None:
        self.times = times

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scaled | LInf)

    def __hash__(self) -> int:
        return hash(LInf())

    def value(self, vector):
        return self.times * LInf().value(vector)

    def bounds(self, low, high):
        return tuple(float(self.times) * end for end in LInf().bounds(low, high))

    def largest(self, low, high):
        return self.times * LInf().largest(low, high)

    def largest_in_ball(self, radius, dim):
        return self.times * radius

    def at(self, changes):
        return self

    def refusal(self, dim):
        return None


def test_parts_that_claim_to_be_equal_have_plans_of_their_own():
    def planned(norm):
        made = kng.KNG(Location(Huber(1)), norm=norm, domain=Box(0, 1, dim=2))
        return made.plan(bounds=(0, 1), epsilon=1)

    for norm, delta in ((LInf(), 2), (Scaled(F(3)), 6), (Scaled(F(1, 2)), 1), (LInf(), 2)):
        plan = planned(norm)
        assert plan.sensitivity([0.5, 0.5]) == delta
        assert plan.guarantee == ("exact" if isinstance(norm, LInf) else "ideal")


def test_a_part_of_ours_that_is_changed_in_part_is_refused():
    """Its shape and its noise would be those of LInf, its Delta a hundredth: a loss of 100."""

    class Hundredth(LInf):
        __slots__ = ()

        def value(self, vector):
            return super().value(vector) / 100

        def largest(self, low, high):
            return super().largest(low, high) / 100

    with pytest.raises(kng.KngError, match="Hundredth changes value, largest of LInf"):
        kng.KNG(Linear(Pinball(0.5)), norm=Hundredth(), domain=Box(-5, 5))

    class Flat(Huber):
        __slots__ = ()

        def psi(self, eta, y):
            return super().psi(eta, y)

    with pytest.raises(kng.KngError, match="Flat changes psi of Huber"):
        kng.KNG(Linear(Flat(1)), domain=Box(-5, 5))


def test_objective_perturbation_takes_no_other_function_for_huber():
    """One with a scale of its own has no pieces that are read, whatever it calls them."""

    class Bent(Huber):
        __slots__ = ()

    with pytest.raises(kng.KngError, match="Bent"):
        kng.ObjectivePerturbation(Linear(Bent(1))).plan(**PLANE)


def test_planes_that_wait_for_another_are_refused_before_the_charge():
    box = Box(-5, 5, dim=2)
    with pytest.raises(kng.KngError, match="drawn before"):
        kng.KNG(Linear(Pinball(0.5)), domain=Uncrossed(box, 1, 0))
    above = Uncrossed(box, 1, 0, (F(0), F(1)))
    theta = kng.KNG(Linear(Pinball(0.5)), domain=above).release(X, Y, **PLANE)
    effects = theta.lattice.units(theta.integers)
    assert above.scaled(F(2, 5)).contains(effects)


@pytest.mark.parametrize("sampler", ["hit-and-run", "metropolis"])
def test_chains_start_inside_a_domain_without_0(sampler):
    made = kng.KNG(Linear(Squared()), domain=Box(1, 2), sampler=sampler)
    found = made.release(X, Y, **PLANE)
    effects = found.lattice.units(found.integers)
    assert Box(1, 2, dim=2).scaled(F(2, 5)).contains(effects)


def test_a_rate_beyond_float64_is_no_failure_after_the_charge():
    made = kng.KNG(Location(Huber(1)), domain=Box(0, 1e200, dim=2))
    with pytest.raises(IncompatibleParts, match="up to epsilon = 1e6"):
        made.release(np.zeros((3, 2)), bounds=(0, 1e200), epsilon=1e300)
    found = made.release(np.zeros((3, 2)), bounds=(0, 1e200), epsilon=1e6)
    assert (found.value == 0).all()


def test_bounds_are_read_by_their_own_types():
    single = kng.median([0, 0.05], bounds=(0, np.float32(0.1)), epsilon=1)
    double = kng.median([0, 0.05], bounds=(0, float(np.float32(0.1))), epsilon=1)
    assert single.bounds.high == (F(1, 10),)
    assert double.bounds.high == (F("0.10000000149011612"),)
    kng.median([0, 1], bounds=(0, 1), epsilon=1)
    with pytest.raises(kng.KngError, match="number"):
        kng.median([0, 1], bounds=(False, True), epsilon=1)


def test_a_ball_is_no_domain_for_a_base_that_nobody_asks():
    class Peaked:
        finite = True

        def log_density(self, theta):
            return -50 * np.abs(theta).sum(axis=1)

    # It says nothing exact of a lattice point, so that nobody can draw with it.
    with pytest.raises(kng.KngError, match="Peaked is not a base: it lacks even, limits, fitted"):
        L1Ball(5, base=Peaked())
