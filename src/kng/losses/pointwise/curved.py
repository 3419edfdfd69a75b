"""Functions whose true psi can be had as closely as a decision needs, and what they answer.

Objective perturbation minimises the loss itself, not one that is rounded to steps. A pointwise
function that is not quadratic in pieces serves it by these two methods.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, runtime_checkable

from flint import arb

from kng.losses.pointwise.function import Array, Pointwise


@dataclass(frozen=True, slots=True)
class Derivatives:
    """psi of many predictions in float64, how far off it may be, and bounds on its slope.

    | psi - psi(eta, y) |  <=  doubt
    least  <=  d psi / d eta (e, y)  <=  most       for all e within the reach that was asked for

    eta and y are the float64 numbers that were given. A slope stands for every difference quotient
    where psi has a kink.
    """

    psi: Array
    doubt: Array
    least: Array
    most: Array


@runtime_checkable
class Curved(Pointwise, Protocol):
    """A convex rho with a continuous psi whose slope is bounded: `Pointwise.curvature`.

    It is twice continuously differentiable but for finitely many predictions a response. The
    derivatives are the true ones of rho: neither clipped nor truncated.
    """

    def derivatives(self, eta: Array, y: Array, reach: float) -> Derivatives:
        """Return psi and bounds on its slope within ``reach`` of the predictions."""
        ...

    def enclosed(self, eta: Fraction, y: Fraction) -> arb:
        """Enclose psi at rational numbers, at the precision in force."""
        ...
