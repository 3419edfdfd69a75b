"""CSV files in blocks: a line is a record, whatever it holds and however the file is cut."""

from __future__ import annotations

import csv
import io
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kng.core.compiled import load
from kng.core.encoding import BATCH_RECORDS
from kng.core.errors import SchemaError, SpecError
from kng.core.privacy import Assumption
from kng.data.ingest import number
from kng.data.text.csv_cells import copy_texts
from kng.data.text.csv_files import CsvFiles
from kng.data.text.csv_format import CsvFormat
from kng.data.text.notation import Notation

BLANKS = b" \t\n\v\f\r"
BLOCKS = (1, 2, 7, 64, 2**20)
Cells = list[bytes | None]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("csv") / "data.csv"


def read(path: Any, form: CsvFormat | None = None, **options: Any) -> tuple[list[Any], list[Any]]:
    """Return every column as texts and as numbers, and check how many records there are."""
    files = CsvFiles(path, form, **options)
    names = files.columns()
    texts: list[list[Any]] = [[] for _ in names]
    floats: list[list[float]] = [[] for _ in names]
    for numbers, arrays in files.blocks(names, names):
        for j in range(len(names)):
            assert isinstance(arrays[j], pa.BinaryArray)
            arrays[j].validate(full=True)
            assert numbers[j].dtype == np.float64
            assert 0 < len(numbers[j]) == len(arrays[j]) <= BATCH_RECORDS
            texts[j] += arrays[j].to_pylist()
            floats[j] += numbers[j].tolist()
    assert {len(column) for column in texts} == {files.count()}
    return texts, floats


def by_csv(line: bytes, separator: str) -> list[bytes]:
    """Return the cells that Python's reader finds in a line; a return there would end it."""
    text = line.replace(b"\r", b"\v").decode("latin-1")
    cells = next(csv.reader([text], delimiter=separator))
    return [cell.encode("latin-1").strip(BLANKS) for cell in cells]


def by_lines(content: bytes, columns: int, separator: str = ",") -> list[Cells]:
    """Return the columns of the lines of a file, one list each, by Python's reader."""
    lines = [line for line in content.split(b"\n") if line not in (b"", b"\r")]
    rows = [by_csv(line, separator) for line in lines]
    return [[row[j] if j < len(row) else None for row in rows] for j in range(columns)]


def same(found: list[Any], expected: list[Cells]) -> bool:
    texts, floats = found
    returned = [[t if t is None else t.replace(b"\r", b"\v") for t in column] for column in texts]
    numbers = [[number(cell) for cell in column] for column in expected]
    return returned == expected and all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(floats, numbers, strict=True)
    )


# Much of what may go wrong, in few letters.
ODD = st.text(alphabet='",;\n\r\t |1.5e-x\x00é\ufeff', max_size=60).map(str.encode)
CONTENT = st.one_of(ODD, st.binary(max_size=80), st.lists(ODD, max_size=8).map(b"\n".join))


@settings(max_examples=150)
@given(CONTENT, st.sampled_from(",;\t|x "))
@example(b'"', ",")
@example(b'1,"a""b",3\n"4"x,5\n\r\n\n"",","\n', ",")
@example(b"\xff\xfe1\x00", ",")
@example(b'"1"\r\n"2""3"\r\n"4\r\n', ",")
def test_any_bytes_are_read_line_by_line_as_pythons_reader_reads_each(path, content, separator):
    header = separator.join("abc").encode()
    path.write_bytes(header + b"\n" + content)
    form = CsvFormat(separator=separator)
    expected = by_lines(content, 3, separator)
    for block in BLOCKS:
        assert same(read(path, form, block=block), expected)


def test_many_random_files(path):
    draw = random.Random(7)
    letters = [b'"', b'"', b",", b"\n", b"\r\n", b"\r", b"1", b"2.5", b"x", b" ", b"\x00", b"\xff"]
    for _ in range(300):
        content = b"".join(draw.choices(letters, k=draw.randint(0, 120)))
        path.write_bytes(b"a,b,c\n" + content)
        assert same(read(path, block=draw.choice(BLOCKS)), by_lines(content, 3))


