"""Fields of linear models: exact scores, and expansions that hold them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from conformance.test_linear import ACROSS, TWO_SIDED, design_of, lattice_of

from kng.core.bits import SeededBits
from kng.core.design import Design
from kng.core.lattice import Lattice
from kng.core.privacy import PrivacyUnit, ReplaceOne
from kng.core.records import USUAL_MEMORY
from kng.data import open_regression
from kng.domains import Box, LatticeBox
from kng.losses.accelerators import accelerator_of
from kng.losses.fields.linear_field import LinearField, read_linear
from kng.losses.linear import Linear
from kng.losses.pointwise.expectile import Expectile
from kng.losses.pointwise.huber import Huber
from kng.losses.pointwise.logistic import Logistic
from kng.losses.pointwise.pinball import Pinball
from kng.losses.pointwise.smoothed_pinball import SmoothedPinball
from kng.losses.pointwise.squared import Squared
from kng.losses.reading import measured_in
from kng.norms import L1, L2, InterceptSup, LInf

F = Fraction
N = 500


def plan_of(loss, norm, weighs: str, reach: int, answers: Lattice):
    d = loss.design.dim
    box = LatticeBox((-reach,) * d, (reach,) * d)
    known = {"unit": PrivacyUnit(ReplaceOne(N)), "memory": USUAL_MEMORY}
    problem = SimpleNamespace(
        norm=norm, loss=loss, answers=answers, domain=Box.of(answers), **known
    )
    return SimpleNamespace(
        problem=problem, weighs=weighs, domain=box, grid=loss.grid, measure=measured_in(norm)
    )


def records(design: Design, rng, n=N):
    x = rng.uniform(-1.2, 1.2, (n, len(design.records) - 1))
    y = np.round(x.sum(axis=1) + rng.normal(size=n) * 0.3, 1)
    y[: n // 20] = rng.normal(size=n // 20) * 1e6
    return open_regression(x, y, design.records)


CELLS = {
    "squared": (Squared(), True, None, 2**16, F(1, 2**20)),
    "squared through 0": (Squared(), False, None, 2**16, F(1, 2**20)),
    "pinball": (Pinball(F(9, 10)), True, None, 2**24, F(1, 2**24)),
    "pinball through 0": (Pinball(F(1, 3)), False, None, 2**24, F(1, 2**20)),
    "huber": (Huber(F(1, 2)), True, F(1, 2), 2**21, F(1, 2**20)),
    "huber through 0": (Huber(F(1, 3)), False, F(1, 3), 2**21, F(1, 2**10)),
    "expectile": (Expectile(F(9, 10)), True, None, 2**16, F(1, 2**20)),
    "logistic": (Logistic(), True, None, 2**16, F(1, 2**20)),
    "smoothed": (SmoothedPinball(F(9, 10), F(1, 2)), True, F(1, 2), 2**21, F(1, 2**20)),
}


def loss_of(name: str) -> tuple[Linear, Lattice, int]:
    p, intercept, scale, steps, step = CELLS[name]
    columns = [TWO_SIDED] if intercept else [TWO_SIDED, ACROSS]
    design = design_of(columns, (F(-2), F(2)), intercept, scale, steps)
    reach = int(4 / step)
    answers = lattice_of(design.dim, reach, step)
    return Linear(p, intercept=intercept).over(design, answers), answers, reach


def field_of(loss: Linear, source, norm, weighs: str, reach: int, answers: Lattice):
    (field,) = read_linear(source, [plan_of(loss, norm, weighs, reach, answers)])
    return field


def boxes(rng, field, reach: int, count: int):
    """Boxes of lattice points of all sizes, near the records and far away; some single points."""
    d = len(field.start())
    near = np.clip(np.rint(field.start()), -reach, reach)
    widths = np.floor(2.0 ** rng.uniform(-1, np.log2(reach), (count, d)))
    centres = np.where(rng.random((count, 1)) < 0.6, near, rng.uniform(-reach, reach, (count, d)))
    first = np.rint(np.clip(centres - widths * rng.random((count, d)), -reach, reach))
    last = np.minimum(first + widths, reach)
    return first, last


@pytest.mark.parametrize("weighs", ["gradient", "value"])
@pytest.mark.parametrize("name", sorted(CELLS))
def test_expansions_hold_the_score(name, weighs):
    loss, answers, reach = loss_of(name)
    rng = np.random.default_rng(3)
    source = records(loss.design, rng)
    # the vector itself, one coordinate after the other
    for j in range(loss.dim if weighs == "gradient" else 1):
        pick = SimpleNamespace(value=lambda v, j=j: v[j])
        field = field_of(loss, source, pick, weighs, reach, answers)
        first, last = boxes(rng, field, reach, 40)
        centre, half = (first + last) / 2, (last - first) / 2
        expansion = field.expand(centre, half)
        low, high = expansion.bounds(half)
        for i in range(len(first)):
            inside = [first[i], last[i], *(rng.integers(first[i], last[i] + 1) for _ in range(4))]
            for point in inside:
                score = field.score(tuple(int(v) for v in point))
                delta = point - centre[i]
                line = F(expansion.value[i, j]) + sum(
                    F(a) * F(b) for a, b in zip(expansion.slope[i, j], delta, strict=True)
                )
                assert abs(score - line) <= F(expansion.out[i, j])
                assert F(low[i, j]) <= score <= F(high[i, j])


@pytest.mark.parametrize("name", sorted(CELLS))
def test_expansions_hold_where_centres_are_no_lattice_points(name):
    loss, answers, reach = loss_of(name)
    rng = np.random.default_rng(4)
    pick = SimpleNamespace(value=lambda v: v[0])
    field = field_of(loss, records(loss.design, rng), pick, "gradient", reach, answers)
    point = np.rint(field.start())
    half = rng.uniform(1, 50, (20, loss.dim))
    centre = point + half * rng.uniform(-1, 1, half.shape)
    low, high = field.expand(centre, half).bounds(half)
    score = field.score(tuple(int(v) for v in point))
    assert all(F(a) <= score <= F(b) for a, b in zip(low[:, 0], high[:, 0], strict=True))


def test_small_boxes_have_narrow_bounds():
    """At single points nothing but rounding is left."""
    for name in CELLS:
        loss, answers, reach = loss_of(name)
        rng = np.random.default_rng(5)
        source = records(loss.design, rng)
        for weighs in ("gradient", "value"):
            field = field_of(loss, source, LInf(), weighs, reach, answers)
            point = np.rint(field.start())[None]
            expansion = field.expand(point, np.zeros_like(point))
            assert (expansion.out <= 1e-6).all()


ACCELERATED = {"pinball": "quantile planes", "huber": "Huber planes"}


@pytest.mark.parametrize("name", ["pinball", "pinball through 0", "huber", "huber through 0"])
@pytest.mark.parametrize("weighs", ["gradient", "value"])
def test_the_generic_field_agrees_with_the_accelerators(name, weighs):
    loss, answers, reach = loss_of(name)
    rng = np.random.default_rng(6)
    source = records(loss.design, rng)
    norm = InterceptSup(F(5, 9)) if name == "pinball" else LInf()
    plan = plan_of(loss, norm, weighs, reach, answers)
    assert accelerator_of([plan]).name == ACCELERATED[name.removesuffix(" through 0")]
    (fast,) = loss.read(source, [plan])
    (field,) = read_linear(source, [plan])
    assert type(fast) is not type(field)
    grain = field.stepped.rho_step * N
    for _ in range(40):
        point = tuple(int(k) for k in rng.integers(-reach, reach + 1, loss.dim))
        if weighs == "gradient":
            assert field.score(point) == fast.score(point)
        else:  # values are rounded down to steps, which differ
            assert abs(field.score(point) - fast.score(point)) <= 2 * grain + fast_grain(fast) * N


def test_accelerators_of_planes_serve_by_what_parts_state():
    for name, stated in ACCELERATED.items():
        loss, answers, reach = loss_of(name)
        for norm in (L1(), L2(), LInf(weights=(1, 2))):
            assert accelerator_of([plan_of(loss, norm, "gradient", reach, answers)]) is None
        plan = plan_of(loss, LInf(), "gradient", reach, answers)
        assert accelerator_of([plan]).name == stated
        plan.domain = SimpleNamespace(first=plan.domain.first, last=plan.domain.last)
        assert accelerator_of([plan]) is None


def test_shifts_of_both_are_the_same():
    loss, answers, reach = loss_of("pinball")
    loss = replace(loss, jitter=F(1, 2**10))
    plan = plan_of(loss, LInf(), "gradient", reach, answers)
    source = records(loss.design, np.random.default_rng(9))
    (fast,), (field,) = loss.read(source, [plan]), read_linear(source, [plan])
    shifted, plain = fast.shifted(SeededBits(3)), field.shifted(SeededBits(3))
    assert (shifted.response == plain.response).all()
    assert (plain.response != field.response).any()


def test_pieces_are_those_of_the_summed_loss():
    """One step of Newton from the piece at theta: the gradient there is the field's score."""
    for name in ("squared", "huber", "smoothed"):
        loss, answers, reach = loss_of(name)
        source = records(loss.design, np.random.default_rng(10))
        pick = SimpleNamespace(value=lambda v: v[0], shape=None)
        field = field_of(loss, source, pick, "gradient", reach, answers)
        unit = PrivacyUnit(ReplaceOne(N))
        problem = SimpleNamespace(loss=loss, norm=LInf(), unit=unit, memory=USUAL_MEMORY)
        smooth = SimpleNamespace(weighs="smooth", problem=problem)
        (pieces,) = loss.read(source, [smooth])
        point = tuple(int(k) for k in np.rint(field.start()))
        theta = [answers.step[0] * k for k in point]
        piece = pieces.piece(theta, F(1))
        gradient = sum(a * t for a, t in zip(piece.rows[0], theta, strict=True)) - piece.right[0]
        assert abs(gradient - field.score(point)) <= N * F(1, 2**16)
    assert loss_of("squared")[0].curvature() == loss_of("huber")[0].curvature() == 2
    assert loss_of("pinball")[0].curvature() is None


