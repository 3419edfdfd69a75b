"""From sums of records to a release: noise on the sums, and what is read off them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isinf

from kng.bases import Uniform
from kng.core.bounds import Bounds
from kng.core.encoding import Encoding
from kng.core.errors import SpecError
from kng.core.exact import as_float
from kng.core.groups import Groups
from kng.core.lattice import Lattice
from kng.core.naming import argument
from kng.core.noise.stored import Noise
from kng.core.parts import Norm, Point
from kng.core.plan import NoisePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.receipt_names import BINS
from kng.core.records import GroupedSource, Source
from kng.core.release import Fact, Release
from kng.corridor import Answer, Stage, release
from kng.domains import Whole
from kng.estimators.noisy import share_noise, sum_noise, variance_noise
from kng.estimators.planned import planned
from kng.estimators.request import Request
from kng.losses.summed import ReadSums, Summed
from kng.mechanisms import KNorm
from kng.norms import L1, Exchange

# Statistics that are the noisy sums themselves.
_PLAIN = ("count", "histogram", "sum")
_ONE = Fraction(1)


def noisy_plan(
    sums: ReadSums,
    norm: Norm,
    answers: Lattice,
    records: Encoding,
    *,
    unit: PrivacyUnit,
    epsilon: Fraction,
) -> NoisePlan:
    """Plan K-norm noise on sums; public facts only."""
    _require_floats(answers)
    loss = Summed(sums)
    problem = Problem(loss, norm, Whole(loss.dim, base=Uniform()), records, answers, unit)
    return planned(KNorm(), problem, epsilon, "auto")


def _require_floats(answers: Lattice) -> None:
    """Refuse answers that no float can hold; found later they would fail after the charge."""
    ranges = set(zip(answers.origin, answers.step, answers.last, strict=True))
    if any(isinf(as_float(end)) for o, h, k in ranges for end in (o, o + h * k)):
        raise SpecError(
            "bounds are so large that the answer can be above 1e308, which float64 cannot hold. "
            "Give bounds of ordinary size, in other units if need be."
        )


def estimate(plan: NoisePlan, drawn: Point) -> Point:
    """Return the answer that noisy sums stand for; post-processing."""
    problem = plan.problem
    assert isinstance(problem.loss, Summed)
    return problem.answers.nearest(problem.loss.sums.minimiser(drawn, problem))


def released(
    statistic: str,
    plan: NoisePlan,
    source: Source | GroupedSource,
    box: Bounds,
    *,
    facts: Mapping[str, Fact],
    ask: Request,
    groups: Groups | None,
) -> Release:
    """Charge, read, draw, and return one answer."""

    def finish(drawn: Sequence[Point]) -> Point:
        return estimate(plan, drawn[0])

    answers, scalar = plan.problem.answers, BINS not in facts and groups is None
    answer = Answer(
        statistic, answers, scalar, box, facts, finish, None,
        lambda drawn: _noise(statistic, plan, drawn[0]), groups,
    )  # fmt: skip
    return release([Stage([plan], source)], answer, ask.ledger, ask.bits)


def _noise(statistic: str, plan: NoisePlan, drawn: Point) -> Noise | None:
    """Return what is known of the noise."""
    if statistic in _PLAIN:
        return sum_noise(plan, _ONE, plan.problem.answers)
    if statistic == "variance":
        return variance_noise(plan, drawn)
    return share_noise(plan, drawn)


def one_column(bounds: Bounds, statistic: str) -> Bounds:
    """Refuse bounds of several columns."""
    if len(bounds) != 1:
        raise SpecError(
            f"A {statistic} is of one column, the {argument('bounds')} describe {len(bounds)}. "
            "Release one column at a time."
        )
    return bounds


def most_records(unit: PrivacyUnit) -> int:
    """Return how many records there can be, from public facts."""
    neighbours = unit.neighbours
    return neighbours.n if isinstance(neighbours, ReplaceOne) else neighbours.n_max


def count_norm(unit: PrivacyUnit) -> Norm:
    """Return the norm whose ball is the hull of what one record does to counts."""
    return Exchange() if isinstance(unit.neighbours, ReplaceOne) else L1()


def bins_stated(unit: PrivacyUnit) -> dict[str, str]:
    """Return what a receipt says of records that are in no bin; nothing where all are in one."""
    if unit.presence == "always":
        return {}
    return {"in no bin": "records that are missing or elsewhere; how many stays private"}


@lru_cache(maxsize=64)
def count_lattice(bins: int, most: int) -> Lattice:
    """Return where counts of at most so many records live."""
    return Lattice((Fraction(0),) * bins, (Fraction(1),) * bins, (most,) * bins)
