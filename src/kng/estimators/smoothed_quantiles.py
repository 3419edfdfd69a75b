"""The stages of quantile planes by objective perturbation: a scale of y, then fits for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kng.bases import Uniform
from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import positive, show
from kng.core.lattice import AffineMap, Lattice
from kng.core.naming import argument, in_python
from kng.core.parts import Norm, Point
from kng.core.perturbed import AdaptivePlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.core.records import Source
from kng.core.scale import Scale
from kng.corridor import Stage, certified
from kng.domains import Whole
from kng.estimators.fit import Also
from kng.estimators.part_options import norm_for
from kng.estimators.public_facts import Opening, on_effects
from kng.estimators.request import Way
from kng.estimators.residual_stages import ResidualStages, part_for
from kng.estimators.scale_stages import LEVELS, ScaledFit
from kng.estimators.several_quantiles import Quantiles
from kng.losses.linear import Linear
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.residuals import LAST, STEPS
from kng.mechanisms.objective import Perturbation
from kng.mechanisms.scaled import Bent
from kng.mechanisms.smoothed import NARROW, WIDE, Prediction, Refinement, SmoothedPerturbation

# Bandwidths between these parts of half the range of y can be told apart on its steps.
_LEAST, _MOST = Fraction(1, 2**16), Fraction(2**4)
# The outermost quantile of |y - centre| that a scale looks at.
_WIDEST = Fraction(7, 8)
# Up to so many coefficients boxes are a way to draw.
_MOST_BOXES = 5
_SOLVING = ("auto", "perturbed")
# The sampler that draws a smoothed loss.
PUSHING = "push-forward"
_EVERYTHING = Whole(base=Uniform())
# Parts of a quantile's epsilon, but for what residuals cost: of two fits, and of three.
_TWO = (Fraction(1, 4), Fraction(3, 4))
_THREE = (Fraction(3, 20), Fraction(1, 5), Fraction(13, 20))
# Records times epsilon for each coefficient, from which on a fit between the two pays. Measured:
# docs/quantile-regression.md.
_MANY = 2000
# Bandwidths are whole numbers of these parts of a step of the residuals: 64ths of 64ths.
_PARTS = 64**2


@dataclass(frozen=True, slots=True)
class SmoothedFit:
    """Stages, the answer's lattice and units, and what a receipt says; all of it public."""

    stages: list[Stage]
    lattice: Lattice
    units: AffineMap
    also: Also | None
    facts: dict[str, str]
    bandwidths: tuple[Fraction, ...]  # in units of y or of the scale that is drawn; or none
    planes: tuple[int, ...]  # which of the drawn points are answers

    def finish(self, drawn: Sequence[Point]) -> Point:
        """Return the last planes, quantile by quantile, and what is released beside them."""
        rest = () if self.also is None else self.also.of(drawn)
        return tuple(k for at in self.planes for k in drawn[at]) + rest


