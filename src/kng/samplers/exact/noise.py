"""Exact K-norm noise on the lattice of integer sums.

    sum norms:    coordinates separate, and each is a discrete Laplace variable
    exchanges:    a level in whole numbers, then one of its points (`exchanges.py`)
    other norms:  u with density proportional to exp(-rate ||u||_K);  round(u)

The second is drawn as lazily refined reals: uniforms known to some bits, logarithms enclosed in
balls, everything refined until the rounding of each coordinate is certain. A norm says itself how
uniforms become a point (`LazyNorm`); that of a box is written out, as it was the first.

Paper    Section 4.1 and its remark. Noise goes onto the integer sum: the same density on a
         lattice of means is not epsilon-private without the factor 2.
Privacy  docs/proofs/samplers/noise.md. The noise is drawn without looking at the data, so its
         running time says nothing about them.
Cost     Tens of microseconds a coordinate; by rejection in a polytope, at most d! times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from flint import arb

from kng.core.bits import Bits
from kng.core.capabilities import LazyNorm, SumField
from kng.core.certificate import Certificate
from kng.core.enclosures import ball, precision
from kng.core.lazy_noise import LazyNoise, noise_refusal, rounded_noise
from kng.core.parts import Point
from kng.core.plan import NoisePlan
from kng.core.privacy import Assumption, Guarantee
from kng.core.shapes import BoxShape, ExchangeShape, SumShape
from kng.core.uniforms import LazyUniform
from kng.samplers.exact.exchanges import exchange_noise, exchange_refusal
from kng.samplers.exact.geometric import geometric


@dataclass(frozen=True, slots=True)
class Noise:
    """Add exact K-norm noise to a sum of whole steps."""

    name: ClassVar[str] = "noise"

    def refusal(self, plan: NoisePlan) -> str | None:
        """Refuse norms that cannot say how uniforms become a point, or waste too many of them."""
        norm, dim = plan.problem.norm, len(plan.steps)
        if dim == 1 or isinstance(norm.shape, BoxShape | SumShape):
            return None
        if isinstance(norm.shape, ExchangeShape):
            return exchange_refusal(plan.steps)
        refused = noise_refusal(norm, dim)
        return None if refused is None else f"KNorm {refused}"

    def certify(self, plan: NoisePlan) -> NoisePlan:
        """Promise an exact draw."""
        return plan.certified(
            Certificate(
                self,
                Guarantee.EXACT,
                (Assumption.RANDOM_BITS, Assumption.UNSEEN_CLOCK),
            )
        )

    def draw(self, plan: NoisePlan, field: SumField, bits: Bits) -> Point:
        """Return the noisy sum."""
        return tuple(s + u for s, u in zip(field.total, noise(plan, bits), strict=True))


def noise(plan: NoisePlan, bits: Bits) -> Point:
    """Return one draw of noise in whole steps; there is no data argument."""
    norm, dim = plan.problem.norm, len(plan.steps)
    shape, one = norm.shape, Fraction(1)
    if dim == 1:  # on a line every norm is a multiple of the absolute value
        return (discrete_laplace(bits, plan.rate * norm.value((one,)) * plan.steps[0]),)
    if isinstance(shape, SumShape):
        weights = shape.weights or (one,) * dim
        return tuple(
            discrete_laplace(bits, plan.rate * weight * step)
            for weight, step in zip(weights, plan.steps, strict=True)
        )
    if isinstance(shape, ExchangeShape):
        return exchange_noise(bits, plan.rate * plan.steps[0], dim)
    if not isinstance(shape, BoxShape):
        assert isinstance(norm, LazyNorm)
        return rounded_noise(bits, LazyNoise(norm, plan.rate, dim), plan.steps)
    sides = shape.half_widths or (one,) * dim
    widths = tuple(w / h for w, h in zip(sides, plan.steps, strict=True))
    return rounded_box_noise(bits, plan.rate, widths)


def discrete_laplace(bits: Bits, rate: Fraction) -> int:
    """Return a whole number k with probability proportional to exp(-rate |k|).

    A geometric variable with a sign; zero is counted once.
    """
    while True:
        size = geometric(bits, rate)
        negative = bits.take(1)
        if size or not negative:
            return -size if negative else size


def rounded_box_noise(bits: Bits, rate: Fraction, widths: tuple[Fraction, ...]) -> Point:
    """Return round(R * V_j * width_j) with R ~ Gamma(d + 1, rate) and V_j uniform on [-1, 1]."""
    dim = len(widths)
    radial = [LazyUniform() for _ in range(dim + 1)]
    sides = [LazyUniform() for _ in range(dim)]
    while True:
        for number in (*radial, *sides):
            number.refine(bits)
        if any(number.value == 0 for number in radial):
            continue  # its logarithm is not yet bounded
        with precision(radial[0].length + 64):
            radius = -sum((number.ball().log() for number in radial), arb(0)) / ball(rate)
            cells = [
                (radius * (2 * side.ball() - 1) * ball(width) + arb(0.5)).floor().unique_fmpz()
                for side, width in zip(sides, widths, strict=True)
            ]
        certain = tuple(int(cell) for cell in cells if cell is not None)
        if len(certain) == dim:
            return certain
