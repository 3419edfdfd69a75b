"""Draws of smooth convex losses in any dimension: noise, pushed back through the gradient.

u = G(theta) turns the stated density into  exp(-c ||u||) / det H(theta).  So u is drawn as noise,
theta = G^-1(u) is found by Newton's steps, and what 1 / det H exceeds its bound by is rejected. On
shells of ||u|| the data certify a least determinant, `envelopes.shells`; beyond the last shell, and
where they certify nothing, theta is any point of Theta.

    shell k   u with r_(k-1) < ||u|| <= r_k,   accepted with  det_k / det H(theta)   if in Theta
    outside   theta uniform on Theta,          accepted with  exp(-c (||G|| - r_m))  if ||G|| > r_m

A base measure and a Delta(theta) below the largest one are further factors of the acceptance.

Paper    Section 4.3, whose objective perturbation without a ridge has the density
         exp(-c ||G||) det H; corrected for det H it is Theorem 3.1.
Privacy  docs/proofs/samplers/push_forward.md: the law is the stated one whatever the data, in real
         arithmetic, hence `ideal`; the number of attempts has no public bound, hence
         `unbounded-time`.
Cost     Some twenty passes over the records, one of them for all shells; then three or four for
         each attempt. If the data certify no shell, as where classes are separable, it may not end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, cast

import numpy as np

from kng.core.bits import Bits
from kng.core.capabilities import BallDomain
from kng.core.certificate import Certificate
from kng.core.l1_ball import l1_ball, log_l1_volume
from kng.core.naming import argument
from kng.core.parts import Point, described
from kng.core.plan import DensityPlan
from kng.core.privacy import Guarantee
from kng.core.quadratic import Matrix, Vector
from kng.core.regions import Region
from kng.core.sloped import SlopedField, SlopedLoss, SpreadNorm
from kng.samplers.real.envelopes.rejection import ASSUMPTIONS
from kng.samplers.real.envelopes.shells import Shells
from kng.samplers.real.inverse import Place, minimiser, solved

# Attempts that are made together, at first and at most: outside, one pass serves all of them.
_FIRST, _LARGEST = 4, 256
# G(theta) is u up to this part of the typical noise.
_TOLERANCE = 2.0**-26


@dataclass(frozen=True, slots=True)
class PushForward:
    """Rejection from shells of noise and from the whole domain."""

    name: ClassVar[str] = "push-forward"

    def refusal(self, plan: DensityPlan) -> str | None:
        """Refuse unbounded domains, and norms that have no noise or no ellipsoids around them."""
        norm, domain = plan.problem.norm, plan.problem.domain
        if not domain.bounded:
            return (
                f"The push-forward draws from a bounded domain, not from {described(domain)}. Use "
                "Box or L1Ball."
            )
        if plan.varies or not isinstance(norm, SpreadNorm):
            return (
                f"The push-forward cannot draw from the norm {described(norm)}. Use "
                f"{argument('norm', 'auto')}, LInf, L1, L2 or InterceptSup."
            )
        return None

    def certify(self, plan: DensityPlan) -> DensityPlan:
        """Promise a draw that is exact in real arithmetic."""
        loss = cast("SlopedLoss", plan.problem.loss)
        promise = Certificate(self, Guarantee.IDEAL, ASSUMPTIONS)
        return plan.certified(promise, loss.sloped_reader)

    def draw(self, plan: DensityPlan, field: SlopedField, bits: Bits) -> Point:
        """Return the lattice point nearest to the theta that was drawn."""
        with np.errstate(all="ignore"):
            return plan.nearest(Pushed.of(plan, field).first_accepted(bits))


@dataclass(frozen=True)
class Pushed:
    """The envelope of one field: shells of noise, and the domain outside of them."""

    plan: DensityPlan
    field: SlopedField
    centre: Place
    shells: Shells
    floors: Vector  # what the base measure's exponent is at least: in each shell, then outside
    log_masses: Vector  # of each shell, then outside

    @classmethod
    def of(cls, plan: DensityPlan, field: SlopedField) -> Pushed:
        """Return as many shells as make the envelope smallest."""
        norm, domain = cast("SpreadNorm", plan.problem.norm), plan.problem.domain
        region, d = domain.region(), domain.dim
        assert region.length is not None  # `refusal` has seen it
        low, high = _corners(region)
        centre = minimiser(field, d, float(region.length))
        found = Shells.around(field, norm, _rate(plan), centre)
        ends = [np.clip(centre.theta + sign * found.reaches, low, high) for sign in (-1, 1)]
        boxes = np.vstack([ends[0], low]), np.vstack([ends[1], high])
        floors = np.zeros(len(boxes[0]))
        if not domain.base.even:
            floors, _ = domain.base.exponent_bounds(*boxes)
        inside = found.log_masses(norm.log_volume(d)) - floors[:-1]
        radii = np.concatenate([[0.0], found.radii])
        outside = _log_volume(plan) - floors[-1] - found.rate * radii
        totals = [
            np.logaddexp.reduce([*inside[:m], outside[m]]) for m in range(len(found.radii) + 1)
        ]
        m = int(np.argmin(totals))
        shells = replace(found, radii=found.radii[:m], log_dets=found.log_dets[:m])
        kept = np.append(floors[:m], floors[-1])
        return cls(plan, field, centre, shells, kept, np.append(inside[:m], outside[m]))

    def first_accepted(self, bits: Bits) -> Vector:
        """Return the first theta that is accepted."""
        size = _FIRST
        while True:
            for theta, log_accept in self.proposals(bits, size):
                if np.log(bits.uniforms(1)[0]) < log_accept:
                    return theta
            size = min(2 * size, _LARGEST)

    def proposals(self, bits: Bits, size: int) -> Iterator[tuple[Vector, float]]:
        """Yield proposals and the log of their acceptance probabilities.

        Those outside are looked at together, the others one by one, as they are asked for.
        """
        last = len(self.log_masses) - 1
        shares = np.cumsum(np.exp(self.log_masses - np.logaddexp.reduce(self.log_masses)))
        parts = np.minimum(np.searchsorted(shares, bits.uniforms(size), side="right"), last)
        outside = iter(self._outside(_uniform(self.plan, bits, int((parts == last).sum()))))
        for part in parts.tolist():
            yield self._inside(part, bits) if part < last else next(outside)

    def _inside(self, shell: int, bits: Bits) -> tuple[Vector, float]:
        """Draw noise of a shell, and find the theta that has it as its gradient."""
        norm, shells, centre = self._norm, self.shells, self.centre
        length = shells.radius(shell, bits)
        u = norm.directions(bits, 1, len(centre.theta))[0] * length
        start = centre.theta + shells.inverse @ (u - centre.gradient)
        at = solved(self.field, start, u, shells.inverse, _TOLERANCE * shells.unit)
        log_det = float(np.linalg.slogdet(at.hessian)[1])
        factors = self._factors(at.theta, length, shell)
        return at.theta, factors + float(shells.log_dets[shell]) - log_det

    def _outside(self, thetas: Matrix) -> list[tuple[Vector, float]]:
        """Return points of the domain, and how likely they are to be accepted."""
        if not len(thetas):
            return []
        radii, rate = self.shells.radii, self.shells.rate
        least = float(radii[-1]) if len(radii) else -1.0  # without shells all is outside
        found = []
        for theta, size in zip(
            thetas, self._norm.lengths(self.field.gradients(thetas)), strict=True
        ):
            log_accept = -rate * (float(size) - max(least, 0.0)) + self._factors(theta, size, -1)
            found.append((theta, log_accept if size > least else -np.inf))
        return found

    def _factors(self, theta: Vector, length: float, part: int) -> float:
        """Return log factors of the domain, of the base measure and of Delta(theta)."""
        plan, domain = self.plan, self.plan.problem.domain
        exact = tuple(Fraction(float(v)) for v in theta)
        if not domain.contains(exact):
            return -np.inf
        found = 0.0
        if not domain.base.even:
            found = float(self.floors[part]) - float(domain.base.exponent(exact))
        if plan.steady is None:
            here = float(plan.rate / plan.delta.over(Region.at(exact)))
            found -= (here - self.shells.rate) * length
        return found

    @property
    def _norm(self) -> SpreadNorm:
        return cast("SpreadNorm", self.plan.problem.norm)


def _rate(plan: DensityPlan) -> float:
    """Return c: epsilon / 2 over the largest Delta there is."""
    largest = plan.steady
    if largest is None:
        largest = plan.delta.over(plan.problem.domain.region())
    return float(plan.rate / largest)


def _corners(region: Region) -> tuple[Vector, Vector]:
    low, high = zip(*region.sides(), strict=True)
    return np.array([float(v) for v in low]), np.array([float(v) for v in high])


def _log_volume(plan: DensityPlan) -> float:
    """Return the log volume that `_uniform` fills: an l1 ball, or the box around a domain."""
    domain = plan.problem.domain
    if isinstance(domain, BallDomain):
        return log_l1_volume(domain.dim) + domain.dim * float(np.log(float(domain.l1_radius)))
    low, high = _corners(domain.region())
    return float(np.log(high - low).sum())


def _uniform(plan: DensityPlan, bits: Bits, size: int) -> Matrix:
    """Return uniform points of an l1 ball, or of the box around a domain."""
    domain = plan.problem.domain
    if isinstance(domain, BallDomain):
        return l1_ball(bits, size, domain.dim) * float(domain.l1_radius)
    low, high = _corners(domain.region())
    return np.asarray(low + bits.uniforms(size, domain.dim) * (high - low))


def acceptance(plan: DensityPlan, field: SlopedField, bits: Bits, size: int) -> float:
    """Return the mean acceptance probability; for tests and documentation, never for a release."""
    with np.errstate(all="ignore"):
        made = list(Pushed.of(plan, field).proposals(bits, size))
    return float(np.exp([log_accept for _, log_accept in made]).mean())
