"""The calls of the catalogue: every public call, on easy records and on hard ones.

d counts coefficients, the intercept among them, or the columns of a statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Records = Callable[[int, int], tuple[Array, Array]]

# Half the range of y: the plane and its errors stay within it.
SPAN = 8


@dataclass(frozen=True)
class Case:
    """One public call, the records it is asked about, and why it may take long."""

    call: str
    options: Mapping[str, Any]
    records: str
    n: int
    d: int
    why: str = field(default="", compare=False)

    def show(self) -> str:
        """Return the call as a user would write it, without the bounds that all share."""
        words = (f"{name}={_text(value)}" for name, value in self.options.items())
        return f"{self.call}({', '.join(words)})"


def _text(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def _plane(X: Array, errors: float = 0.5) -> Array:
    """Return responses: a plane with slopes from -1 to 1, less where d is large, and errors."""
    slopes = np.linspace(-1, 1, X.shape[1]) * min(1, 4 / max(1, X.shape[1] / 4))
    noise: Array = np.random.default_rng(2).normal(size=len(X))
    return np.clip(0.5 + X @ slopes + errors * noise, -SPAN, SPAN)


def _uniform(n: int, d: int) -> Array:
    return np.random.default_rng(1).uniform(-1, 1, (n, max(1, d - 1)))


def plain(n: int, d: int) -> tuple[Array, Array]:
    """Covariates that fill their bounds, a plane, normal errors."""
    X = _uniform(n, d)
    return X, _plane(X)


def collinear(n: int, d: int) -> tuple[Array, Array]:
    """Columns that are one column, but for a hundredth."""
    X = _uniform(n, d)
    X = 0.99 * X[:, :1] + 0.01 * X
    return X, _plane(X)


def duplicated(n: int, d: int) -> tuple[Array, Array]:
    """Each column twice."""
    X = np.repeat(_uniform(n, d)[:, : max(1, d // 2)], 2, axis=1)[:, : d - 1]
    return X, _plane(X)


def constant(n: int, d: int) -> tuple[Array, Array]:
    """Half of the columns constant: at a bound, or at the middle."""
    X = _uniform(n, d)
    X[:, ::4], X[:, 2::4] = 1, 0
    return X, _plane(X)


def powers(n: int, d: int) -> tuple[Array, Array]:
    """Powers of one column, x to x^(d-1) with x from 0 to 1 and bounds that fit; y a sine of x."""
    x = np.random.default_rng(1).uniform(0, 1, n)
    X: Array = 2 * np.vander(x, d, increasing=True)[:, 1:] - 1
    return X, 0.8 * SPAN * np.sin(6 * x - 3)


def too_wide(n: int, d: int) -> tuple[Array, Array]:
    """Covariates and responses that fill a hundredth of their bounds."""
    X = _uniform(n, d)
    return X / 100, _plane(X) / 100


def wide_covariates(n: int, d: int) -> tuple[Array, Array]:
    """Covariates that fill a hundredth of their bounds."""
    X = _uniform(n, d)
    return X / 100, _plane(X)


def wide_response(n: int, d: int) -> tuple[Array, Array]:
    """Responses that fill a hundredth of their bounds."""
    X = _uniform(n, d)
    return X, _plane(X) / 100


def outside(n: int, d: int) -> tuple[Array, Array]:
    """A plane ten times as steep as bounds and coef_bound allow, clipped."""
    X = _uniform(n, d)
    return X, 10 * SPAN * X.sum(axis=1)


def tied(n: int, d: int) -> tuple[Array, Array]:
    """All records equal, at a corner of their bounds."""
    return np.full((n, max(1, d - 1)), -1.0), np.ones(n)


def whole(n: int, d: int) -> tuple[Array, Array]:
    """Covariates that are 0 or 1, responses that are whole numbers."""
    X = np.random.default_rng(1).integers(0, 2, (n, max(1, d - 1))).astype(float)
    return X, np.rint(_plane(X))


def line(n: int, d: int) -> tuple[Array, Array]:
    """Places on a line, in equal steps."""
    return np.tile(np.linspace(-0.9, 0.9, n)[:, None], (1, d)), np.zeros(n)


def places(n: int, d: int) -> tuple[Array, Array]:
    """Places around a middle."""
    return 0.2 * np.random.default_rng(1).normal(size=(n, d)), np.zeros(n)


def far_places(n: int, d: int) -> tuple[Array, Array]:
    """Places that fill a hundredth of their bounds."""
    X, y = places(n, d)
    return X / 100, y


def one_place(n: int, d: int) -> tuple[Array, Array]:
    """All places equal."""
    return np.full((n, d), 0.5), np.zeros(n)


def places_outside(n: int, d: int) -> tuple[Array, Array]:
    """Places beyond the bounds, all to one side."""
    X, y = places(n, d)
    return X + 5, y


RECORDS: dict[str, Records] = {
    "plain": plain,
    "collinear": collinear,
    "columns twice": duplicated,
    "constant columns": constant,
    "powers": powers,
    "bounds x 100": too_wide,
    "bounds_X x 100": wide_covariates,
    "bounds_y x 100": wide_response,
    "fit outside": outside,
    "all equal": tied,
    "whole numbers": whole,
    "places": places,
    "on a line": line,
    "places, bounds x 100": far_places,
    "one place": one_place,
    "places outside": places_outside,
}

HARD = ("collinear", "columns twice", "constant columns", "powers", "whole numbers")
WIDE = ("bounds_X x 100", "bounds_y x 100", "bounds x 100", "fit outside", "all equal")

_RARE = "proposals are accepted rarely, and no bound on their number is proved"
_BOXES = "boxes are halved until they fit the records, which the bounds do not help with"


def cases() -> Iterator[Case]:
    """Yield the catalogue."""
    yield from _location()
    yield from _geometric_median()
    for call, own in (
        ("LinearRegression", {}),
        ("HuberRegressor", {"threshold": 1}),
        ("HuberRegressor", {"threshold": "auto"}),
    ):
        yield from _linear(call, own)
    yield from _least_squares_by_name()
    yield from _huber_by_name()
    yield from _quantile_regression()


def _location() -> Iterator[Case]:
    for call in ("mean", "median"):
        for n in (1, 10**3, 10**6):
            yield Case(call, {"epsilon": 1}, "places", n, 1)
        for epsilon in (0.01, 50):
            yield Case(call, {"epsilon": epsilon}, "places", 10**5, 1)
        for records in ("places, bounds x 100", "places outside", "one place"):
            yield Case(call, {"epsilon": 1}, records, 10**5, 1)
        for mechanism in ("kng", "exponential"):
            options = {"epsilon": 1, "mechanism": mechanism}
            yield Case(call, options, "places", 10**5, 1)
        relation = {"epsilon": 1, "neighbours": "add-remove", "n_max": 10**6}
        yield Case(call, relation, "places", 10**5, 1)
    yield Case("mean", {"epsilon": 1}, "places", 10**5, 60)
    deciles = [k / 10 for k in range(1, 10)]
    for n in (1, 10**6):
        yield Case("quantile", {"q": deciles, "epsilon": 1}, "places", n, 1)


def _geometric_median() -> Iterator[Case]:
    call = "geometric_median"
    for d in (2, 3, 4, 5):
        for records in ("places", "on a line", "places, bounds x 100", "one place"):
            yield Case(call, {"epsilon": 1}, records, 10**4, d, _BOXES)
    for epsilon in (0.01, 50):
        yield Case(call, {"epsilon": epsilon}, "places", 10**4, 3, _BOXES)
    yield Case(call, {"epsilon": 1}, "places outside", 10**4, 3, _BOXES)
    for n, d in ((1, 3), (10**6, 2)):
        yield Case(call, {"epsilon": 1}, "places", n, d, _BOXES)
    yield Case(call, {"epsilon": 1, "mechanism": "exponential"}, "places", 10**4, 3, _BOXES)


def _linear(call: str, own: Mapping[str, Any]) -> Iterator[Case]:
    options = {"epsilon": 1, **own}
    for d in (2, 12, 40, 50, 60):
        yield Case(call, options, "plain", 10**4, d, _RARE)
    for n, d in ((1, 12), (1, 60), (100, 12), (100, 60), (10**6, 12), (10**6, 60)):
        yield Case(call, options, "plain", n, d, _RARE)
    for epsilon in (0.01, 50):
        for d in (12, 60):
            yield Case(call, {**options, "epsilon": epsilon}, "plain", 10**4, d, _RARE)
    for records in (*HARD, *WIDE):
        yield Case(call, options, records, 10**4, 12, _RARE)
    yield Case(call, options, "powers", 90_000, 12, _RARE)
    yield Case(call, options, "plain", 2000, 30, _RARE)
    for records in ("collinear", "bounds x 100", "fit outside"):
        yield Case(call, options, records, 10**4, 60, _RARE)
    relation = {"neighbours": "add-remove", "n_max": 10**6}
    yield Case(call, {**options, **relation}, "plain", 10**4, 12, _RARE)


def _least_squares_by_name() -> Iterator[Case]:
    for d in (12, 40, 50, 60):
        for mechanism in ("kng", "exponential", "objective"):
            for bound in ({}, {"coef_bound": 6}):
                if bound or mechanism == "kng":  # the others need a bound
                    options = {"epsilon": 1, "mechanism": mechanism, **bound}
                    yield Case("LinearRegression", options, "plain", 10**4, d, _RARE)
    for mechanism in ("kng", "exponential"):
        for records in ("powers", "collinear", "bounds x 100", "fit outside", "all equal"):
            options = {"epsilon": 1, "mechanism": mechanism, "coef_bound": 6}
            yield Case("LinearRegression", options, records, 10**4, 12, _RARE)
    for records in ("powers", "collinear", "bounds x 100", "fit outside", "all equal"):
        options = {"epsilon": 1, "mechanism": "kng"}
        yield Case("LinearRegression", options, records, 10**4, 12, _RARE)
    for bound in ({}, {"coef_bound": 6}):
        options = {"epsilon": 1, "mechanism": "kng", **bound}
        yield Case("LinearRegression", options, "powers", 90_000, 12, _RARE)
        yield Case("LinearRegression", options, "plain", 2000, 30, _RARE)


def _huber_by_name() -> Iterator[Case]:
    for mechanism in ("kng", "exponential"):
        for d in (2, 3, 4):
            options = {"epsilon": 1, "threshold": 0.5, "mechanism": mechanism}
            yield Case("HuberRegressor", options, "plain", 10**4, d, _BOXES)
            for records in ("all equal", "whole numbers", "bounds x 100", "fit outside"):
                yield Case("HuberRegressor", options, records, 10**4, d, _BOXES)
        # The records at a corner decide that the fit lies just outside coef_bound.
        for d, bound in ((3, 0.09), (4, 0.1025)):
            options = {"epsilon": 1, "threshold": 0.1, "mechanism": mechanism, "coef_bound": bound}
            close = {**options, "bounds_y": (-1, 1)}
            yield Case("HuberRegressor", close, "all equal", 10**4, d, _BOXES)


def _quantile_regression() -> Iterator[Case]:
    call = "QuantileRegressor"
    yield Case(call, {"epsilon": 1, "fit_intercept": False}, "plain", 10**4, 1, _BOXES)
    for d in (2, 3, 4, 5):
        for records in ("plain", "bounds x 100", "collinear", "whole numbers", "fit outside"):
            yield Case(call, {"epsilon": 1}, records, 10**4, d, _BOXES)
    yield Case(call, {"epsilon": 1}, "powers", 10**4, 5, _BOXES)
    yield Case(call, {"epsilon": 1}, "all equal", 10**4, 4, _BOXES)
    for epsilon in (0.01, 50):
        for d in (3, 5):
            yield Case(call, {"epsilon": epsilon}, "plain", 10**4, d, _BOXES)
    for n, d in ((1, 4), (100, 5), (10**6, 2), (10**6, 3)):
        yield Case(call, {"epsilon": 1}, "plain", n, d, _BOXES)
    several = {"quantile": [0.1, 0.5, 0.9], "epsilon": 1}
    yield Case(call, several, "plain", 10**4, 3, _BOXES)
    yield Case(call, {"epsilon": 1, "mechanism": "exponential"}, "plain", 10**4, 3, _BOXES)


def ask(case: Case, X: Array, y: Array, seed: int) -> None:
    """Make the call once."""
    import kng

    call: Any = getattr(kng, case.call)
    options = {"random_state": seed, **case.options}
    if case.call.endswith(("Regression", "Regressor")):
        call(**{"bounds_X": (-1, 1), "bounds_y": (-SPAN, SPAN), **options}).fit(X, y)
    else:
        column = X[:, 0] if case.d == 1 else X
        ends = (-1, 1) if case.d == 1 else ([-1] * case.d, [1] * case.d)
        call(column, bounds=ends, **options)
