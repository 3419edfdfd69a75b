"""``kng predict``: a receipt and any table make CSV, and nothing is charged."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import kng

LINE = ("--target", "income", "--covariates", "age", "--bounds", "age=0:120")
INCOME = ("--bounds", "income=0:10000", "--epsilon", "1")


@pytest.fixture
def receipt(run, ages, tmp_path):
    path = tmp_path / "model.json"
    assert run("linear", ages, *LINE, *INCOME, "--out", path).code == 0
    return path


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def test_csv_to_csv(run, receipt, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text('name,age\n"Ann, B",30\nBob,\nCid,forty\nDee,50\n')
    outcome = run("predict", receipt, new, "--keep", "name")
    assert outcome.code == 0, outcome.err
    start, slope = kng.Release.from_json(receipt.read_text()).value
    head, ann, bob, cid, dee = rows(outcome.out)
    assert head == ["name", "prediction"]
    assert (ann[0], float(ann[1])) == ("Ann, B", pytest.approx(start + 30 * slope))
    assert (bob, cid) == (["Bob", ""], ["Cid", ""])
    assert float(dee[1]) == pytest.approx(start + 50 * slope)


def test_the_order_of_a_parquet_file_and_out(run, receipt, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    ages, path, out = np.arange(200_000) % 97, tmp_path / "new.parquet", tmp_path / "out.csv"
    pq.write_table(pa.table({"age": ages}), path, row_group_size=5000)
    outcome = run("predict", receipt, path, "--out", out)
    assert (outcome.code, outcome.out) == (0, "")
    start, slope = kng.Release.from_json(receipt.read_text()).value
    found = np.loadtxt(out, skiprows=1)
    np.testing.assert_allclose(found, start + slope * ages)
    assert run("predict", receipt, path, "--out", out).code == 2  # it exists


def test_several_quantiles_and_classes(run, ages, tmp_path):
    quantiles, classes = tmp_path / "q.json", tmp_path / "c.json"
    words = ("quantreg", ages, *LINE, *INCOME, "--quantile", "0.25,0.75", "--out", quantiles)
    assert run(*words).code == 0
    words = ("--target", "income", "--covariates", "age", "--bounds", "age=0:120")
    words += ("--classes", "0,1000", "--epsilon", "1", "--out", classes)
    assert run("logistic", ages, *words).code == 0
    (low, high), *found = rows(run("predict", quantiles, ages).out)
    assert (low, high) == ("prediction at 0.25", "prediction at 0.75")
    assert len(found) == 500
    assert all(float(a) <= float(b) for a, b in found)
    head, *found = rows(run("predict", classes, ages).out)
    assert head == ["probability of 0", "probability of 1000"]
    assert all(float(a) + float(b) == pytest.approx(1) for a, b in found)


def test_what_is_wrong_is_said(run, receipt, ages, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("weight\n70\n")
    outcome = run("predict", receipt, other)
    assert (outcome.code, "no column named 'age'" in outcome.err) == (4, True)
    assert run("predict", "none.json", ages).code == 2
    assert run("predict", ages, ages).code == 2
    outcome = run("predict", receipt, "--query", "SELECT age FROM 's.parquet'")
    assert (outcome.code, "--keep is missing" in outcome.err) == (2, True)
    outcome = run("predict", receipt, ages, "--out", tmp_path / "none" / "p.csv")
    assert (outcome.code, "cannot be written" in outcome.err) == (2, True)


def test_the_help_says_where_predictions_stay(run):
    text = " ".join(run("predict", "--help").out.split())
    assert "Nothing is charged" in text
    assert "may stay with whoever holds the records" in text
