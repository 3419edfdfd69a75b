"""The stages of a fit whose threshold is private: a centre of y, its spread, then the fit.

A share of epsilon buys the centre and the spread (`kng.core.scale`), the rest the fit
(`kng.mechanisms.scaled`). How epsilon is split, which quantile measures the spread and whether it
is measured at all are decided from public facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from kng.bases import Uniform
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.encoding import DROP, Encoding, encoding_of
from kng.core.lattice import Lattice
from kng.core.parts import Domain, Loss, Norm, Point
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.regions import Theta
from kng.core.scale import SCALE_STEPS, RadiusGrid, Scale, ScaleRule
from kng.corridor import Stage, certified
from kng.domains import Box, Whole
from kng.estimators.fit import Also, Fit
from kng.estimators.planned import planned
from kng.estimators.public_facts import Opening, on_effects
from kng.losses.linear import Linear
from kng.losses.location import Location
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.pinball import Pinball
from kng.losses.radius import radius_loss
from kng.mechanisms import KNG, ScaledPerturbation
from kng.mechanisms.scaled import Threshold, Unclipped
from kng.norms import LInf
from kng.samplers.registry import Plan

# Steps of y between its bounds: the least threshold has 2**11 of them, and two parts of 16 bits
# hold a response.
SCALED_RESPONSE_STEPS = 2**32
# Every theta, none of them likelier than others.
_EVERYTHING = Whole(base=Uniform())
# Below so many records times epsilon a private centre is worse than the middle of the bounds.
_FEW = 200
# The share for the scale is what so many records times epsilon pay for, within these.
_LEAST, _MOST = Fraction(1, 10), Fraction(1, 2)
# Of that share a third is for the centre: its quantile has the most records on either side.
_CENTRE = Fraction(1, 3)
# Quantiles of |y - centre|, each with one over the normal distribution's own in 64ths.
LEVELS = {
    Fraction(1, 2): Fraction(95, 64),
    Fraction(3, 4): Fraction(56, 64),
    Fraction(7, 8): Fraction(42, 64),
    Fraction(15, 16): Fraction(34, 64),
    Fraction(31, 32): Fraction(30, 64),
}
# Records beyond the quantile, times its epsilon: exp(-8) for each radius that is too large.
_BEYOND = 24
# Where the number of records is private.
_PRIVATE_COUNT = Fraction(7, 8)
# Thresholds are whole numbers of these parts of a step of y: 64ths of 64ths.
_PARTS = 64**2


@dataclass(frozen=True, slots=True)
class Measured:
    """The stages that draw a scale of y, what they spend, and how the scale is read off them.

    ``zero`` is where y is measured from, unless its median is drawn.
    """

    before: tuple[Stage, ...]
    spent: Fraction
    scale: Callable[[Sequence[Point]], Scale]
    records: Encoding
    grid: RadiusGrid
    zero: int | None
    facts: dict[str, str]

    def also(self, name: str, of: Callable[[Scale], Fraction]) -> Also:
        """Release a multiple of the scale, and the centre if there is one, in the units of y."""
        step = self.records.step[0] / _PARTS
        lattice = Lattice((Fraction(0),), (step,), (_PARTS * self.grid.last,))

        def size(drawn: Sequence[Point]) -> int:
            return int(of(self.scale(drawn)) / step)

        if self.zero is not None:
            return Also((name,), lattice, lambda drawn: (size(drawn),))
        both = lattice.beside(self.records.lattice)
        return Also((name, "median of y"), both, lambda drawn: (size(drawn), drawn[0][0]))


@dataclass(frozen=True, slots=True)
class ScaledFit:
    """What a fit with a private threshold is made from; all of it public but the source.

    ``rule`` is the threshold for an epsilon, once it is known what is left for the fit; ``levels``
    are the quantiles that may measure the spread.
    """

    problem: Problem
    design: Design
    bounds: tuple[Fraction, Fraction]
    epsilon: Fraction
    rule: Callable[[Fraction], Threshold]
    levels: tuple[Fraction, ...]
    centre: Theta | None
    sampler: str
    share: Fraction | None = None

    def stages(self, opening: Opening) -> Fit:
        """Return the fit with its stages; ``opening`` opens the response alone."""
        found = self.measured(opening)
        if found is None:
            return self._unscaled()
        threshold = self.rule(self.epsilon - found.spent)
        mechanism = ScaledPerturbation(threshold, found.scale, self.centre, self.share)
        plan = certified(mechanism.plan(self.problem, self.epsilon - found.spent), self.sampler)
        also = found.also("threshold", lambda scale: threshold(scale)[0])
        return Fit(plan, found.before, also, None, found.facts)

    def measured(self, opening: Opening) -> Measured | None:
        """Return the stages that draw a scale of y; None where records are too few for one."""
        if self._few():
            return None
        share = self._share()
        spent = share * self.epsilon
        records = self._records()
        source, level = opening(records), self._level(spent)
        zero = None if self.design.intercept else round(-records.bounds.low[0] / records.step[0])
        last = records.last[0] if zero is None else max(abs(zero), abs(records.last[0] - zero))
        grid = RadiusGrid(last)
        plans = self._draws(records, grid, level, zero, spent)
        rule = ScaleRule(records, grid, LEVELS[level])

        def scale(drawn: Sequence[Point]) -> Scale:
            return rule(drawn[0][0] if zero is None else zero, drawn[len(plans) - 1][0])

        before = tuple(Stage([each], source) for each in plans)
        return Measured(
            before, spent, scale, records, grid, zero, self._described(share, level, zero)
        )

    @property
    def _unit(self) -> PrivacyUnit:
        return self.problem.unit

    @property
    def _worth(self) -> Fraction | None:
        """Number of records times epsilon for one of them, where it is public."""
        neighbours = self._unit.neighbours
        if not isinstance(neighbours, ReplaceOne):
            return None
        return neighbours.n * self.epsilon / self._unit.rows

    def _few(self) -> bool:
        return self._worth is not None and self._worth < _FEW

    def _unscaled(self) -> Fit:
        low, high = self.bounds
        middle = (low + high) / 2 if self.design.intercept else Fraction(0)
        farthest = max(high - middle, middle - low)
        mechanism = ScaledPerturbation(
            Unclipped(),
            lambda _: Scale(middle, farthest / 3, farthest, heaped=False),
            self.centre,
            self.share,
        )
        plan = certified(mechanism.plan(self.problem, self.epsilon), self.sampler).after([])
        facts = {
            "threshold": "the range of y: records times epsilon are below 200, too few to draw one"
        }
        return Fit(plan, (), None, farthest, facts)

    def _share(self) -> Fraction:
        """Return the share of epsilon for the scale, in whole percents."""
        if self._worth is None:
            return _LEAST
        return min(max(Fraction(ceil(100 * _FEW / self._worth), 100), _LEAST), _MOST)

    def _level(self, spent: Fraction) -> Fraction:
        """Return the quantile of |y - centre| that measures the spread."""
        neighbours = self._unit.neighbours
        if not isinstance(neighbours, ReplaceOne):
            return _PRIVATE_COUNT
        worth = neighbours.n * spent / self._unit.rows
        held = [level for level in self.levels if (1 - level) * worth >= _BEYOND]
        return max(held, default=min(self.levels))

    def _records(self) -> Encoding:
        low, high = self.bounds
        step = (high - low) / SCALE_STEPS
        # As in the fit: a missing response is absent, or counts as a public number.
        whole, known = self.design.records.missing[-1], self.design.records
        if whole is None:
            missing: Fraction | str = DROP
        else:
            value = known.bounds.low[-1] + whole * known.step[-1]
            missing = min(max(value, low), high)
        return encoding_of(Bounds((low,), (high,)), granularity=step, missing=missing, bits=0)

    def _draws(
        self,
        records: Encoding,
        grid: RadiusGrid,
        level: Fraction,
        zero: int | None,
        spent: Fraction,
    ) -> list[Plan]:
        """Return the plans for the centre, unless it is 0, and for the radius."""
        line = records.lattice
        radii = Lattice((Fraction(0),), (Fraction(1),), (len(grid.radii) - 1,))
        spread = radius_loss(Pinball(level), grid, zero), LInf(), Box.of(radii)

        def drawn(parts: tuple[Loss, Norm, Domain], answers: Lattice, share: Fraction) -> Plan:
            problem = Problem(*parts, records, answers, self._unit)
            return planned(KNG(), problem, share, "auto")

        if zero is not None:
            return [drawn(spread, radii, spent)]
        middle = Location(Pinball(Fraction(1, 2))).over(records), LInf(), Box.of(line)
        centre = _CENTRE * spent
        return [drawn(middle, line, centre), drawn(spread, radii, spent - centre)]

    def _described(self, share: Fraction, level: Fraction, zero: int | None) -> dict[str, str]:
        what = "the median of y and " if zero is None else ""
        about = "it" if zero is None else "0"
        return {
            "epsilon split": f"{float(share):.0%} for {what}the {float(level):g} quantile of the "
            f"distance of y from {about}, {float(1 - share):.0%} for the fit",
        }


def scaled_problem(design: Design, norm: Norm, domain: Domain | None, unit: PrivacyUnit) -> Problem:
    """Return the problem in half ranges of y, on a domain of effects if there is one."""
    loss = Linear(Huber(design.half_y), intercept=design.intercept)
    over, known, answers = on_effects(loss, design, domain or _EVERYTHING, "smooth")
    return Problem(over, norm, known, design.records, answers, unit)
