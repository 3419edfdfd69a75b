"""Losses of the caller's: laws, privacy loss, hostile functions, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from losses.own_scores import instruments, logistic_loss, logistic_ridge, weibull
from losses.small_problems import worst
from samplers.laws import ALARM, p_value

import kng
from kng.core.bits import SeededBits
from kng.core.bounds import bounds_of
from kng.core.errors import IncompatibleParts, SpecError
from kng.core.lattice import Lattice
from kng.core.regions import Grid
from kng.data import open_source
from kng.domains import Box, L1Ball, L2Ball, Whole
from kng.losses import Objective, Score
from kng.norms import L1, L2, Hull, LInf, Polytope
from kng.samplers.exact.boxes import BoxEnvelope, covers_of

F = Fraction
RNG = np.random.default_rng(11)
N = 16
X = RNG.uniform(-1, 1, N)
TABLES = {
    "instruments": {"x": X, "z": np.sign(X), "y": 0.3 + X + RNG.normal(0, 0.5, N)},
    "weibull": {"t": RNG.weibull(1.5, N).clip(0, 4)},
    "logistic": {"x": X, "y": (RNG.random(N) < 1 / (1 + np.exp(-2 * X))).astype(float)},
}
BOUNDS = {
    "instruments": {"x": (-1, 1), "z": (-1, 1), "y": (-4, 4)},
    "weibull": {"t": (0, 4)},
    "logistic": {"x": (-1, 1), "y": (0, 1)},
}
# The loss, the same as a score, and a box where most of the law is.
CASES = {
    "instruments": (Score(instruments, clip=1), instruments, Box(-1, 2, dim=2)),
    "weibull": (Score(weibull, clip=[2, "1.5"]), weibull, Box(-1, 2, dim=2)),
    "logistic": (Score(logistic_ridge, clip=1), logistic_ridge, Box(-4, 6, dim=2)),
}
CLIPS = {"instruments": (1.0, 1.0), "weibull": (2.0, 1.5), "logistic": (1.0, 1.0)}
CELLS, FINE, LEVELS, EPSILON = 10, 10, 10, 2


def exponents_of(case, thetas) -> np.ndarray:
    """Return the exponent at some thetas, from the formula in plain NumPy."""
    table, clip = TABLES[case], np.array(CLIPS[case])
    score = CASES[case][1]
    totals = [np.clip(score(table, np.array(t)), -clip, clip).sum(axis=0) for t in thetas]
    # In the norm of the clips the body is a unit box: Delta = 2.
    return EPSILON * np.abs(np.array(totals) / clip).max(axis=1) / 4


def cells_of(case, thetas) -> np.ndarray:
    """Return which cell of the box thetas lie in."""
    box = CASES[case][2]
    low, wide = float(box.low[0]), float(box.high[0] - box.low[0])
    at = np.minimum(CELLS - 1, ((np.array(thetas) - low) / wide * CELLS).astype(int))
    return at[:, 0] * CELLS + at[:, 1]


def drawn(case, size: int) -> list[list[float]]:
    """Return draws."""
    loss, _, box = CASES[case]
    plan = kng.KNG(loss, domain=box).plan(bounds=BOUNDS[case], epsilon=EPSILON, n=N)._plan
    source = open_source(TABLES[case], named(plan, BOUNDS[case]))
    (field,) = plan.read(source, [plan])
    covers, _ = covers_of(plan, field)
    covers[0].refine(1024)
    envelope, bits, found = BoxEnvelope(plan, covers[0]), SeededBits(3), []
    while len(found) < size:
        point = envelope.first_of(64, bits)
        if point is not None:
            found.append([float(v) for v in plan.grid.theta(point)])
    return found


def named(plan, bounds):
    return replace(plan.problem.records, bounds=bounds_of(bounds))


def law_of(keys: np.ndarray, exponents: np.ndarray, rate: float = 1.0) -> dict[int, float]:
    """Return the mass of each key, by quadrature over a fine grid."""
    masses = np.bincount(keys, np.exp(-rate * exponents))
    return {k: float(v) for k, v in enumerate(masses / masses.sum())}


@pytest.mark.parametrize("case", CASES)
def test_draws_have_the_law_of_the_formula(case):
    """By cells of the box; and by levels of the exponent, which tell a wrong rate best."""
    box = CASES[case][2]
    low, wide = float(box.low[0]), float(box.high[0] - box.low[0])
    ends = low + (np.arange(CELLS * FINE) + 0.5) * wide / (CELLS * FINE)
    grid = list(product(ends, ends))
    found, fine = drawn(case, 2000), exponents_of(case, grid)
    law = law_of(cells_of(case, grid), fine)
    assert p_value(cells_of(case, found).tolist(), law) > ALARM
    order = np.argsort(fine)
    shares = np.cumsum(np.exp(-fine[order])) / np.exp(-fine).sum()
    edges = fine[order][np.searchsorted(shares, np.arange(1, LEVELS) / LEVELS)]
    levels, reached = (np.searchsorted(edges, e) for e in (fine, exponents_of(case, found)))
    assert p_value(reached.tolist(), law_of(levels, fine)) > ALARM
    assert p_value(reached.tolist(), law_of(levels, fine, 1.2)) < ALARM
    assert p_value(reached.tolist(), law_of(levels, fine, 1 / 1.2)) < ALARM


class Tiny:
    """Few records and few thetas, of a loss of the caller's."""

    def __init__(self, function, clip, norm=None) -> None:
        bounds = bounds_of({"x": (-1, 1), "y": (0, 1), "z": (-1, 1), "t": (0, 1)})
        self.norm, self.domain = norm or LInf(), Box(-2, 2, dim=2)
        part = Score(function, clip)
        self.records = part.encode(bounds, F(1, 2), None)
        loss = part.on(self.records, self.domain).in_norm(self.norm)
        self.lattice = Lattice((F(-2),) * 2, (F(1),) * 2, (4, 4))
        self.loss = replace(loss, grid=Grid((F(0),) * 2, (F(1),) * 2))
        rows = [(-1, 0, 1, 0), (1, 1, -1, 1), (0, 1, 1, F(1, 2)), (1, 0, 1, 1), (-1, 1, -1, 0)]
        self.universe = sorted(tuple(float(v) for v in row) for row in rows)

    def source(self, rows):
        names = self.records.bounds.columns
        table = np.array(rows, dtype=float).reshape(len(rows), 4)
        return open_source(dict(zip(names, table.T, strict=True)), self.records)


