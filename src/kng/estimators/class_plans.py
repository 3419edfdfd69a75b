"""How coefficients of classes are drawn: one plan for each class that is fitted.

"auto" takes the mechanism with the smaller predicted error, from public facts: the number of
records, epsilon, the rate that each mechanism has at effects of several sizes, and the ridge of
objective perturbation, which draws strong effects to 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from kng.bases import Uniform
from kng.core.delta import delta
from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import show
from kng.core.lazy_noise import noise_size
from kng.core.naming import argument
from kng.core.parts import Domain, Standing
from kng.core.perturbed import PerturbedPlan
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import USUAL_MEMORY
from kng.core.regions import Region
from kng.domains import Box, L1Ball, Whole
from kng.estimators.odds_prediction import SIZES, Array, OddsPrediction
from kng.estimators.part_options import norm_for
from kng.estimators.planned import planned
from kng.estimators.public_facts import Kind, centre_of, on_effects, resolved
from kng.estimators.request import Way
from kng.losses.linear import Linear
from kng.losses.linear_encoding import LEAST_BOUND, MOST
from kng.losses.pointwise.odds import Odds
from kng.losses.room import GENERIC, fits
from kng.mechanisms import KNG, ObjectivePerturbation

# Log-odds that an effect may be worth where KNG draws it from a box, unless coef_bound says.
REACH = Fraction(16)
# Coefficients that boxes draw in seconds, and up to which "auto" compares.
_DRAWN, _COMPARED = 4, 3
# Samplers that draw from a density, hence from KNG's.
_OF_DENSITIES = ("branch-and-bound", "push-forward", "hit-and-run")
_FURTHER = ("push-forward", "hit-and-run")
# How much closer KNG has to be, and up to which squared error its density is one of a peak.
_CLOSER, _NEAR = 0.9, 0.25
_EVERYTHING = Whole(base=Uniform())


@dataclass(frozen=True)
class ClassPlans:
    """The public facts of a fit to ``classes`` classes, of which ``fitted`` have coefficients."""

    way: Way
    design: Design
    unit: PrivacyUnit
    coef_bound: Fraction | None
    fitted: Sequence[int]
    classes: int
    box: Callable[[], Domain]  # where KNG looks for effects; refuses some bounds
    memory: int = USUAL_MEMORY

    def plans(self, epsilon: Fraction) -> list[DensityPlan | PerturbedPlan]:
        """Plan one draw for each class, with an equal share of epsilon."""
        way, share = self.way, epsilon / len(self.fitted)
        if len(self.fitted) > 1 and way.centre is not None:
            raise SpecError(
                f"{argument('centre')} is for two classes; with more each has coefficients of its "
                "own."
            )
        if self.mechanism(share) == "objective":
            way.refuse_base()
            resolved(epsilon, self.coef_bound, self.design)
            problems = [self._problem(position, "smooth") for position in self.fitted]
            return [planned(self._perturbed, each, share, way.sampler) for each in problems]
        way.refuse_centre()
        self._refuse_many()
        problems = [self._problem(position, "gradient") for position in self.fitted]
        return [planned(KNG(), each, share, way.sampler) for each in problems]

    def mechanism(self, share: Fraction) -> str:
        """Return the mechanism that is named, or predicted to be closer to the truth."""
        way, d, neighbours = self.way, self.design.dim, self.unit.neighbours
        if way.name != "auto":
            return way.name
        if way.sampler in _OF_DENSITIES:
            return "kng"
        stated = way.sampler != "auto" or way.centre is not None or way.base is not None
        small = d <= _COMPARED and LEAST_BOUND <= (self.coef_bound or REACH) <= MOST
        # Whether there are records enough for KNG is not known where their number is private.
        if stated or not small or not isinstance(neighbours, ReplaceOne):
            return "objective"
        if not fits(self.unit, GENERIC * d, self.memory):  # passes serve one, and not the other
            return "objective"
        problem = self._problem(self.fitted[0], "smooth")
        most = float(self.coef_bound or REACH)
        closer = kng_is_closer(self._perturbed, problem, self.design, share, most)
        return "kng" if closer else "objective"

    @cached_property
    def _perturbed(self) -> ObjectivePerturbation:
        return ObjectivePerturbation(self.way.share, centre_of(self.way.centre, self.design))

    def _problem(self, position: int, kind: Kind) -> Problem:
        """Return the problem of one class."""
        design, bound = self.design, self.coef_bound
        if kind == "gradient":
            domain = self.box()
        else:
            domain = L1Ball(bound) if bound is not None else self.way.domain or _EVERYTHING
        linear = Linear(Odds(position, self.classes), intercept=design.intercept)
        loss, known, answers = on_effects(linear, design, domain, kind)
        norm = norm_for(self.way.norm, loss, self.unit, bounded=True)
        return Problem(loss, norm, known, design.records, answers, self.unit, self.memory)

    def _refuse_many(self) -> None:
        if self.design.dim > _DRAWN and self.way.sampler not in _FURTHER:
            raise IncompatibleParts(
                f"{argument('mechanism', 'kng')} draws up to {_DRAWN} coefficients exactly, the "
                f"intercept among them; these are {self.design.dim}. Use "
                f"{argument('mechanism', 'objective')}, or name a sampler that draws more, "
                f"{argument('sampler', 'push-forward')} or the Markov chain 'hit-and-run'."
            )


def kng_is_closer(
    weigh: ObjectivePerturbation, problem: Problem, design: Design, epsilon: Fraction, most: float
) -> bool:
    """Tell whether KNG is predicted to be closer to the truth than objective perturbation.

    Squared errors are added up for effects of several sizes, in units of those without privacy. KNG
    has to be closer by a tenth, with an error of at most half a log-odds for strong effects:
    farther away its density is flat, and a draw may lie anywhere in the box.
    """
    if problem.standing is Standing.PROVED:
        return _remembered(weigh, problem, design, epsilon, most)
    return _closer(weigh, problem, design, epsilon, most)


def _closer(
    weigh: ObjectivePerturbation, problem: Problem, design: Design, epsilon: Fraction, most: float
) -> bool:
    plan, neighbours = weigh.plan(problem, epsilon), problem.unit.neighbours
    assert isinstance(neighbours, ReplaceOne)
    each = noise_size(plan.problem.norm, design.dim) / design.dim
    totals = {"objective": 0.0, "kng": 0.0}
    for size in SIZES:
        guess = OddsPrediction(design, neighbours.n, min(size, most))
        smooth, own = guess.added(each / float(plan.rate) ** 2, float(plan.ridge))
        gradient, _ = guess.added(each / kng_rate(problem, guess.effects, epsilon) ** 2, 0.0)
        totals["objective"] += 1 + smooth / own
        totals["kng"] += 1 + gradient / own if gradient <= _NEAR else np.inf
    return totals["kng"] < _CLOSER * totals["objective"]


_remembered = lru_cache(maxsize=64)(_closer)


def kng_rate(problem: Problem, effects: Array, epsilon: Fraction) -> float:
    """Return epsilon / (2 Delta) at these effects, for the norm of the problem."""
    at = Region.at(tuple(Fraction(float(v)) for v in effects))
    body, unit = problem.loss.body(at), problem.unit
    return float(epsilon / (2 * unit.group(delta(problem.fitted(body).norm, body, unit))))


def effects_box(bound: Fraction) -> Box:
    """Return the box of effects up to a bound, or refuse it."""
    if not LEAST_BOUND <= bound <= MOST:
        raise SpecError(
            f"{argument('mechanism', 'kng')} needs a bound on log-odds of 1/256 to {MOST}, got "
            f"{show(bound)}. Give another {argument('coef_bound')}; 16 is the default."
        )
    return Box(-bound, bound)
