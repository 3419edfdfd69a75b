"""Compiled or closed-form ways to read some losses, each for one cell of the product.

An accelerator stands behind `read` of a loss and is never the definition of what a loss may be: the
generic fields give the same scores, which a test compares. Whether one serves is decided by public
facts that parts state by name: the model, the pointwise function, the shape of the norm, what is
weighed, the number of coordinates and the kind of domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.design import Design
from kng.core.parts import Norm, Walled, filled
from kng.core.records import Source
from kng.core.shapes import BoxShape, InterceptShape, RoundShape
from kng.losses.fields.curved_field import encloses
from kng.losses.fields.distances import Distances, Unchanged
from kng.losses.fields.huber_records import HuberRecords, HuberRows
from kng.losses.fields.moment_line import DistanceField, ParabolaField
from kng.losses.fields.piecewise_field import clipped_of
from kng.losses.fields.plane_records import ENDS as PLANE_ENDS
from kng.losses.fields.plane_records import PlaneRecords, PlaneRows, exact_sum
from kng.losses.fields.ranked_line import EVERYWHERE, TiltedField, read_ranked, relation_of
from kng.losses.kernels.moments import Moments
from kng.losses.kernels.ranks import Wanted, read_ranks
from kng.losses.pointwise.function import Pointwise
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.squared import Squared
from kng.losses.reading import ReadPlan

# The largest denominator of a quantile: it multiplies sums over records in float64.
_DIGITS = 10**30


@dataclass(frozen=True, slots=True)
class Accelerator:
    """A way to read one cell: when it serves a plan, and how it reads for several."""

    name: str
    serves: Callable[[ReadPlan], bool]
    read: Callable[[Source, Sequence[ReadPlan]], Sequence[Any]]


def accelerator_of(plans: Sequence[ReadPlan]) -> Accelerator | None:
    """Return the first accelerator that serves all plans, or None.

    They serve where all thetas weigh alike; elsewhere the generic path knows what each weighs.
    """
    if not all(plan.problem.domain.base.even for plan in plans):
        return None
    for each in ACCELERATORS:
        if all(each.serves(plan) for plan in plans):
            return each
    return None


def _on_a_line(plan: ReadPlan, function: type) -> bool:
    loss = plan.problem.loss
    return (
        loss.model == "location"
        and isinstance(loss.pointwise, function)
        and plan.domain.dim == 1
        and (plan.weighs == "value" or _plain(plan.problem.norm))
        and filled(plan.domain)
    )


def _plain(norm: Norm) -> bool:
    """Tell whether a norm is the absolute value on a line, at every theta."""
    return not norm.follows and norm.value((Fraction(1),)) == 1


def _ranks_serve(plan: ReadPlan) -> bool:
    return plan.weighs == "gradient" and _on_a_line(plan, Pinball)


def _tilts_serve(plan: ReadPlan) -> bool:
    return plan.weighs == "value" and _on_a_line(plan, Pinball)


def _sums_serve(plan: ReadPlan) -> bool:
    return plan.weighs == "gradient" and _on_a_line(plan, Squared)


def _squares_serve(plan: ReadPlan) -> bool:
    return plan.weighs == "value" and _on_a_line(plan, Squared)


def _distances_serve(plan: ReadPlan) -> bool:
    """Tell whether distances are measured in the l2 norm, over points between planes.

    On a line their sum is a rank, and is walked along.
    """
    loss, shape = plan.problem.loss, plan.problem.norm.shape
    return (
        loss.model == "distance"
        and (plan.weighs == "value" or (loss.dim > 1 and shape == RoundShape()))
        and isinstance(plan.domain, Walled)
    )


def _planes_serve(plan: ReadPlan) -> bool:
    """Tell whether quantile planes are measured in a sup norm, over points between planes."""
    loss, shape = plan.problem.loss, plan.problem.norm.shape
    return (
        loss.model == "linear"
        and isinstance(loss.pointwise, Pinball)
        and loss.pointwise.tau.denominator <= _DIGITS
        and (plan.weighs == "value" or isinstance(shape, InterceptShape) or shape == BoxShape())
        and isinstance(plan.domain, Walled)
    )


def _huber_serves(plan: ReadPlan) -> bool:
    """Tell whether Huber planes, in units of their threshold, are measured in the sup norm."""
    loss = plan.problem.loss
    return (
        loss.model == "linear"
        and isinstance(loss.pointwise, Huber)
        and loss.pointwise.threshold == loss.design.half_y
        and (plan.weighs == "value" or plan.problem.norm.shape == BoxShape())
        and isinstance(plan.domain, Walled)
    )


def minimisable(pointwise: Pointwise, proportion: Fraction | None, design: Design) -> bool:
    """Tell whether a minimiser can be decided, by quadratic pieces or the true gradient."""
    pieces = clipped_of(pointwise) is not None and pointwise.scale == design.half_y
    return proportion is not None or pieces or encloses(pointwise, design)


def _read_tilts(source: Source, plans: Sequence[ReadPlan]) -> list[TiltedField]:
    """Read every record: the value of the loss needs them all."""
    loss, relation = plans[0].problem.loss, relation_of(plans[0].problem.unit)
    everywhere = Wanted(Fraction(1, 2), EVERYWHERE)
    ranks = read_ranks(source, relation, 0, loss.encoding.last[0], [everywhere])[0]
    return [
        TiltedField(plan.problem.loss.pointwise.tau, ranks, plan.grid.step[0]) for plan in plans
    ]


def _read_sums(source: Source, plans: Sequence[ReadPlan]) -> list[DistanceField]:
    """Read the number of records and their sum."""
    found = source.reduce(Moments())
    return [DistanceField(found.n, found.sums[0], plan, plan.grid.step[0]) for plan in plans]


def _read_squares(source: Source, plans: Sequence[ReadPlan]) -> list[ParabolaField]:
    """Read the number of records, their sum and their sum of squares."""
    found = source.reduce(Moments())
    return [
        ParabolaField(found.n, found.sums[0], found.squares[0], plan.grid.step[0]) for plan in plans
    ]


def _read_distances(source: Source, plans: Sequence[ReadPlan]) -> list[Distances]:
    """Keep the records as they are."""
    rows = source.collect(Unchanged())
    return [
        Distances(rows, "gradient")
        if plan.weighs == "gradient"
        else Distances(rows, "value", plan.problem.loss.measure)
        for plan in plans
    ]


def _read_planes(source: Source, plans: Sequence[ReadPlan]) -> list[PlaneRecords]:
    """Keep the records as whole numbers around planes."""
    first = plans[0].problem.loss
    table = source.collect(PlaneRows(first.design, first.answers))
    rows, response = np.ascontiguousarray(table[:, :-1], np.float32), table[:, -1].copy()
    del table
    totals = (*(int(v) for v in rows.sum(axis=0, dtype=np.float64)), exact_sum(response))
    fields = []
    for plan in plans:
        loss, shape, step = plan.problem.loss, plan.problem.norm.shape, plan.grid.step[0]
        unit = Fraction(1, loss.pointwise.tau.denominator * PLANE_ENDS)
        fields.append(
            PlaneRecords(
                rows,
                response,
                loss.pointwise.tau,
                shape.slope if isinstance(shape, InterceptShape) else Fraction(1),
                unit * (step if plan.weighs == "value" else 1),
                plan.weighs,
                totals,
                # log2 of the shifts there are, in whole numbers of y
                max(0, int(loss.jitter * PLANE_ENDS / step).bit_length() - 1),
            )
        )
    return fields


def _read_huber(source: Source, plans: Sequence[ReadPlan]) -> list[HuberRecords]:
    """Keep the records as whole numbers around planes."""
    first = plans[0].problem.loss
    kernel = HuberRows(first.design, first.answers)
    table = source.collect(kernel)
    rows, response = np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()
    del table
    bend = float(kernel.threshold)
    return [
        HuberRecords(rows, response, bend, plan.weighs, float(kernel.steps(plan.domain)))
        for plan in plans
    ]


ACCELERATORS = (
    Accelerator("ranks on a line", _ranks_serve, read_ranked),
    Accelerator("running sums on a line", _tilts_serve, _read_tilts),
    Accelerator("sums on a line", _sums_serve, _read_sums),
    Accelerator("squares on a line", _squares_serve, _read_squares),
    Accelerator("l2 distances", _distances_serve, _read_distances),
    Accelerator("quantile planes", _planes_serve, _read_planes),
    Accelerator("Huber planes", _huber_serves, _read_huber),
)


def load_plane_covers() -> None:
    """Load the compiled covers of quantile planes; imported late, because Numba is slow to."""
    from kng.losses.enclosures.plane_cover import load_planes

    load_planes()


def load_smooth_covers() -> None:
    """Load the compiled covers of smooth losses."""
    from kng.losses.enclosures.smooth_cover import load_smooth

    load_smooth()


def load_cells() -> None:
    """Load the sums over cells of records, and their compiled expansion."""
    from kng.core.compiled import load
    from kng.losses.enclosures.cell_tree import expand
    from kng.losses.enclosures.record_tree import order_groups
    from kng.losses.kernels.cell_sums import add, combine

    load(add, combine, order_groups, expand)


def load_unit_vectors() -> None:
    """Load the compiled expansion of distances."""
    from kng.core.compiled import load
    from kng.losses.enclosures.unit_vectors import expand_units, unit

    load(unit, expand_units)
