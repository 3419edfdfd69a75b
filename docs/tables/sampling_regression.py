"""Print the tables of docs/sampling-regression.md: mean proposals for each draw.

    python docs/tables/sampling_regression.py

A proposal is accepted with a mean probability that a sample of proposals shows, so a draw takes the
inverse of it on average. Everything is seeded; it takes a few minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from kng.core.bits import SeededBits
from kng.core.bounds import Bounds
from kng.core.design import Design
from kng.core.parts import Domain, Norm
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.problem import Problem
from kng.data import open_regression
from kng.domains import L1Ball, Whole
from kng.losses import Linear, Squared
from kng.losses.linear_encoding import encoded
from kng.mechanisms import KNG, Exponential
from kng.norms import CoordinateSup, LInf
from kng.samplers.real import affine, gaussian
from kng.samplers.registry import certified

Array = NDArray[np.float64]
Change = Callable[[Array, Array], tuple[Array, Array]]

TRUTH = np.r_[0, -1 + 2 * np.arange(11) / 11]  # the paper's, intercept first
SPAN = 8  # public bounds of the response: -8 to 8
BATCH, MOST = 2**15, 2**20  # proposals at a time, and at most for one number
SIZES = (10**2, 10**3, 10**4, 10**5, 10**6)


def proposals(
    X: Array,
    y: Array,
    *,
    span: float = 1,
    mechanism: KNG | Exponential | None = None,
    coef_bound: Fraction | None = None,
) -> str:
    """Return the mean number of proposals for one draw, with covariates in [-1, 1]."""
    features = X.shape[1]
    reach = Fraction(span)
    covariates = Bounds((Fraction(-1),) * features, (Fraction(1),) * features)
    design = Design(encoded(covariates, (-reach, reach, 2 * reach / 2**16)), True)
    domain: Domain = Whole(design.dim)
    norm: Norm = CoordinateSup()
    if coef_bound is not None:
        domain, norm = L1Ball(coef_bound / reach, dim=design.dim), LInf()
    unit = PrivacyUnit(ReplaceOne(len(X)))
    loss = Linear(Squared()).over(design, design.lattice)
    problem = Problem(loss, norm, domain, design.records, design.lattice, unit)
    plan = certified((mechanism or KNG()).plan(problem, Fraction(1)))
    for load in plan.loaders:
        load()
    (field,) = loss.read(open_regression(X, y, design.records), [plan])
    best = affine.best if plan.weighs == "gradient" else gaussian.best
    chosen = best(plan, field)
    bits, made, accepted = SeededBits(0), 0, 0.0
    while accepted < 1000 and made < MOST:
        accepted += float(np.exp(chosen.batch(bits, BATCH)[1]).sum())
        made += BATCH
    return shown(made, accepted)


def shown(made: int, accepted: float) -> str:
    """Write the ratio with two digits; with fewer than ten expected acceptances only a bound."""
    if accepted < 10:
        return "over 100,000"
    inverse = made / accepted
    digits = max(0, int(np.floor(np.log10(inverse))) - 1)
    return f"{round(inverse, -digits):,.0f}" if inverse >= 10 else f"{inverse:.1f}"


def paper(n: int) -> tuple[Array, Array]:
    """Return the data of the paper's Algorithm 1, without its column of ones."""
    rng = np.random.default_rng(n)
    X = rng.uniform(-1, 1, (n, 11))
    return X, X @ TRUTH[1:] + rng.normal(size=n)


def steep(n: int, fill: float, columns: int = 11) -> tuple[Array, Array]:
    """Return a response at both its bounds, and covariates that fill a share of theirs."""
    X = np.random.default_rng(n).uniform(-1, 1, (n, columns))
    return fill * X, np.sign(X[:, 0])


def ordinary(n: int, d: int) -> tuple[Array, Array]:
    """Return data with d coefficients, one of them not zero, and small errors."""
    rng = np.random.default_rng(n + d)
    X = rng.uniform(-1, 1, (n, d - 1))
    return X, 0.3 * X[:, 0] + 0.1 * rng.normal(size=n)


def table(head: str, columns: list[str], rows: dict[str, list[str]]) -> None:
    """Print one table as Markdown."""
    print(f"| {head} | {' | '.join(columns)} |")
    print(f"| --- |{' --- |' * len(columns)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")
    print(flush=True)


def default_table() -> None:
    """Print the default on data that are easy and on data that are not."""
    rows: dict[str, list[str]] = {"paper's data": [proposals(*paper(n), span=SPAN) for n in SIZES]}
    kinds = {
        "a duplicated, a constant and a dead column": _degenerate,
        "all columns alike": lambda X, y: (np.repeat(X[:, :1], 11, axis=1), y),
        "columns that fill 1/100 of their bounds": lambda X, y: (X / 100, y),
        "response at one bound": lambda X, y: (X, np.full_like(y, SPAN)),
        "one record at a corner, the others at the middle": _leverage,
    }
    for name, change in kinds.items():
        rows[name] = [proposals(*change(*paper(n)), span=SPAN) for n in SIZES]
    for fill in (1, 0.2, 0.1, 0.05, 0.02, 0.01):
        name = f"response at both bounds, columns fill {fill:g} of theirs"
        rows[name] = [proposals(*steep(n, fill)) for n in SIZES]
    table("d = 12, epsilon = 1", [f"n = {n:,}" for n in SIZES], rows)
    few = (1, 3, 6, 11)
    cells = [proposals(*(part[:n] for part in paper(100)), span=SPAN) for n in few]
    table("fewer records than coefficients", [f"n = {n}" for n in few], {"paper's data": cells})


