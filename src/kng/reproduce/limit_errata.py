"""Departures in Theorem 3.2: laws that meet its assumptions and not its conclusion."""

from __future__ import annotations

from fractions import Fraction
from math import nan

import numpy as np

from kng.core.quadratic import Vector
from kng.reproduce.claimed_limit import even_records, kink_distance
from kng.reproduce.constants import EPSILON
from kng.reproduce.erratum import Erratum

_SIZES = (10**2, 10**3, 10**4)
_SMALL = Fraction(1, 100)


def utility_kink() -> Erratum:
    """Show that a Hessian almost everywhere says nothing about jumps of the gradient."""
    found = ", ".join(f"{kink_distance(even_records(n), EPSILON):.3f}" for n in _SIZES)
    small = kink_distance(even_records(_SIZES[-1]), _SMALL)
    return Erratum(
        "Theorem 3.2, assumptions 1 and 2",
        "ℓ_n/n are twice differentiable (almost everywhere) and strongly convex, H_n/n → Σ⁻¹",
        "not enough, and the theorem is false so: where gradients jump, the Hessian is not the "
        "slope of the gradient, and the Taylor step of the proof fails",
        "ℓ = Σ (θ-x_i)²/2 + |θ-x_i|, records ±(i-½)/n, Δ = 3, H_n/n = 1 meet every assumption; "
        "with z = nθ the gradient is z + 2 round(z), and the claimed limit has z alone: total "
        f"variation {found} at n = {', '.join(f'{n:,}' for n in _SIZES)}, and {small:.3f} at "
        f"ε = {float(_SMALL):g}, n = {_SIZES[-1]:,}",
        nan,
        "∇ℓ_n(θ^ + z/n) → Σ⁻¹z, uniformly for bounded z; ℓ in C² with equicontinuous Hessians "
        "is enough, and Huber's loss has it too",
        nan,
    )


def utility_measure() -> Erratum:
    """Show that the limit is a density with respect to Lebesgue measure, not to nu."""
    half = float(EPSILON) / 2
    z = np.linspace(-100, 100, 200_001)
    knorm = np.exp(-half * np.abs(z))

    def density(reach: float) -> Vector:
        return np.asarray(knorm * np.exp(-((z / reach) ** 2) / 2))

    def apart(a: Vector, b: Vector) -> float:
        return float(np.abs(a / a.sum() - b / b.sum()).sum() / 2)

    sizes = (10, 10**2, 10**3)
    plain = ", ".join(f"{apart(density(n), knorm):.5f}" for n in sizes)
    weighed = ", ".join(f"{apart(density(n), density(1)):.3f}" for n in sizes)
    return Erratum(
        "Theorem 3.2",
        "Z converges to a K-norm distribution, with density (wrt ν) ∝ exp(-(ε/2Δ)‖Σ⁻¹z‖)",
        "a slip: wrt Lebesgue measure; z/n goes to 0, so of ν only its density at θ* is left, a "
        "constant. The proof takes ν (there μ) to be Lebesgue",
        "ℓ = Σ(θ-x_i)²/2, |x_i| ≤ ½, all x_i = 0, ν standard normal, n = "
        f"{', '.join(f'{n:,}' for n in sizes)}: total variation to the limit wrt Lebesgue {plain}, "
        f"wrt ν {weighed}",
        nan,
        "the density wrt Lebesgue measure",
        nan,
    )
