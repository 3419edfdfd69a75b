"""Every source gives the same integers and, from the same bits, the same releases."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.every_source import LOCAL, NAMES, arrow_of, expected, frame, same, statistics
from hypothesis import given, settings
from hypothesis import strategies as st

import kng


@pytest.mark.parametrize("store", LOCAL)
def test_it_is_the_same_everywhere(store, tmp_path):
    same(LOCAL[store], tmp_path)


@settings(max_examples=12)
@given(
    order=st.randoms(use_true_random=False),
    group=st.integers(1, 300),
    chunk=st.integers(1, 300),
    threads=st.integers(1, 4),
)
def test_order_chunks_and_threads_change_nothing(order, group, chunk, threads):
    table = frame()
    rows = list(range(len(table)))
    order.shuffle(rows)
    moved = arrow_of(table.iloc[rows].reset_index(drop=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        pq.write_table(moved, path, row_group_size=group)
        query = f"SELECT * FROM '{path}'"
        for data in (
            kng.Table(path, threads=threads, memory_limit="200MB"),
            kng.Table(query=query, threads=threads),
            pa.Table.from_batches(moved.to_batches(max_chunksize=chunk)),
        ):
            assert statistics(data) == expected()[0]


def test_the_integers_are_those_of_the_rule():
    """The body compares sources with each other; here one of them is compared with the formula."""
    table, found = frame(), np.array(statistics(frame())["all"])
    pay = np.clip(np.rint((table["pay"].to_numpy() + 500) / 0.1), 0, 55000)
    there = table[NAMES].notna().all(axis=1).to_numpy()  # the others are absent
    assert sorted(found[:, 2]) == sorted(pay[there])
    ages = table["age"].clip(0, 120).to_numpy()[there]
    assert sorted(found[:, 0]) == sorted(np.rint(ages * 1024))