def _degenerate(X: Array, y: Array) -> tuple[Array, Array]:
    X = X.copy()
    X[:, 1], X[:, 2], X[:, 3] = X[:, 0], 1.0, 0.0
    return X, y


def _leverage(X: Array, y: Array, span: float = SPAN) -> tuple[Array, Array]:
    X, y = np.zeros_like(X), np.full_like(y, -span)
    X[0], y[0] = 1.0, span
    return X, y


def dimension_table() -> None:
    """Print the default in more dimensions: slow where the noise is as wide as the prior."""
    sizes = (100, 300, 1000, 2000, 4000, 8000, 16000, 100000)
    rows = {f"d = {d}": [proposals(*ordinary(n, d)) for n in sizes] for d in (4, 8, 12, 16, 20, 30)}
    table("ordinary data, epsilon = 1", [f"n = {n:,}" for n in sizes], rows)


def collinear_table() -> None:
    """Print functions of one covariate: nearly dependent together, and none of them alone."""

    def powers(x: Array) -> Array:
        return np.column_stack([x**k for k in range(1, 12)])

    bases: dict[str, Callable[[Array], Array]] = {
        "x, x², …, x¹¹ with x in [−1, 1]": powers,
        "the same with x in [0, 1]": lambda x: 2 * powers((x + 1) / 2) - 1,
        "eleven hinges max(x − knot, 0)": lambda x: (
            np.maximum(x[:, None] - np.linspace(-1, 1, 13)[:-2], 0) - 1
        ),
        "Legendre's polynomials up to degree 11": lambda x: legvander(x, 11)[:, 1:],
        "Chebyshev's polynomials up to degree 11": lambda x: chebvander(x, 11)[:, 1:],
    }
    sizes, rows = (3000, 30000, 90000, 300000), {}
    for name, basis in bases.items():
        waves = (np.random.default_rng(n).uniform(-1, 1, n) for n in sizes)
        rows[name] = [proposals(basis(x), 0.8 * np.sin(3 * x)) for x in waves]
    table("one covariate, d = 12", [f"n = {n:,}" for n in sizes], rows)


def ball_table() -> None:
    """Print both mechanisms on the paper's ball, around and beside the truth."""
    length = Fraction(61, 11)
    shares = {"0.2": Fraction(1, 5), "0.8": Fraction(4, 5), "1": Fraction(1), "2": Fraction(2)}
    kinds: dict[str, Change] = {
        "paper's data": lambda X, y: (X, y),
        "a duplicated, a constant and a dead column": _degenerate,
        "all columns alike": lambda X, y: (np.repeat(X[:, :1], 11, axis=1), y),
        "response at one bound": lambda X, y: (X, np.full_like(y, SPAN)),
    }
    for mechanism in (KNG(), Exponential()):
        rows = {
            f"{kind}, {name} x the truth": [
                proposals(
                    *change(*paper(n)),
                    span=SPAN,
                    mechanism=mechanism,
                    coef_bound=share * length,
                )
                for n in SIZES
            ]
            for kind, change in kinds.items()
            for name, share in {**shares, "10": Fraction(10)}.items()
        }
        table(f"ball, {mechanism.name}, epsilon = 1", [f"n = {n:,}" for n in SIZES], rows)


def edge_table() -> None:
    """Print both mechanisms where the estimate lies on the ball's edge, or designs have ties."""
    kinds: dict[str, tuple[Callable[[Array], tuple[Array, Array]], str]] = {
        "y = x1 / 2 without error, bound 1/2": (lambda X: (X, X[:, 0] / 2), "1/2"),
        "response at one bound, bound 1": (lambda X: (X, np.ones(len(X))), "1"),
        "dummies, bound 1/2": (_dummies, "1/2"),
        "two-level columns, bound 1": (_majority, "1"),
        "one record at a corner, bound 1/2": (lambda X: _leverage(X, X[:, 0], 1), "1/2"),
    }
    for mechanism in (KNG(), Exponential()):
        rows = {
            name: [
                proposals(*change(paper(n)[0]), mechanism=mechanism, coef_bound=Fraction(bound))
                for n in SIZES
            ]
            for name, (change, bound) in kinds.items()
        }
        table(f"edge, {mechanism.name}, epsilon = 1", [f"n = {n:,}" for n in SIZES], rows)


def _dummies(X: Array) -> tuple[Array, Array]:
    X = (X > 0).astype(float)
    return X, X[:, 0] / 2 - X[:, 1] / 4


def _majority(X: Array) -> tuple[Array, Array]:
    X = np.sign(X)
    return X, np.sign(X[:, :3].sum(axis=1))


def large_table() -> None:
    """Print ten million records, which take about two gigabytes of memory."""
    data, length = paper(10**7), Fraction(61, 11)
    rows = {"default": [proposals(*data, span=SPAN)]}
    for name, share in {"0.8": Fraction(4, 5), "1": 1, "2": 2, "10": 10}.items():
        found = proposals(*data, span=SPAN, coef_bound=share * length)
        rows[f"coef_bound = {name} x the truth"] = [found]
    table("paper's data, kng, epsilon = 1", ["n = 10,000,000"], rows)


if __name__ == "__main__":
    default_table()
    dimension_table()
    collinear_table()
    ball_table()
    edge_table()
    large_table()
