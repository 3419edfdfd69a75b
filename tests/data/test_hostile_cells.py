"""Cells that a library stops at: they are missing, and the release goes on."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kng
from kng.core.errors import SchemaError, SpecError

NUMBERS = [1.0, 2.0, 3.0] * 10
BYTES = pa.array([b"a", b"\xff\xfe", b"b"] * 10, pa.binary())
# Text by its type, and not by its bytes.
BROKEN = pa.StringArray.from_buffers(30, *BYTES.buffers()[1:])


def drawn(data: object, where: str | None = None) -> tuple[int, ...]:
    """Return a median of the records for which a condition holds."""
    return kng.median(
        data,
        bounds={"x": (0, 10)},
        epsilon=1,
        where=where,
        neighbours="add-remove",
        random_state=1,
    ).integers


def fitted(data: object, classes: tuple[object, object]) -> tuple[int, ...]:
    """Return the coefficients of a model whose labels are in column y."""
    model = kng.LogisticRegression(
        epsilon=1,
        classes=classes,
        bounds_X={"x": (0, 10)},
        coef_bound=1,
        neighbours="add-remove",
        n_max=100,
        random_state=1,
    )
    return model.fit(data, target="y", features=["x"]).release_.integers


def parquet(path: object, **columns: object) -> str:
    """Write a file and return its name."""
    pq.write_table(pa.table(columns), path)
    return str(path)


def test_bytes_that_are_no_text_do_not_stop_parquet(tmp_path):
    file = parquet(tmp_path / "a.parquet", x=NUMBERS, s=BROKEN)
    expected = drawn({"x": NUMBERS[::3]})
    assert drawn(file, "s = 'a'") == expected
    assert drawn(pa.table({"x": NUMBERS, "s": BROKEN}), "s = 'a'") == expected
    query = kng.Table(query=f"SELECT x, lower(s) AS s FROM '{file}'")
    assert drawn(query, "s = 'a'") == expected
    query = kng.Table(query=f"SELECT x FROM '{file}' WHERE s LIKE 'a%'", rows_per_record=1)
    assert drawn(query) == expected


@pytest.mark.parametrize(
    "labels",
    [
        pa.array(["0", "1", "none"] * 10),
        pa.array(["0", "1", None] * 10).dictionary_encode(),
        pa.array([b"0", b"1", b"\xff"] * 10),
        pa.array(["0", "1", ""] * 10, pa.string_view()),
    ],
    ids=lambda labels: str(labels.type),
)
@pytest.mark.parametrize("classes", [(0, 1), ("0", "1")])
def test_text_that_is_no_label_is_none_of_the_classes(labels, classes, tmp_path):
    data = {"x": NUMBERS, "y": labels}
    expected = fitted({"x": NUMBERS, "y": [0, 1, None] * 10}, (0, 1))
    assert fitted(pa.table(data), classes) == expected
    assert fitted(parquet(tmp_path / "a.parquet", **data), classes) == expected


def test_what_is_no_number_is_no_label(tmp_path):
    file = parquet(tmp_path / "a.parquet", x=NUMBERS, y=pa.array([[1]] * 30))
    assert fitted(file, (0, 1)) == fitted({"x": NUMBERS, "y": [None] * 30}, (0, 1))


def test_dates_are_no_labels(tmp_path):
    days = pa.array([0, 1, 2] * 10, pa.date32())
    file = parquet(tmp_path / "a.parquet", x=NUMBERS, y=days)
    for data in (file, {"x": NUMBERS, "y": np.asarray(days)}):
        with pytest.raises(kng.KngError, match="holds date"):
            fitted(data, (0, 1))


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()),
        pa.dictionary(pa.int8(), pa.large_string()),
    ],
    ids=str,
)
def test_every_kind_of_text_is_compared(kind):
    plain = pa.array([" a", "b", None] * 10)
    cells = plain.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else None
    table = pa.table({"x": NUMBERS, "s": plain.cast(kind) if cells is None else cells})
    assert drawn(table, "s = 'a'") == drawn({"x": NUMBERS[::3]})


@pytest.mark.parametrize("name", ["a[1].parquet", "a*.parquet", "a?.parquet"])
def test_a_name_that_looks_like_a_pattern_is_one_file(name, tmp_path):
    parquet(tmp_path / "a1.parquet", x=[9.0] * 30)
    file = parquet(tmp_path / name, x=NUMBERS)
    assert drawn(file) == drawn({"x": NUMBERS})
    assert drawn(kng.Table(query=f"SELECT x FROM '{file}'")) == drawn({"x": NUMBERS})


@pytest.mark.parametrize(
    "stated", [" or ".join(["x > 1"] * 900), "<".join(["x"] * 900), "+".join(["x"] * 900) + "> 1"]
)
def test_a_condition_of_many_operators_is_refused(stated):
    with pytest.raises(SpecError, match="more than 200 operators"):
        drawn({"x": NUMBERS}, stated)


def test_half_a_character_is_refused():
    with pytest.raises(SpecError, match="half of a character"):
        drawn({"x": NUMBERS, "s": ["a"] * 30}, "s = '\ud800'")


def test_half_a_character_is_no_class():
    with pytest.raises(SpecError, match="half of a character"):
        fitted({"x": NUMBERS, "y": ["a"] * 30}, ("a", "\ud800"))


def test_spaces_of_other_scripts_are_text_everywhere():
    data = {"x": NUMBERS, "s": ["a", "a\u00a0", "\u2003a"] * 10}
    expected = drawn({"x": NUMBERS[::3]})
    assert drawn(data, "s = 'a'") == expected
    assert drawn(pa.table(data), "s = 'a'") == expected


def test_a_type_that_arrow_does_not_have_is_refused():
    frame = pl.DataFrame({"x": NUMBERS, "s": pl.Series([1] * 30, dtype=pl.Int128)})
    for each in (frame, frame.lazy()):
        with pytest.raises(SchemaError, match="column 's' of the data is of type Int128"):
            drawn(each)
        assert drawn(each.select("x")) == drawn({"x": NUMBERS})


class Fails(str):
    """A text whose methods are somebody's."""

    def isascii(self) -> bool:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError

    __str__ = __hash__ = __eq__ = isascii  # type: ignore[assignment]


class FailingList(list):  # type: ignore[type-arg]
    def __len__(self) -> int:
        raise RuntimeError


@pytest.mark.parametrize("cell", [Fails("5"), FailingList([5])], ids=["text", "list"])
def test_a_cell_with_code_of_its_own_is_missing(cell):
    """It raised below the charge, which one record decides."""
    held = np.empty(31, dtype=object)
    held[:] = [*NUMBERS, cell]
    for column in ([*NUMBERS, cell], held):
        assert drawn({"x": column}) == drawn({"x": NUMBERS})
        assert kng.histogram({"x": column}, levels={"x": ["a", "b"]}, epsilon=1).value.shape == (2,)
        kng.count({"x": column}, person="x", max_records=1, epsilon=1)
