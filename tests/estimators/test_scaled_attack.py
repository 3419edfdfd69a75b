"""Attacks on fits at a private scale: the law of all stages, public extremes, odd sources."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

import kng
from kng import corridor
from kng.core.bounds import Bounds
from kng.core.design import Design, across, from_zero
from kng.core.enclosures import precision
from kng.core.errors import PrivateZoneError
from kng.core.privacy import AddRemove, Neighbours, PrivacyUnit, ReplaceOne
from kng.core.scale import RadiusGrid
from kng.domains import L1Ball
from kng.estimators.fit import Fit
from kng.estimators.scale_stages import LEVELS, SCALED_RESPONSE_STEPS, ScaledFit, scaled_problem
from kng.losses.kernels.ranks import Wanted, read_ranks
from kng.losses.linear_encoding import encoded
from kng.losses.mapped import MappedRecords
from kng.losses.radius import Distances
from kng.mechanisms.objective import Perturbation
from kng.mechanisms.scaled import Bent, Clipped
from kng.norms import LInf

MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "linear": (kng.LinearRegression, {}),
    "huber": (kng.HuberRegressor, {"threshold": "auto"}),
}


def planned(
    name: str,
    unit: PrivacyUnit,
    epsilon: Fraction,
    bounds: tuple[Fraction, Fraction],
    *,
    intercept: bool,
    d: int = 1,
    radius: Fraction | None = None,
) -> tuple[Design, Fit]:
    """Return the stages for covariates between -1 and 1; no record is there to be read."""
    cut = across if intercept else from_zero
    covariates = Bounds((Fraction(-1),) * d, (Fraction(1),) * d)
    design = Design(encoded(covariates, cut(*bounds, SCALED_RESPONSE_STEPS), cut), intercept)
    bound = None if radius is None else radius * design.half_y
    problem = scaled_problem(design, LInf(), None if bound is None else L1Ball(bound), unit)

    def rule(left: Fraction) -> Clipped | Bent:
        return Clipped.of(left, design.dim, unit) if name == "linear" else Bent()

    levels = tuple(level for level in LEVELS if name == "linear" or level <= Fraction(7, 8))
    fit = ScaledFit(problem, design, bounds, epsilon, rule, levels, None, "auto")
    nothing: Any = None
    return design, fit.stages(lambda _: nothing)


# --- the law of all stages together, from formulas of its own ------------------------------------

Record = tuple[float, float]
LOW, HIGH, STEPS = -4.0, 4.0, 2**24
# Covariate and response, both on their lattices.
UNIVERSE: tuple[Record, ...] = ((1, 4), (1, -4), (-1, 4), (1, 0), (1, 2**-10), (0.5, 1))


def log_median(data: tuple[Record, ...], epsilon: float, slack: float, at: list[int]) -> np.ndarray:
    """Return log probabilities of lattice points of y as the median by KNG."""
    y = np.sort([round((v - LOW) / (HIGH - LOW) * STEPS) for _, v in data])
    half = len(y) / 2

    def exponent(k: int) -> float:
        return -epsilon / 2 / slack * max(0, (y < k).sum() - half, half - (y <= k).sum())

    # Between two responses all points weigh the same.
    ends = [-1, *sorted(set(y)), STEPS + 1]
    total = sum(np.exp(exponent(k)) for k in ends[1:-1])
    for a, b in pairwise(ends):
        if b - a > 1:
            total += (b - a - 1) * np.exp(exponent(a + 1))
    return np.array([exponent(k) for k in at]) - np.log(total)


def log_radius(
    data: tuple[Record, ...], centre: int, radii: tuple[int, ...], tau: float, rate: float
) -> np.ndarray:
    """Return log probabilities of all radii."""
    y = [round((v - LOW) / (HIGH - LOW) * STEPS) for _, v in data]
    at = np.array([sum(r < abs(v - centre) for r in radii) for v in y])
    wanted = tau * len(y)
    scores = [max(0, (at < s).sum() - wanted, wanted - (at <= s).sum()) for s in range(len(radii))]
    weights = -rate / 2 * np.array(scores)
    found: np.ndarray = weights - np.log(np.exp(weights).sum())
    return found


def log_density(theta: np.ndarray, data: tuple[Record, ...], plan: Any) -> np.ndarray:
    """Return the log density of coefficients, up to what all data share, for rows of theta."""
    threshold, d = float(plan.problem.loss.design.half_y), theta.shape[1]
    slope = float(plan.ridge) * (theta - np.array([float(c) for c in plan.centre]))
    hessian = np.broadcast_to(float(plan.ridge) * np.eye(d), (len(theta), d, d)).copy()
    for x, y in data:
        z = np.array([1.0, x][-d:])
        residual = theta @ z - y / threshold
        slope += np.clip(residual, -1, 1)[:, None] * z
        hessian += (np.abs(residual) <= 1)[:, None, None] * np.outer(z, z)
    found: np.ndarray = np.log(np.linalg.det(hessian)) - float(plan.rate) * np.abs(slope).max(1)
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("intercept", "people"), [(False, 1), (False, 2), (True, 1)])
def test_all_stages_together_lose_no_more_than_epsilon(
    name: str, intercept: bool, people: int
) -> None:
    """All data of at most three records (two with an intercept), under add-remove."""
    epsilon = 2.0
    unit, bounds = PrivacyUnit(AddRemove(), people), (Fraction(-4), Fraction(4))
    _, fit = planned(name, unit, Fraction(2), bounds, intercept=intercept)
    assert sum(p.epsilon for s in fit.before for p in s.plans) + fit.plan.epsilon == 2
    spread = fit.before[-1].plans[0]
    tau = float(spread.problem.loss.pointwise.tau)
    radii = spread.problem.loss.rule.radii
    centres = [0, STEPS // 2, STEPS // 2 + 1, STEPS - 1, STEPS] if intercept else [STEPS // 2]
    drawn_radii = range(0, len(radii), 9) if intercept else range(len(radii))
    rng = np.random.default_rng(5)
    plans: dict[tuple[int, int], tuple[Any, np.ndarray]] = {}
    for c, s in product(centres, drawn_radii):
        plan = fit.plan.after([(c,), (s,)] if intercept else [(s,)])
        threshold = float(plan.problem.loss.design.half_y)
        kinks = [(y / threshold + side) / x for x, y in UNIVERSE for side in (-1, 1)]
        if intercept:
            theta = rng.normal(size=(60, 2)) * rng.choice([0.3, 3.0, 4 / threshold], (60, 1))
        else:
            sides = [k + side for k in kinks for side in (-1e-6, 1e-6)]
            theta = np.array([*np.linspace(-8, 8, 21), *sides])[:, None]
        plans[c, s] = plan, theta

    def law(data: tuple[Record, ...]) -> np.ndarray:
        parts, first = [], np.zeros(len(centres))
        if intercept:
            first = log_median(data, float(fit.before[0].plans[0].epsilon), people / 2, centres)
        rate = float(spread.epsilon) / (people * max(tau, 1 - tau))
        for i, c in enumerate(centres):
            second = log_radius(data, c, radii, tau, rate)
            parts += [
                first[i] + second[s] + log_density(plans[c, s][1], data, plans[c, s][0])
                for s in drawn_radii
            ]
        return np.concatenate(parts)

    most = 2 if intercept else 3
    sets = [d for n in range(most + 1) for d in combinations_with_replacement(UNIVERSE, n)]
    laws = {data: law(data) for data in sets}
    worst = 0.0
    for mine, other in product(sets, sets):
        more, fewer = Counter(mine) - Counter(other), Counter(other) - Counter(mine)
        if more.total() + fewer.total() <= people:
            worst = max(worst, float((laws[mine] - laws[other]).max()))
    assert 0.6 * epsilon < worst <= epsilon + 1e-9


# --- public extremes -----------------------------------------------------------------------------

WIDE = {
    "unit": (Fraction(0), Fraction(1)),
    "far from 0": (Fraction(-1), Fraction(10) ** 290),
    "narrow": (Fraction(0), Fraction(1, 10**290)),
}
PEOPLE: dict[str, PrivacyUnit] = {
    "private, many": PrivacyUnit(AddRemove(), 2**53),
    "private": PrivacyUnit(AddRemove(), 1),
    "public": PrivacyUnit(ReplaceOne(2**53), 1),
    "public, some": PrivacyUnit(ReplaceOne(2**52), 7),
}


@pytest.mark.parametrize("unit", PEOPLE)
@pytest.mark.parametrize("bounds", WIDE)
def test_a_private_plan_for_every_public_extreme(unit: str, bounds: str) -> None:
    """The ridge is checked by a formula of its own: k log(1 + d / gamma) <= (1 - q) epsilon."""
    for name, (d, radius), text, intercept in product(
        MODELS, ((1, None), (60, Fraction(1, 10**9))), ("1e-12", "1000000"), (True, False)
    ):
        epsilon = Fraction(text)
        design, fit = planned(
            name, PEOPLE[unit], epsilon, WIDE[bounds], intercept=intercept, d=d, radius=radius
        )
        assert sum(p.epsilon for s in fit.before for p in s.plans) + fit.plan.epsilon == epsilon
        last = fit.before[-1].plans[0].domain.points - 1
        for c, s in ((0, 0), (STEPS, last)):
            plan = fit.plan.after([(c,), (s,)] if intercept else [(s,)])
            assert (
                plan.rate * Perturbation.of(plan.problem).sensitivity == plan.share * plan.epsilon
            )
            with precision(400):
                gamma, paid = plan.ridge, (1 - plan.share) * plan.epsilon
                ratio = arb(design.dim * gamma.denominator) / arb(gamma.numerator)
                cost = PEOPLE[unit].records_per_person * (1 + ratio).log()
                assert cost <= arb(paid.numerator) / arb(paid.denominator)
            threshold = plan.problem.loss.design.half_y
            assert plan.lattice.last == fit.plan.lattice.last
            assert plan.lattice.step[0] * threshold == fit.plan.lattice.step[0] * design.half_y
            assert fit.also is not None
            assert fit.also.lattice.units(fit.also.of([(c,), (s,)][1 - intercept :]))[0] == (
                threshold
            )


# --- records and sources -------------------------------------------------------------------------


class Column:
    """Records that are given as they are."""

    def __init__(self, records: np.ndarray) -> None:
        self._batch = records.astype(float)[:, None]

    def reduce(self, kernel: Any) -> Any:
        return kernel.merge(kernel.zero(), kernel.partial(self._batch))

    def collect(self, selection: Any) -> Any:
        return selection.select(self._batch)


def test_positions_are_counted_alike_in_cells_and_one_by_one() -> None:
    """Centres outside the lattice too, as without an intercept."""
    rng = np.random.default_rng(3)
    wanted = [Wanted(Fraction(1, 2), Fraction(5))]
    for _ in range(50):
        grid, n = RadiusGrid(int(rng.integers(1, 2**49))), int(rng.integers(1, 40))
        centre = int(rng.integers(-grid.last, grid.last))
        records = centre + rng.integers(-grid.last, grid.last + 1, n)
        source = MappedRecords(Column(records), Distances(centre, grid.radii))
        last = len(grid.radii) - 1
        relations: tuple[Neighbours, ...] = (ReplaceOne(n), AddRemove())
        one, cells = (read_ranks(source, r, 0, last, wanted)[0] for r in relations)
        assert one.total == cells.total == n
        found = [sum(r < abs(int(y) - centre) for r in grid.radii) for y in records]
        for s in range(last + 1):
            counts = sum(at < s for at in found), sum(at <= s for at in found)
            assert one.counts(s) == cells.counts(s) == counts


ODD = (None, "text", "", np.nan, np.inf, 1e308, "1e999", 10**400, b"x", [1], {}, 5e-324, 1 + 1j)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_one_odd_cell_changes_no_law_and_raises_nothing(name: str, relation: str) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.uniform(-1, 1, (250, 2)).tolist(), rng.uniform(-5, 5, 250).tolist()
    kind, options = MODELS[name]
    given = {"epsilon": 2, "bounds_X": ([-1, -1], [1, 1]), "bounds_y": (-5, 5), **options}
    receipts = set()
    for cell in ODD:
        for rows, response in ((X, [cell, *y[1:]]), ([[cell, 0], *X[1:]], y)):
            model = kind(neighbours=relation, random_state=1, **given).fit(rows, response)
            receipt = json.loads(model.release_.to_json())
            for part in ("value", "also", "integers", "noise", "provenance"):
                receipt.pop(part, None)
            receipts.add(json.dumps(receipt))
    assert len(receipts) == 1


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("records", [0, 100, 900])
def test_a_file_that_changes_after_the_charge_is_not_read_on(
    relation: str, records: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.csv"

    def write(n: int) -> None:
        rows = np.random.default_rng(n).uniform(-1, 1, (n, 2))
        path.write_text("a,y\n" + "".join(f"{a},{y}\n" for a, y in rows))

    draw: Callable[..., Any] = corridor._draw

    def later(*parts: Any) -> Any:
        write(records)
        return draw(*parts)

    monkeypatch.setattr(corridor, "_draw", later)
    for kind, options in MODELS.values():
        write(500)
        model = kind(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1), neighbours=relation, **options)
        with pytest.raises(PrivateZoneError, match="the charge stays"):
            model.fit(path, target="y", features=["a"])
        assert not hasattr(model, "coef_")


# --- faults found --------------------------------------------------------------------------------


def test_the_threshold_that_is_shown_is_the_one_that_was_used() -> None:
    """Bounds of y away from 0 and no intercept: the farthest response is six ranges away."""
    bounds, unit = (Fraction(5), Fraction(6)), PrivacyUnit(ReplaceOne(5000), 1)
    _, fit = planned("linear", unit, Fraction(1), bounds, intercept=False)
    last = fit.before[-1].plans[0].domain.points - 1
    assert fit.also is not None
    shown = fit.also.lattice.clamp(fit.also.of([(last,)]))
    used = fit.plan.after([(last,)]).problem.loss.design.half_y
    assert fit.also.lattice.units(shown)[0] == used


def test_a_threshold_belongs_to_the_last_fit() -> None:
    X = np.linspace(-1, 1, 400)[:, None]
    model = kng.LinearRegression(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, X[:, 0])
    model.set_params(mechanism="kng").fit(X, X[:, 0])
    assert not hasattr(model, "threshold_")


@pytest.mark.parametrize("names", ["t", ["threshold"], ["a", "threshold", "b"], ["a", "a"]])
def test_a_receipt_with_other_names_for_what_else_was_released_is_refused(names: Any) -> None:
    X = np.linspace(-1, 1, 400)[:, None]
    model = kng.LinearRegression(epsilon=1, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(X, X[:, 0])
    receipt = json.loads(model.release_.to_json())
    receipt["details"]["also released"] = names
    with pytest.raises(kng.KngError):
        kng.Release.from_json(json.dumps(receipt))
