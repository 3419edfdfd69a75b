"""Parts of quantiles drawn together keep what is asked of every norm and every domain."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import pairwise

import pytest
from conformance.domains import conforms as conforms_domain
from conformance.norm_checks import conforms as conforms_norm

from kng.core.errors import IncompatibleParts, SpecError
from kng.core.regions import Grid
from kng.domains import Ordered
from kng.losses import Quantiles
from kng.norms import Variation


def test_the_norm_conforms():
    def square(vector: tuple[F, ...]) -> F:
        steps = [abs(b - a) for a, b in pairwise([F(0), *vector, F(0)])]
        return (sum(steps, F(0)) / 2) ** 2

    conforms_norm(lambda _: Variation(), square)


def test_the_domain_conforms():
    def holds(theta: tuple[F, ...]) -> bool:
        return theta[0] >= -2 and theta[-1] <= F(7, 3) and list(theta) == sorted(theta)

    conforms_domain(lambda d: Ordered(-2, "7/3", d), holds)


@pytest.mark.parametrize("ends", [(1, 1), (2, 1)])
def test_bounds_that_hold_nothing_are_refused(ends):
    with pytest.raises(SpecError, match="below high"):
        Ordered(*ends)


def test_a_lattice_without_points_in_order_is_refused():
    with pytest.raises(IncompatibleParts, match="in order"):
        Ordered(0, "1/2", 2).on(Grid((F(1, 4), F(0)), (F(1), F(1))))


@pytest.mark.parametrize("taus", [[], [0.5, 0.5], [0.7, 0.2], [0, 0.5], [0.5, 1]])
def test_quantiles_grow_between_0_and_1(taus):
    with pytest.raises(SpecError, match="strictly between 0 and 1"):
        Quantiles(taus)