def hostile(records, theta):
    """NaN, infinities and numbers near the end of float64, depending on the record."""
    a = np.log(records["x"]) * theta[0]
    b = 1e308 * records["z"] * theta[1] / records["y"]
    return np.stack([a, b - b * 10], axis=1)


def attaining(records, theta):
    """One sum at one corner of the box, another everywhere else: all of epsilon is lost there."""
    corner = (theta[0] > 1.5) & (theta[1] > 1.5)
    score = np.where(corner, records["z"], records["x"])
    return np.stack([score, 0 * score], axis=1)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove", "absent"])
@pytest.mark.parametrize(
    ("function", "clip", "norm"),
    [
        (instruments, 1, None),
        (weibull, (F(1), F(1, 2)), L1()),
        (logistic_ridge, F(1, 2), None),
        (hostile, 1, None),
        (hostile, 1, L2()),
        (hostile, 1, Polytope([(1, 1), (10, -10), (0, 1)])),
        (instruments, F(1, 4), L1()),
    ],
    ids=lambda v: getattr(v, "__name__", type(v).__name__),
)
def test_no_pair_of_neighbours_loses_more_than_epsilon(function, clip, norm, relation):
    found = worst(Tiny(function, clip, norm), "kng", relation)
    assert 0.1 < found <= 1 + 1e-9


@pytest.mark.parametrize("norm", [LInf(), L1(), L2()])
def test_some_pair_loses_nearly_epsilon(norm):
    assert 0.9 < worst(Tiny(attaining, 1, norm), "kng", "replace-one") <= 1 + 1e-9


def test_a_score_that_leaves_its_body_would_be_noticed(monkeypatch):
    from kng.losses.traced.bodies import BoxClipping

    right = BoxClipping.whole
    monkeypatch.setattr(BoxClipping, "whole", lambda s, v: [k * 2 for k in right(s, v)])
    assert worst(Tiny(attaining, 1), "kng", "replace-one") > 1.5


def test_the_function_never_sees_a_record():
    seen = []

    def spy(records, theta):
        seen.append((type(records["x"]).__name__, type(theta).__name__))
        return np.tanh(theta[0] - records["x"])[:, None]

    made = kng.KNG(Score(spy, clip=1), domain=Box(0, 10, dim=1))
    release = made.release({"x": np.arange(50.0) % 10}, bounds={"x": (0, 10)}, epsilon=1)
    assert seen == [("Tracer", "Tracer")] * 2
    assert release.guarantee == "exact"
    assert 0 <= release.value <= 10


