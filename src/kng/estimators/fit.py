"""What is drawn for a linear model: a plan, the stages before it, and what else is released."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from kng.core.lattice import Lattice
from kng.core.parts import Point
from kng.core.perturbed import AdaptivePlan, PerturbedPlan
from kng.core.plan import DensityPlan
from kng.corridor import Stage


@dataclass(frozen=True, slots=True)
class Also:
    """What is released beside the coefficients, and how it is read off what was drawn."""

    names: tuple[str, ...]
    lattice: Lattice
    of: Callable[[Sequence[Point]], Point]


@dataclass(frozen=True, slots=True)
class Fit:
    """A plan for coefficients, and what belongs to it.

    ``threshold`` is where residuals are clipped, if that is public; if it is drawn, it is among
    what is released beside the coefficients.
    """

    plan: DensityPlan | PerturbedPlan | AdaptivePlan
    before: tuple[Stage, ...] = ()
    also: Also | None = None
    threshold: Fraction | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
