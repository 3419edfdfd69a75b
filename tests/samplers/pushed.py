"""Plans and fields for the push-forward, and their laws by quadrature in two coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import kng
from kng.core.parts import Field
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.regions import Region
from kng.corridor import certified
from kng.data import open_regression
from kng.estimators.part_options import norm_for
from kng.estimators.posed import Asked, posed
from kng.estimators.public_facts import Columns
from kng.losses import Linear
from kng.mechanisms import KNG
from kng.samplers.real.push_forward import Pushed

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Case:
    """A pointwise function with records, and what is asked of them."""

    function: Any
    n: int = 150
    epsilon: Any = 2
    domain: Any = None
    norm: Any = "auto"
    slopes: int = 1
    adding: bool = False
    seed: int = 3
    bounds_y: tuple[int, int] = (0, 1)

    def records(self) -> tuple[Array, Array]:
        """Return covariates, and labels or responses with heavy tails."""
        rng = np.random.default_rng(self.seed)
        X = rng.uniform(-1, 1, (self.n, self.slopes))
        eta = 0.3 + X @ np.linspace(1.2, -0.8, self.slopes)
        if self.bounds_y == (0, 1):
            return X, (rng.uniform(size=self.n) < 1 / (1 + np.exp(-eta))).astype(float)
        return X, eta / 3 + 0.3 * rng.standard_t(3, size=self.n)

    def plan(self, sampler: str = "push-forward") -> DensityPlan:
        """Return the certified plan."""
        domain = self.domain or kng.domains.Box(-3, 3)
        asked = Asked(None, (-1, 1), self.bounds_y, None, None)
        loss = Linear(self.function)
        setting = posed(loss, domain, "gradient", asked, Columns(self.slopes))
        unit = PrivacyUnit(AddRemove() if self.adding else ReplaceOne(self.n))
        norm = norm_for(self.norm, setting.loss, unit, bounded=True)
        problem = Problem(
            setting.loss, norm, setting.domain, setting.records, setting.answers, unit
        )
        plan = certified(KNG().plan(problem, Fraction(self.epsilon)), sampler)
        assert isinstance(plan, DensityPlan)
        return plan

    def read(self, plan: DensityPlan) -> Any:
        """Return the field of a plan."""
        return read(plan, *self.records())

    def pushed(self) -> Pushed:
        """Return the envelope."""
        plan = self.plan()
        return Pushed.of(plan, self.read(plan))


def read(plan: DensityPlan, X: Array, y: Array) -> Field:
    """Return the field of a plan over records."""
    [field] = plan.read(open_regression(X, y, plan.problem.records), [plan])
    return field


@dataclass(frozen=True)
class Quadrature:
    """The density at the middles of cells around the least exponent, in two coordinates."""

    low: Array
    side: Array
    density: Array  # (cells, cells); exp(-exponent), not normalised

    @property
    def log_mass(self) -> float:
        """Log of the integral."""
        return float(np.log(self.density.sum()) + np.log(self.side).sum())

    def law(self, blocks: int) -> dict[tuple[int, int], float]:
        """Return the probabilities of blocks of cells."""
        cells = self.density.shape[0] // blocks
        sums = self.density.reshape(blocks, cells, blocks, cells).sum(axis=(1, 3))
        return {(i, j): float(p) for (i, j), p in np.ndenumerate(sums / sums.sum())}

    def blocks(self, thetas: Array, blocks: int) -> list[tuple[int, int]]:
        """Return the block of each theta."""
        cells = self.density.shape[0] // blocks
        at = np.floor((thetas - self.low) / (self.side * cells)).astype(int)
        return [tuple(map(int, row)) for row in at]


def quadrature(pushed: Pushed, lengths: float, cells: int, rate: float = 1.0) -> Quadrature:
    """Weigh cells of a box around the centre, so many lengths of noise, cut to the domain's.

    It asks for gradients alone; ``rate`` times the stated one is a wrong law.
    """
    plan, field = pushed.plan, pushed.field
    domain = plan.problem.domain
    sides = [tuple(map(float, side)) for side in domain.region().sides()]
    spread = np.sqrt(np.diagonal(pushed.shells.inverse)) * pushed.shells.unit
    centre, ends = pushed.centre.theta, np.array(sides).T
    low = np.maximum(ends[0], centre - lengths * spread)
    high = np.minimum(ends[1], centre + lengths * spread)
    side = (high - low) / cells
    axes = [low[j] + (np.arange(cells) + 0.5) * side[j] for j in range(2)]
    thetas = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    sizes = plan.problem.norm.lengths(field.gradients(thetas))
    deltas, base, inside = np.ones(len(thetas)), np.zeros(len(thetas)), np.full(len(thetas), True)
    even, box = domain.base.even, isinstance(domain, kng.domains.Box)
    for i, row in enumerate([] if plan.steady and even and box else thetas.tolist()):
        theta = tuple(map(Fraction, row))
        inside[i] = domain.contains(theta)
        base[i] = 0.0 if even else float(domain.base.exponent(theta))
        deltas[i] = 1.0 if plan.steady else float(plan.delta.over(Region.at(theta)))
    if plan.steady is not None:
        deltas[:] = float(plan.steady)
    exponent = rate * float(plan.rate) * sizes / deltas + base
    density = np.where(inside, np.exp(-exponent), 0.0).reshape(cells, cells)
    return Quadrature(low, side, density)
