"""Every departure has a witness; printed constants lose what is said, ours never more than 1."""

from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest

from kng.reproduce import errata as module
from kng.reproduce.errata import errata, markdown, told
from kng.reproduce.witness import diamond, line_loss, mass, plane_loss, step_loss


@pytest.fixture(scope="module")
def rows():
    return {f"{row.place}: {row.printed}": row for row in (compute() for compute in errata(1))}


def losses(rows, start):
    [row] = [row for key, row in rows.items() if key.startswith(start)]
    return row.loss_printed, row.loss_ours


def test_ours_never_exceeds_epsilon(rows):
    ours = [row.loss_ours for row in rows.values() if not isnan(row.loss_ours)]
    assert len(ours) >= 10
    assert max(ours) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("start", "printed", "ours"),
    [
        ("Section 4.5, equation (3)", 5, 1),  # 1/(2 (1 - tau))
        ("Section 4.5, equation (2)", 9, 1),  # max(tau, 1 - tau)/(1 - tau)
        ("Section 4.1, remark", 1 + np.log(2 - np.exp(-1)), 0.5 + np.log(2 - np.exp(-0.5))),
        ("Section 4.4", 2, 1),
        ("Section 4.5.1, supplement", 0.5, 1),
        ("Section 4.3, supplement: γ", 6, 0.5),
        ("Section 4.3, supplement: argmin", 4.5 / 16, 4.5 / 16),
    ],
)
def test_losses_are_what_a_hand_computation_gives(rows, start, printed, ours):
    assert losses(rows, start) == pytest.approx((printed, ours), rel=0.004)


def test_equation_1_wastes_half(rows):
    printed, ours = losses(rows, "Section 4.2, equation (1): linear")
    assert printed < 0.5
    assert 0.5 < ours < 1
    [row] = [
        row for key, row in rows.items() if key.startswith("Section 4.2, equation (1): linear")
    ]
    assert "they would have a loss of 1.17" in row.witness  # so it cannot be halved again


def test_r_is_infinitely_bad_and_the_literal_index_grows_with_n(rows):
    assert losses(rows, "Algorithm 1")[0] == inf
    assert losses(rows, "Section 4.2, equation (1): Σ")[0] > 50


def test_losses_are_computed_and_not_written_down(monkeypatch):
    monkeypatch.setattr(module, "EPSILON", 2 * module.EPSILON)
    assert module.quantile_sensitivity().loss_printed == pytest.approx(10, rel=1e-3)
    assert module.exponential_baseline().loss_ours == pytest.approx(2, rel=1e-2)


def test_a_wrong_constant_of_ours_would_show(monkeypatch):
    monkeypatch.setattr(module, "kng_quantile_derived", module.kng_quantile_printed)
    assert module.quantile_regression_sensitivity().loss_ours > 8


def test_every_row_says_everything(rows):
    for row in rows.values():
        assert all((row.place, row.printed, row.verdict, row.witness, row.ours))
        assert isnan(row.loss_printed) == isnan(row.loss_ours)
    text = markdown(list(rows.values()))
    bars = {line.replace("\\|", "").count("|") for line in text.splitlines()}
    assert bars == {8}
    assert (told(inf), told(float("nan")), told(0.5)) == ("infinite", "", "0.500")


def test_the_integrals():
    flat = lambda theta: 0 * theta  # noqa: E731
    bend = lambda theta: np.abs(theta)  # noqa: E731
    assert step_loss(flat, lambda t: 1.0 * (t > 0.5), [0, 0.5, 1], 2.0) == pytest.approx(
        2 + np.log((1 + np.exp(-2)) / 2)
    )
    # exp(-|t|) on [-1, 1] against the uniform law
    z = 2 * (1 - np.exp(-1))
    assert line_loss(bend, flat, (-1, 1), 1.0) == pytest.approx(
        max(abs(-np.log(z) + np.log(2)), abs(-1 - np.log(z) + np.log(2))), abs=1e-4
    )
    assert mass(bend, 1.0, 50.0) == pytest.approx(2, rel=1e-3)
    theta = diamond(500)
    assert np.abs(theta).sum(axis=1).max() <= 1
    # E exp(-||t||_1) over the unit l1 ball in the plane is 2 (1 - 2/e)
    loss = plane_loss(np.abs(theta).sum(axis=1), np.zeros(len(theta)), 1.0)
    assert loss == pytest.approx(-np.log(2 * (1 - 2 / np.e)), abs=5e-3)