def fast_grain(field) -> Fraction:
    return 1 / F(field.steps) if hasattr(field, "steps") else F(0)


@pytest.mark.parametrize("weighs", ["gradient", "value"])
@pytest.mark.parametrize("name", ["squared", "squared through 0"])
def test_sums_of_products_agree_with_all_records(name, weighs):
    loss, answers, reach = loss_of(name)
    rng = np.random.default_rng(7)
    source = records(loss.design, rng)
    for norm in (LInf(), L1(), L2()):
        field = field_of(loss, source, norm, weighs, reach, answers)
        most = 2**16 * reach * loss.dim
        table = source.collect(loss.rows)
        length = measured_in(norm) if weighs == "gradient" else None
        rows = LinearField(table[:, :-1], table[:, -1], loss.stepped(most), length, 2 * most)
        for _ in range(20):
            point = tuple(int(k) for k in rng.integers(-reach, reach + 1, loss.dim))
            if weighs == "gradient":
                assert field.score(point) == rows.score(point)
            else:
                found, step = rows.score(point), rows.stepped.rho_step
                assert found <= field.score(point) <= found + N * step


def test_a_start_lies_near_the_least_score():
    for name in CELLS:
        loss, answers, reach = loss_of(name)
        rng = np.random.default_rng(8)
        field = field_of(loss, records(loss.design, rng), LInf(), "gradient", reach, answers)
        point = tuple(int(k) for k in np.rint(field.start()))
        assert field.score(point) <= 5