def test_a_score_does_not_depend_on_the_place_of_a_record():
    plan = kng.KNG(CASES["weibull"][0], domain=CASES["weibull"][2])
    plan = plan.plan(bounds=BOUNDS["weibull"], epsilon=1)._plan
    rng, records = np.random.default_rng(0), named(plan, BOUNDS["weibull"])
    t = rng.uniform(0, 4, 999)
    point = tuple(rng.integers(0, 2**30, 2).tolist())
    sums = [
        plan.read(open_source({"t": data}, records), [plan])[0].total(point)
        for data in (t, t[::-1], rng.permutation(t))
    ]
    alone = [
        plan.read(open_source({"t": t[i : i + 1]}, records), [plan])[0].total(point)
        for i in range(0, 999)
    ]
    assert sums[0] == sums[1] == sums[2] == [sum(column) for column in zip(*alone, strict=True)]


CALLS = {"state": 0}


def stateful(r, t):
    CALLS["state"] += 1
    return (r["x"] * CALLS["state"])[:, None] * t


def keeping(r, t):
    CALLS["column"] = CALLS.get("column", r["x"])
    return CALLS["column"][:, None] * t


def branching(r, t):
    return t[None, :] * (1 if r["x"] > 0 else 2)


def writing(r, t):
    r["x"][0] = 1
    return r["x"][:, None] * t


