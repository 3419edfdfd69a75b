"""Algorithm 1 as printed, as a stream that repeats and stays small."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kng.reproduce.algorithm1 import BLOCK, Sample, Stream, public_bound
from kng.reproduce.constants import LINEAR_TRUTH, QUANTILE_TRUTH


def test_the_truths_are_the_papers():
    assert (
        pytest.approx([0, -1, *(-1 + 2 * j / 11 for j in range(1, 10)), 1 - 2 / 11]) == LINEAR_TRUTH
    )
    assert len(LINEAR_TRUTH) == 12
    assert np.abs(LINEAR_TRUTH).sum() == pytest.approx(61 / 11)
    assert QUANTILE_TRUTH == (0, -1)


def test_records_are_as_the_algorithm_says():
    X, y = Sample(LINEAR_TRUTH, 50_000, (1,)).records()
    assert (X[:, 0] == 1).all()
    assert X.shape == (50_000, 12)
    assert np.abs(X).max() <= 1
    errors = y - X @ np.array(LINEAR_TRUTH)
    # five standard errors each: moments of U(-1, 1) and N(0, 1)
    assert np.abs(X[:, 1:].mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 50_000)
    assert np.abs((X[:, 1:] ** 2).mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(4 / 45 / 50_000)
    assert abs(errors.mean()) < 5 / np.sqrt(50_000)
    assert abs((errors**2).mean() - 1) < 5 * np.sqrt(2 / 50_000)
    assert abs((errors**4).mean() - 3) < 5 * np.sqrt(96 / 50_000)
    assert abs(np.corrcoef(X[:-1, 1], X[1:, 1])[0, 1]) < 5 / np.sqrt(50_000)


def test_a_second_pass_sees_the_same_records():
    sample = Sample(LINEAR_TRUTH, 2 * BLOCK + 17, (3, 4))
    X, y = sample.records()
    assert all((a == b).all() for a, b in zip((X, y), sample.records(), strict=True))
    assert len(y) == sample.n
    assert not (X[:17, 1:] == X[BLOCK : BLOCK + 17, 1:]).any()  # blocks differ


@pytest.mark.parametrize("other", [(3, 5), (4, 4)])
def test_other_seeds_give_other_records(other):
    X, _ = Sample(LINEAR_TRUTH, 100, (3, 4)).records()
    assert not (Sample(LINEAR_TRUTH, 100, other).records()[0] == X)[:, 1:].any()


def test_moments_are_those_of_the_records():
    sample = Sample(LINEAR_TRUTH, BLOCK + 1000, (5,))
    X, y = sample.records()
    moments = sample.moments()
    np.testing.assert_allclose(moments.gram, X.T @ X, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(moments.products, X.T @ y, rtol=1e-12)
    np.testing.assert_allclose(moments.clipped, X.T @ np.clip(y, -8, 8))
    assert moments.largest == np.abs(y).max()


def test_the_public_bound_is_8_for_the_paper_and_follows_the_truth():
    assert public_bound(LINEAR_TRUTH) == 8
    assert public_bound((0.0, 10.0)) == 13


def test_a_stream_is_the_same_source_in_blocks():
    """Kernels do not mind how records are cut, and a stream adds no column of ones."""
    from kng.core.bounds import bounds_of
    from kng.core.encoding import encoding_of
    from kng.data import open_regression
    from kng.losses.kernels.moments import Moments

    sample = Sample(QUANTILE_TRUTH, BLOCK + 50, (7,))
    encoding = encoding_of(bounds_of(([-1, -9], [1, 9])), granularity=None, missing=None, bits=16)
    X, y = sample.records()
    whole = open_regression(X[:, 1:], y, encoding)
    assert Stream(sample, encoding).reduce(Moments()) == whole.reduce(Moments())


def test_memory_does_not_grow_with_n():
    tracemalloc.start()
    try:
        Sample(LINEAR_TRUTH, 20 * BLOCK, (6,)).moments()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * 8 * 12 * BLOCK  # the 20 blocks together take 20 * 8 * 12 * BLOCK bytes
