"""Departures in a claim that is not about privacy: a number that contradicts it."""

from __future__ import annotations

from itertools import pairwise
from math import log, nan, sqrt

import numpy as np
from scipy.special import gammaincinv

from kng.core.bits import simulator
from kng.core.quadratic import Vector
from kng.mechanisms import KNG
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.constants import (
    EPSILON,
    LINEAR_SIZES,
    LINEAR_TRUTH,
    QUANTILE_ERRORS,
    QUANTILE_SIZES,
    QUANTILE_TRUTH,
    TAU,
    B,
    quantile_derived,
)
from kng.reproduce.erratum import Erratum
from kng.reproduce.experiment import method_bits
from kng.reproduce.figure1 import CHAIN, Paper, derived_rate
from kng.reproduce.responses import median_largest, some_beyond
from kng.reproduce.simplex import quantile_regression
from kng.reproduce.theorem import floor, knorm, kolmogorov, limit_hessian
from kng.reproduce.witness import mass, middles
from kng.samplers.chains.metropolis import Metropolis


def excluded_truth() -> Erratum:
    """Show that B = 1 leaves the truth outside Theta unless R is large."""
    size = float(np.abs(LINEAR_TRUTH).sum())
    shares = ", ".join(
        f"{some_beyond(size / float(B), LINEAR_TRUTH, n):.1%} at n = {n:,}"
        for n in (10**2, 10**3, 10**4)
    )
    return Erratum(
        "Section 4.3",
        "B = 1",
        "the truth is outside Θ at small n, and all three methods are biased",
        f"‖θ*‖₁ = 61/11 = {size:.3f}; by the law of Y, ‖θ*‖₁/R ≤ B in {shares}",
        nan,
        "coef_bound is stated by the caller, or left out",
        nan,
    )


def summed_errors(seed: int) -> Erratum:
    """Show that independent errors add in squares: the excess of KNG falls faster than 1/n."""
    d, draws = len(LINEAR_TRUTH), 100_000
    generator, bits = simulator(seed, 7), method_bits((seed, 7), "summed")
    spread = np.sqrt(np.diag(limit_hessian(d)))
    sizes, excess, sums = (10**5, 10**6, 10**7), [], ""
    for n in sizes:
        # the laws at large n: A = n H, and R at its median
        sampling = generator.standard_normal((draws, d)) / spread / sqrt(n)
        noise = knorm(bits, draws, d, derived_rate()) / spread**2 / n
        noise *= median_largest(LINEAR_TRUTH, n)
        first, second, both = (
            float(np.linalg.norm(part, axis=1).mean())
            for part in (sampling, noise, sampling + noise)
        )
        excess.append(both - first)
        if not sums:
            sums = (
                f"n = {n:,}: {first:.4f} and {second:.4f} give {both:.4f}, their sum is "
                f"{first + second:.4f}, the root of their squares {sqrt(first**2 + second**2):.4f}"
            )
    falls = " and ".join(f"{a / b:.0f}" for a, b in pairwise(excess))
    return Erratum(
        "Section 4.3",
        "error = C n^-1/2 + K n^-1 for KNG and objective perturbation",
        "a bound, not the error: independent errors add in squares, and the excess over "
        "non-private falls like n^-3/2",
        f"KNG as derived, from its limit laws, {sums}; the excess falls by factors of {falls} "
        f"from n = {' to '.join(f'{n:,}' for n in sizes)}, and 10^1.5 = 32 in the limit",
        nan,
        "(C²/n + K²/n²)^1/2",
        nan,
    )


def improper_density() -> Erratum:
    """Show that bounded gradients leave the density bounded below."""
    rate = float(quantile_derived(EPSILON))
    n = 11

    def score(theta: Vector) -> Vector:
        records = np.linspace(-1, 1, n)[:, None]
        return np.asarray(np.abs((records <= theta).sum(axis=0) - n / 2))

    found = ", ".join(
        f"{mass(score, rate, reach):.3g} over ±{reach:g}" for reach in (1e2, 1e4, 1e6)
    )
    return Erratum(
        "Sections 4.4, 4.5; equations (2), (3)",
        "densities on all of R^d",
        "improper: no such mechanism",
        f"median of 11 records in [-1, 1]: the integral is {found}",
        nan,
        "a bounded Θ, or a proper base measure",
        nan,
    )


