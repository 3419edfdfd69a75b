"""Spark frames: the same integers and releases as from memory, and no wrong sum, come what may."""

from __future__ import annotations

import functools
import gc
import sys
import tempfile
import types
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data.every_source import arrow_of, same
from services.spark_kernels import (
    AlwaysKilledSums,
    Everything,
    KilledSums,
    Products,
    RaisingSums,
)

import kng
from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.core.errors import MissingExtra, PrivateZoneError, SchemaError, SpecError
from kng.data import open_source, open_table
from kng.data import source as sources
from kng.data import spark as engines
from kng.data.arrow import block_of
from kng.data.engine import Asked, Kind
from kng.data.spark_worker import Share, Store, answers_of, mark_of

pytest_plugins = ("services.spark_session",)
pytestmark = [
    # Spark warns of every pandas that is newer than itself, and its sockets close late.
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

RNG = np.random.default_rng(1)
RECORDS = 700
X = RNG.uniform(-1, 1, (RECORDS, 3))
Y = X @ [1.0, -0.5, 0.2] + RNG.normal(0, 0.3, RECORDS)
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": Y})
TABLE["label"] = np.where(Y > 0, "yes", "no")
TABLE["number"] = np.round(4 * (Y + 3))
FEATURES = ["a", "b", "c"]
ASKED = {"epsilon": 1, "random_state": 5}
BOUNDS = {"bounds_X": (-1, 1), "bounds_y": (-3, 3), **ASKED}
RULE = encoding_of(
    bounds_of({"a": (-1, 1), "y": (-3, 3)}), granularity=["1/1024", "1/10"], missing=0, bits=20
)


def fitted(model: Any, table: Any, target: str = "y", features: Any = FEATURES) -> Any:
    return model.fit(table, target=target, features=features).release_


RELEASES = {
    "mean": lambda t: kng.mean(t, bounds={"a": (-1, 1), "y": (-3, 3)}, **ASKED),
    "mean by add-remove": lambda t: kng.mean(
        t, bounds={"a": (-1, 1)}, neighbours="add-remove", **ASKED
    ),
    "median": lambda t: kng.median(t, bounds={"y": (-3, 3)}, **ASKED),
    "quantiles": lambda t: kng.quantile(t, [0.1, 0.5, 0.9], bounds={"y": (-3, 3)}, **ASKED),
    "quantile by add-remove": lambda t: kng.quantile(
        t, 0.3, bounds={"y": (-3, 3)}, neighbours="add-remove", **ASKED
    ),
    "geometric median": lambda t: kng.geometric_median(
        t, bounds={"a": (-1, 1), "y": (-3, 3)}, **ASKED
    ),
    "least squares": lambda t: fitted(kng.LinearRegression(**BOUNDS), t),
    "least squares by add-remove": lambda t: fitted(
        kng.LinearRegression(neighbours="add-remove", **BOUNDS), t
    ),
    "Huber": lambda t: fitted(kng.HuberRegressor(threshold=0.5, **BOUNDS), t),
    "Huber, own threshold": lambda t: fitted(kng.HuberRegressor(threshold="auto", **BOUNDS), t),
    "quantile regression": lambda t: fitted(kng.QuantileRegressor(**BOUNDS), t, features=["a"]),
    "expectiles": lambda t: fitted(kng.ExpectileRegressor(**BOUNDS), t),
    "counts": lambda t: fitted(
        kng.PoissonRegressor(bounds_X=(-1, 1), bounds_y=(0, 40), **ASKED), t, target="number"
    ),
    "log-odds": lambda t: fitted(
        kng.LogisticRegression(classes=("no", "yes"), bounds_X=(-1, 1), **ASKED), t, target="label"
    ),
}


@pytest.fixture(scope="session")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(TABLE).repartition(3)


@pytest.mark.parametrize("name", RELEASES)
def test_the_same_bits_give_the_same_release_as_from_memory(name, frame):
    here, there = RELEASES[name](TABLE), RELEASES[name](frame)
    assert there.integers == here.integers
    assert there.to_json() == here.to_json()


@pytest.mark.parametrize(
    ("records", "partitions"), [(RECORDS, 1), (RECORDS, 2), (RECORDS, 7), (3, 60)]
)
def test_partitions_and_empty_ones_never_change_a_statistic(
    records, partitions, spark, monkeypatch
):
    if partitions == 7:  # states are merged in the workers, as in a large cluster
        monkeypatch.setattr(engines, "_STATES", 0)
        monkeypatch.setattr(engines, "_MERGERS", 2)
    table = TABLE[["a", "y"]].head(records)
    rows = spark.sparkContext.parallelize(table.to_numpy().tolist(), partitions)
    here = open_source(table, RULE)
    there = open_source(spark.createDataFrame(rows, "a double, y double"), RULE)
    assert there.count() == records
    assert there.sums() == here.sums()
    assert there.reduce(Products()) == here.reduce(Products())
    assert (there.collect(Everything()) == here.collect(Everything())).all()
    there.close()


def test_a_table_without_records_has_no_sums(spark):
    empty = open_source(spark.createDataFrame([], "a double, y double"), RULE)
    assert empty.count() == 0
    assert empty.sums() == (0, (0, 0))
    assert empty.collect(Everything()).shape == (0, 2)


def test_large_states_travel_in_pieces(spark, monkeypatch):
    # The size of a piece is known to the worker alone, so this runs one here.
    from kng.data import spark_worker

    monkeypatch.setattr(spark_worker, "_PIECE", 7)
    batch = pa.record_batch([pa.array([1.0, 2.0])], ["a"])
    pieces = list(Share(1, Asked((0,)), _numbers)(Store(Asked((0,)))([batch])))
    assert len(pieces) > 1
    (answer,) = answers_of(pieces[::-1])
    assert answer.records == 2
    with pytest.raises(ValueError, match="lost or repeated"):
        answers_of(pieces[1:])
    with pytest.raises(ValueError, match="lost or repeated"):
        answers_of([*pieces, pieces[0]])


def _numbers(blocks: Any) -> list[float]:
    return [value for block in blocks for value in block.numbers[0][:, 0].tolist()]


HOSTILE = pa.table(
    {
        "double": pa.array([None, np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0, 2.5, 0.1]),
        "float": pa.array([None, np.nan, np.inf, 0.1, 3e38, 1e-45, -0.0, 2.5, 0.2], pa.float32()),
        "long": pa.array([None, 2**53 + 1, -(2**63), 2**63 - 1, 0, 1, 2, 3, 4], pa.int64()),
        "byte": pa.array([None, -128, 127, 0, 1, 2, 3, 4, 5], pa.int8()),
        "decimal": pa.array(
            [None, *(Decimal(f"{k}.{10**17 + k}") for k in (-3, 0, 1, 2, 3, 4, 5, 9999999))],
            pa.decimal128(38, 18),
        ),
        "short": pa.array(
            [None, *(Decimal(k) / 100 for k in (-7, 0, 1, 3, 5, 10, 15, 999))], pa.decimal128(9, 2)
        ),
        "boolean": pa.array([None, True, False] * 3),
        "text": pa.array([None, "", "yes", " yes ", "YES", "no", "n\0o", "\u00e9", "x" * 10**5]),
    }
)


def test_hostile_cells_are_the_integers_that_arrow_cells_are(spark, tmp_path):
    pq.write_table(HOSTILE, tmp_path / "hostile.parquet")
    frame = spark.read.parquet(str(tmp_path / "hostile.parquet"))
    names = HOSTILE.column_names[:-1]
    rule = encoding_of(
        bounds_of(dict.fromkeys(names, (-5, 5))), granularity="1/1000", missing=0, bits=20
    )
    here, there = open_source(HOSTILE, rule), open_source(frame, rule)
    for _ in range(2):
        assert (there.collect(Everything()) == here.collect(Everything())).all()
    assert there.sums() == here.sums()


def test_text_of_any_bytes_is_a_label_or_none(spark, tmp_path):
    cells = pa.array([b"\xff\xfe", b"yes", b"no", None, b"\xc3"] * 20, pa.binary())
    table = pa.table({"a": pa.array(np.linspace(-1, 1, 100)), "label": cells})
    pq.write_table(table, tmp_path / "bytes.parquet")
    frame = spark.read.parquet(str(tmp_path / "bytes.parquet"))

    def release(data: Any) -> Any:
        model = kng.LogisticRegression(classes=("no", "yes"), bounds_X=(-1, 1), **ASKED)
        return fitted(model, data, target="label", features=["a"]).integers

    assert release(frame) == release(table)


def test_columns_come_from_the_schema(spark):
    schema = (
        "a double not null, b decimal(20,3), c string, d date, e timestamp, f boolean, "
        "g int not null, "
        "h array<int>, i binary, j bigint"
    )
    columns = open_table(spark.createDataFrame([], schema)).columns()
    number, text = Kind.NUMBER, Kind.TEXT
    kinds = [number, number, text, Kind.DATE, Kind.DATE, Kind.BOOLEAN, number, Kind.OTHER, text]
    assert [column.kind for column in columns] == [*kinds, number]
    assert [column.name for column in columns] == list("abcdefghij")
    # A float that is not null can still be NaN, which is missing too.
    assert [column.name for column in columns if not column.optional] == ["g"]
    assert columns[1].declared == "decimal(20,3)"


def test_names_that_spark_would_read_as_expressions(spark):
    frame = spark.createDataFrame([(1.0, 2.0, 3.0)], "`a.b` double, `x``y` double, z double")
    twice = frame.toDF("a.b", "z", "z")
    expected = kng.mean({"a.b": [1.0]}, bounds={"a.b": (0, 9)}, **ASKED).integers
    for table in (frame, twice):
        assert kng.mean(table, bounds={"a.b": (0, 9)}, **ASKED).integers == expected
    both = kng.mean(frame, bounds={"x`y": (0, 9), "a.b": (0, 9)}, **ASKED)
    assert both.names == ("x`y", "a.b")
    with pytest.raises(SchemaError, match="two columns named 'z'"):
        kng.mean(twice, bounds={"z": (0, 9)}, **ASKED)


# ---- one snapshot


def held(spark: Any) -> int:
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def test_what_is_stored_is_in_memory_only_and_forgotten(spark, frame):
    before = held(spark)
    source = open_source(frame, RULE)
    assert held(spark) == before, "opening a table reads nothing"
    source.sums()
    source.count()
    assert held(spark) == before + 1
    level = source._engine._stored.storageLevel
    assert level.useMemory
    assert not level.useDisk
    source.close()
    assert held(spark) == before
    source.sums()
    assert held(spark) == before + 1
    del source
    gc.collect()
    assert held(spark) == before, "an engine that is gone stores nothing"
    RELEASES["median"](frame)
    gc.collect()
    assert held(spark) == before, "nor does a release that is over"


@pytest.mark.parametrize("records", [RECORDS, RECORDS - 1])
def test_all_passes_see_the_records_that_were_counted_or_fail(records, spark, tmp_path):
    path = tmp_path / "table.parquet"

    def write(values: Any) -> None:
        table = pa.table({"a": values, "y": values})
        pq.write_table(table, path, compression="none", use_dictionary=False)

    write(X[:, 0])
    source = open_source(spark.read.parquet(str(path)), RULE)
    assert source.count() == RECORDS
    expected = open_source({"a": X[:, 0], "y": X[:, 0]}, RULE).sums()
    write(X[:records, 1])
    assert source.sums() == expected, "as they were when they were counted"
    # What is stored is lost, as with an executor, and read again.
    source._engine._stored.unpersist(blocking=True)
    with pytest.raises(engines.ChangedTable, match="changed while it was read"):
        source.sums()


def test_marks_see_every_cell_and_no_order():
    def mark(*columns: Any) -> int:
        batch = pa.record_batch([pa.array(column) for column in columns], ["a", "b", "c"])
        return mark_of(block_of(batch, Asked((0, 1), (2,))))

    texts = ["p", None, "q"]
    first = mark([1.0, 2.0, np.nan], [0.5, 0.25, 1.0], texts)
    assert mark([np.nan, 2.0, 1.0], [1.0, 0.25, 0.5], texts[::-1]) == first
    assert mark([2.0, 1.0, np.nan], [0.5, 0.25, 1.0], texts) != first, "cells belong to records"
    assert mark([1.0, 2.0, np.nan], [0.5, 0.25, 1.0], ["p", "", "q"]) != first
    assert mark([1.0, 2.0, np.nan], [0.5, 0.25, 1.0 + 2**-52], texts) != first


# ---- workers that fail


def test_a_worker_that_is_killed_is_replaced_and_its_records_count_once(
    frame, tmp_path, monkeypatch
):
    flag = tmp_path / "killed"
    here, there = open_source(TABLE, RULE), open_source(frame, RULE)
    found = there.reduce(KilledSums(RULE.last, str(flag)))
    assert flag.exists(), "a worker was killed"
    assert found == here.sums()
    flag.unlink()
    monkeypatch.setattr(sources, "Sums", functools.partial(KilledSums, flag=str(flag)))
    ledger = kng.Ledger(tmp_path / "budget.ledger", cap=3)
    kng.mean(frame, bounds={"a": (-1, 1)}, epsilon=1, ledger=ledger)
    assert flag.exists()
    assert ledger.remaining == 2, "charged once"


@pytest.mark.parametrize("kernel", [RaisingSums, AlwaysKilledSums])
def test_a_kernel_that_always_fails_fails_the_release_and_the_charge_stays(
    kernel, frame, tmp_path, monkeypatch
):
    monkeypatch.setattr(sources, "Sums", kernel)
    ledger = kng.Ledger(tmp_path / "budget.ledger", cap=3)
    with pytest.raises(PrivateZoneError, match="the charge stays") as caught:
        kng.mean(frame, bounds={"a": (-1, 1)}, epsilon=1, ledger=ledger)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert ledger.remaining == 2


def test_what_a_worker_raises_does_not_name_a_record():
    batch = pa.record_batch([pa.array([0.123456789])], ["a"])

    def task(blocks: Any) -> None:
        raise ValueError(str(next(blocks).numbers))

    with pytest.raises(PrivateZoneError) as caught:
        list(Share(1, Asked((0,)), task)(Store(Asked((0,)))([batch])))
    assert "0.12345" not in str(caught.value)
    assert caught.value.__context__ is None


# ---- refused before the charge


def refused(table: Any, says: str, error: Any = SchemaError, **options: Any) -> None:
    """Ask for a mean, which is refused and not charged."""
    options = {"bounds": {"a": (-1, 1)}, "epsilon": 1, **options}
    with tempfile.TemporaryDirectory() as folder:
        ledger = kng.Ledger(Path(folder) / "budget.ledger", cap=3)
        with pytest.raises(error, match=says):
            kng.mean(table, ledger=ledger, **options)
        assert ledger.remaining == 3


def test_columns_that_are_not_there_or_no_numbers(frame):
    refused(frame, "no column named 'z'; they have 'a', 'b'", bounds={"z": (0, 1)})
    refused(frame, "'label' of the data holds text .string.", bounds={"label": (0, 1)})


def test_streams_and_what_is_no_frame(spark, frame):
    refused(spark.readStream.format("rate").load(), "is a stream")
    refused(frame.rdd, "is not a table|must be")
    for module, says in (
        ("pyspark.sql.connect.dataframe", "Connect"),
        ("pyspark.pandas", "to_spark"),
    ):
        refused(type("DataFrame", (), {"__module__": module})(), says)


def test_frames_that_keep_rows(spark, frame):
    frame.createOrReplaceTempView("people")
    expected = kng.mean(TABLE, bounds={"a": (-1, 1)}, **ASKED).integers
    for alike in (
        frame.select("y", "a"),
        frame.withColumnRenamed("a", "q").withColumnRenamed("q", "a"),
        frame.alias("t").drop("b"),
        frame.coalesce(1),
        frame.withColumn("one", frame.label),
        spark.sql("SELECT a, try_cast(label AS double) AS k, CAST(a AS double) AS d FROM people"),
    ):
        assert kng.mean(alike, bounds={"a": (-1, 1)}, **ASKED).integers == expected


def test_frames_that_drop_or_multiply_rows(spark, frame):
    twice = frame.union(frame)
    refused(twice, "can drop or multiply rows", SpecError)
    stated = kng.Table(twice, rows_per_record=2)
    refused(stated, "neighbours='add-remove'", SpecError)
    told = kng.mean(stated, bounds={"a": (-1, 1)}, neighbours="add-remove", **ASKED)
    here = pd.concat([TABLE, TABLE])
    options = {"neighbours": "add-remove", "records_per_person": 2, **ASKED}
    plain = kng.mean(here, bounds={"a": (-1, 1)}, **options)
    assert told.integers == plain.integers
    assert "rows-per-record" in [assumption.value for assumption in told.assumptions]
    refused(kng.Table(frame, rows_per_record=1), "means nothing here", SpecError)


def test_every_statistic_and_estimator_is_the_same_as_from_any_other_source(spark, tmp_path):
    """The suite of all sources, from a file with decimals, gaps, infinities and labels."""

    def store(table, folder):
        path = folder / f"{len(list(folder.iterdir()))}.parquet"
        pq.write_table(arrow_of(table), path)
        return spark.read.parquet(path.as_uri()).repartition(3)

    same(store, tmp_path)


def test_filters_and_joins_are_refused(spark, frame, tmp_path):
    """Statistics leave out NaN: with them one record brings other people's rows in or out."""
    counts = {}
    for name, first in (("one", 1.0), ("other", 10.0)):
        gone = np.array([first, *[np.nan] * 5])  # NaN, not null
        pq.write_table(pa.table({"a": gone}), tmp_path / f"{name}.parquet")
        filtered = spark.read.parquet((tmp_path / f"{name}.parquet").as_uri()).filter("a > 5D")
        counts[name] = filtered.count()
        refused(kng.Table(filtered, rows_per_record=1), "leave out NaN", neighbours="add-remove")
    assert counts == {"one": 0, "other": 6}  # what is wrong with them
    joined = frame.join(frame.select("label"), "label")
    refused(kng.Table(joined, rows_per_record=9), "leave out NaN", neighbours="add-remove")
    here = kng.mean(TABLE, bounds={"a": (-1, 1)}, where="b > 0", **ASKED)
    assert kng.mean(frame, bounds={"a": (-1, 1)}, where="b > 0", **ASKED).integers == here.integers


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda f: f.groupBy("label").avg("a").toDF("label", "a"), "an aggregate"),
        (lambda f: f.distinct(), "drop of duplicates|distinct"),
        (lambda f: f.limit(5), "a limit"),
        (lambda f: f.sample(0.5), "'Sample'"),
        (lambda f: f.sort("a"), "'Sort'"),
        (lambda f: f.selectExpr("a", "row_number() over (order by a) as k"), "window"),
        (lambda f: f.selectExpr("a", "explode(array(1, 2)) as k"), "explode"),
        (lambda f: f.selectExpr("1 / a as a"), "computes 'divide'"),
        (lambda f: f.selectExpr("cast(label as double) as a"), "computes 'cast'"),
        (lambda f: f.selectExpr("a + rand() as a"), "computes 'add'"),
        (lambda f: f.filter("label > 5"), "filters or joins"),
        (lambda f: f.mapInArrow(lambda batches: batches, f.schema), "'MapInArrow'"),
    ],
)
def test_queries_that_could_leak_or_fail_on_a_record(make, says, frame):
    refused(make(frame), says)
    refused(kng.Table(make(frame), rows_per_record=2), says, neighbours="add-remove")


