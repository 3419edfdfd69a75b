"""Estimators on balls, polytopes and simplices: an answer inside, or an early refusal."""

from __future__ import annotations

from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

import kng
from kng.core.errors import IncompatibleParts, KngError
from kng.domains import Box, L1Ball, L2Ball, Polytope, Simplex
from kng.losses import Distance, Expectile, Huber, Linear, Location, Logistic, Pinball, Squared

N = 120
RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (N, 4))
Y = 0.25 + X[:, 0] - 0.5 * X[:, 1] + np.tile([-0.2, 0, 0.2], N // 3)
PLANE: dict[str, Any] = {"bounds_X": (-1, 1), "bounds_y": (-2, 2), "epsilon": 2}


def kite(d: int) -> Polytope:
    """Return a cube cut by two planes, of which one has long decimals."""
    cube = [[s * (i == j) for i in range(d)] for j in range(d) for s in (1, -1)]
    more = [[1.0, 0.70710678118654757, 0.3, 1, 2][:d], [-1, 2, 0.5, 1, 0][:d]]
    return Polytope([*cube, *more], [1.5] * (2 * d) + [0.6, 0.9])


DOMAINS = {"round": lambda _: L2Ball("0.8"), "polytope": kite, "simplex": lambda _: Simplex("0.7")}
TABLE: dict[str, Any] = {"bounds": ([-1, -1], [1, 1]), "epsilon": 2, "granularity": 2**-12}
LINE: dict[str, Any] = {"bounds": (-2, 2), "epsilon": 2}


def fitted(kind: Any, columns: int, domain: Any, **options: Any) -> Any:
    fit = kind(**PLANE, domain=domain, **options, random_state=1).fit(X[:, :columns], Y)
    return fit.release_


CALLS = {
    "mean by KNG": (2, lambda d: partial(kng.mean, X[:, :2], mechanism="kng", domain=d, **TABLE)),
    "mean, exponential": (
        2,
        lambda d: partial(kng.mean, X[:, :2], mechanism="exponential", domain=d, **TABLE),
    ),
    "median": (1, lambda d: partial(kng.median, Y, domain=d, **LINE)),
    "quantile, exponential": (
        1,
        lambda d: partial(kng.quantile, Y, 0.9, mechanism="exponential", domain=d, **LINE),
    ),
    "geometric median": (
        2,
        lambda d: partial(kng.geometric_median, X[:, :2], domain=d, **TABLE),
    ),
    "geometric median, exponential": (
        2,
        lambda d: partial(
            kng.geometric_median, X[:, :2], mechanism="exponential", domain=d, **TABLE
        ),
    ),
    "least squares": (
        3,
        lambda d: lambda **_: fitted(kng.LinearRegression, 2, d, mechanism="kng"),
    ),
    "least squares, exponential": (
        3,
        lambda d: lambda **_: fitted(kng.LinearRegression, 2, d, mechanism="exponential"),
    ),
    "quantile plane": (3, lambda d: lambda **_: fitted(kng.QuantileRegressor, 2, d)),
    "Huber": (
        3,
        lambda d: lambda **_: fitted(kng.HuberRegressor, 2, d, threshold=0.5, mechanism="kng"),
    ),
    "Huber, exponential": (
        2,
        lambda d: (
            lambda **_: fitted(kng.HuberRegressor, 1, d, threshold=0.5, mechanism="exponential")
        ),
    ),
}


def theta_of(release: Any) -> list[F]:
    return [F(float(v)) for v in np.atleast_1d(release.value)]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("call", CALLS)
def test_what_estimators_release_lies_inside(call, domain):
    d, made = CALLS[call]
    where = DOMAINS[domain](d)
    release = made(where)(random_state=1)
    assert where.sized(d).contains(theta_of(release))
    assert repr(where.sized(d)).split("(")[0] in release.law.domain


PARTS = [
    (Location(Squared()), "table"),
    (Location(Pinball(0.3)), "table"),
    (Location(Huber(0.5)), "table"),
    (Location(Expectile(0.8)), "table"),
    (Distance(), "table"),
    (Linear(Squared()), "plane"),
    (Linear(Pinball(0.3)), "plane"),
    (Linear(Huber(0.5)), "plane"),
    (Linear(Expectile(0.8)), "plane"),
    (Linear(Logistic()), "labels"),
]


def released(mechanism: Any, kind: str, columns: int, **options: Any) -> Any:
    if kind == "table":
        return mechanism.release(X[:, :columns], **TABLE, **options)
    labels = kind == "labels"
    facts = PLANE | ({"bounds_y": (0, 1)} if labels else {})
    y = (Y > 0).astype(float) if labels else Y
    return mechanism.release(X[:, : columns - 1], y, **facts, **options)


@pytest.mark.parametrize("way", [kng.KNG, kng.Exponential])
@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize(("loss", "kind"), PARTS, ids=lambda part: str(part)[:30])
def test_every_loss_is_exact_on_every_domain(loss, kind, domain, way):
    where = DOMAINS[domain](2)
    mechanism = way(loss, domain=where)
    facts = {"bounds": TABLE["bounds"], "granularity": 2**-12}
    if kind != "table":
        facts = {"bounds_X": (-1, 1), "bounds_y": (0, 1) if kind == "labels" else (-2, 2)}
    plan = mechanism.plan(epsilon=2, n=N, **facts)
    assert plan.guarantee == "exact"
    release = released(mechanism, kind, 2, random_state=1)
    assert where.sized(2).contains(theta_of(release))


@pytest.mark.parametrize("domain", DOMAINS)
def test_five_coordinates_are_exact(domain):
    where = DOMAINS[domain](5)
    for loss in (Linear(Squared()), Linear(Pinball(0.5))):
        if domain != "simplex" and loss == Linear(Pinball(0.5)):
            continue  # without walls for compiled covers it takes a minute
        mechanism = kng.KNG(loss, domain=where)
        plan = mechanism.plan(bounds_X=(-1, 1), bounds_y=(-2, 2), epsilon=2, n=N)
        assert (plan.guarantee, plan.sampler) == ("exact", "branch-and-bound")
        release = mechanism.release(X, Y, **PLANE, random_state=1)
        assert where.sized(5).contains(theta_of(release))


# --- many coordinates ----------------------------------------------------------------------------

WIDE = RNG.uniform(-1, 1, (400, 11))
FAR = WIDE @ np.linspace(-0.2, 0.2, 11) + RNG.normal(0, 0.1, 400)


@pytest.mark.parametrize("way", [kng.KNG, kng.Exponential])
@pytest.mark.parametrize("columns", [7, 11])
@pytest.mark.parametrize(
    "domain", [Box(-1, 1), L2Ball(1), Simplex(1), pytest.param("kite", id="polytope")]
)
def test_in_many_coordinates_what_serves_is_named(domain, columns, way, tmp_path):
    if domain == "kite":
        d = columns + 1
        cube = [[s * (i == j) for i in range(d)] for j in range(d) for s in (1, -1)]
        domain = Polytope([*cube, [1] * d], [1] * (2 * d) + [2])
    ledger = kng.Ledger(tmp_path / "test.ledger", cap=5)
    with pytest.raises(IncompatibleParts, match=r"L1Ball.*HuberRegressor.*hit-and-run"):
        way(Linear(Squared()), domain=domain).release(
            WIDE[:, :columns], FAR, bounds_X=(-1, 1), bounds_y=(-2, 2), epsilon=1, ledger=ledger
        )
    assert ledger.spent == 0


@pytest.mark.parametrize("way", [kng.KNG, kng.Exponential])
def test_a_chain_by_name_stays_inside(way):
    """The start is a point inside that no record decides: 0, or the home of a set without it."""
    d = 8
    cube = [[s * (i == j) for i in range(d)] for j in range(d) for s in (1, -1)]
    away = Polytope([*cube, [-1] * d], [1] * (2 * d) + [-1])
    for domain in (L2Ball("0.4"), Simplex("0.3"), away):
        mechanism = way(Linear(Squared()), domain=domain, sampler="hit-and-run")
        release = mechanism.release(
            WIDE[:, : d - 1], FAR, bounds_X=(-1, 1), bounds_y=(-2, 2), epsilon=1, random_state=2
        )
        slack = F(1, 2**20)  # half a step of the answers
        wider = (
            Polytope(away.A, [b + slack for b in away.b])
            if domain is away
            else domain.scaled(1 + slack)
        )
        theta = [v + slack / d for v in theta_of(release)] if domain == Simplex("0.3") else None
        assert wider.sized(d).contains(theta or theta_of(release))


def test_chords_of_a_ball_are_walked_to_their_ends():
    """Without records the law is uniform: ||theta||_2^d is, too."""
    from kng.core.bits import SeededBits
    from kng.samplers.chains.hit_and_run import _step

    class Ball:
        low, high = np.full(3, -2.0), np.full(3, 2.0)

        @staticmethod
        def log_density(theta: Any) -> float:
            inside = L2Ball(2, 3).contains([F(float(v)) for v in theta])
            return 0.0 if inside else -np.inf

    bits, theta, height, found = SeededBits(4), np.zeros(3), 0.0, []
    for i in range(6000):
        theta, height = _step(Ball, theta, height, bits)  # type: ignore[arg-type]
        if i % 6 == 5:
            found.append(float(np.linalg.norm(theta) / 2) ** 3)
    assert kstest(found, "uniform").pvalue > 1e-3


# --- refused before the charge -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: L2Ball("0.001"), r"L2Ball\(0.001, dim=2\) holds no point of the lattice"),
        (lambda: Simplex("0.1", 3), r"Simplex\(0.1, dim=3\) has 3 coordinates, but the loss has 2"),
        (lambda: kite(3), "Polytope of 8 half-spaces has 3 coordinates, but the loss has 2"),
        (
            lambda: Polytope([[1, 0], [-1, 0], [0, 1], [0, -1]], ["0.3", "-0.2", 1, 1]),
            "Polytope of 4 half-spaces holds no point of the lattice",
        ),
        (lambda: L2Ball(1, base=kng.bases.Gaussian("1e-9")), "base measure.*wider base"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_the_charge(build, message, tmp_path):
    ledger = kng.Ledger(tmp_path / "test.ledger", cap=5)
    coarse = {"bounds": ([-1, -1], [1, 1]), "granularity": "0.5", "epsilon": 1, "ledger": ledger}
    if "0.001" in message:  # the lattice begins at -1, in steps of 2/3
        coarse["granularity"] = "2/3"
    with pytest.raises(KngError, match=message):
        kng.KNG(Location(Squared()), domain=build()).release(X[:, :2], **coarse)
    assert ledger.spent == 0


@pytest.mark.parametrize("domain", [Box(-3, 3), L1Ball(3), L2Ball(3), Simplex(9)])
@pytest.mark.parametrize("way", [kng.KNG, kng.Exponential])
def test_a_domain_beyond_what_is_exact_is_refused_before_the_charge(way, domain, tmp_path):
    ledger = kng.Ledger(tmp_path / "test.ledger", cap=5)
    with pytest.raises(IncompatibleParts, match="Distances are exact up to"):
        way(Distance(), domain=domain).release(
            X[:, :2], bounds=([-1, -1], [1, 1]), epsilon=1, ledger=ledger
        )
    assert ledger.spent == 0
