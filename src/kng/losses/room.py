"""Whether all records may be brought home: decided from public numbers, before the charge.

How many of them a search has to look at depends on the records, so memory is planned for all. What
does not fit is read where it is (`fields.cell_field`) or refused, whatever the records are. Where
nobody has stated a number of records they are brought home.
"""

from __future__ import annotations

from typing import Any

from kng.core.design import Design
from kng.core.errors import SpecError
from kng.core.naming import argument, in_python, outside_python
from kng.core.privacy import PrivacyUnit
from kng.losses.kernels.residual_cells import MOST_COVARIATES
from kng.losses.pointwise.function import Pointwise
from kng.losses.pointwise.ramps import RAMPS
from kng.losses.reading import ReadProblem

# Bytes that a record and each of its numbers take where covers of boxes search among them: rows,
# residuals, an order, and lists of what is open, with the copies that sorting makes.
_RECORD, _NUMBER = 32, 16
# Times the numbers of a record, where no compiled cover keeps them in half the size.
GENERIC = 2
_GIGABYTE = 2**30
_FOUR = 4
# What serves linear models instead.
_LINEAR = "use objective perturbation or, with up to two covariates, a smoothed or Huber's loss"


def needed(unit: PrivacyUnit, numbers: int) -> int:
    """Return the bytes that records of so many numbers take at home; 0 if nobody said how many."""
    return (unit.neighbours.stated or 0) * (_RECORD + _NUMBER * numbers)


def fits(unit: PrivacyUnit, numbers: int, memory: int) -> bool:
    """Tell whether all records may be brought home."""
    return needed(unit, numbers) <= memory


def held(unit: PrivacyUnit, numbers: int, memory: int) -> bool:
    """Tell whether all records may be held, each number in four bytes and the response in eight.

    A quarter of the memory is for them.
    """
    return (unit.neighbours.stated or 0) * _FOUR * (numbers + 1) <= memory // _FOUR


def refuse_large(problem: ReadProblem, numbers: int, instead: str = _LINEAR) -> None:
    """Refuse records that do not fit and that no pass can replace."""
    unit, memory = problem.unit, problem.memory
    if fits(unit, numbers, memory):
        return
    wanted = -(-needed(unit, numbers) // _GIGABYTE)
    more = argument("memory_limit", f"{wanted}GB")
    raise SpecError(
        f"{unit.neighbours.stated:,} records are looked at together here and may take {wanted} GB, "
        f"more than {argument('memory_limit')}, which is {memory / _GIGABYTE:.3g} GB. Give "
        f"{in_python(f'kng.Table(data, {more})')}{outside_python(more)}, or {instead}."
    )


def streams(pointwise: Pointwise, design: Design) -> bool:
    """Tell whether cells say enough: psi is a ramp, and covariates are few."""
    covariates = design.dim - int(design.intercept)
    return isinstance(pointwise, RAMPS) and covariates <= MOST_COVARIATES


def stays(plan: Any) -> bool:
    """Tell whether the records of a linear model stay where they are.

    They do not fit, it is the gradient that is weighed over a lattice, and cells say enough.
    """
    problem: ReadProblem = plan.problem
    loss = problem.loss
    return (
        not fits(problem.unit, loss.dim, problem.memory)
        and plan.weighs == "gradient"
        and problem.domain.bounded
        and loss.answers is not None
        and streams(loss.pointwise, loss.design)
    )
