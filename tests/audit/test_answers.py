"""Answers that must come out right whatever the bits: ties, tiny data, and a large epsilon."""

from __future__ import annotations

import numpy as np
import pytest

import kng

GEOMETRIC = np.random.default_rng(20240607).geometric(0.3, 100_000)


def reference(data: object, q: float) -> float:
    return float(np.quantile(np.asarray(data), q, method="inverted_cdf"))


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("q", [0.5, 0.9])
def test_tied_integers_are_answered_exactly(q: float, neighbours: str) -> None:
    """99 of 100 by the issue; the nearest other point is hundreds of ranks away, so all do."""
    truth = reference(GEOMETRIC, q)
    answers = [
        kng.quantile(
            GEOMETRIC,
            q,
            bounds=(0, 100),
            epsilon=1,
            granularity=1,
            neighbours=neighbours,
            random_state=seed,
        ).value
        for seed in range(100)
    ]
    assert sum(answer == truth for answer in answers) >= 99


def test_tied_integers_are_answered_exactly_by_several_quantiles_at_once() -> None:
    qs = [0.9, 0.1, 0.5]
    truth = [reference(GEOMETRIC, q) for q in qs]
    for seed in range(5):
        answer = kng.quantile(
            GEOMETRIC, qs, bounds=(0, 100), epsilon=3, granularity=1, random_state=seed
        )
        assert list(answer.value) == truth


@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("data", [[3], [3, 7], [5] * 1000, [0, 0, 10], [-50, 500]], ids=len)
def test_tiny_and_constant_data_are_answered(
    data: list[int], neighbours: str, mechanism: str
) -> None:
    for q in (0.01, 0.5, 0.99):
        answer = kng.quantile(
            data,
            q,
            bounds=(0, 10),
            epsilon=1,
            granularity=1,
            mechanism=mechanism,
            neighbours=neighbours,
            random_state=1,
        ).value
        assert answer in range(11)
    for weigh in (mechanism, "k-norm"):
        answer = kng.mean(
            data, bounds=(0, 10), epsilon=1, mechanism=weigh, neighbours=neighbours, random_state=1
        ).value
        assert 0 <= answer <= 10


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_constant_data_are_answered_by_their_value(q: float) -> None:
    # every other point is at least 100 ranks off: exp(-50) at epsilon = 1
    data = np.full(1000, 5.0)
    for seed in range(20):
        answer = kng.quantile(
            data, q, bounds=(0, 10), epsilon=1, granularity=1, random_state=seed
        ).value
        assert answer == 5


@pytest.mark.parametrize("mechanism", ["k-norm", "kng", "exponential"])
def test_no_records_are_answered_where_their_number_is_private(mechanism: str) -> None:
    answer = kng.mean(
        np.empty(0),
        bounds=(0, 10),
        epsilon=1,
        mechanism=mechanism,
        neighbours="add-remove",
        random_state=3,
    )
    assert 0 <= answer.value <= 10
    assert (
        0
        <= kng.median(
            np.empty(0), bounds=(0, 10), epsilon=1, neighbours="add-remove", random_state=3
        ).value
        <= 10
    )


# --- large epsilon -------------------------------------------------------------------------------

SMOOTH = np.random.default_rng(11).gamma(2.0, 10.0, 5001)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["k-norm", "kng"])
def test_mean_agrees_with_numpy_when_epsilon_is_large(mechanism: str, neighbours: str) -> None:
    answer = kng.mean(
        SMOOTH,
        bounds=(0, 1000),
        epsilon=10**6,
        mechanism=mechanism,
        neighbours=neighbours,
        random_state=5,
    ).value
    # Noise of 1000 / (5001 * 10**6) times a few, and records rounded to 1000 / 2**32.
    assert answer == pytest.approx(SMOOTH.mean(), abs=1e-5)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_exponential_mean_agrees_with_numpy_when_epsilon_is_large(neighbours: str) -> None:
    # Its exponent is quadratic: the spread is 1000 / sqrt(2 n epsilon), so epsilon must be larger.
    answer = kng.mean(
        SMOOTH,
        bounds=(0, 1000),
        epsilon=10**12,
        mechanism="exponential",
        neighbours=neighbours,
        random_state=5,
    ).value
    assert answer == pytest.approx(SMOOTH.mean(), abs=1e-4)


@pytest.mark.parametrize("norm", ["weighted-sup", "linf", "l1"])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_mean_of_columns_agrees_with_numpy_when_epsilon_is_large(
    norm: str, neighbours: str
) -> None:
    table = np.column_stack([SMOOTH, -3 * SMOOTH, SMOOTH / 7])
    answer = kng.mean(
        table,
        bounds=([0, -3000, 0], [1000, 0, 100]),
        epsilon=10**7,
        norm=norm,
        neighbours=neighbours,
        random_state=5,
    ).value
    np.testing.assert_allclose(answer, table.mean(axis=0), atol=1e-4)


@pytest.mark.parametrize("mechanism", ["kng", "exponential"])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.9, 0.99])
def test_quantile_agrees_with_numpy_when_epsilon_is_large(
    q: float, neighbours: str, mechanism: str
) -> None:
    # 5001 q is no whole number, so the sample quantile is one record and not a gap.
    answer = kng.quantile(
        SMOOTH,
        q,
        bounds=(0, 1000),
        epsilon=10**9,
        mechanism=mechanism,
        neighbours=neighbours,
        random_state=5,
    ).value
    assert answer == pytest.approx(reference(SMOOTH, q), abs=1000 / 2**20)
