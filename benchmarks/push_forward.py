"""The certified push-forward: how many proposals are accepted, what a draw takes, and its law.

python -m benchmarks.push_forward            acceptance and CPU time for each draw
python -m benchmarks.push_forward chains     marginals beside long chains; some minutes
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

from benchmarks.timing import spent
from kng.core.bits import SeededBits
from kng.core.plan import DensityPlan
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.data import open_regression
from kng.domains import Box
from kng.estimators.posed import Asked, posed
from kng.estimators.public_facts import Columns
from kng.losses import Huber, Linear, Logistic
from kng.mechanisms import KNG
from kng.norms import LInf
from kng.samplers.real.push_forward import Pushed, acceptance
from kng.samplers.registry import certified

# (coefficients, records), and the least acceptance that was promised
SIZES = [
    (3, 3_000, 0.3),
    (5, 10_000, 0.3),
    (8, 30_000, 0.3),
    (12, 100_000, 0.3),
    (12, 300_000, 0.3),
]
PROPOSALS = 100
# Chains side by side, steps before they are looked at, and how often and how far apart they are.
CHAINS, BURN, LOOKS, APART = 64, 600, 10, 60
# Width of a slice's first bracket, in lengths of noise of size 1, and of where chains start: in
# twelve coordinates a start that is twice as wide is not forgotten after hundreds of steps.
WIDE, START = 12.0, 4.0


def opened(d: int, n: int, function: Any) -> tuple[DensityPlan, Any]:
    """Return a plan and its field: x in [-1, 1]^(d - 1), an intercept, epsilon = 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, d - 1))
    eta = 0.3 + X @ np.linspace(-1, 1, d - 1)
    labels = isinstance(function, Logistic)
    y = (eta > rng.logistic(size=n)).astype(float) if labels else eta + rng.normal(size=n)
    asked = Asked(None, (-1, 1), (0, 1) if labels else (-8, 8), None, None)
    setting = posed(Linear(function), Box(-5, 5), "gradient", asked, Columns(d - 1))
    unit = PrivacyUnit(ReplaceOne(n))
    problem = Problem(setting.loss, LInf(), setting.domain, setting.records, setting.answers, unit)
    plan = certified(KNG().plan(problem, Fraction(1)), "push-forward")
    assert isinstance(plan, DensityPlan)
    (field,) = plan.read(open_regression(X, y, setting.records), [plan])
    return plan, field


def chains(pushed: Pushed, seed: int) -> np.ndarray:
    """Return states of independent chains: slices along random directions, from around 0.

    They ask for gradients and nothing else of the sampler but the scale of their directions.
    """
    rng, field = np.random.default_rng(seed), pushed.field
    norm = pushed.plan.problem.norm
    root = np.linalg.cholesky(pushed.shells.inverse)
    wide = WIDE * pushed.shells.unit

    def heights(thetas: np.ndarray) -> np.ndarray:
        inside = (np.abs(thetas) <= 5).all(axis=1)
        sizes = norm.lengths(field.gradients(thetas))  # type: ignore[attr-defined]
        # epsilon / 2 over Delta = 2 sigma(T), T = ||theta||_1 the largest log-odds of a record
        rate = (1 + np.exp(-np.abs(thetas).sum(axis=1))) / 4
        return np.where(inside, -rate * sizes, -np.inf)

    d = len(root)
    thetas = np.clip(
        pushed.centre.theta + START * pushed.shells.unit * rng.normal(size=(CHAINS, d)) @ root.T,
        -5,
        5,
    )
    height, seen = heights(thetas), []
    for step in range(BURN + LOOKS * APART):
        least = height - rng.exponential(size=CHAINS)
        normal = rng.normal(size=(CHAINS, d))
        along = (normal / np.sqrt((normal**2).sum(axis=1, keepdims=True))) @ root.T
        first = -wide * rng.uniform(size=CHAINS)
        last = first + wide
        open_ = np.arange(CHAINS)
        while len(open_):
            t = first[open_] + rng.uniform(size=len(open_)) * (last - first)[open_]
            tried = thetas[open_] + t[:, None] * along[open_]
            found = heights(tried)
            kept = found >= least[open_]
            moved = open_[kept]
            thetas[moved], height[moved] = tried[kept], found[kept]
            first[open_] = np.where(~kept & (t < 0), t, first[open_])
            last[open_] = np.where(~kept & (t >= 0), t, last[open_])
            open_ = open_[~kept]
        if step >= BURN and (step - BURN) % APART == 0:
            seen.append(thetas.copy())
    return np.vstack(seen)


def compare() -> None:
    """Print the least p of Kolmogorov and Smirnov's test over the coordinates."""
    print(f"{'':<26}{'least p':>9}{'spread, chains / draws':>26}{'least p, rate 20 % off':>26}")
    for d, n in ((5, 10_000), (12, 100_000)):
        plan, field = opened(d, n, Logistic())
        pushed, bits = Pushed.of(plan, field), SeededBits(3)
        draws = np.array([pushed.first_accepted(bits) for _ in range(CHAINS * LOOKS)])
        walked = chains(pushed, 1)
        least = min(float(ks_2samp(a, b).pvalue) for a, b in zip(draws.T, walked.T, strict=True))
        ratio = walked.std(axis=0) / draws.std(axis=0)
        # Draws for another rate are those of the noise, longer by as much.
        centre = pushed.centre.theta
        wrong = centre + 1.2 * (draws - centre)
        other = min(float(ks_2samp(a, b).pvalue) for a, b in zip(wrong.T, walked.T, strict=True))
        spread = f"{ratio.min():.2f} to {ratio.max():.2f}"
        print(f"{f'd = {d}, n = {n}':<26}{least:>9.3f}{spread:>26}{other:>26.2g}", flush=True)


def main() -> int:
    """Print the table and return how many bars are missed."""
    print(
        "\ncertified push-forward, epsilon 1\n\n"
        f"{'':<34}{'accepted':>9}{'start, s':>10}{'draw, s':>10}{'bar':>7}"
    )
    missed = 0
    for function in (Logistic(), Huber(1)):
        for d, n, bar in SIZES:
            plan, field = opened(d, n, function)
            share = acceptance(plan, field, SeededBits(1), PROPOSALS)
            pushed: list[Pushed] = []
            start = spent(lambda f=field, p=plan, to=pushed: to.append(Pushed.of(p, f)))
            bits = SeededBits(2)
            each = spent(lambda found=pushed[0], b=bits: found.first_accepted(b), 20)
            name = f"{type(function).__name__.lower()}, d = {d}, n = {n}"
            print(f"{name:<34}{share:>9.2f}{start:>10.2f}{each:>10.3f}{bar:>7}", flush=True)
            missed += share <= bar
    return missed


if __name__ == "__main__":
    compare() if sys.argv[1:] == ["chains"] else main()
