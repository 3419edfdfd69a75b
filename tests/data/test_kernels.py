"""Sums, moments and counts: exact integers, whatever the order and the cut of the records."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest
from data.reading import encoding
from hypothesis import example, given
from hypothesis import strategies as st

import kng
from kng.core.encoding import BATCH_RECORDS, MOST_STEPS
from kng.data import open_source, work
from kng.data.sums import Sums
from kng.data.text import csv_files
from kng.losses.kernels import ranks
from kng.losses.kernels.moments import Moments
from kng.losses.kernels.ranks import CellCounts, Within

TOP = MOST_STEPS
VALUES = st.lists(
    st.one_of(st.integers(0, TOP), st.integers(TOP - 3, TOP), st.integers(0, 3)), max_size=30
)
CUTS = st.lists(st.integers(1, 7), min_size=1, max_size=5)


def reduced(kernel: Any, rows: list[tuple[int, ...]], cuts: list[int], width: int = 1) -> Any:
    """Run a kernel over the rows, cut into batches of the given sizes again and again."""
    state, at, turn = kernel.zero(), 0, 0
    while at < len(rows):
        size = cuts[turn % len(cuts)]
        batch = np.array(rows[at : at + size], dtype=np.float64).reshape(-1, width)
        state = kernel.merge(state, kernel.partial(batch))
        at, turn = at + size, turn + 1
    return state


def shuffled(rows: list[Any], seed: int) -> list[Any]:
    return random.Random(seed).sample(rows, len(rows))


@given(VALUES, CUTS, st.integers(0, 9))
@example([TOP] * 30, [7], 0)
def test_sums_are_those_of_whole_numbers(values, cuts, seed):
    rows = [(v, TOP - v) for v in values]
    expected = len(values), (sum(values), sum(TOP - v for v in values))
    for last in ((TOP, TOP), (TOP, 2**52)):
        kernel = Sums(last)
        assert reduced(kernel, rows, cuts, 2) == expected
        assert reduced(kernel, shuffled(rows, seed), [1], 2) == expected
        assert reduced(kernel, rows, [len(rows) or 1], 2) == expected


@given(VALUES, CUTS, st.integers(0, 9))
@example([TOP] * 30, [30], 0)
@example([2**22, 2**22 - 1, 2**22 + 1, 2**44 - 1], [4], 0)
def test_moments_are_those_of_whole_numbers(values, cuts, seed):
    rows = [(v,) for v in values]
    expected = len(values), (sum(values),), (sum(v * v for v in values),)
    for order, size in ((rows, cuts), (shuffled(rows, seed), [1]), (rows, [len(rows) or 1])):
        state = reduced(Moments(), order, size)
        assert (state.n, state.sums, state.squares) == expected
        assert all(type(part) is int for part in (*state.sums, *state.squares))


@pytest.mark.parametrize("kernel", [Sums((TOP,)), Moments()], ids=["sums", "moments"])
def test_a_whole_batch_of_the_largest_records_does_not_overflow(kernel):
    # The overflow argument of core.encoding, at its limit.
    batch = np.full((BATCH_RECORDS, 1), float(TOP))
    state = kernel.partial(batch)
    if isinstance(kernel, Sums):
        assert state == (BATCH_RECORDS, (BATCH_RECORDS * TOP,))
    else:
        assert (state.sums, state.squares) == ((BATCH_RECORDS * TOP,), (BATCH_RECORDS * TOP**2,))


@pytest.mark.parametrize("large", [100, 511, 512, 4096])
def test_sums_are_exact_on_both_sides_of_what_a_double_holds(large):
    # Beyond 2**53, which is 512 of these, a sum of doubles would lose the ones.
    rows = [(TOP,), (1,)] * large + [(1,)] * 601
    assert reduced(Sums((TOP,)), rows, [len(rows)]) == (
        2 * large + 601,
        (large * TOP + large + 601,),
    )


@given(
    VALUES,
    CUTS,
    st.integers(0, 9),
    st.integers(0, 40),
    st.integers(0, 2**20),
    st.integers(0, 2**20),
)
def test_counts_are_those_of_whole_numbers(values, cuts, seed, shift, first, length):
    scale = TOP >> 20
    first, last = first * scale, min((first + length) * scale, TOP)
    first = min(first, last)
    shift = max(shift, ((last - first) >> 12).bit_length())  # at most some thousand cells
    kernel = CellCounts(first, last, shift)
    expected = [0] * (kernel.cells + 2)
    for value in values:
        if value < first:
            expected[0] += 1
        elif value > last:
            expected[-1] += 1
        else:
            expected[(value - first) // 2**shift + 1] += 1
    rows = [(v,) for v in values]
    for order, size in ((rows, cuts), (shuffled(rows, seed), [1]), (rows, [len(rows) or 1])):
        assert reduced(kernel, order, size).tolist() == expected


@given(VALUES, st.lists(st.tuples(st.integers(0, TOP), st.integers(0, TOP)), max_size=3))
def test_a_selection_brings_home_the_records_inside(values, ends):
    intervals = tuple((min(pair), max(pair)) for pair in ends)
    batch = np.array(values, dtype=np.float64).reshape(-1, 1)
    chosen = Within(intervals).select(batch)[:, 0].tolist()
    assert chosen == [v for v in values if any(a <= v <= b for a, b in intervals)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_source_collects_and_counts_alike_for_every_batch_size(size, monkeypatch):
    monkeypatch.setattr(work, "BATCH_RECORDS", size)
    source = open_source([float(x % 10) for x in range(25)], encoding((0, 10), granularity=1))
    home = source.collect(Within(((2, 4), (8, 9))))
    assert home[:, 0].tolist() == sorted(x % 10 for x in range(25) if x % 10 in {2, 3, 4, 8, 9})
    assert source.sums() == source.reduce(Sums((10,))) == (25, (sum(x % 10 for x in range(25)),))
    assert open_source([], encoding()).collect(Within(((0, 10),))).shape == (0, 1)


@pytest.mark.parametrize(
    "kernel",
    [Sums((3, 4)), Moments(), CellCounts(0, 9, 1), Within(((1, 2),))],
    ids=lambda kernel: type(kernel).__name__,
)
def test_kernels_travel(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel


ASKED = {
    "mean": lambda data, **o: kng.mean(data, **o),
    "mean by kng": lambda data, **o: kng.mean(data, mechanism="kng", **o),
    "mean by exponential": lambda data, **o: kng.mean(data, mechanism="exponential", **o),
    "median": lambda data, **o: kng.median(data, **o),
    "median by exponential": lambda data, **o: kng.median(data, mechanism="exponential", **o),
    "quantiles": lambda data, **o: kng.quantile(data, [0.1, 0.9], **o),
}


@pytest.mark.parametrize("statistic", ASKED)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_release_does_not_depend_on_order_batches_or_container(
    statistic, relation, monkeypatch, tmp_path
):
    draw = random.Random(1)
    cells = [draw.choice([draw.uniform(-1, 11), 4.0, float("nan")]) for _ in range(40)]
    options = {"bounds": (0, 10), "epsilon": 1, "neighbours": relation, "random_state": 11}
    ask = ASKED[statistic]
    expected = ask(cells, **options)
    path = tmp_path / "cells.csv"
    path.write_text("a\n" + "\n".join(map(str, cells)))
    for size, data in ((1, cells[::-1]), (7, np.array(cells)), (7, path), (59, shuffled(cells, 3))):
        monkeypatch.setattr(work, "BATCH_RECORDS", size)
        monkeypatch.setattr(csv_files, "BATCH_RECORDS", size)
        assert ask(data, **options) == expected


@pytest.mark.parametrize("q", [0.01, 0.5, 0.99])
def test_a_quantile_does_not_depend_on_how_its_ranks_are_read(q, monkeypatch):
    draw = random.Random(2)
    cells = [draw.choice([draw.gauss(5, 2), 4.0]) for _ in range(300)]
    options = {"bounds": (0, 10), "epsilon": 2, "random_state": 3}
    expected = kng.quantile(cells, q, **options).integers
    monkeypatch.setattr(ranks, "_SMALL", 0)  # two passes instead of one
    assert kng.quantile(cells, q, **options).integers == expected
    monkeypatch.setattr(ranks, "_LARGE", 0)  # cells that are cut finer
    monkeypatch.setattr(ranks, "_CELLS", 2**4)
    assert kng.quantile(cells, q, **options).integers == expected
