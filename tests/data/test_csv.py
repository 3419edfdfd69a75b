"""CSV files as they come: whatever a row holds, it is one record."""

from __future__ import annotations

import csv
import math
from typing import Any

import numpy as np
import pytest
from contract.hostile import MISSING
from data.reading import batches, encoding, integers
from hypothesis import example, given
from hypothesis import strategies as st

from kng.core.errors import SchemaError
from kng.data import Table, open_source
from kng.data.stamp import ChangedFile

RULE = encoding({"a": (0, 10)}, granularity=1, missing=0)
BOTH = encoding({"a": (0, 10), "b": (0, 20)}, granularity=1, missing=[0, 0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("csv")


@pytest.fixture(scope="module")
def written(folder):
    def write(content: str | bytes, name: str = "data.csv") -> Any:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("a\n1\n2\n", [1, 2], id="plain"),
        pytest.param("a\n1\n2", [1, 2], id="no last line end"),
        pytest.param(b"\xef\xbb\xbfa\n1\n2\n", [1, 2], id="byte order mark"),
        pytest.param("a\r\n1\r\n2\r\n", [1, 2], id="windows line ends"),
        pytest.param('"a"\n"1"\n"2"\n', [1, 2], id="quotes"),
        pytest.param('a,t\n1,"x,y"\n2,"x ""y"" z"\n', [1, 2], id="quoted commas and quotes"),
        pytest.param('a,t\n1,"two\nlines"\n2,x\n', [1, 0, 2], id="a quote ends with its line"),
        pytest.param("a\n1\r\n\r\n2\r3\n", [1, 0], id="returns"),
        pytest.param("a\n\n1\n\n\n2\n\n", [1, 2], id="blank lines are no records"),
        pytest.param("  a \n1\n", [1], id="spaces in the header"),
        pytest.param("b, a\n7,1\n", [1], id="space after a comma in the header"),
        pytest.param("b,a\n7,1\n8\n9,2\n", [1, 0, 2], id="short rows"),
        pytest.param("a,b\n1,7\n2,8,9,10\n", [1, 2], id="extra cells"),
        pytest.param("a,b\n,7\n 3 ,8\n", [0, 3], id="empty and padded cells"),
        pytest.param('a\n""\n1\n', [0, 1], id="an empty cell in quotes"),
        pytest.param("a\n \n1\n", [0, 1], id="a line of spaces is a record"),
        pytest.param(b"a,t\n1,\xff\xfe\n2,\x80\n", [1, 2], id="not utf-8 beside"),
        pytest.param(b"a\n\xff\n2\n", [0, 2], id="not utf-8"),
        pytest.param(b"a\n1\x00\n2\n", [0, 2], id="zero bytes"),
        pytest.param("a\n" + "9" * 200_000 + "\n2\n", [10, 2], id="a very long number"),
        pytest.param("a\n" + "x" * 200_000 + "\n2\n", [0, 2], id="a very long cell"),
        pytest.param("a\nnan\nNA\nnull\nNone\n-\n", [0] * 5, id="words for nothing"),
        pytest.param("a\ninf\n-inf\nInfinity\n1e999\n", [10, 0, 10, 10], id="infinities"),
        pytest.param("a\n1e1\n.5e1\n+3\n-3\n", [10, 5, 3, 0], id="ways to write a number"),
        pytest.param('a\n1;5\n"1,5"\n0x5\n5%\n', [0] * 4, id="ways that are not ours"),
        pytest.param("a\nTrue\nFalse\n", [0, 0], id="booleans are words"),
        pytest.param("a\n1_0\n", [10], id="underscores as python reads them"),
        pytest.param("a\n٣\n", [0], id="digits of other scripts are text"),
        pytest.param("a\n", [], id="no records"),
    ],
)
def test_a_file_is_read_row_by_row(content, expected, written):
    path = written(content)
    assert integers(path, RULE) == [(k,) for k in expected]
    assert open_source(path, RULE).count() == len(expected)


CELL = st.one_of(
    st.text(max_size=6),
    st.floats().map(str),
    st.integers().map(str),
    st.sampled_from(["", " ", '"', ",", "\n", "\r", "\0", "nan", "1,5", "é", "\ufeff", "9" * 400]),
)


@given(st.lists(st.tuples(CELL, CELL), max_size=6))
@example([("\r", "1"), ("1", "\r\n")])
def test_what_a_writer_quotes_is_read_as_one_record_a_row(written, rows):
    # Surrogates are not text that a file can hold.
    rows = [tuple(cell.encode("utf-8", "replace").decode() for cell in row) for row in rows]
    path = written("")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b"])
        writer.writerows(rows)
    source = open_source(Table(path, rows="quoted"), BOTH)
    expected = integers(
        [list(row) for row in rows], encoding(([0, 0], [10, 20]), granularity=1, missing=[0, 0])
    )
    assert source.count() == len(rows)
    assert [tuple(row) for batch in batches(source) for row in batch.tolist()] == expected