@dataclass(frozen=True, slots=True)
class SmoothedRequest:
    """What a smoothed fit is made from."""

    design: Design
    unit: PrivacyUnit
    bounds: tuple[Fraction, Fraction]
    asked: Quantiles
    way: Way
    bandwidth: Fraction | None

    def fit(self, source: Source, response: Opening) -> SmoothedFit:
        """Plan all stages; ``response`` opens the response alone."""
        epsilon = sum(self.asked.parts, Fraction(0))
        problems = [self._problem(tau) for tau in self.asked.taus]
        levels = tuple(level for level in LEVELS if level <= _WIDEST)
        scaled = ScaledFit(
            problems[0], self.design, self.bounds, epsilon, lambda _: Bent(), levels, None, "auto"
        )
        measured = scaled.measured(response) if self.bandwidth is None else None
        left = Fraction(1) if measured is None else 1 - measured.spent / epsilon
        parts = [left * part for part in self.asked.parts]
        costs = self._residual_parts(parts) if measured is not None else None
        read = self._plain if measured is None else measured.scale
        fits = _Fits([] if measured is None else list(measured.before), source, self.way.sampler)
        for i, (tau, problem) in enumerate(zip(self.asked.taus, problems, strict=True)):
            perturbed = SmoothedPerturbation(problem, tau, read, self.bandwidth, self.way.share)
            if costs is None:
                self._twice(fits, perturbed, parts[i])
            else:
                self._refined(fits, perturbed, parts[i], costs[i])
        m = len(problems)
        each = perturbed.lattice
        lattice, units = Lattice(each.origin * m, each.step * m, each.last * m), self.design.units
        units = units.repeated(m)
        also = None if measured is None else measured.also("scale of y", lambda scale: scale.size)
        if also is not None and costs is not None:
            also = self._with_bandwidths(also, fits.bandwidths)
        if also is not None:
            lattice, units = lattice.beside(also.lattice), units.ignoring(len(also.names))
        widths = tuple(self.bandwidth or width for width in fits.multiples)
        if measured is None and self.bandwidth is None:
            widths = tuple(width * self._plain(()).size for width in widths)
        facts = self._described(widths, measured is not None, left, costs)
        return SmoothedFit(fits.stages, lattice, units, also, facts, widths, tuple(fits.planes))

    def _residual_parts(self, parts: Sequence[Fraction]) -> list[Fraction] | None:
        """Return the part of each quantile's epsilon for residuals; None where records are few."""
        neighbours, k = self.unit.neighbours, self.unit.rows
        found = [
            part_for(tau, neighbours.n * part / k if isinstance(neighbours, ReplaceOne) else None)
            for tau, part in zip(self.asked.taus, parts, strict=True)
        ]
        costs = [cost for cost in found if cost is not None]
        return costs if len(costs) == len(found) else None

    def _twice(self, fits: _Fits, perturbed: SmoothedPerturbation, epsilon: Fraction) -> None:
        """Fit at a wide bandwidth, then at a narrow one, both multiples of the scale of y."""
        wide, first = perturbed.wide(_TWO[0] * epsilon)
        at = fits.add(wide)
        narrow, second = perturbed.narrow(_TWO[1] * epsilon, first.error, at)
        fits.planes.append(fits.add(narrow))
        fits.multiples.append(second.bandwidth)

    def _refined(
        self, fits: _Fits, perturbed: SmoothedPerturbation, epsilon: Fraction, cost: Fraction
    ) -> None:
        """Fit at a wide bandwidth, then once or twice at one that residuals decide."""
        three = self._many(epsilon)
        shares, rest = _THREE if three else _TWO, 1 - (len(_THREE if three else _TWO) - 1) * cost
        facts = Perturbation.of(perturbed.problem)
        wide, tuning = perturbed.wide(shares[0] * rest * epsilon)
        at, scale = fits.add(wide), perturbed.scale

        def off(drawn: Sequence[Point]) -> Fraction:
            return Fraction(tuning.slopes) * scale(drawn).size

        for i, share in enumerate(shares[1:]):
            residuals = ResidualStages(perturbed.tau, self.design, perturbed.lattice, self.unit, at)
            fits.stages += residuals.stages(fits.source, cost * epsilon)
            last = i == len(shares) - 2
            step = Refinement(
                Prediction(facts, self.unit, share * rest * epsilon, perturbed.tau, 1.0),
                residuals.scale,
                off,
                NARROW if last else [WIDE],
            )
            at, off = fits.add(perturbed.refined(step)), step.slopes
        fits.planes.append(at)
        fits.bandwidths.append(step.bandwidth)

    def _many(self, epsilon: Fraction) -> bool:
        """Tell from public facts whether a fit between the wide and the narrow one pays."""
        neighbours, k = self.unit.neighbours, self.unit.rows
        if not isinstance(neighbours, ReplaceOne):
            return False
        return neighbours.n * epsilon >= _MANY * k * self.design.dim

    def _with_bandwidths(
        self, also: Also, bandwidths: Sequence[Callable[[Sequence[Point]], Fraction]]
    ) -> Also:
        """Release the bandwidths, too."""
        step, m = self.design.half_y / (STEPS * _PARTS), len(bandwidths)
        ends = Lattice((Fraction(0),) * m, (step,) * m, (4 * _PARTS * LAST,) * m)
        names = [f"bandwidth at {show(tau)}" for tau in self.asked.taus]

        def of(drawn: Sequence[Point]) -> Point:
            return (*(int(width(drawn) / step) for width in bandwidths), *also.of(drawn))

        named = tuple(names) if self.asked.several else ("bandwidth",)
        return Also((*named, *also.names), ends.beside(also.lattice), of)

    def _problem(self, tau: Fraction) -> Problem:
        """Return the problem of one quantile, in half ranges of y."""
        design = self.design
        linear = Linear(SmoothedPinball(tau, design.half_y), intercept=design.intercept)
        loss, domain, answers = on_effects(linear, design, self.way.domain or _EVERYTHING, "smooth")
        norm: Norm = norm_for(self.way.norm, loss, self.unit, bounded=True)
        return Problem(loss, norm, domain, design.records, answers, self.unit)

    def _plain(self, drawn: Sequence[Point]) -> Scale:  # noqa: ARG002
        """Return the scale where none is drawn: from the bounds of y."""
        low, high = self.bounds
        middle = (low + high) / 2 if self.design.intercept else Fraction(0)
        farthest = max(high - middle, middle - low)
        return Scale(middle, farthest / 3, farthest, heaped=False)

    def _described(
        self,
        widths: Sequence[Fraction],
        drawn: bool,
        left: Fraction,
        costs: Sequence[Fraction] | None,
    ) -> dict[str, str]:
        """Return what a receipt says of the bandwidth, and of what each stage may spend."""
        split = [] if left == 1 else [f"{float(1 - left):.0%} for the scale of y"]
        if costs is None:
            shown = [f"{float(width):.4g}" for width in widths]
            several = shown[0] if len(set(shown)) == 1 else ", ".join(shown)
            upto = f"{several}{' times the scale of y' if drawn else ''}"
            wide, rest = left * _TWO[0], left * _TWO[1]
        else:
            upto = "the bandwidth, a multiple of the scale of the residuals"
            fits = [_THREE if self._many(left * part) else _TWO for part in self.asked.parts]
            weights = [part / sum(self.asked.parts) for part in self.asked.parts]
            each = list(zip(weights, costs, fits, strict=True))
            looked = sum((w * c * (len(f) - 1) for w, c, f in each), Fraction(0))
            wide = left * sum(
                (w * (1 - c * (len(f) - 1)) * sum(f[:-1]) for w, c, f in each), Fraction(0)
            )
            split.append(f"{float(left * looked):.0%} for residuals")
            rest = left * (1 - looked) - wide
        split += [f"{float(wide):.0%} for wide fits", f"{float(rest):.0%} for the fits"]
        return {
            "smoothing": f"check loss averaged over shifts of y of up to {upto}",
            "epsilon split": ", ".join(split),
        }