def test_files_that_are_read_strictly(spark, tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\nx\n")

    def read(mode: str) -> Any:
        reader = spark.read.schema("a double").option("header", True).option("mode", mode)
        return reader.csv(str(tmp_path / "t.csv"))

    refused(read("failfast"), "FAILFAST")
    found = kng.mean(read("permissive"), bounds={"a": (0, 4)}, **ASKED)
    here = pd.DataFrame({"a": [1.0, None]})
    assert found.integers == kng.mean(here, bounds={"a": (0, 4)}, **ASKED).integers


def test_files_that_are_gone_are_a_sentence_before_the_charge(spark, tmp_path):
    pq.write_table(pa.table({"a": X[:, 0]}), tmp_path / "gone.parquet")
    frame = spark.read.parquet(str(tmp_path / "gone.parquet"))
    (tmp_path / "gone.parquet").unlink()
    refused(frame, "Spark could not count")


class Elsewhere:
    """Stands in a module that only this process has."""

    def __call__(self, batches: Any) -> Any:
        yield from batches


def test_workers_without_the_package_or_with_another_version(frame, monkeypatch):
    monkeypatch.setattr(engines, "_ABLE", set())
    monkeypatch.setattr(engines, "__version__", "0.0")
    refused(frame, "workers have kng .* and this is kng 0.0", MissingExtra)
    module = types.ModuleType("only_here")
    monkeypatch.setitem(sys.modules, "only_here", module)
    monkeypatch.setattr(Elsewhere, "__module__", "only_here")
    module.Elsewhere = Elsewhere
    monkeypatch.setattr(engines, "Installed", Elsewhere)
    refused(frame, r"not installed there. Install 'kng\[spark\]'", MissingExtra)


def test_a_session_that_was_stopped(spark, frame):
    # The last test: nothing can be read after it.
    spark.stop()
    refused(frame, "has been stopped")
