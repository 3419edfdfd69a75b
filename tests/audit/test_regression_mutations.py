"""Linear models with a seeded fault: the audits must see each of them.

`broken` asks for a loss above epsilon; `caught` is content with a range above what is booked. Where
three records are too few, the directed search takes sixty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from audit.oracle import RELATIONS
from audit.regression import Model, Verdict, audit, climb, forget
from audit.regression_cases import FLOORS, MODELS, points, universe

from kng.core.bodies import Hull
from kng.core.encoding import Encoding
from kng.core.plan import DensityPlan
from kng.core.privacy import AddRemove, PrivacyUnit
from kng.core.regions import Region
from kng.data.ingest import Ingest
from kng.losses import Huber, Linear
from kng.losses.linear_spread import LinearSpread
from kng.losses.pointwise.function import Interval
from kng.mechanisms import ObjectivePerturbation
from kng.mechanisms import objective as objective_module
from kng.mechanisms.objective import Perturbation
from kng.norms import LInf


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    """No record may be remembered from a healthy run, or by one."""
    forget()
    yield
    forget()


def verdict(name: str, **changes: Any) -> Verdict:
    model = replace(MODELS[name], **changes)
    return audit(model, universe(model), points(model) // 2 + 1)


def search(name: str) -> Verdict:
    """Climb from one corner with sixty records."""
    model = MODELS[name]
    lines = 49 if isinstance(model.plan(), DensityPlan) else 0
    return climb(model, 60, 1, 250, lines)


# --- KNG and the exponential mechanism -----------------------------------------------------------

DENSITIES = [
    "kng-squared-d1-whole-coordinate-replace-one",
    "kng-squared-d1-whole-coordinate-add-remove",
    "kng-squared-d2-whole-coordinate-replace-one",
    "kng-squared-d2-whole-linf-replace-one",
    "kng-squared-d2-whole-coordinate-add-remove",
    "kng-squared-d2-whole-l2-add-remove",
    "kng-squared-d2-whole-l1-add-remove",
    "kng-squared-d2+1-whole-coordinate-replace-one",
    "kng-squared-d2-ball-linf-add-remove",
    "kng-squared-d2-ball-l1-add-remove",
    "exponential-squared-d1-ball-linf-replace-one",
    "exponential-squared-d2-ball-linf-replace-one",
]
# Their Delta is attained with more records, or elsewhere in the ball.
SLACK = ["kng-squared-d2-ball-linf-replace-one", "kng-squared-d2-whole-l1-replace-one"]


def full_rate(self: DensityPlan) -> Fraction:
    """The rate without its factor 2, which pays for the normaliser."""
    return self.epsilon / self.problem.unit.records_per_person


@pytest.mark.parametrize("name", DENSITIES)
def test_a_dropped_factor_two_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict(name).private
    monkeypatch.setattr(DensityPlan, "rate", property(full_rate))
    assert verdict(name).broken


@pytest.mark.parametrize("name", SLACK)
def test_a_dropped_factor_two_is_caught_by_directed_search(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DensityPlan, "rate", property(full_rate))
    assert search(name).broken


def test_the_whole_rate_would_do_where_losses_only_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding a record raises the loss everywhere: here the factor 2 is not needed, and is kept."""
    name = "exponential-squared-d2-ball-linf-add-remove"
    monkeypatch.setattr(DensityPlan, "rate", property(full_rate))
    assert verdict(name).private


def scaled_widths(factor: float) -> Any:
    original = Linear.widths
    return lambda self, theta, unit: factor * original(self, theta, unit)


WHOLE = [name for name in DENSITIES if "whole" in name]


@pytest.mark.parametrize("name", WHOLE)
def test_halved_widths_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Linear, "widths", scaled_widths(0.5))
    assert verdict(name).broken


@pytest.mark.parametrize("name", WHOLE)
def test_doubled_widths_miss_their_floors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Linear, "widths", scaled_widths(2.0))
    found = verdict(name)
    loss, width = FLOORS[name]
    assert found.private
    assert found.tightness < loss
    assert found.spread < width * found.width


@pytest.mark.parametrize("name", WHOLE)
def test_widths_taken_at_zero_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta(theta) grows with theta; the one at 0 holds nowhere else."""
    original = Linear.widths
    monkeypatch.setattr(Linear, "widths", lambda self, theta, unit: original(self, 0 * theta, unit))
    assert verdict(name).broken


@pytest.mark.parametrize("d", [1, 2])
def test_widths_without_their_second_form_are_caught(
    d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2 T_j is right for small |theta_j| only; beyond, z_j^2 theta_j takes over."""

    def first_form(self: Linear, theta: Any, unit: PrivacyUnit) -> Any:
        a = np.abs(theta)
        return 2 * (1 + a.sum(axis=-1, keepdims=True) - a)

    monkeypatch.setattr(Linear, "widths", first_form)
    found = verdict(f"kng-squared-d{d}-whole-coordinate-replace-one")
    assert found.broken