class _Fits:
    """Stages as they are planned, one drawn point each, and where planes are among them."""

    def __init__(self, stages: list[Stage], source: Source, sampler: str) -> None:
        self.stages, self.source, self._sampler = stages, source, sampler
        self.planes: list[int] = []
        self.multiples: list[Fraction] = []
        self.bandwidths: list[Callable[[Sequence[Point]], Fraction]] = []

    def add(self, plan: AdaptivePlan) -> int:
        """Add a fit; return where its plane is drawn."""
        self.stages.append(Stage([certified(plan, self._sampler)], self.source))
        return len(self.stages) - 1


def is_smoothed(way: Way, smoothing: Any, dim: int, coef_bound: Any) -> bool:
    """Tell from public facts whether a smoothed loss is minimised, or planes are drawn."""
    if way.sampler == PUSHING and way.name in ("auto", "kng"):
        return False
    if smoothing is not None and way.name in ("kng", "exponential"):
        raise IncompatibleParts(
            f"{argument('mechanism', way.name)} draws planes of the check loss itself, without "
            f"smoothing. Leave one of them out, or use {argument('sampler', PUSHING)}, which draws "
            "KNG of a smoothed one."
        )
    if way.name != "auto":
        return way.name == "objective"
    # What speaks of a box of coefficients, or of a chain, asks for a draw.
    drawn = coef_bound is not None or way.base is not None or way.sampler not in _SOLVING
    return smoothing is not None or (dim > _MOST_BOXES and not drawn)


def drawn_bandwidth(way: Way, smoothing: Any) -> Fraction | None:
    """Return the bandwidth of planes that are drawn; None where the check loss has none."""
    if way.sampler != PUSHING:
        return None
    if way.name == "exponential" or smoothing is None or isinstance(smoothing, str):
        raise IncompatibleParts(
            f"{argument('sampler', PUSHING)} draws KNG of a smoothed check loss, whose bandwidth "
            f"must be public; give it in units of y, as in {argument('smoothing', 5)}, with "
            f"{argument('mechanism', 'kng')}."
        )
    return positive(smoothing, "smoothing")


def bandwidth_of(smoothing: Any, design: Design) -> Fraction | None:
    """Read ``smoothing``: a number in units of y, or None for "auto"."""
    if smoothing is None or (isinstance(smoothing, str) and smoothing == "auto"):
        return None
    width = positive(smoothing, "smoothing")
    refuse_bandwidth(width, design)
    return width


def refuse_bandwidth(width: Fraction, design: Design) -> None:
    """Refuse bandwidths that the steps of y cannot tell from none, or from its whole range."""
    if not _LEAST <= width / design.half_y <= _MOST:
        raise SpecError(
            f"{argument('smoothing')} must lie between 1/65536 and 16 times {show(design.half_y)}, "
            f"the unit of the response; got {show(width)}. {argument('smoothing', 'auto')} finds "
            "one."
        )


def refuse_unsmoothed(way: Way, coef_bound: Any, noncrossing: str) -> None:
    """Refuse options that speak of a density, which objective perturbation has none of."""
    way.refuse_base()
    if way.centre is not None:
        raise IncompatibleParts(
            "A smoothed fit has its ridge around a plane that it draws first; it takes no centre."
        )
    if noncrossing == "planes":
        raise IncompatibleParts(
            f"{argument('noncrossing', 'planes')} is for planes that are drawn from a box. "
            "Smoothed planes are minimised by themselves; use "
            f"{argument('noncrossing', 'predictions')}."
        )
    if coef_bound is not None:
        raise IncompatibleParts(
            f"{argument('coef_bound')} bounds every coefficient by itself, and smoothing minimises "
            "over all of them or over a ball. Leave it "
            f"out{in_python(', or give domain=kng.domains.L1Ball(...)')}."
        )
    if way.sampler not in _SOLVING:
        raise IncompatibleParts(
            f"{argument('sampler', way.sampler)} does not serve objective perturbation, which is "
            f"noise and a solve. Leave {argument('sampler')} at 'auto', or use "
            f"{argument('mechanism', 'kng')} without smoothing."
        )