@settings(max_examples=100)
@given(st.lists(ODD, min_size=1, max_size=8), st.data())
def test_a_line_changes_no_record_but_its_own(path, lines, data):
    lines = [line.replace(b"\n", b" ") + b"," for line in lines]  # none of them is blank
    at = data.draw(st.integers(0, len(lines) - 1))
    other = data.draw(st.one_of(ODD, st.binary(max_size=50))).replace(b"\n", b"") + b","
    block = data.draw(st.sampled_from(BLOCKS))

    def records(of: list[bytes]) -> list[Any]:
        path.write_bytes(b"a,b,c\n" + b"\n".join(of))
        texts, floats = read(path, block=block)
        return [repr(row) for row in zip(*texts, *floats, strict=True)]

    before, after = records(lines), records([*lines[:at], other, *lines[at + 1 :]])
    assert len(before) == len(after) == len(lines)
    del before[at], after[at]
    assert before == after


@settings(max_examples=60)
@given(CONTENT, st.lists(st.sampled_from("abc"), max_size=3), st.lists(st.sampled_from("abc")))
def test_which_columns_are_asked_for_changes_nothing(path, content, numbers, texts):
    path.write_bytes(b"a,b,c\n" + content)
    all_texts, all_floats = read(path)
    files = CsvFiles(path, block=11)
    found: list[Any] = [[] for _ in (*numbers, *texts)]
    for floats, arrays in files.blocks(numbers, texts):
        for column, part in zip(found, [*floats, *(a.to_pylist() for a in arrays)], strict=True):
            column.extend(part)
    expected = [all_floats["abc".index(name)] for name in numbers]
    expected += [all_texts["abc".index(name)] for name in texts]
    assert repr([list(map(_plain, column)) for column in found]) == repr(
        [list(map(_plain, column)) for column in expected]
    )


def _plain(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, bytes) else float(cell)


WHOLE = st.text(alphabet='",\n 1.5x\x00é', max_size=60)


@settings(max_examples=150)
@given(WHOLE)
@example('"a\nb",1\n"",\n\n"c')
@example('x"\n"1,"""\n')
def test_quotes_across_lines_are_those_of_pythons_reader(path, content):
    path.write_bytes(b"a,b\n" + content.encode())
    rows = [row for row in csv.reader(io.StringIO(content, newline="")) if row]
    expected: list[Cells] = [
        [row[j].replace("\n", " ").encode().strip(BLANKS) if j < len(row) else None for row in rows]
        for j in range(2)
    ]
    for block in BLOCKS:
        assert same(read(path, CsvFormat(rows="quoted"), block=block), expected)


@settings(max_examples=60)
@given(CONTENT)
def test_any_bytes_are_read_where_quotes_may_span_lines(path, content):
    path.write_bytes(b"a,b,c\n" + content)
    form = CsvFormat(rows="quoted")
    texts, floats = read(path, form)
    for block in BLOCKS[:-1]:
        assert repr(read(path, form, block=block)) == repr((texts, floats))


def test_what_is_taken_for_granted_is_said(path):
    path.write_bytes(b"a\n1\n")
    assert CsvFiles(path).assumptions == ()
    assert CsvFiles(path, CsvFormat(rows="quoted")).assumptions == (Assumption.CLOSED_QUOTES,)


LINE = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"))


@given(st.lists(st.tuples(LINE, LINE, st.floats().map(repr)), max_size=8))
def test_what_a_writer_writes_is_read_back(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("a", "b", "c"), *rows])
    texts, floats = read(path)
    assert texts[0] == [row[0].encode().strip(BLANKS) for row in rows]
    assert texts[1] == [row[1].encode().strip(BLANKS) for row in rows]
    assert np.array_equal(floats[2], [float(row[2]) for row in rows], equal_nan=True)


def test_a_line_may_be_longer_than_a_block(path):
    long = b"9" * 3_000_000
    path.write_bytes(b"a,b\n1,x\n" + long + b',"' + long + b'"\n2,y')
    for block in (2**16, 2**20):
        texts, floats = read(path, block=block)
        assert floats[0] == [1, np.inf, 2]
        assert texts[1] == [b"x", long, b"y"]


def test_many_short_records_come_in_batches(path):
    path.write_bytes(b"a\n" + b"1\n" * 300_000 + b"\n\n" + b"\r\n" * 5)
    _, floats = read(path)
    assert len(floats[0]) == 300_000


