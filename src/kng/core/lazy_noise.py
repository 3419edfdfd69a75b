"""A point of K-norm noise that is known to some bits, and to more when a decision needs them.

    u with density proportional to exp( -rate ||u||_K )

It is made of uniform numbers. Where a norm rejects, whether they stand for a point is decided
first, by refining them until it is certain; uniforms that do are refined further and never drawn
anew.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from kng.core.bits import Bits
from kng.core.capabilities import LazyNorm, RejectingNorm
from kng.core.enclosures import ball, precision
from kng.core.parts import Norm, Point, described
from kng.core.uniforms import LazyUniform

# Arb's working precision beyond the bits that are known.
GUARD = 64
# Proposals for a point that take about two seconds; 8! are fewer.
_MOST_PROPOSALS = 50_000


def noise_refusal(norm: Norm, dim: int) -> str | None:
    """Say from public facts why no noise can be drawn in so many coordinates, or None."""
    if not isinstance(norm, LazyNorm):
        return f"cannot draw noise from the norm {described(norm)}. Use L1, L2 or LInf."
    if isinstance(norm, RejectingNorm) and norm.proposals(dim) > _MOST_PROPOSALS:
        return (
            f"could take {norm.proposals(dim)} attempts to draw noise from the norm "
            f"{described(norm)} in {dim} coordinates. Use L1, L2 or LInf."
        )
    return None


def noise_size(norm: Norm, dim: int) -> float:
    """Return E ||u||_2^2 of noise with rate 1, for predictions.

    In a sup norm it is (d+1) (d+2) / 3 times the sum of the squares of the half sides of its ball,
    d if they are 1; other norms order choices alike.
    """
    axes = ([Fraction(i == j) for i in range(dim)] for j in range(dim))
    sides = sum((1 / norm.value(axis) ** 2 for axis in axes), Fraction(0))
    return float(sides * (dim + 1) * (dim + 2) / 3)


class LazyNoise:
    """A vector u, enclosed by what is known of its uniform numbers."""

    __slots__ = ("_dim", "_norm", "_rate", "_undecided", "_uniforms")

    def __init__(self, norm: LazyNorm, rate: Fraction, dim: int) -> None:
        self._norm, self._rate, self._dim = norm, rate, dim
        # The norm, until it is certain that the uniforms stand for a point.
        self._undecided = norm if isinstance(norm, RejectingNorm) else None
        self._propose()

    def _propose(self) -> None:
        self._uniforms = [LazyUniform() for _ in range(self._norm.uniforms(self._dim))]

    @property
    def length(self) -> int:
        """How many bits of each uniform are known."""
        return self._uniforms[0].length

    def refined(self, bits: Bits) -> list[arb] | None:
        """Look at one more word of each uniform; return what encloses u.

        It is computed with `length` + `GUARD` bits. None while an end is not yet bounded, or the
        uniforms may stand for no point.
        """
        for number in self._uniforms:
            number.refine(bits)
        with precision(self.length + GUARD):
            known = [number.ball() for number in self._uniforms]
            if self._undecided is not None:
                verdict = self._undecided.inside(known, self._dim)
                if verdict is False:
                    self._propose()
                if not verdict:
                    return None
                self._undecided = None
            unit = self._norm.noise(known, self._dim)
            scaled = [value / ball(self._rate) for value in unit]
        return scaled if all(value.is_finite() for value in scaled) else None


def rounded_noise(bits: Bits, noise: LazyNoise, steps: tuple[Fraction, ...]) -> Point:
    """Return round(u_j / step_j), once it is certain."""
    while True:
        enclosed = noise.refined(bits)
        if enclosed is None:
            continue
        with precision(noise.length + GUARD):
            cells = [
                (value / ball(step) + arb(0.5)).floor().unique_fmpz()
                for value, step in zip(enclosed, steps, strict=True)
            ]
        certain = tuple(int(cell) for cell in cells if cell is not None)
        if len(certain) == len(steps):
            return certain