def integrability() -> Erratum:
    """Show that integrable at weight 1 is not integrable at weight epsilon / 2."""

    def score(theta: Vector) -> Vector:
        return 2 * np.log1p(np.abs(theta))

    weight = float(EPSILON) / 2
    at_one = ", ".join(f"{mass(score, 1.0, reach):.3f}" for reach in (1e3, 1e6, 1e9))
    at_half = ", ".join(f"{mass(score, weight, reach):.1f}" for reach in (1e3, 1e6, 1e9))
    return Erratum(
        "Proposition 2.2, Theorem 3.1",
        "∫ exp(-ℓ̃) < ∞",
        "too weak: what is drawn is exp(-(ε/2) ℓ̃)",
        f"ℓ̃ = 2 log(1+|θ|) over ±1e3, ±1e6, ±1e9: {at_one} at weight 1, {at_half} at weight ε/2",
        nan,
        "integrability at weight ε/2; Θ is finite or has a proper base measure",
        nan,
    )


def utility_bound() -> Erratum:
    """Show that Theorem 3.2 needs Delta(theta) bounded from above, not from below."""
    weight, everywhere = float(EPSILON) / 2, 1e15

    def share_beyond_one(n: int) -> float:
        # The Cauchy density 1/(1 + theta^2) is put into the score. Far out it is all there is, so
        # the cut at 1e15 leaves away n/1e15 at most.
        def score(theta: Vector) -> Vector:
            return np.asarray(n * np.abs(theta) / (1 + theta**2) + np.log1p(theta**2) / weight)

        return 1 - mass(score, weight, 1.0) / mass(score, weight, everywhere)

    sizes = (10**2, 10**3, 10**4, 10**5)
    found = ", ".join(f"{share_beyond_one(n):.4f}" for n in sizes)
    return Erratum(
        "Theorem 3.2, assumption 3",
        "Δ ≤ Δ(θ)",
        "the wrong way round, and the theorem is false so: domination needs Δ(θ) bounded above",
        "ℓ = Σ(θ-x_i)²/2, |x_i| ≤ 1/2, Δ(θ) = 1+θ², ν the Cauchy law meet every assumption; "
        f"all x_i = 0, n = {', '.join(f'{n:,}' for n in sizes)}: |θ~| > 1 has probability {found} "
        "(1/2 for every n, since θ and 1/θ have the same law), so n(θ~-θ^) has no limit law",
        nan,
        "Δ(θ) ≤ Δ, which a compact Θ gives",
        nan,
    )


def utility_jacobian() -> Erratum:
    """Show that the change of variables to z = n (theta - theta_hat) has Jacobian n^-d."""
    d, rate = 2, 0.5
    a, b = np.meshgrid(middles(2000), middles(2000))
    totals = [float(np.exp(-rate * n * np.maximum(np.abs(a), np.abs(b))).sum()) for n in (100, 200)]
    power = -log(totals[1] / totals[0]) / log(2)
    return Erratum(
        "Proof of Theorem 3.2",
        "f_n(z) = c_n⁻¹ n⁻¹ exp{…}",
        "a slip: the Jacobian is n^-d",
        f"d = {d}: ∫ exp(-n‖θ‖_∞/2) dθ falls by 2^{power:.3f} from n = 100 to 200",
        nan,
        "n^-d; the limit is not touched",
        nan,
    )


def chain_law(seed: int) -> Erratum:
    """Show that a chain of fixed length has a law of its own, whatever its steps are."""
    runs, d, rate = {10**6: 400, 10**7: 40}, len(LINEAR_TRUTH), derived_rate()
    papers = {n: Paper(Sample(LINEAR_TRUTH, n, (seed, 5)).moments()) for n in runs}
    bits = method_bits((seed, 5), "chain")

    def told(chain: Metropolis) -> str:
        found = []
        for n, paper in papers.items():
            plan, field = chain.certify(KNG().plan(paper.regression, EPSILON)), paper.field
            ends = np.array([chain.coefficients(plan, field, bits) for _ in range(runs[n])])
            exponents = rate * np.abs(ends @ field.matrix - field.vector).max(axis=1)
            far = kolmogorov(exponents, d)
            found.append(f"{np.median(exponents):.3g} at n = {n:,} (distance {far:.2f})")
        return " and ".join(found)

    several, floors = (
        " and ".join(texts)
        for texts in ((str(k) for k in runs.values()), (f"{floor(k):.2f}" for k in runs.values()))
    )
    return Erratum(
        "Sections 4.3, 4.5.1",
        "10,000 (1,000) steps of a one-at-a-time chain; start, reach and meaning of a step not "
        "stated",
        "no ε is proved for what it returns",
        f"figure 1 from 0 with a reach of 0.1, median exponent of {several} runs, where the law "
        f"has {gammaincinv(d, 0.5):.1f}, and Kolmogorov's distance, of which exact draws would "
        f"show {floors}: a step as one proposal, {told(CHAIN)}; a step as a sweep over all "
        f"coordinates, {told(CHAIN.sweeping(d))}",
        nan,
        "exact draws",
        nan,
    )