def test_a_text_that_no_array_can_hold_is_missing():
    load(copy_texts)
    data = np.frombuffer(b"abc,defg,h", dtype=np.uint8)
    starts, ends = np.array([0, 4, 9]), np.array([3, 8, 10])
    out, offsets = np.empty(10, np.uint8), np.empty(4, np.int32)
    there = np.empty(3, np.bool_)
    assert copy_texts(data, starts, ends, 3, out, offsets, there) == 4
    assert there.tolist() == [True, False, True]
    assert out[:4].tobytes() == b"abch"
    assert offsets.tolist() == [0, 3, 3, 4]


def test_old_line_ends_are_declared(path):
    path.write_bytes(b'a,b\r1,"x"\r\r2,y\r3,"z\r')
    with pytest.raises(SchemaError, match=r"If its lines end in carriage returns, say ending="):
        CsvFiles(path)
    for block in BLOCKS:
        texts, floats = read(path, CsvFormat(ending="\r"), block=block)
        assert floats[0] == [1, 2, 3]
        assert texts[1] == [b"x", b"y", b"z"]


def test_numbers_are_read_in_the_declared_notation(path):
    path.write_bytes('a;b\n1.234,5 €;"2,5"\n7;"1.0""0"\n'.encode())
    form = CsvFormat(";", numbers=Notation(",", ".", ("€",)))
    _, floats = read(path, form)
    assert floats[0] == [1234.5, 7]
    assert floats[1][0] == 2.5
    assert np.isnan(floats[1][1])


def test_text_after_a_closing_quote_belongs_to_the_number(path):
    path.write_bytes(b'a\n"12"3\n"1""2"\n""5\n"" 7 \n')
    _, (found,) = read(path)
    assert np.array_equal(found, [123, np.nan, 5, 7], equal_nan=True)


@pytest.mark.parametrize(
    ("first", "wanted", "says"),
    [
        ("age;income", "age", "separated by semicolons, say separator=';'"),
        ("age\tincome", "income", r"separated by tabs, say separator='\\t'"),
        ("age|income", "agee", r"separated by vertical bars, say separator='\|'"),
        ('"age;x";"income"', "age", "separated by semicolons"),
        ("a,b;age;c", "age", "separated by semicolons"),
        ("id,name;x", "age", r"it has 'id', 'name;x'\.$"),
    ],
)
def test_a_header_with_another_separator_is_told(path, first, wanted, says):
    path.write_text(first + "\n4711;4712\n")
    with pytest.raises(SchemaError, match=says) as caught:
        CsvFiles(path).prepare([wanted], [])
    assert "4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"separator": ""}, "one ASCII character"),
        ({"separator": ",,"}, "one ASCII character"),
        ({"separator": '"'}, "one ASCII character"),
        ({"separator": "\n"}, "one ASCII character"),
        ({"separator": "é"}, "one ASCII character"),
        ({"separator": 5}, "one ASCII character"),
        ({"rows": "records"}, "rows must be 'lines' or 'quoted', got 'records'"),
        ({"ending": "\r\n"}, "ending must be"),
    ],
)
def test_a_format_that_cannot_be_is_refused(words, says):
    with pytest.raises(SpecError, match=says):
        CsvFormat(**words)


def test_every_pass_is_the_same(path):
    path.write_bytes(b"a,b\n1,x\n2,y\n")
    files = CsvFiles(path)
    for _ in range(3):
        assert files.count() == 2
        ((numbers, texts),) = files.blocks(["a"], ["b"])
        assert numbers[0].tolist() == [1, 2]
        assert texts[0].to_pylist() == [b"x", b"y"]


def test_blocks_live_as_long_as_they_are_held(path):
    path.write_bytes(b"a,b\n" + b"".join(b"%d,t%d\n" % (k, k) for k in range(1000)))
    kept = list(CsvFiles(path, block=64).blocks(["a"], ["b"]))
    assert len(kept) > 50
    assert np.concatenate([numbers[0] for numbers, _ in kept]).tolist() == list(range(1000))
    assert [t for _, texts in kept for t in texts[0].to_pylist()] == [
        b"t%d" % k for k in range(1000)
    ]
