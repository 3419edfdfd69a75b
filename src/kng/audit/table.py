"""The rows of the audit: every mechanism on statistics and relations, and seeded failures.

ours       all datasets of a tiny universe, all neighbours: the loss must be at most epsilon
seeded     the same with half of Delta, or a group's promise forgotten: it must exceed epsilon
printed    the paper's constants, on pairs that are known to break them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Literal

from kng.audit import groups
from kng.audit.oracle import (
    Rescaled,
    Setting,
    Verdict,
    audit,
    audit_noise,
    encoding,
    unit_of,
)
from kng.audit.planes import RECORDS, Plane
from kng.audit.printed import PRIVATE, VIOLATIONS, printed_rows
from kng.audit.rows import Expected, Row, row_of
from kng.audit.universe import ABSENT, RELATIONS, REPLACE, Dataset, Record, datasets, sizes
from kng.core.delta import changes
from kng.core.privacy import AddRemove, PrivacyUnit
from kng.losses import Distance, Huber, Location, Pinball, Squared
from kng.losses.location_sum import LocationSum
from kng.mechanisms import KNG, Exponential, KNorm
from kng.norms import L1, L2, CoordinateSup

Computation = Callable[[], list[Row]]
ONE, HALF = Fraction(1), Fraction(1, 2)
# The lattice's last point, and the values of a record: long empty runs let one record move much
# mass; some values lie outside and must be clipped.
WIDE = (40,), (-3, 1, 2, 39, 45)
SQUARE = (5, 4), ((-1, -1), (0, 4), (2, 2), (3, 2), (9, 0))
MEAN = Location(Squared())
DENSITIES = {"kng": KNG(), "exponential": Exponential()}
# Replacing a record where one may lack a cell.
LACKING = f"{REPLACE}, absent records"


def quick() -> list[Computation]:
    """Return computations of rows, together some seconds: up to three records, epsilon = 1."""
    return [*_ours(3, ("1",), ("0.5", "0.9")), *_seeded(3), *printed_rows(VIOLATIONS, broken=True)]


def full() -> list[Computation]:
    """Return computations of all rows: up to four records, three epsilons."""
    return [
        *_ours(4, ("0.1", "1", "3"), ("0.1", "0.5", "0.9", "0.99")),
        *_seeded(4),
        *printed_rows(VIOLATIONS, broken=True),
        *printed_rows(PRIVATE, broken=False),
    ]


def _ours(most: int, epsilons: Sequence[str], quantiles: Sequence[str]) -> Iterator[Computation]:
    for text in epsilons:
        epsilon = Fraction(text)
        yield from _on_a_line(most, epsilon, quantiles)
        yield from _noise(most, epsilon)
        yield from _planar(most - 1, epsilon)
        yield from _grouped(epsilon)


def _later(
    named: tuple[str, str, str], verdict: Callable[[], Verdict], expected: Expected = "holds"
) -> Computation:
    return lambda: [row_of(named, verdict(), expected)]


def _universe(values: Sequence[int | Record], relation: str, most: int) -> tuple[Dataset, ...]:
    """Return datasets of up to so many records, one of whose values may be a missing cell."""
    known = (*values, ABSENT) if relation == LACKING else values
    return datasets(known, sizes(_relation(relation), most))


def _relation(name: str) -> str:
    return REPLACE if name == LACKING else name


def _presence(name: str) -> Literal["always", "optional"]:
    return "optional" if name == LACKING else "always"


def _setting(
    loss: object, mechanism: object, relation: str, epsilon: Fraction, k: int = 1
) -> Setting:
    named, presence = _relation(relation), _presence(relation)
    return Setting(loss, mechanism, named, epsilon, WIDE[0], k, presence=presence)


def _on_a_line(most: int, epsilon: Fraction, quantiles: Sequence[str]) -> Iterator[Computation]:
    """Quantiles and the mean, weighed on a lattice."""
    losses: dict[str, object] = {f"quantile {q}": Location(Pinball(q)) for q in quantiles}
    losses["mean"] = MEAN
    for (name, mechanism), (told, loss) in product(DENSITIES.items(), losses.items()):
        for relation in (*RELATIONS, LACKING):
            setting = _setting(loss, mechanism, relation, epsilon)
            universe = _universe(WIDE[1], relation, most)
            yield _later((name, told, relation), partial(audit, setting, universe))
        pairs = f"{REPLACE}, 2 records a person"
        setting = _setting(loss, mechanism, REPLACE, epsilon, 2)
        universe = _universe(WIDE[1], REPLACE, most)
        yield _later((name, told, pairs), partial(audit, setting, universe))


def _noise(most: int, epsilon: Fraction) -> Iterator[Computation]:
    """Noise on sums: of one column, of a column of 0 and 1, which is a count, and of two."""
    shapes: dict[str, tuple[tuple[int, ...], Sequence[int | Record]]] = {
        "sum, mean": WIDE,
        "count": ((1,), (0, 1)),
        "sums of 2 columns": SQUARE,
    }
    for (told, (last, values)), relation in product(shapes.items(), (*RELATIONS, LACKING)):
        known, presence = _relation(relation), _presence(relation)
        unit = unit_of(known, 1, 1, presence)
        norm = CoordinateSup().at(changes(LocationSum(encoding(last)).body(unit), unit))
        for named, norm_of in (("k-norm", norm), ("k-norm, l1", L1())):
            setting = Setting(MEAN, KNorm(), known, epsilon, last, norm=norm_of, presence=presence)
            universe = _universe(values, relation, most)
            yield _later(
                (named, told, relation),
                partial(audit_noise, setting.noise_plan, setting, universe),
            )


def _planar(most: int, epsilon: Fraction) -> Iterator[Computation]:
    """Yield the geometric median of two columns, and lines through records."""
    for (name, mechanism), relation in product(DENSITIES.items(), RELATIONS):
        setting = Setting(Distance(), mechanism, relation, epsilon, SQUARE[0], norm=L2())
        universe = _universe(SQUARE[1], relation, most)
        yield _later((name, "geometric median", relation), partial(audit, setting, universe))
        lines = {
            "quantile regression 0.5": Pinball(HALF),
            "quantile regression 0.9": Pinball("0.9"),
            "Huber regression": Huber(2),
        }
        for told, pointwise in lines.items():
            plane = Plane(pointwise, mechanism, relation, epsilon)
            seen = datasets(RECORDS, sizes(relation, most))
            yield _later((name, told, relation), partial(audit, plane, seen))


def _grouped(epsilon: Fraction) -> Iterator[Computation]:
    """Two groups, between which records may move."""
    for relation in RELATIONS:
        unit, named = groups.unit_of(relation), f"{relation}, 2 groups"

        def means(u: PrivacyUnit = unit, r: str = relation) -> Verdict:
            losses = [groups.loss_of(groups.mean_plan(u, epsilon))] * 2
            return groups.worst(losses, r, (0, 40), 2, epsilon)

        def medians(u: PrivacyUnit = unit, r: str = relation) -> Verdict:
            losses = [groups.loss_of(groups.quantile_plan("0.5", u, epsilon))] * 2
            return groups.worst(losses, r, (-3, 1, 39), 2, epsilon)

        yield _later(("k-norm", "mean", named), means)
        yield _later(("kng", "quantile 0.5", named), medians)


def _seeded(most: int) -> Iterator[Computation]:
    """Faults of the usual kinds, which the audit must find."""
    for name, mechanism in DENSITIES.items():
        setting = _setting(Location(Pinball(HALF)), Rescaled(mechanism, HALF), REPLACE, ONE)
        universe = _universe(WIDE[1], REPLACE, most)
        yield _later(
            (f"{name}, 1/2 of Δ", "quantile 0.5", REPLACE),
            partial(audit, setting, universe),
            "fails",
        )
    noisy = Setting(MEAN, Rescaled(KNorm(), HALF), REPLACE, ONE, WIDE[0], norm=L1())
    universe = _universe(WIDE[1], REPLACE, most)
    yield _later(
        ("k-norm, 1/2 of Δ", "sum, mean", REPLACE),
        partial(audit_noise, noisy.noise_plan, noisy, universe),
        "fails",
    )

    def forgotten() -> Verdict:
        losses = [groups.loss_of(groups.mean_plan(PrivacyUnit(AddRemove()), ONE))] * 2
        return groups.worst(losses, REPLACE, (0, 40), 2, ONE)

    yield _later(("k-norm, all of ε in each", "mean", f"{REPLACE}, 2 groups"), forgotten, "fails")
    one = _setting(Location(Pinball(HALF)), KNG(), REPLACE, ONE)
    two = _setting(Location(Pinball(HALF)), KNG(), REPLACE, ONE, 2)
    yield _later(
        ("kng, planned for 1 record", "quantile 0.5", f"{REPLACE}, 2 records a person"),
        partial(audit, two, universe, plan_of=one.plan),
        "fails",
    )