def standard_errors(seed: int) -> Erratum:
    """Show that the paper's Monte Carlo errors are too large for logarithms to base 10."""
    distances = []
    for k in range(100):
        X, y = Sample(QUANTILE_TRUTH, 1000, (seed, 6, k)).records()
        distances.append(
            float(np.linalg.norm(quantile_regression(X, y, float(TAU)) - np.array(QUANTILE_TRUTH)))
        )
    natural = float(np.std(distances, ddof=1) / sqrt(len(distances)) / np.mean(distances))
    low, high = QUANTILE_ERRORS
    return Erratum(
        "Sections 4.3, 4.5.1",
        f'standard errors between {low} and {high} "in terms of the log-scale" of the plot',
        "too large for base 10, the scale of the plot; the lower ends fit natural logarithms, the "
        "upper ends are exceeded and not explained",
        "figure 2, non-private, n = 1,000, 100 samples: "
        f"{natural:.4f} for ln, {natural / log(10):.4f} for log₁₀",
        nan,
        "log10_se",
        nan,
    )


def lattice_derivative() -> Erratum:
    """Show that points without a derivative have positive probability on a lattice."""
    ages = np.array([20 + (7 * k) % 50 for k in range(500)])
    points = np.arange(121)
    below, upto = (ages[:, None] < points).sum(axis=0), (ages[:, None] <= points).sum(axis=0)
    half = len(ages) / 2
    weights = np.exp(-0.5 * np.maximum(0, np.maximum(below - half, half - upto)))
    share = float(weights[below < upto].sum() / weights.sum())
    return Erratum(
        "Theorem 3.1",
        "differentiable almost everywhere",
        "not enough on a lattice, where answers meet records",
        f"median of 500 whole ages: answers at which the loss has no derivative have {share:.1%}",
        nan,
        "the distance of 0 to the whole subgradient, at every point",
        nan,
    )


def unit_ball() -> Erratum:
    """Show that the ball is the set of norm at most one."""
    points = np.array([[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]])
    norms = np.abs(points).max(axis=1)
    return Erratum(
        "Section 1",
        "the ball of radius one is {v : ‖v‖_K = 1} = K",
        "a slip: the ball is {v : ‖v‖_K ≤ 1}",
        f"of (0, 0), (0.5, 0), (1, 0), all in K, {(norms == 1).sum()} has norm one",
        nan,
        "{‖v‖_K ≤ 1}",
        nan,
    )


def figure_reference() -> Erratum:
    """Show that Section 4.5.1 sends its reader to the figure of another experiment."""
    meant, named = (
        f"d = {len(truth)} and n = {sizes[0]:,} to {sizes[-1]:,}"
        for truth, sizes in ((QUANTILE_TRUTH, QUANTILE_SIZES), (LINEAR_TRUTH, LINEAR_SIZES))
    )
    return Erratum(
        "Section 4.5.1",
        "the results are plotted in Figure 1",
        "a slip: they are in Figure 2, as its next paragraph says",
        f"the results have {meant}; Figure 1 has {named}",
        nan,
        "Figure 2",
        nan,
    )


def foreign_symbols(seed: int) -> Erratum:
    """Show what is lost if beta is read where theta is meant."""
    X, response = Sample(QUANTILE_TRUTH, 1000, (seed, 8)).records()
    y, corners = response / np.abs(response).max(), np.array([[1.0, 0.0], [0.0, 1.0]])

    def loss(beta: Vector) -> float:
        residual = y - X @ beta
        return float(np.maximum(TAU * residual, (TAU - 1) * residual).sum())

    literal = {loss(np.zeros(2)) for _ in (*corners, *-corners)}  # theta does not occur
    meant = [loss(theta) for theta in (*corners, *-corners)]
    return Erratum(
        "Section 4.5; supplement on quantile regression",
        "θ* ∈ R^p; ρ_τ(y_i - x_i'β)",
        "slips: d for p, θ for β; read literally the loss does not depend on θ",
        f"figure 2, d = {len(QUANTILE_TRUTH)}, n = 1,000: at the four tips of Θ the loss with "
        f"β = 0 has {len(literal)} value, {min(literal):.0f}; with θ it lies between "
        f"{min(meant):.0f} and {max(meant):.0f}",
        nan,
        "θ* ∈ R^d, ρ_τ(y_i - x_i'θ)",
        nan,
    )
