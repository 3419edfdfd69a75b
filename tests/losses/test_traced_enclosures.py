"""Enclosures of traced programs: no point of any box outside, operation by operation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from kng.core.boxes.covering import Leaning
from kng.core.regions import Grid
from kng.core.traced import elementary
from kng.core.traced.boxes import Boxes, Slopes
from kng.core.traced.enclosed import Enclosed
from kng.core.traced.enclosing import enclosed
from kng.core.traced.replay import replayed, standing
from kng.losses.traced.bodies import BallClipping, BoxClipping, clipping_of
from kng.losses.traced.field import TracedField
from kng.losses.traced.records import gradient_graph, score_graph
from kng.norms import L1, L2, LInf, Polytope

BOXES, RECORDS, TRIES = 250, 8, 17  # 10^5 points of boxes, in three sizes of boxes together
STEP = 2.0**-20


def two(operation):
    """Return a score of theta and two columns, in which theta moves both inputs."""
    return lambda r, t: operation(r["x"] + t[0], r["y"] * t[1])[:, None] + 0 * t[None, :]


def one(operation):
    return lambda r, t: operation(r["x"] + r["y"] * t[0])[:, None] + 0 * t[None, :]


OPERATIONS = {
    "exp": one(np.exp),
    "log": one(np.log),
    "expm1": one(np.expm1),
    "log1p": one(np.log1p),
    "sqrt": one(np.sqrt),
    "tanh": one(np.tanh),
    "arctan": one(np.arctan),
    "square": one(lambda v: v**2),
    "cube": one(lambda v: v**3),
    "expit": one(lambda v: 1 / (1 + np.exp(-v))),
    "softplus": one(lambda v: np.logaddexp(0, v)),
    "absolute": one(np.abs),
    "sign": one(np.sign),
    "reciprocal": one(lambda v: 1 / v),
    "clip": one(lambda v: np.clip(v, -0.5, 1)),
    "add": two(np.add),
    "subtract": two(np.subtract),
    "multiply": two(np.multiply),
    "divide": two(np.divide),
    "power": two(lambda a, b: np.abs(a) ** b),
    "minimum": two(np.minimum),
    "maximum": two(np.maximum),
    "where": two(lambda a, b: np.where((a > b) & ~(a == 1), a * b, b - 2)),
    "one of two": two(lambda a, b: np.where(a > b, a, b)),
    "mask": two(lambda a, b: ((a <= b) | (a < -1)).astype(float)),
    "guarded": one(lambda v: np.where(v > 0, np.log(v), 3 * v)),
    "huge": one(lambda v: np.exp(300 * v) * v),
    "lost factors": two(lambda a, b: (1e200 * a + 1e200 * b) * 1e-170 * 1e-170 * 1e140),
    "large divisors": one(lambda v: 1e180 / (1e170 * np.exp(3 * v))),
    "overflowing": two(lambda a, b: np.tanh(np.exp(900 * a) - np.exp(900 * b))),
}


def boxes_of(rng, wide: float) -> tuple[Boxes, np.ndarray]:
    """Return boxes of all sizes, half of them sheared, and lattice points of each."""
    centre = rng.integers(-(2**22), 2**22, (BOXES, 2)) / 1.0
    half = np.floor(wide * 2.0 ** rng.uniform(0, 22, (BOXES, 2)))
    half[rng.random(BOXES) < 0.1] = 0
    shear = np.array([[1.0, rng.integers(-(2**16), 2**16) / 2**16], [0.0, 1.0]])
    xi = rng.uniform(-1, 1, (TRIES, BOXES, 2))
    xi = np.where(rng.random((TRIES, BOXES, 2)) < 0.3, np.sign(xi), xi)
    if rng.random() < 0.5:
        return Boxes.upright(centre, half), np.rint(centre + xi * half)
    slack = np.ones((BOXES, 2))
    points = np.rint(centre + (xi * half) @ shear.T)
    lean = Leaning(centre, half, slack, shear)
    around = np.ceil(lean.sides()) + 1
    return Boxes.leaning(centre, around, lean), points


def columns_of(rng) -> list[np.ndarray]:
    x = rng.normal(0, 2, RECORDS)
    x[:2] = 0.0, 1.0
    return [x, np.where(rng.random(RECORDS) < 0.3, 0.0, rng.normal(0, 1, RECORDS))]


def misses(graph, boxes: Boxes, points, columns) -> int:
    """Return how many points lie outside what boxes promise."""
    found = enclosed(graph, standing(graph, columns), boxes, (0.0, 0.0), (STEP, STEP))
    shape = (TRIES, BOXES, RECORDS)
    theta = np.stack([np.repeat(points[..., j].ravel() * STEP, RECORDS) for j in range(2)])
    many = [np.tile(c, TRIES * BOXES) for c in columns]
    values = replayed(graph, many, theta)
    bad = 0
    for place, x in zip(graph.results, found, strict=True):
        value = np.broadcast_to(values[place], theta[:1].shape).reshape(shape)
        bad += outside(x, value, points - boxes.centre)
    return bad


def outside(x: Enclosed, value, delta) -> int:
    with np.errstate(all="ignore"):
        inside = (x.low <= value) & (value <= x.high)
        line, slopes = x.middle, x.slopes.written() or (None, None)
        for j, slope in enumerate(slopes):
            line = line + (0.0 if slope is None else slope * delta[..., j : j + 1])
        inside &= (np.abs(value - line) <= x.miss) | np.isinf(x.miss)
    doubt = np.zeros(1, bool) if x.doubt is None else x.doubt
    return int((~(inside | (np.isnan(value) & doubt))).sum())


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_point_of_a_box_lies_outside(name):
    graph = score_graph(OPERATIONS[name], ["x", "y"], 2, name)
    bad, seen = 0, 0
    for seed, wide in enumerate((2.0**-18, 2.0**-6, 1.0)):
        rng = np.random.default_rng([seed, len(name)])
        columns = columns_of(rng)
        bad += misses(graph, *boxes_of(rng, wide), columns)
        seen += BOXES * RECORDS * TRIES
    assert seen >= 10**5
    assert bad == 0


@pytest.mark.parametrize("part", ["low", "high", "miss"])
def test_an_enclosure_that_is_too_narrow_is_noticed(part, monkeypatch):
    from kng.core.traced import enclosing

    right = enclosing.smooth

    def wrong(boxes, name, x):
        y = right(boxes, name, x)
        quarter = (y.high - y.low) / 4
        if part == "low":
            y.low = y.low + quarter
        elif part == "high":
            y.high = y.high - quarter
        else:
            y.miss = y.miss / 2
        return y

    monkeypatch.setattr(enclosing, "smooth", wrong)
    graph = score_graph(OPERATIONS["exp"], ["x", "y"], 2, "exp")
    rng = np.random.default_rng(0)
    assert misses(graph, *boxes_of(rng, 2.0**-2), columns_of(rng)) > 100


TRUE = {
    "exp": arb.exp,
    "expm1": arb.expm1,
    "log": arb.log,
    "log1p": arb.log1p,
    "tanh": arb.tanh,
    "arctan": arb.atan,
    "expit": lambda v: 1 / (1 + (-v).exp()),
    "softplus": lambda v: v.exp().log1p(),
}


@pytest.mark.parametrize("name", TRUE)
def test_functions_are_as_near_as_the_note_says(name):
    rng = np.random.default_rng(1)
    sizes = 2.0 ** rng.uniform(-60, 9, 700)
    x = np.concatenate([sizes, -sizes, rng.uniform(-3, 3, 600), np.arange(-20, 21) * np.log(2) / 2])
    x = x[x > 0] if name == "log" else x[x > -1] if name == "log1p" else x
    found = elementary.PROGRAMS[name](x)
    for a, b in zip(x.tolist(), found.tolist(), strict=True):
        true = TRUE[name](arb(a))
        assert abs(arb(b) - true) <= arb(elementary.OFF) * abs(true) / 8 + arb(elementary.TINY)


@pytest.mark.parametrize("name", TRUE)
def test_functions_do_not_depend_on_the_place(name):
    rng = np.random.default_rng(2)
    x = np.abs(rng.normal(0, 30, 1001))
    together = elementary.PROGRAMS[name](x)
    alone = np.array([elementary.PROGRAMS[name](x[i : i + 1])[0] for i in range(len(x))])
    assert np.array_equal(together, alone)


def test_functions_at_their_ends():
    ends = np.array([np.nan, np.inf, -np.inf, 0.0, 1e308, -1e308])
    with np.errstate(all="ignore"):
        for name, expected in {
            "exp": [np.nan, np.inf, 0, 1, np.inf, 0],
            "log": [np.nan, np.inf, np.nan, -np.inf, None, np.nan],
            "tanh": [np.nan, 1, -1, 0, 1, -1],
            "expit": [np.nan, 1, 0, 0.5, 1, 0],
            "softplus": [np.nan, np.inf, 0, None, 1e308, 0],
        }.items():
            found = elementary.PROGRAMS[name](ends)
            for a, b in zip(found, expected, strict=True):
                assert b is None or a == b or (np.isnan(a) and np.isnan(b))


CLIPS = {
    "box": (clipping_of((Fraction(1), Fraction(1, 2)), LInf(), 2, "f"), BoxClipping),
    "round": (clipping_of(Fraction(1), L2(), 2, "f"), BallClipping),
    "weighted": (clipping_of(Fraction(1), L2((Fraction(1), Fraction(1, 2))), 2, "f"), BallClipping),
    "sum": (clipping_of(Fraction(1), L1(), 2, "f"), BallClipping),
    "slanted": (
        clipping_of(Fraction(1), Polytope([(1, 1), (10, -10), (0, 1)]), 2, "f"),
        BallClipping,
    ),
}


def waves(r, t):
    a = np.tanh(r["x"] * t[0] - r["y"]) * 2
    return np.stack([a, np.where(r["y"] > t[1], a * r["x"], np.exp(t[1]) / r["x"])], axis=1)


def field_of(clip, rng, n=300):
    columns = (np.round(rng.normal(0, 2, n), 1), rng.normal(0, 1, n))
    graph = score_graph(waves, ["x", "y"], 2, "waves")
    grid = Grid((Fraction(0),) * 2, (Fraction(1, 2**20),) * 2)
    ends = (-(2**22),) * 2, (2**22,) * 2
    return TracedField(columns, np.ones(n), graph, clip, grid, lambda p, v: max(map(abs, v)), *ends)


@pytest.mark.parametrize("name", CLIPS)
def test_sums_of_clipped_scores_lie_in_their_expansions(name):
    clip, kind = CLIPS[name]
    assert isinstance(clip, kind)
    rng = np.random.default_rng(3)
    field = field_of(clip, rng)
    for wide in (2.0**-18, 2.0**-8, 2.0**-2):
        boxes, points = boxes_of(rng, wide)
        some = slice(0, 40)
        about, half = boxes.centre[some], np.ceil(boxes.high - boxes.low)[some]
        if boxes.shear is None:
            found = field.expand(about, half)
        else:
            lean = Leaning(about, boxes.half[some], boxes.slack[some], boxes.shear)
            found = field.expand_leaning(about, half, lean)
        for i, point in enumerate(points[0][some]):
            value = np.array([float(v) for v in field.vector(tuple(int(k) for k in point))])
            line = found.value[i] + found.slope[i] @ (point - about[i])
            assert (np.abs(value - line) <= found.out[i]).all()


@pytest.mark.parametrize("name", CLIPS)
def test_every_score_lies_in_its_body(name):
    clip, _ = CLIPS[name]
    rng = np.random.default_rng(4)
    scores = list(rng.normal(0, 1, (2, 20_000)) * 10.0 ** rng.uniform(-3, 5, 20_000))
    scores[0][:5] = np.nan, np.inf, -np.inf, 1e308, 0.0
    whole = np.stack(clip.whole(scores))
    assert (whole == np.rint(whole)).all()
    assert (whole[:, 0] == 0).all()
    exact = [[int(v) * h for v, h in zip(row, clip.steps, strict=True)] for row in whole.T[:2000]]
    if name == "box":
        assert all(abs(a) <= 1 and abs(b) <= F_HALF for a, b in exact)
        return
    norm = {
        "round": lambda a, b: a * a + b * b,
        "weighted": lambda a, b: a * a + b * b / 4,
        "sum": lambda a, b: abs(a) + abs(b),
        "slanted": lambda a, b: max(abs(a + b), 10 * abs(a - b), abs(b)),
    }[name]
    sizes = [norm(a, b) for a, b in exact]
    assert max(sizes) <= 1
    assert sum(size > 0.999 for size in sizes) > 500


F_HALF = Fraction(1, 2)


def test_derived_gradients_are_those_of_differences():
    losses = {
        "weibull": lambda r, t: (r["x"] / np.exp(t[0])) ** np.exp(t[1]) - t[1] + t[0] / 2,
        "mixed": lambda r, t: np.log1p(np.exp(r["x"] * t[0])) + np.sqrt(1 + (t[1] - r["y"]) ** 2),
        "kinked": lambda r, t: np.abs(r["x"] - t[0]) + np.maximum(r["y"] * t[1], t[0] / 3),
        "others": lambda r, t: (
            np.arctan(t[0] * r["x"]) / (2 + np.tanh(t[1]))
            + np.where(r["x"] > 1, np.expm1(t[1]), -t[1]) * np.log(3 + t[0] ** 3)
        ),
    }
    rng = np.random.default_rng(5)
    columns = [rng.uniform(0.5, 2, 200), rng.normal(0, 1, 200)]
    records = dict(zip(("x", "y"), columns, strict=True))
    for name, loss in losses.items():
        graph = gradient_graph(loss, ["x", "y"], 2, name)
        for theta in rng.uniform(-1, 1, (5, 2)):
            cells = replayed(graph, columns, theta)
            for j, place in enumerate(graph.results):
                step = np.zeros(2)
                step[j] = 1e-6
                slope = (loss(records, theta + step) - loss(records, theta - step)) / 2e-6
                found = np.broadcast_to(cells[place], slope.shape)
                assert np.mean(np.abs(found - slope) < 1e-5 * (1 + np.abs(slope))) > 0.99


def test_slopes_that_share_their_terms_are_added_by_their_factors():
    boxes = Boxes.upright(np.zeros((1, 2)), np.ones((1, 2)))
    terms = (np.array([[1.0]]), np.array([[2.0]]))
    one = Slopes(terms, boxes.reach(terms), np.array([[3.0]]))
    both = one.plus(one.times(np.array([[-1.0]])), boxes)
    assert both.size == 0
    other = Slopes(tuple(t.copy() for t in terms), boxes.reach(terms))
    assert one.plus(other, boxes).size == 12