HOSTILE = {
    "mean": (lambda r, t: (r["x"] - r["x"].mean())[:, None] * t, "goes over the records"),
    "sum": (lambda r, t: np.sum(r["x"], axis=0) * t, "goes over the records"),
    "sort": (lambda r, t: np.sort(r["x"])[:, None] * t, "several records at once"),
    "if": (branching, r"np\.where"),
    "state": (stateful, "changes between calls"),
    "keeps": (keeping, "earlier call"),
    "number": (lambda r, t: (r["x"] / len(r["x"]))[:, None] * t, "number of records"),
    "random": (lambda r, t: r["x"][:, None] * t * np.random.default_rng().normal(), "changes"),
    "place": (lambda r, t: r["x"][0] * t, "by their place"),
    "reversed": (lambda r, t: r["x"][::-1][:, None] * t, "by their place"),
    "masked": (lambda r, t: r["x"][r["x"] > 0][:, None] * t, r"np\.where"),
    "arange": (lambda r, t: (r["x"] * np.arange(len(r["x"])))[:, None] * t, "record to record"),
    "writes": (writing, "writes into"),
    "loop": (lambda r, t: np.stack([v * t for v in r["x"]]), "one by one"),
    "float": (lambda r, t: math.exp(r["x"]) * t, "plain array or number"),
    "array": (lambda r, t: np.array([r["x"], r["x"]]).T, "np.stack"),
    "unlisted": (lambda r, t: np.floor(r["x"])[:, None] * t, "np.floor is not one"),
    "fft": (lambda r, t: np.fft.fft(r["x"])[:, None] * t, "np.fft is not one"),
    "method": (lambda r, t: r["x"].searchsorted(t), "several records"),
    "attribute": (lambda r, t: r["x"].data, "'data'"),
    "column": (lambda r, t: r["q"][:, None] * t, "column 'q'"),
    "product": (lambda r, t: (r["x"] @ r["x"]) * t, "sums over the records"),
    "shape": (lambda r, t: r["x"] * t[0], r"shape \(n,\)"),
    "wide": (lambda r, t: np.stack([r["x"]] * 3, axis=1), r"shape \(n, 3\)"),
    "theta": (lambda r, t: t, r"shape \(2,\)"),
    "spread": (lambda r, t: r["x"] * t, "column"),
    "nothing": (lambda r, t: None, "not numbers"),
    "list": (lambda r, t: [r["x"], r["x"]], "np.stack"),
    "raises": (lambda r, t: 1 / 0, "raised ZeroDivisionError"),
    "unpacks": (lambda r, t: list(t)[2], "raised IndexError"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_functions_are_refused_before_a_record_is_read(name):
    function, message = HOSTILE[name]
    made = kng.KNG(Score(function, clip=1), domain=Box(-1, 1, dim=2))
    for call in (lambda: made.plan(bounds={"x": (0, 1)}, epsilon=1),
                 lambda: made.release(None, bounds={"x": (0, 1)}, epsilon=1)):  # fmt: skip
        with pytest.raises((IncompatibleParts, SpecError), match=message) as refused:
            call()
        assert "Score(" in str(refused.value)


@pytest.mark.parametrize("clip", [0, -1, float("nan"), float("inf"), "a", [], [1, 0], 1e200, True])
def test_a_clip_is_a_positive_number_or_several(clip):
    with pytest.raises(kng.KngError, match="clip of Score"):
        Score(instruments, clip=clip)


def test_what_does_not_fit_is_refused_in_a_sentence():
    square = Score(lambda r, t: t - r["x"][:, None], clip=1)
    bounds = {"bounds": {"x": (0, 1)}, "epsilon": 1}
    for made, message in [
        (kng.KNG(square, domain=Box(-1, 1)), "Give dim"),
        (kng.KNG(square, domain=Whole(2)), "bounded domain"),
        (kng.KNG(Score(weibull, clip=[1]), domain=Box(-1, 1, dim=2)), "1 clips"),
        (kng.KNG(square, norm=Hull(), domain=Box(-1, 1, dim=2)), "one clip for each"),
        (kng.Exponential(square, domain=Box(-1, 1, dim=2)), "Use kng.KNG"),
        (kng.KNorm(square), "Use kng.KNG"),
        (kng.ObjectivePerturbation(square), "Use kng.KNG"),
        (kng.KNG(square, domain=Box(-1, 1, dim=4)), "hit-and-run"),
        (kng.KNG(square, domain=Box(10**12, 10**12 + 0.0001, dim=2)), "narrow"),
    ]:
        with pytest.raises(kng.KngError, match=message):
            made.plan(**bounds)
    with pytest.raises(kng.KngError, match="by name"):
        kng.KNG(square, domain=Box(-1, 1, dim=2)).plan(bounds=(0, 1), epsilon=1)
    with pytest.raises(kng.KngError, match="needs a function"):
        Score(3, clip=1)


@pytest.mark.parametrize(
    ("norm", "domain", "clip"),
    [
        ("auto", Box(-4, 6, dim=2), [1, 1]),
        (L2(), L2Ball(6, dim=2), 1),
        (L1(), L1Ball(8, dim=2), 1),
        (Hull(), Box(-4, 6, dim=2, base=kng.bases.Gaussian(3)), [1, 1]),
        (Polytope([(1, 1), (1, -1)]), Box(-4, 6, dim=2), 2),
    ],
)
def test_norms_and_domains_serve(norm, domain, clip):
    made = kng.KNG(Objective(logistic_loss, clip=clip), norm=norm, domain=domain)
    release = made.release(TABLES["logistic"], bounds=BOUNDS["logistic"], epsilon=400)
    assert release.guarantee == "exact"
    assert "theta[0]: " in repr(release)
    # A sum of size 1 has the weight exp(-100) or less.
    assert np.abs(logistic_ridge(TABLES["logistic"], release.value).sum(axis=0)).max() < 1


def test_chains_by_name_serve_more_coordinates():
    def four(records, theta):
        return np.tanh(theta - records["x"][:, None])

    made = kng.KNG(Score(four, clip=1), domain=Box(-1, 1, dim=4), sampler="hit-and-run")
    plan = made.plan(bounds={"x": (0, 1)}, epsilon=1)
    assert plan.guarantee == "approximate"


def test_the_density_is_that_of_the_formula():
    loss, _, box = CASES["logistic"]
    made = kng.KNG(loss, domain=box)
    grid = np.array([[0.0, 1.0], [0.5, 2.0], [-1.0, 0.0]])
    found = made.density(
        TABLES["logistic"], bounds=BOUNDS["logistic"], epsilon=2, grid=grid, public=True
    )
    for a, b in zip(found.points, found.log_density - found.log_density[0], strict=True):
        totals = [np.abs(logistic_ridge(TABLES["logistic"], p).sum(axis=0)).max()
                  for p in (a, found.points[0])]  # fmt: skip
        assert b == pytest.approx(-(totals[0] - totals[1]) / 2, abs=1e-5)


def test_hostile_records_cost_accuracy_only():
    made = kng.KNG(Score(hostile, clip=1), domain=Box(-1, 1, dim=2))
    bounds = {"x": (-1, 1), "y": (0, 1), "z": (-1, 1)}
    cells = {"x": [np.nan, np.inf, 1e308, -1, None] * 4, "y": [0] * 20, "z": ["?"] * 20}
    release = made.release(cells, bounds=bounds, epsilon=1)
    assert np.isfinite(release.value).all()


def test_whole_decimals_arrive_as_they_are_written():
    seen = kng.KNG(Score(lambda r, t: np.where(r["x"] == 0.3, 1.0, 0.0)[:, None], clip=1),
                   domain=Box(0, 1, dim=1))  # fmt: skip
    plan = seen.plan(bounds={"x": (0, 1)}, epsilon=1, granularity="0.1")._plan
    (field,) = plan.read(open_source({"x": [0.3, 0.7, 0.3]}, named(plan, {"x": (0, 1)})), [plan])
    assert field.vector((0,)) == [2]
