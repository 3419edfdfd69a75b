"""Domains that cut off most of the density: bounds over box and domain together, laws, the end."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from samplers.envelopes import covering, envelope_of, later
from samplers.laws import ALARM, p_value
from samplers.test_curved import boxes_of, draws, exponents, law_of
from samplers.test_huber_draws import plan_of, read

import kng
from kng.core.bits import SeededBits
from kng.core.boxes.cut_off import cut_off
from kng.core.boxes.sheared import SHIFT
from kng.core.compiled import load
from kng.core.parts import Point
from kng.mechanisms import KNG, Exponential
from kng.samplers.exact import boxes as sampler
from kng.samplers.exact.boxes import accepted_of


def test_a_smaller_box_holds_all_points_within_the_walls():
    load(cut_off)
    rng, dropped, smaller = np.random.default_rng(1), 0, 0
    for d, _ in product((1, 2, 3), range(150)):
        turn = np.triu(rng.integers(-(2**17), 2**17, (d, d)), 1)
        shear = np.eye(d) + turn / 2**SHIFT
        corner, sides = rng.integers(-12, 12, d), rng.integers(0, 4, d)
        walls = np.vstack([np.eye(d), -np.eye(d), rng.integers(-2, 3, (1, d))])
        limits = np.append(rng.integers(0, 9, 2 * d), 6).astype(float)
        points = np.array(
            list(product(*(range(a, a + 2**e) for a, e in zip(corner, sides, strict=True))))
        )
        t = points + ((points @ turn.T) >> SHIFT)
        inside = points[(t @ walls.T <= limits).all(axis=1)]
        u = corner + (1 << sides) // 2
        half = ((1 << sides) // 2).astype(float)
        centre = (u + ((u @ turn.T) >> SHIFT)).astype(float)
        before, slack = half.copy(), float(sides.any())
        left = cut_off(walls, limits, shear, turn, SHIFT, slack, u, centre, half, np.zeros((2, d)))
        if not left:
            assert len(inside) == 0
            dropped += 1
            continue
        assert (np.abs(inside - u) <= half).all()
        assert (centre == u + ((u @ turn.T) >> SHIFT)).all()
        smaller += (half < before).any()
    assert dropped > 20
    assert smaller > 50


def cut_data(kind: str, n: int, dim: int):
    """Return records whose fit lies outside of, or in a corner of, coefficients up to 2."""
    rng = np.random.default_rng(3)
    X, y = np.full((n, dim - 1), 0.25), np.full(n, 2.0)
    if kind == "one differs":
        X[0] = -1.0
    if kind == "in a corner":
        X, y = np.full((n, dim - 1), 0.5), np.full(n, 2 + 0.8 * (dim - 1))
    if kind == "spread":
        X = rng.uniform(0, 1, (n, dim - 1))
        y = 2 + 3 * X.sum(axis=1) + rng.normal(size=n)
    return X, y


KINDS = ["tied", "one differs", "in a corner", "spread"]
CASES = {
    "kng": {"dim": 2, "reach": 8, "epsilon": 2},
    "kng, d = 3": {"dim": 3, "reach": 4, "epsilon": 2},
    "exponential": {"dim": 2, "reach": 8, "epsilon": 12, "mechanism": Exponential()},
    "exponential, d = 3": {"dim": 3, "reach": 4, "epsilon": 12, "mechanism": Exponential()},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_boxes_cover_the_domain_once_and_their_bounds_hold(case, kind):
    plan = plan_of(**CASES[case])
    field = read(plan, *cut_data(kind, 30, plan.domain.dim))
    gammas = exponents(plan, field)
    for cover in [*covering(plan, field), *(make() for make in later(plan, field))]:
        for boxes in (1, 8, 64, 512):
            cover.refine(boxes)
            envelope = sampler.BoxEnvelope(plan, cover)
            seen: list[Point] = []
            for points, lower, upper in boxes_of(envelope):
                inside = [k for k in points if k in gammas]
                seen += inside
                assert all(lower <= gammas[k] for k in inside)
                if math.isfinite(upper):
                    assert len(inside) == len(points)
                    assert all(gammas[k] <= upper for k in inside)
            assert sorted(seen) == sorted(gammas)


@pytest.mark.parametrize("kind", ["in a corner", "spread"])
@pytest.mark.parametrize("case", ["kng", "exponential"])
def test_the_law_is_the_stated_one(case, kind):
    plan = plan_of(**CASES[case])
    field = read(plan, *cut_data(kind, 30, 2))
    gammas = exponents(plan, field)
    found = draws(envelope_of(plan, field), 5000)
    assert p_value(found, law_of(gammas)) > ALARM
    assert p_value(found, law_of(gammas, 1.2)) < ALARM


@pytest.mark.parametrize("mechanism", [KNG(), Exponential()], ids=["kng", "exponential"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [1, 100])
def test_bounds_hold_at_points_of_box_and_domain_together(kind, mechanism, epsilon):
    rng = np.random.default_rng(7)
    plan = plan_of(3, 2**20, epsilon=epsilon, mechanism=mechanism, records=300)
    field = read(plan, *cut_data(kind, 300, 3))
    tried = 0
    for boxes in (30, 3000):
        cover = envelope_of(plan, field, boxes)._cover
        live = cover.boxes.live()
        chosen = rng.choice(live, min(100, len(live)), replace=False).repeat(6)
        t = cover.boxes.offsets(chosen, rng.integers(0, 2**64, (3, len(chosen)), np.uint64))
        least = cover.scores(chosen, t).least
        for box, offset, low in zip(chosen, t, least, strict=True):
            point = cover.boxes.point(offset)
            if not plan.domain.contains(point):
                continue
            score = field.score(point)
            gamma = plan.exponent(point, score)
            assert cover.boxes.lower(box) <= gamma <= cover.boxes.upper(box)
            assert low <= gamma
            tried += 1
    assert tried > 50


@pytest.mark.parametrize("many", [16, 64])
def test_where_boxes_end_the_law_stays(many, monkeypatch):
    """On e301d72 boxes were halved without end until a certificate was reached."""
    monkeypatch.setattr(sampler, "_BOXES", many)
    monkeypatch.setattr(sampler, "_MANY", many)
    plan = plan_of(**CASES["kng"])
    field, bits = read(plan, *cut_data("spread", 30, 2)), SeededBits(1)
    found = [accepted_of(plan, covering(plan, field), bits) for _ in range(400)]
    assert p_value(found, law_of(exponents(plan, field))) > ALARM
    assert p_value(found, law_of(exponents(plan, field), 1.6)) < ALARM


@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
@pytest.mark.parametrize(("columns", "bound"), [(3, 0.1025), (2, 0.09), (1, 0.05), (3, 2.0)])
@pytest.mark.parametrize("other", [0, 1, 5000], ids=["tied", "one differs", "half differ"])
def test_no_record_decides_how_many_boxes_it_takes(mechanism, columns, bound, other, monkeypatch):
    """On e301d72 the first case failed after the charge, at 16.7 million boxes."""
    made, original = [], accepted_of

    def counted(plan, covers, bits, late):
        found = original(plan, covers, bits, late)
        made.append(max(cover.boxes.made for cover in covers))
        return found

    monkeypatch.setattr(sampler, "accepted_of", counted)
    n = 10_000 if bound < 1 else 2000
    X, y = np.full((n, columns), -1.0), np.ones(n)
    X[: n * other // 10_000 or min(other, 1)] = 1.0
    kng.HuberRegressor(
        epsilon=1, threshold=0.1, bounds_X=(-1, 1), bounds_y=(-1, 1), coef_bound=bound,
        mechanism=mechanism, random_state=1,
    ).fit(X, y)  # fmt: skip
    assert made[0] <= 2**14
