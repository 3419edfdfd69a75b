"""The product of the options that choose a path, call by call; what is refused is left out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from freeze.calls import BOUNDS, RELATIONS, Draw, column, table

import kng
from kng.core.bounds import bounds_of

Options = dict[str, Any]

MECHANISMS = ("auto", "kng", "exponential", "objective", "k-norm")
EXACT = ("auto", "order", "noise", "branch-and-bound", "affine", "gaussian", "perturbed")
CHAINS = ("hit-and-run", "metropolis")
NORMS = ("auto", "l1", "l2", "linf", "weighted-sup")
EVERY: dict[str, tuple[Any, ...]] = {
    "mechanism": MECHANISMS, "sampler": EXACT, "norm": NORMS, "relation": tuple(RELATIONS),
}  # fmt: skip
ANYWAY: Options = {
    "mechanism": "auto", "sampler": "auto", "norm": "auto", "relation": "replace-one",
    "fit_intercept": True, "coef_bound": None,
}  # fmt: skip
NAMED: dict[str, tuple[Any, ...]] = {"mechanism": MECHANISMS, "relation": tuple(RELATIONS)}


def grid() -> Iterator[tuple[str, Draw]]:
    """Yield the name and the draw of each call."""
    yield from _statistics()
    yield from _geometric_medians()
    yield from _regressions()
    yield from _chains()
    yield from _paths()
    yield from _files()
    yield from _labels()


def _statistics() -> Iterator[tuple[str, Draw]]:
    numbers = 3 * column() - 1
    for o in _each(EVERY):
        yield _called(kng.mean, "line", numbers, o, bounds=(-1, 2), epsilon=0.5)
        yield _called(kng.mean, "plane", table(60, 2), o, bounds=([-1, -2], [1, 2]), epsilon=1)
    without_norm = {k: v for k, v in EVERY.items() if k != "norm"}
    for o in _each(without_norm):
        yield _called(kng.median, "line", numbers, o, bounds=(-1, 2), epsilon=0.5)
    rough: Options = {"granularity": "1/8", "missing": 1, "records_per_person": 3}
    gaps = [None if i % 9 == 0 else x for i, x in enumerate(numbers)]
    for o, (option, value) in product(_each(NAMED), rough.items()):
        data = gaps if option == "missing" else numbers
        asked = {**o, option: value}
        yield _called(kng.mean, "line", data, asked, bounds=(-1, 2), epsilon=0.5)
        yield _called(kng.median, "line", data, asked, bounds=(-1, 2), epsilon=0.5)
    for o in _each({**NAMED, "q": (0.01, 0.75, [0.9, 0.2], [0.05, 0.25, 0.5, 0.75, 0.95])}):
        yield _called(kng.quantile, "line", np.rint(9 * numbers), o, bounds=(-9, 18), epsilon=2)
    for d, o in product((4, 5), _each({"norm": NORMS, "relation": tuple(RELATIONS)})):
        bounds = ([-1] * d, [1] * d)
        yield _called(kng.mean, f"{d} columns", table(60, d), o, bounds=bounds, epsilon=1)


def _geometric_medians() -> Iterator[tuple[str, Draw]]:
    for o in _each({"sampler": ("auto", "branch-and-bound"), "norm": NORMS, **NAMED}):
        yield _median_of(2, 80, o)
    paths: Options = {
        "scale": [1, 3], "granularity": "1/64", "missing": [1, 1], "records_per_person": 2,
    }  # fmt: skip
    for o, (option, value) in product(_each(NAMED), [*paths.items(), ("scale", "bounds")]):
        yield _median_of(2, 80, {**o, option: value})
    for d, o in product((3, 4), _each(NAMED)):
        yield _median_of(d, 60, o)
    yield _median_of(5, 40, {})
    for d, o in product((2, 3), _each({"mechanism": MECHANISMS})):
        yield _median_of(d, 80, {"sampler": "hit-and-run", **o})


def _regressions() -> Iterator[tuple[str, Draw]]:
    intercepts: dict[str, tuple[Any, ...]] = {"fit_intercept": (True, False)}
    for o in _each({**EVERY, **intercepts, "coef_bound": (None, 6)}):
        yield _fit(kng.LinearRegression, 2, o)
        if o.get("sampler") != "gaussian":
            yield _fit(kng.HuberRegressor, 1, {"threshold": 0.5, **o})
    for o in _each({"norm": NORMS, **NAMED, **intercepts, "coef_bound": (None, 6)}):
        yield _fit(kng.HuberRegressor, 2, {"threshold": "auto", **o})
    for o in _each({**EVERY, **intercepts}):
        yield _fit(kng.QuantileRegressor, 1, o)
    for d, o in product((3, 8, 12), _each({**NAMED, **intercepts, "coef_bound": (None, 6)})):
        yield _fit(kng.LinearRegression, d, o)
    for d, o in product((3, 8), _each({**NAMED, **intercepts, "threshold": (0.5, "auto")})):
        yield _fit(kng.HuberRegressor, d, o)
    for d, o in product((2, 3), _each({**NAMED, **intercepts})):
        yield _fit(kng.QuantileRegressor, d, o)


def _chains() -> Iterator[tuple[str, Draw]]:
    # A chain takes as many steps as it takes, whatever the data are: one coordinate, few options.
    for o in _each({"sampler": CHAINS, "mechanism": ("kng", "exponential"), "norm": NORMS}):
        yield _fit(kng.LinearRegression, 1, o)
        yield _fit(kng.LinearRegression, 1, {"coef_bound": 6, **o})
        if o["sampler"] == "hit-and-run":
            yield _fit(kng.LinearRegression, 1, {"fit_intercept": False, "coef_bound": 6, **o})
    for o in _each({**NAMED, "fit_intercept": (True, False)}):
        chain = {"sampler": "hit-and-run", **o}
        yield _fit(kng.QuantileRegressor, 1, chain)
        yield _fit(kng.HuberRegressor, 1, {"threshold": 0.5, **chain})
    several = {"sampler": "hit-and-run", "quantile": [0.25, 0.75]}
    yield _fit(kng.QuantileRegressor, 1, several)


def _paths() -> Iterator[tuple[str, Draw]]:
    """Yield what one option at a time chooses: centre, records of a person, lists of quantiles."""
    for o in _each({**NAMED, "fit_intercept": (True, False)}):
        centre = [0.2, 0.9, -0.4][not o.get("fit_intercept", True) :]
        for kind, more in (
            (kng.LinearRegression, {}),
            (kng.LinearRegression, {"coef_bound": 6}),
            (kng.HuberRegressor, {"threshold": 0.5}),
            (kng.HuberRegressor, {"threshold": "auto"}),
        ):
            yield _fit(kind, 2, {"centre": centre, **more, **o})
            yield _fit(kind, 2, {"records_per_person": 2, **more, **o})
        yield _fit(kng.HuberRegressor, 2, {"threshold": 0.5, "bounds_y": None, **o})
        yield _fit(kng.QuantileRegressor, 1, {"records_per_person": 2, **o})
        yield _fit(kng.QuantileRegressor, 1, {"coef_bound": 4, **o})
        yield _fit(kng.QuantileRegressor, 1, {"norm": "linf", "quantile": 0.9, **o})
        yield _fit(kng.QuantileRegressor, 1, {"quantile": [0.1, 0.5, 0.9], **o})
    for o in _each(NAMED):
        yield _fit(kng.QuantileRegressor, 2, {"quantile": [0.25, 0.6], **o})
        named: Options = {"bounds_X": ([-1, -2], [1, 3]), "bounds_y": (-2, 5), **o}
        yield _fit(kng.LinearRegression, 2, named)
        yield _fit(kng.QuantileRegressor, 2, named)
        yield _fit(kng.HuberRegressor, 2, {"threshold": 0.25, **named})


def _files() -> Iterator[tuple[str, Draw]]:
    for o in _each({"relation": tuple(RELATIONS)}):
        b = {"b": (-1, 1)}
        yield _called(kng.mean, "file", None, o, bounds=b, epsilon=1)
        yield _called(kng.median, "file", None, o, bounds=b, epsilon=1)
        yield _called(kng.quantile, "file", None, {"q": [0.2, 0.7], **o}, bounds=b, epsilon=1)
        two = {"a": (-1, 1), **b}
        yield _called(kng.geometric_median, "file", None, o, bounds=two, epsilon=1)
        yield _fit(kng.LinearRegression, 2, o, "file")
        yield _fit(kng.LinearRegression, 2, {"mechanism": "kng", **o}, "file")
        yield _fit(kng.QuantileRegressor, 2, o, "file")
        yield _fit(kng.HuberRegressor, 2, {"threshold": 0.5, **o}, "file")
        yield _fit(kng.HuberRegressor, 2, {"threshold": "auto", **o}, "file")


def _labels() -> Iterator[tuple[str, Draw]]:
    """Yield fits of log-odds, counts and expectiles."""
    intercepts: dict[str, tuple[Any, ...]] = {"fit_intercept": (True, False)}
    logistic = {"mechanism": ("auto", "kng"), "norm": ("auto", "l1", "l2"), "coef_bound": (None, 2)}
    for o in _each({**logistic, **intercepts, "relation": tuple(RELATIONS)}):
        yield _labelled(kng.LogisticRegression, 2, {"classes": (0, 1), **o})
    for o in _each(NAMED):
        yield _labelled(kng.LogisticRegression, 1, {"classes": (0, 1, 2), **o})
        yield _labelled(kng.LogisticRegression, 8, {"classes": (0, 1), **o})
        yield _labelled(kng.PoissonRegressor, 2, {"bounds_y": (0, 4), **o})
        yield _fit(kng.ExpectileRegressor, 1, {"expectile": 0.75, **o})
    chain = {"classes": (0, 1), "mechanism": "kng", "sampler": "hit-and-run", "coef_bound": 2}
    yield _labelled(kng.LogisticRegression, 1, chain)


def _each(options: dict[str, tuple[Any, ...]]) -> Iterator[Options]:
    """Yield every choice; what a call does anyway is not written out."""
    for values in product(*options.values()):
        chosen = zip(options, values, strict=True)
        yield {k: v for k, v in chosen if k not in ANYWAY or v != ANYWAY[k]}


def _named(call: Any, where: str, options: Options) -> str:
    words = [f"{name}={value}" for name, value in options.items()]
    return " ".join([call.__name__, where, *words])


def _asked(options: Options) -> Options:
    rest = {name: value for name, value in options.items() if name != "relation"}
    return {**rest, **RELATIONS[options.get("relation", "replace-one")]}


def _middles(bounds: Any) -> Any:
    """Return the middle of each column, which missing cells counted as when draws were frozen."""
    box = bounds_of(bounds)
    return [(low + high) / 2 for low, high in zip(box.low, box.high, strict=True)]


def _called(call: Any, where: str, data: Any, options: Options, **rest: Any) -> tuple[str, Draw]:
    asked = {"missing": _middles(rest["bounds"]), **_asked(options), **rest}

    def draw(bits: Any) -> kng.Release:
        if data is not None:
            release: kng.Release = call(data, random_state=bits, **asked)
            return release
        with TemporaryDirectory() as folder:
            released: kng.Release = call(_written(folder), random_state=bits, **asked)
        return released

    return _named(call, where, options), draw


def _median_of(d: int, n: int, options: Options) -> tuple[str, Draw]:
    records = table(n, d)
    if "missing" in options:
        records[::7, 0] = np.nan
    bounds = ([-2] * d, [2] * d)
    where = f"{d} columns"
    return _called(kng.geometric_median, where, records, options, bounds=bounds, epsilon=2)


def _fit(kind: Any, d: int, options: Options, source: str = "memory") -> tuple[str, Draw]:
    asked = {"epsilon": 5, "missing": 0, **BOUNDS, **_asked(options)}
    where = f"{d} covariates" if source == "memory" else source
    return _named(kind, where, options), partial(_fitted, kind, d, asked, source)


def _fitted(kind: Any, d: int, asked: Options, source: str, bits: Any) -> kng.Release:
    model = kind(random_state=bits, **asked)
    if source == "file":
        with TemporaryDirectory() as folder:
            model.fit(_written(folder), target="y", features=["a", "b"])
    else:
        model.fit(*_plane(d))
    release: kng.Release = model.release_
    return release


def _labelled(kind: Any, d: int, options: Options) -> tuple[str, Draw]:
    asked = {"epsilon": 5, "bounds_X": (-1, 1), **_asked(options)}

    def draw(bits: Any) -> kng.Release:
        X, y = _plane(d)
        release: kng.Release = kind(random_state=bits, **asked).fit(X, np.rint(1.5 * y)).release_
        return release

    return _named(kind, f"{d} covariates", options), draw


def _plane(d: int, n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    X = table(n, d)
    return X, 0.25 + X @ np.linspace(1, -0.5, d) / d + (column(n) - 0.5) / 4


def _written(folder: str) -> Path:
    """Write a file with three columns, some of its cells missing."""
    path = Path(folder) / "records.csv"
    X, y = _plane(2, 60)
    rows = [
        f"{a!r},{'' if i % 11 == 5 else repr(b)},{c!r}"
        for i, (a, b, c) in enumerate(zip(*X.T.tolist(), y.tolist(), strict=True))
    ]
    path.write_text("\n".join(["a,b,y", *rows, ""]))
    return path
