"""From a problem to a certified plan: the one way, for estimators and mechanisms put together."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from kng.core.parts import Standing
from kng.core.problem import Problem
from kng.corridor import certified
from kng.samplers.registry import Plan

P_co = TypeVar("P_co", bound=Plan, covariant=True)


class Weighing(Protocol[P_co]):
    """How theta is weighed: one of `kng.mechanisms`."""

    def __hash__(self) -> int:
        """Return the hash, which equal weighings share."""
        ...

    def plan(self, problem: Problem, epsilon: Fraction) -> P_co:
        """Fix the law before the charge."""
        ...


def planned(weigh: Weighing[P_co], problem: Problem, epsilon: Fraction, sampler: str) -> P_co:
    """Plan and certify; the same public facts have the same plan, made once.

    Parts of the caller's are planned each time: two of them may be equal and not the same.
    """
    if problem.standing is not Standing.PROVED or not isinstance(sampler, str):
        return certified(weigh.plan(problem, epsilon), sampler)
    plan: P_co = _remembered(weigh, problem, epsilon, sampler)
    return plan


@lru_cache(maxsize=64)
def _remembered(weigh: Weighing[Any], problem: Problem, epsilon: Fraction, sampler: str) -> Any:
    return certified(weigh.plan(problem, epsilon), sampler)
