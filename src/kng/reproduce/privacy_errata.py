"""Departures in a privacy constant: the loss of two neighbouring datasets at epsilon = 1."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, expm1, inf, log

import numpy as np

from kng.core.quadratic import Matrix, Vector
from kng.reproduce.constants import (
    C_X,
    EPSILON,
    TAU,
    B,
    exponential_quantile_derived,
    exponential_quantile_printed,
    kng_linear_derived,
    kng_linear_printed,
    kng_quantile_derived,
    kng_quantile_printed,
    objective_noise,
    quantile_derived,
    quantile_printed,
)
from kng.reproduce.erratum import Erratum
from kng.reproduce.figure1 import derived_rate
from kng.reproduce.witness import line_loss, plane_loss, step_loss

NINE_TENTHS = Fraction(9, 10)


def quantile_sensitivity() -> Erratum:
    """Show that a record moves the count of equation (3) by 1, not by 2 (1 - tau)."""
    tau, step = float(NINE_TENTHS), 1e-6

    def score(records: Vector) -> Callable[[Vector], Vector]:
        return lambda theta: np.abs((records[:, None] <= theta).sum(axis=0) - tau * len(records))

    first = np.array([0.0] * 17 + [step] * 2 + [1.0])
    second = np.array([0.0] * 16 + [step] * 2 + [1.0] * 2)
    losses = [
        step_loss(score(first), score(second), [0.0, step, 1.0], float(rate))
        for rate in (quantile_printed(EPSILON, NINE_TENTHS), quantile_derived(EPSILON))
    ]
    return Erratum(
        "Section 4.5, equation (3)",
        "quantile: ε/(4(1-τ))",
        "privacy violation for τ > 1/2; Smith's mechanism only at τ = 1/2",
        "τ = 0.9, Θ = [0, 1], n = 20: 17 records at 0, 2 at 1e-6, 1 at 1; one moves from 0 to 1",
        losses[0],
        "ε/2, whatever τ",
        losses[1],
    )


def quantile_regression_sensitivity() -> Erratum:
    """Show that x and -x on the same side differ by 2 max(tau, 1 - tau) in equation (2)."""
    tau, step = float(NINE_TENTHS), 1e-6

    def score(records: list[tuple[float, float]]) -> Callable[[Vector], Vector]:
        x, y = np.array(records).T[:, :, None]
        return lambda theta: np.abs((((y <= x * theta) - tau) * x).sum(axis=0))

    common = [(1.0, -1 + step)] * 4 + [(1.0, -1.0)] * 5
    losses = [
        step_loss(
            score([*common, (-1.0, 1.0)]),
            score([*common, (1.0, 1.0)]),
            [-1.0, -1 + step, 1.0],
            float(rate(EPSILON, NINE_TENTHS, C_X)),
        )
        for rate in (kng_quantile_printed, kng_quantile_derived)
    ]
    return Erratum(
        "Section 4.5, equation (2)",
        "quantile regression: Δ = 2(1-τ)C_X",
        "privacy violation for τ > 1/2",
        "τ = 0.9, d = 1, Θ = [-1, 1], n = 10: (x, y) = 4 × (1, -1+1e-6), 5 × (1, -1), "
        "and (-1, 1) replaced by (1, 1)",
        losses[0],
        "Δ = 2 max(τ, 1-τ) C_X",
        losses[1],
    )


def linear_density() -> Erratum:
    """Show what equation (1) loses by a 2 in the sensitivity and none in the gradient."""
    kinds = {
        (-1.0, -1.0, 1.0): 12,
        (0.0, -1.0, -1.0): 3,
        (0.0, -1.0, 1.0): 24,
        (0.0, 1.0, -1.0): 6,
        (1.0, -1.0, -1.0): 3,
        (1.0, 1.0, -1.0): 12,
    }
    first = np.repeat(np.array(list(kinds)), list(kinds.values()), axis=0)
    second = first.copy()
    second[0] = (-1.0, 1.0, 1.0)

    def score(records: Matrix) -> Callable[[Matrix], Vector]:
        X, y = records[:, :2], records[:, 2]
        return lambda theta: np.abs(theta @ (X.T @ X) - y @ X).max(axis=1)

    scores = score(first), score(second)
    printed, derived = kng_linear_printed(EPSILON, B), kng_linear_derived(EPSILON, B)
    halved = plane_loss(*scores, 2 * float(derived))
    return Erratum(
        "Section 4.2, equation (1)",
        "linear regression: ε/(8(1+B))",
        "private, and twice as noisy as the theorem asks",
        "d = 2, B = 1, n = 60: (x₁, x₂, y) = 12 × (-1, -1, 1), 3 × (0, -1, -1), 24 × (0, -1, 1), "
        "6 × (0, 1, -1), 3 × (1, -1, -1), 12 × (1, 1, -1), and the first replaced by (-1, 1, 1); "
        f"with ε/(2(1+B)) they would have a loss of {halved:.2f}",
        plane_loss(*scores, float(printed)),
        "ε/(4(1+B))",
        plane_loss(*scores, float(derived)),
    )


def linear_density_index() -> Erratum:
    """Show what equation (1) would mean with the x_1 that is printed for x_i."""
    n, rate = 1000, float(kng_linear_printed(EPSILON, B))

    def literal(first: float) -> Callable[[Vector], Vector]:
        # y_i = 0 for all i; x_i = 1 for i > 1
        return lambda theta: np.abs(first) * np.abs((n - 1 + first) * theta)

    def meant(first: float) -> Callable[[Vector], Vector]:
        return lambda theta: np.abs((n - 1 + first**2) * theta)

    breaks = [-1.0, 0.0, 1.0]
    return Erratum(
        "Section 4.2, equation (1)",
        "Σ (y_i - x_i'θ) x_1",
        "a slip: read literally, one record rescales the whole score",
        "d = 1, n = 1000, y = 0, x_i = 1 for i > 1, and x_1 = 1 replaced by 0",
        line_loss(literal(1.0), literal(0.0), breaks, rate),
        "Σ (y_i - x_i'θ) x_i",
        line_loss(meant(1.0), meant(0.0), breaks, 2 * rate),
    )


def largest_response() -> Erratum:
    """Show that R, read from the records, gives a record away."""
    low = np.array([0.0] * 10)
    low[0] = 1.0
    high = low.copy()
    high[0] = 10.0

    def score(y: Vector) -> Callable[[Vector], Vector]:
        return lambda theta: np.abs(len(y) * theta - y.sum())

    scaled = high / 10.0
    cells = np.linspace(-1, 1, 200_001)
    weights = np.exp(-derived_rate() * score(scaled)(cells))
    outside = float(weights[np.abs(cells) > 0.1].sum() / weights.sum())
    public = (score(low / 10.0), score(high / 10.0))
    return Erratum(
        "Algorithm 1, steps 4 to 7",
        "R = max |Y_i| scales in and out",
        "not private",
        "d = 1, x = 1, n = 10, B = 1: y = 0 nine times, and 1 replaced by 10: |R θ~| > 1 has "
        f"probability 0 before and {outside:.2f} after",
        inf,
        "public bounds, here |y| ≤ 10",
        line_loss(*public, [-1.0, low.mean() / 10, high.mean() / 10, 1.0], derived_rate()),
    )


def mean_without_the_half() -> Erratum:
    """Show that the remark on the mean holds on the whole space only."""
    n = 400

    def score(mean: float) -> Callable[[Vector], Vector]:
        return lambda theta: np.abs(mean - theta)

    pair = score(1.0), score(1 - 2 / n)
    breaks = [-1.0, 1 - 2 / n, 1.0]
    return Erratum(
        "Section 4.1, remark",
        "exp{+(nε/2r)‖x̄-θ‖}",
        "the sign is lost; and on a bounded Θ it is not private",
        "d = 1, r = 1, Θ = [-1, 1], n = 400: all records at 1, and one replaced by -1 "
        "(with the minus sign)",
        line_loss(*pair, breaks, n / 2),
        "exp{-(nε/4r)‖x̄-θ‖} on a bounded Θ; noise on the sum, then clamp",
        line_loss(*pair, breaks, n / 4),
    )


def objective_boundary() -> Erratum:
    """Show the mass on the boundary of Theta, of which the proof says nothing."""
    rate, gamma = float(objective_noise(EPSILON, B)), 2 / expm1(float(EPSILON) / 2)

    def on_the_edge(x: float, y: float) -> float:
        # the minimiser is 1 when the slope there, 2 x (x - y) + gamma + b, is not positive
        slope = 2 * x * (x - y) + gamma
        return exp(-rate * slope) / 2

    probabilities = [on_the_edge(x, y) for x, y in ((0.5, 1.0), (1.0, -1.0))]
    loss = abs(log(probabilities[0] / probabilities[1]))
    return Erratum(
        "Section 4.3, supplement",
        "argmin over ‖θ‖₁ ≤ B, proved by a change of variables",
        "right; the proof does not cover the boundary, where mass gathers",
        "d = 1, n = 1, B = 1: (x, y) = (0.5, 1) replaced by (1, -1); "
        f"θ~ = 1 has probability {probabilities[0]:.3f} and {probabilities[1]:.3f}",
        loss,
        "the same, with a public barrier in the proof",
        loss,
    )


def objective_rank() -> Erratum:
    """Show that the ridge pays for a Hessian of rank one, and no more."""
    d, epsilon = 12, float(EPSILON)

    def cost(rank: int, gamma: float) -> float:
        return rank * log(1 + 1 / gamma)

    printed, ours = 1 / expm1(epsilon / 2), 1 / expm1(epsilon / (2 * d))
    return Erratum(
        "Section 4.3, supplement",
        "γ = λ/(e^(ε/2)-1)",
        "right for linear regression; the condition, Hessians of rank one, is not stated",
        f"d = {d}, a record whose Hessian is λI against one without curvature: the determinant "
        "alone has this loss, and ε/2 is to pay for it",
        cost(d, printed),
        "γ = λ/(e^(ε/2r)-1) for rank r",
        cost(d, ours),
    )


def exponential_baseline() -> Erratum:
    """Show that one record changes a sum of check losses by its largest loss, not twice that."""
    n, tau = 4000, float(TAU)

    def score(last: float) -> Callable[[Vector], Vector]:
        # x = 1 throughout; n - 1 records at y = -1
        def total(theta: Vector) -> Vector:
            rest = (n - 1) * (1 - tau) * (theta + 1)
            return rest + np.where(last > theta, tau * (last - theta), (1 - tau) * (theta - last))

        return total

    losses = [
        line_loss(score(1.0), score(-1.0), [-1.0, 1.0], float(rate(EPSILON, TAU, B)))
        for rate in (exponential_quantile_printed, exponential_quantile_derived)
    ]
    return Erratum(
        "Section 4.5.1, supplement",
        "exponential mechanism: ε/(4 max(τ,1-τ)(1+B))",
        "private, and twice as noisy as Proposition 2.2 asks: the rival is handicapped",
        f"d = 1, x = 1, Θ = [-1, 1], n = {n}: y = -1, and one record at 1 replaced by -1",
        losses[0],
        "ε/(2 max(τ,1-τ)(1+B))",
        losses[1],
    )


def geometric_median() -> Erratum:
    """Show that for other norms than the Euclidean the gradient lies in the dual ball."""
    d, step = 2, 1e-6

    def score(records: list[float]) -> Callable[[Vector], Vector]:
        return lambda theta: np.abs(np.sign(theta - np.array(records)[:, None]).sum(axis=0))

    # both coordinates of a record are equal, so the l1 score is the sum of two scores on the line
    first = [0.0] * 2 + [step] * 2 + [1.0] * 1
    second = [0.0] * 1 + [step] * 2 + [1.0] * 2
    one = [
        step_loss(score(first), score(second), [0.0, step, 1.0], float(EPSILON) / (2 * bound))
        for bound in (2, 2 * d)
    ]
    return Erratum(
        "Section 4.4",
        "gradient of ‖x-θ‖ is (x-θ)/‖x-θ‖, Δ = 2, any norm",
        "for the Euclidean norm only (and the sign is flipped); otherwise Δ = 2 in the dual norm",
        "ℓ = Σ‖x-θ‖₁, K = l1, d = 2, Θ = [0, 1]², n = 5: 2 records at (0, 0), 2 at (1, 1)·1e-6, "
        "1 at (1, 1); one moves from (0, 0) to (1, 1)",
        d * one[0],
        "Δ = 2d in l1, 2 in the sup norm",
        d * one[1],
    )
