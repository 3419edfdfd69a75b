"""Limits of memory and threads reach what reads, and a small one is enough for a wide file."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from threadpoolctl import threadpool_info

import kng
from kng.cli.tables import threads_limited
from kng.data.duck import connected
from kng.data.resources import resources_of


def test_duckdb_is_told(tmp_path):
    connection = connected(resources_of("256MB", 3))
    told = {
        name: connection.sql(f"SELECT current_setting('{name}')").fetchall()[0][0]
        for name in ("memory_limit", "threads", "temp_directory", "disable_parquet_prefetching")
    }
    assert told == {
        "memory_limit": "128.0 MiB",
        "threads": 3,
        "temp_directory": "",
        "disable_parquet_prefetching": True,
    }


def test_sums_of_products_keep_to_the_threads():
    def threads():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before = threads()
    with threads_limited({"threads": "1"}):
        assert threads() == {1}
    assert threads() == before


def test_a_wide_file_of_long_row_groups_fits_into_the_least_memory(tmp_path):
    path, names = tmp_path / "wide.parquet", [f"c{k}" for k in range(40)]
    cells = np.random.default_rng(0).uniform(0, 1, 250_000)  # 80 MB in one row group
    pa.parquet.write_table(pa.table(dict.fromkeys(names, cells)), path, use_dictionary=False)
    table, bounds = kng.Table(path, memory_limit="128MB"), dict.fromkeys(names, (0, 1))
    release = kng.mean(table, bounds=bounds, epsilon=1, random_state=1)
    assert len(json.loads(release.to_json())["value"]) == 40