@pytest.mark.parametrize("norm", ["linf", "l2", "l1"])
def test_a_ball_without_its_radius_is_caught(norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest Delta over the ball is at its surface, not at 0."""
    original, zero = LinearSpread.over, Region.at((Fraction(0),) * 2)
    monkeypatch.setattr(LinearSpread, "over", lambda self, _: original(self, zero))
    assert verdict(f"kng-squared-d2-ball-{norm}-add-remove").broken


@pytest.mark.parametrize("d", [1, 2])
def test_a_halved_largest_loss_is_caught(d: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original = Linear.values

    def halved(self: Linear, region: Region) -> Hull:
        (largest,) = original(self, region).scores()
        return Hull((largest.times(Fraction(1, 2)),))

    monkeypatch.setattr(Linear, "values", halved)
    assert verdict(f"exponential-squared-d{d}-ball-linf-replace-one").broken


def test_the_sensitivity_of_add_remove_does_not_serve_replacement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original, adding = Linear.widths, PrivacyUnit(AddRemove())
    monkeypatch.setattr(Linear, "widths", lambda self, theta, _: original(self, theta, adding))
    assert verdict("kng-squared-d2-whole-coordinate-replace-one").caught


# --- objective perturbation ----------------------------------------------------------------------

HUBER = [
    f"objective-huber-d{d}-{where}-linf-{relation}"
    for d in (1, 2)
    for where in ("whole", "ball")
    for relation in RELATIONS
]
SQUARED = [f"objective-squared-d2-ball-linf-{relation}" for relation in RELATIONS]


@pytest.mark.parametrize("name", [*HUBER, *SQUARED])
def test_a_missing_share_for_the_determinant_is_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of epsilon on the noise, and a ridge that is only there for the solver."""
    monkeypatch.setattr(Perturbation, "ridge", lambda *_: Fraction(1, 1000))
    assert verdict(name, mechanism=ObjectivePerturbation(Fraction(99, 100))).broken


# Adding a record to least squares needs more than three to move gradient and determinant at once.
@pytest.mark.parametrize("name", [*HUBER, "objective-1/2-squared-d2-ball-linf-replace-one"])
def test_a_share_that_is_spent_twice_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ridge leaves a share for the noise, but the noise takes everything."""
    original = ObjectivePerturbation.plan

    def greedy(self: ObjectivePerturbation, problem: Any, epsilon: Fraction) -> Any:
        plan = original(self, problem, epsilon)
        return replace(plan, rate=plan.rate / plan.share)

    monkeypatch.setattr(ObjectivePerturbation, "plan", greedy)
    assert verdict(name).broken


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_ridge_for_one_coordinate_is_caught_in_two(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Hessian of a corner has the eigenvalue d, not 1."""
    monkeypatch.setattr(Linear, "curvature", lambda self: Fraction(1))
    assert verdict(f"objective-huber-d2-whole-linf-{relation}").broken


@pytest.mark.parametrize("name", HUBER)
def test_a_halved_noise_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    half = Fraction(1, 2)
    monkeypatch.setattr(Huber, "psi", lambda *_: Interval(-half, half))
    assert verdict(name).broken


@pytest.mark.parametrize("name", SQUARED)
def test_a_halved_noise_is_caught_for_least_squares(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = objective_module.delta
    monkeypatch.setattr(objective_module, "delta", lambda *given: original(*given) / 2)
    assert verdict(name).broken


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_norm_that_forgets_its_corner_is_caught(
    norm: str, relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All coordinates move at once, so the change is as long as (1, ..., 1)."""

    original = objective_module.delta
    monkeypatch.setattr(objective_module, "delta", lambda _, *given: original(LInf(), *given))
    assert verdict(f"objective-huber-d2-whole-{norm}-{relation}").broken


# --- people --------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_person_with_two_records_who_counts_as_one_is_caught(
    relation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    density = f"kng-squared-d2-whole-coordinate-{relation}"
    perturbed = f"objective-huber-d2-whole-linf-{relation}"
    for name in (density, perturbed):
        assert verdict(name, people=2).private
    monkeypatch.setattr(DensityPlan, "rate", property(lambda self: self.epsilon / 2))
    assert verdict(density, people=2).caught
    monkeypatch.setattr(PrivacyUnit, "group", lambda self, sensitivity: sensitivity)
    assert verdict(perturbed, people=2).broken  # in the noise


def test_a_ridge_that_forgets_the_second_record_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Perturbation.ridge
    monkeypatch.setattr(
        Perturbation,
        "ridge",
        lambda self, *given: original(replace(self, rows=1), *given),
    )
    assert verdict("objective-huber-d2-whole-linf-add-remove", people=2).broken


# --- records -------------------------------------------------------------------------------------


def unclipped(model: Model) -> Verdict:
    """Audit a universe with a record beyond its bounds."""
    far = (*(3.0,) * (model.dim - model.intercept), 3.0)
    records = (*universe(model)[:5], far)
    return audit(model, records, points(model) // 2 + 1)


@pytest.mark.parametrize(
    "name",
    [
        "kng-squared-d1-whole-coordinate-replace-one",
        "kng-squared-d2-whole-coordinate-add-remove",
        "kng-squared-d2-ball-l2-replace-one",
        "exponential-squared-d2-ball-linf-replace-one",
        "objective-squared-d2-ball-linf-add-remove",
        "objective-squared-d2-ball-l1-replace-one",
        "objective-huber-d2-whole-linf-replace-one",
        "objective-huber-d2-ball-linf-add-remove",
    ],
)
def test_an_unclipped_record_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS[name]
    assert unclipped(model).private  # clipped, it is a corner
    forget()
    original = Ingest.__init__

    def unbounded(self: Ingest, encoding: Encoding) -> None:
        original(self, encoding)
        self._last = 0 * self._last + np.inf
        self._loops = self._each() if self._loops else []

    monkeypatch.setattr(Ingest, "__init__", unbounded)
    assert unclipped(model).broken
