"""The stages of quantile planes by objective perturbation: a scale of y, then two fits for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kng.bases import Uniform
from kng.core.design import Design
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.exact import positive, show
from kng.core.lattice import AffineMap, Lattice
from kng.core.parts import Norm, Point
from kng.core.privacy import PrivacyUnit
from kng.core.problem import Problem
from kng.core.records import Source
from kng.core.scale import Scale
from kng.corridor import Stage, certified
from kng.domains import Whole
from kng.estimators.fit import Also
from kng.estimators.part_options import norm_for
from kng.estimators.public_facts import Opening, on_effects
from kng.estimators.request import Way
from kng.estimators.scale_stages import LEVELS, ScaledFit
from kng.estimators.several_quantiles import Quantiles
from kng.losses.linear import Linear
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.mechanisms.scaled import Bent
from kng.mechanisms.smoothed import SmoothedPerturbation

# Bandwidths between these parts of half the range of y can be told apart on its steps.
_LEAST, _MOST = Fraction(1, 2**16), Fraction(2**4)
# The outermost quantile of |y - centre| that a scale looks at.
_WIDEST = Fraction(7, 8)
# Up to so many coefficients boxes are a way to draw.
_MOST_BOXES = 5
_SOLVING = ("auto", "perturbed")
_EVERYTHING = Whole(base=Uniform())


@dataclass(frozen=True, slots=True)
class SmoothedFit:
    """Stages, the answer's lattice and units, and what a receipt says; all of it public."""

    stages: list[Stage]
    lattice: Lattice
    units: AffineMap
    also: Also | None
    facts: dict[str, str]
    bandwidths: tuple[Fraction, ...]  # in units of y, or of the scale that is drawn
    first: int  # stages before the planes

    def finish(self, drawn: Sequence[Point]) -> Point:
        """Return the narrow planes, quantile by quantile, and what is released beside them."""
        planes = drawn[self.first + 1 :: 2]
        rest = () if self.also is None else self.also.of(drawn)
        return tuple(k for plane in planes for k in plane) + rest


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
        before = () if measured is None else measured.before
        left = Fraction(1) if measured is None else 1 - measured.spent / epsilon
        read = self._plain if measured is None else measured.scale
        stages, tunings, lattice = list(before), [], self.design.lattice
        for tau, problem, part in zip(self.asked.taus, problems, self.asked.parts, strict=True):
            mechanism = SmoothedPerturbation(tau, read, self.bandwidth, self.way.share)
            *plans, tuning = mechanism.plans(problem, left * part, len(stages))
            stages += [Stage([certified(plan, self.way.sampler)], source) for plan in plans]
            lattice = plans[-1].lattice
            tunings.append(tuning)
        also = None if measured is None else measured.also("scale of y", lambda scale: scale.size)
        m = len(problems)
        lattice = Lattice(lattice.origin * m, lattice.step * m, lattice.last * m)
        units = self.design.units.repeated(m)
        if also is not None:
            lattice, units = lattice.beside(also.lattice), units.ignoring(len(also.names))
        widths = tuple(self.bandwidth or tuning.bandwidth for tuning in tunings)
        if measured is None and self.bandwidth is None:
            widths = tuple(width * self._plain(()).size for width in widths)
        facts = self._described(widths, measured is not None, left)
        return SmoothedFit(stages, lattice, units, also, facts, widths, len(before))

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

    def _described(self, widths: Sequence[Fraction], drawn: bool, left: Fraction) -> dict[str, str]:
        shown = [f"{float(width):.4g}" for width in widths]
        several = shown[0] if len(set(shown)) == 1 else ", ".join(shown)
        unit = " times the scale of y" if drawn else ""
        wide = SmoothedPerturbation.wide
        split = [] if left == 1 else [f"{float(1 - left):.0%} for the scale of y"]
        split += [
            f"{float(left * wide):.0%} for wide fits",
            f"{float(left * (1 - wide)):.0%} for the fits",
        ]
        return {
            "smoothing": f"check loss averaged over shifts of y of up to {several}{unit}",
            "epsilon split": ", ".join(split),
        }


def is_smoothed(way: Way, smoothing: Any, dim: int, coef_bound: Any) -> bool:
    """Tell from public facts whether a smoothed loss is minimised, or planes are drawn."""
    if smoothing is not None and way.name in ("kng", "exponential"):
        raise IncompatibleParts(
            f"mechanism={way.name!r} draws planes of the check loss itself, without smoothing. "
            "Leave one of them out."
        )
    if way.name != "auto":
        return way.name == "objective"
    # What speaks of a box of coefficients, or of a chain, asks for a draw.
    drawn = coef_bound is not None or way.base is not None or way.sampler not in _SOLVING
    return smoothing is not None or (dim > _MOST_BOXES and not drawn)


def bandwidth_of(smoothing: Any, design: Design) -> Fraction | None:
    """Read ``smoothing``: a number in units of y, or None for "auto"."""
    if smoothing is None or (isinstance(smoothing, str) and smoothing == "auto"):
        return None
    width = positive(smoothing, "smoothing")
    if not _LEAST <= width / design.half_y <= _MOST:
        raise SpecError(
            f"smoothing must lie between 1/65536 and 16 times {show(design.half_y)}, the unit of "
            f"the response; got {show(width)}. smoothing='auto' finds one."
        )
    return width


def refuse_unsmoothed(way: Way, coef_bound: Any, noncrossing: str) -> None:
    """Refuse options that speak of a density, which objective perturbation has none of."""
    way.refuse_base()
    if way.centre is not None:
        raise IncompatibleParts(
            "A smoothed fit has its ridge around a plane that it draws first; it takes no centre."
        )
    if noncrossing == "planes":
        raise IncompatibleParts(
            "noncrossing='planes' is for planes that are drawn from a box. Smoothed planes are "
            "minimised by themselves; use noncrossing='predictions'."
        )
    if coef_bound is not None:
        raise IncompatibleParts(
            "coef_bound bounds every coefficient by itself, and smoothing minimises over all of "
            "them or over a ball. Leave it out, or give domain=kng.domains.L1Ball(...)."
        )
    if way.sampler not in _SOLVING:
        raise IncompatibleParts(
            f"sampler={way.sampler!r} does not serve objective perturbation, which is noise and a "
            "solve. Leave sampler at 'auto', or use mechanism='kng' without smoothing."
        )