@given(st.binary(max_size=200))
@example(b'"')
@example(b"\xff\xfe1\x00")
def test_any_bytes_below_the_header_are_read(written, content):
    path = written(b"a,b\n" + content)
    assert len(integers(path, BOTH)) == open_source(path, BOTH).count()


HOSTILE = ['"', '"7', '"a"7', '""7', '"",', 'x"', '""', '"1""', ",", "\x00", "\r\r", '"\r']


@pytest.mark.parametrize("hostile", HOSTILE, ids=repr)
@pytest.mark.parametrize("place", [0, 3, 6])
def test_a_quote_that_is_not_closed_stays_in_its_line(hostile, place, written):
    cells = [str(k) for k in range(1, 8)]
    cells[place] = hostile
    path = written("a\n" + "\n".join(cells) + "\n")
    found = [k for (k,) in integers(path, RULE)]
    assert found[:place] + found[place + 1 :] == [k for k in range(1, 8) if k != place + 1]
    assert open_source(path, RULE).count() == 7


@pytest.mark.parametrize("hostile", ['"', '"7', '"\n"', 'x"', "\n\n\n", ",", '"\r\n",'])
def test_line_ends_in_quotes_are_read_where_they_are_declared(hostile, folder):
    path = folder / "quoted.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["a"], [1], [2], [hostile], [4], [5]])
    source = open_source(Table(path, rows="quoted"), RULE)
    assert source.count() == 5
    assert np.concatenate(batches(source)).ravel().tolist() == [1, 2, 0, 4, 5]


def test_cells_that_are_missing_in_memory_are_missing_in_a_file(folder):
    path = folder / "missing.csv"
    texts = [str(cell) for cell in MISSING.values() if not isinstance(cell, np.ndarray)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["a"], *([text] for text in texts if text)])
    assert set(integers(path, RULE)) == {(0,)}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param("", "the first line of .* is empty", id="empty"),
        pytest.param("b,c\n1,2\n", "no column named 'a'; it has 'b', 'c'", id="other names"),
        pytest.param("A\n1\n", "no column named 'a'; it has 'A'", id="capitals"),
    ],
)
def test_a_header_that_does_not_fit_is_refused_on_opening(content, says, written):
    with pytest.raises(SchemaError, match=says):
        open_source(written(content), RULE)


def test_a_file_without_wanted_names_must_have_one_column_per_bound(written):
    plain = encoding((0, 10), granularity=1)
    assert integers(written("x\n3\n"), plain) == [(3,)]
    with pytest.raises(SchemaError, match=r"has 2 columns \('x', 'y'\), the bounds describe 1"):
        open_source(written("x,y\n3,4\n"), plain)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("absent.csv", "No such file or directory. Check the path"),
        ("folder.csv", "directory 'folder.csv' holds no data file"),
        ("data.xlsx", "file names must end in one of .csv"),
    ],
)
def test_a_path_that_cannot_be_read_is_refused_on_opening(name, says, folder):
    (folder / "folder.csv").mkdir(exist_ok=True)
    with pytest.raises(SchemaError, match=says):
        open_source(str(folder / name), RULE)


def test_a_file_that_changes_after_it_was_opened_is_not_read(written):
    path = written("a\n1\n")
    source = open_source(path, RULE)
    path.write_text("a\n7\n8\n")
    for read in (source.count, lambda: batches(source)):
        with pytest.raises(ChangedFile):
            read()


def test_a_name_that_occurs_twice_is_refused(written):
    path = written("a,a\n1,2\n")
    with pytest.raises(SchemaError, match="two columns named 'a'"):
        open_source(path, RULE)
    with pytest.raises(SchemaError, match="two columns named 'a'"):
        open_source(path, encoding(([0, 0], [10, 10])))


def test_a_column_that_occurs_twice_elsewhere_does_no_harm(written):
    assert integers(written("b,a,b\n7,1,8\n"), RULE) == [(1,)]


def test_a_very_long_header_is_read(written):
    assert integers(written("a," + "b" * 140_000 + "\n1,2\n"), RULE) == [(1,)]


@pytest.mark.parametrize(
    "first",
    [
        "",
        "\n",
        " , \n",
        "1,2\n",
        "a,-3.5\n",
        'a,"$5"\n',
        '"3,5",a\n',
        "a,5 %\n",
        'secret,"7\n',
        '"a"x,b\n',
        "1e3\n",
    ],
    ids=repr,
)
def test_a_first_line_that_is_no_header_is_refused_and_not_repeated(first, written):
    with pytest.raises(SchemaError, match=r"does not name columns|is empty") as caught:
        open_source(written(first + "4711,4712\n"), RULE)
    told = str(caught.value)
    assert "4711" not in told
    assert "secret" not in told
    assert "3.5" not in told


def test_numbers_survive_the_way_through_a_file(folder):
    rule = encoding({"a": (-1, 1)}, granularity="1/17179869184")
    values = [math.nextafter(0.3, 1), 0.1, -0.7, 1e-9, -1e-300]
    path = folder / "floats.csv"
    path.write_text("a\n" + "\n".join(map(repr, values)))
    assert integers(path, rule) == integers({"a": values}, rule)
