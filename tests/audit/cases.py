"""The problems, universes and floors that audits and mutations share."""

from __future__ import annotations

import random

from audit.oracle import (
    ADD,
    REPLACE,
    Dataset,
    Record,
    Setting,
    Verdict,
    climb,
    datasets,
    encoding,
    sizes,
    unit_of,
)

from kng.core.delta import changes
from kng.core.parts import Norm, Point
from kng.losses import Location, Pinball, Squared
from kng.losses.location_sum import LocationSum
from kng.mechanisms import KNG, Exponential
from kng.norms import L1, L2, CoordinateSup, InterceptSup, LInf, Polytope

# --- weighed lattices ----------------------------------------------------------------------------

# The lattice's last point, and the values of a record; some of the second universe are clipped.
FULL = (4,), (0, 1, 2, 3, 4)
WIDE = (40,), (-3, 1, 2, 39, 45)

MEAN = Location(Squared())
QUANTILES = ("0.1", "0.5", "0.9", "0.99")
QUANTILE = {q: Location(Pinball(q)) for q in QUANTILES}
PROBLEMS = {
    **{f"kng-pinball-{q}": (KNG(), QUANTILE[q]) for q in QUANTILES},
    **{f"exponential-pinball-{q}": (Exponential(), QUANTILE[q]) for q in QUANTILES},
    "kng-squared": (KNG(), MEAN),
    "exponential-squared": (Exponential(), MEAN),
}

# Share of epsilon = 1 that the worst pair of the wide universe must use; measured, rounded down.
# With Delta doubled every one of them is missed (test_mutations.py). Four records cannot do more
# at the outer quantiles; test_directed.py looks at larger n. The exponential mechanism stays low
# because its Delta is the worst over theta, and lower still under add-remove, where losses only
# grow and half of Fact A's range is never used.
FLOORS = {
    ("kng-pinball-0.1", REPLACE): "0.66",
    ("kng-pinball-0.5", REPLACE): "0.96",
    ("kng-pinball-0.9", REPLACE): "0.66",
    ("kng-pinball-0.99", REPLACE): "0.49",
    ("kng-squared", REPLACE): "0.78",
    ("exponential-pinball-0.1", REPLACE): "0.35",
    ("exponential-pinball-0.5", REPLACE): "0.62",
    ("exponential-pinball-0.9", REPLACE): "0.35",
    ("exponential-pinball-0.99", REPLACE): "0.32",
    ("exponential-squared", REPLACE): "0.60",
    ("kng-pinball-0.1", ADD): "0.63",
    ("kng-pinball-0.5", ADD): "0.97",
    ("kng-pinball-0.9", ADD): "0.63",
    ("kng-pinball-0.99", ADD): "0.49",
    ("kng-squared", ADD): "0.66",
    ("exponential-pinball-0.1", ADD): "0.32",
    ("exponential-pinball-0.5", ADD): "0.32",
    ("exponential-pinball-0.9", ADD): "0.32",
    ("exponential-pinball-0.99", ADD): "0.32",
    ("exponential-squared", ADD): "0.39",
}


# --- noise ---------------------------------------------------------------------------------------

# Records outside the bounds are part of both universes: production must clip them.
LINE = (4,), (-3, 1, 2, 3, 9)
PLANE = (2, 3), ((-1, -5), (0, 3), (2, 0), (1, 1), (9, 9))


def norms(last: Point, relation: str) -> dict[str, Norm]:
    """Return the norms that have an exact noise, for records of 0 .. last."""
    unit, sums = unit_of(relation, 1), LocationSum(encoding(last))
    weights = tuple(range(1, len(sums.steps(unit)) + 1))
    return {
        "weighted-sup": CoordinateSup().at(changes(sums.body(unit), unit)),
        "linf": LInf(),
        "l1": L1(),
        "l1-weighted": L1(weights),
        "linf-weighted": LInf(weights),
        "l2": L2(),
        "l2-weighted": L2(weights),
        "intercept": InterceptSup("2/3"),
        "facets": Polytope(facets=_tilted(len(weights))),
        "vertices": Polytope(
            vertices=[[s * v for v in r] for r in _tilted(len(weights)) for s in (1, -1)]
        ),
    }


def _tilted(dim: int) -> list[list[int]]:
    """Return axes and differences of neighbours, some of them long: far from monotone."""
    steps = [[3 * (k == j) - 2 * (k == j + 1) for k in range(dim)] for j in range(dim - 1)]
    return [*steps, *([int(k == j) for k in range(dim)] for j in range(dim))]


def universe_of(values: tuple[int | Record, ...], relation: str) -> tuple[Dataset, ...]:
    """Return every dataset of up to three records; more only repeat the same shifts."""
    return datasets(values, sizes(relation, most=3))


# --- directed search -----------------------------------------------------------------------------


def start(n: int, last: int, rng: random.Random) -> tuple[Dataset, Dataset]:
    """Return two neighbours at random; they differ in the last record."""
    common = tuple((rng.randrange(last + 1),) for _ in range(n - 1))
    x, y = ((rng.randrange(last + 1),) for _ in range(2))
    return (*common, x), (*common, y)


def search(setting: Setting, n: int, seeds: range = range(5)) -> Verdict:
    """Return the worst pair of a few climbs; a climb stops only once epsilon is exceeded."""
    found = []
    for seed in seeds:
        rng = random.Random(seed)
        found.append(climb(setting, start(n, setting.last[0], rng), rng, 400, enough=1.0))
    return max(found, key=lambda verdict: verdict.low)
