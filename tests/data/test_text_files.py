"""Compressed files, pipes, patterns and encodings: the same records, or a sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import random
from encodings.aliases import aliases
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from data.reading import encoding, integers

from kng.core.errors import SchemaError, SpecError
from kng.data.text import text_files
from kng.data.text.csv_files import CsvFiles
from kng.data.text.csv_format import CsvFormat

ROWS = b"a,b\n" + b"".join(b"%d,t%d\n" % (k, k) for k in range(20_000))
PACKED = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda text: pa.compress(text, codec="zstd", asbytes=True),
}


def texts(files: CsvFiles, name: str = "b") -> list[Any]:
    found = [cell for _, (column,) in files.blocks([], [name]) for cell in column.to_pylist()]
    assert len(found) == files.count()
    return found


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_files_are_read_by_their_suffix(suffix, tmp_path):
    path = tmp_path / f"data.csv.{suffix}"
    # Several streams one after the other are one file.
    path.write_bytes(PACKED[suffix](ROWS[:1000]) + PACKED[suffix](ROWS[1000:]))
    assert texts(CsvFiles(path)) == [b"t%d" % k for k in range(20_000)]
    rule = encoding({"a": (0, 10**5)}, granularity=1)
    assert integers(path, rule) == [(k,) for k in range(20_000)]


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("kept", [0.5, 0.999])
def test_a_compressed_file_that_is_cut_is_told_and_never_read_in_part(suffix, kept, tmp_path):
    whole = PACKED[suffix](ROWS[:1000]) + PACKED[suffix](ROWS[1000:])
    path = tmp_path / f"data.csv.{suffix}"
    path.write_bytes(whole[: int(kept * len(whole))])
    with pytest.raises(SchemaError, match=r"cannot read .*: it is cut, broken or not compressed"):
        CsvFiles(path)  # seen at once, as all of it is within the first block
    files = CsvFiles(path, block=64)
    with pytest.raises(SchemaError, match=r"cannot be read to its end: it is cut, broken"):
        files.count()
    with pytest.raises(SchemaError, match=r"cannot read .*: it is cut, broken or not compressed"):
        files.prepare(["a"], [])  # before the charge, under either relation


def test_a_file_that_is_not_compressed_is_told(tmp_path):
    path = tmp_path / "data.csv.gz"
    path.write_bytes(ROWS)
    with pytest.raises(SchemaError, match=r"not compressed as its name says\. Check the file"):
        CsvFiles(path)


@pytest.fixture
def piped(monkeypatch):
    def pipe(content: bytes) -> None:
        text_files._standard_input.cache_clear()
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))

    yield pipe
    text_files._standard_input.cache_clear()


def test_standard_input_is_read_once_and_kept(piped):
    piped(ROWS)
    for files in (CsvFiles("-"), CsvFiles(Path("-"))):
        assert files.columns() == ("a", "b")
        for _ in range(2):
            assert texts(files) == [b"t%d" % k for k in range(20_000)]
        assert files.stamp() == ((0, 0, len(ROWS), 0),)
    rule = encoding({"a": (0, 10**5)}, granularity=1)
    assert integers("-", rule) == [(k,) for k in range(20_000)]


def test_messages_call_it_standard_input(piped, monkeypatch):
    piped(b"1,2\n")
    with pytest.raises(SchemaError, match="the first line of standard input does not name"):
        CsvFiles("-")
    text_files._standard_input.cache_clear()
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SchemaError, match="there is no standard input"):
        CsvFiles("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a named pipe")
@pytest.mark.parametrize("suffix", ["csv", "csv.gz"])
def test_a_pipe_is_read_once_and_kept(suffix, tmp_path):
    path = tmp_path / f"pipe.{suffix}"
    os.mkfifo(path)
    content = gzip.compress(ROWS) if suffix == "csv.gz" else ROWS
    writer = Thread(target=path.write_bytes, args=(content,))
    writer.start()
    files = CsvFiles(path)
    writer.join()
    for _ in range(2):
        assert texts(files) == [b"t%d" % k for k in range(20_000)]


def test_files_of_a_pattern_are_one_table(tmp_path):
    for k in (2, 1, 3):
        (tmp_path / f"part{k}.csv").write_bytes(b"a,b\n%d,t%d" % (k, k))
    (tmp_path / "other.csv").write_bytes(b"x\n1\n")
    files = CsvFiles(str(tmp_path / "part*.csv"))
    assert texts(files) == [b"t1", b"t2", b"t3"]
    assert len(files.stamp()) == 3
    assert texts(CsvFiles([tmp_path / "part3.csv", tmp_path / "part1.csv"])) == [b"t3", b"t1"]
    rule = encoding({"a": (0, 10)}, granularity=1)
    assert integers(tmp_path / "part*.csv", rule) == [(1,), (2,), (3,)]


def test_files_of_a_pattern_must_have_the_same_header(tmp_path):
    (tmp_path / "part1.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "part2.csv").write_bytes(b"b,a\n4711,2\n")
    with pytest.raises(SchemaError, match=r"part2.csv has other columns \(b, a\) than part1.csv"):
        CsvFiles(str(tmp_path / "*.csv"))
    with pytest.raises(SchemaError, match="no file matches"):
        CsvFiles(str(tmp_path / "*.txt"))
    with pytest.raises(SchemaError, match="list of files is empty"):
        CsvFiles([])


def test_a_name_that_looks_like_a_pattern_is_a_file_if_it_is_there(tmp_path):
    (tmp_path / "a[1].csv").write_bytes(b"a\n1\n")
    (tmp_path / "a1.csv").write_bytes(b"a\n1\n2\n")
    assert CsvFiles(tmp_path / "a[1].csv").count() == 1
    assert CsvFiles(tmp_path / "a[1].csv").columns() == ("a",)


def test_a_stamp_tells_whether_a_file_has_changed(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a\n1\n")
    files = CsvFiles(path)
    before = files.stamp()
    assert files.stamp() == before
    path.write_bytes(b"a\n2\n")
    os.utime(path, ns=(1, 1))
    assert files.stamp() != before


ENCODINGS = sorted({*aliases.values(), "utf-16", "utf-32", "utf-8-sig", "cp65001", "latin-1"})
UNFIT = {"bz2_codec", "zlib_codec", "hex_codec", "base64_codec", "quopri_codec", "uu_codec"}
UNFIT |= {"rot_13", "mbcs"}


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_bytes_raise_in_any_encoding_of_python(name, tmp_path):
    path, draw = tmp_path / "data.csv", random.Random(name)
    if name in UNFIT:
        path.write_bytes(b"a,b\n")
        with pytest.raises(SpecError, match="is not one that files are read in"):
            CsvFiles(path, CsvFormat(encoding=name))
        return
    header = "a,b\n".encode(name)
    end = "\n".encode(name)
    for length in (0, 1, 50, 3000):
        junk = draw.randbytes(length)
        path.write_bytes(header + "1,2\n".encode(name)[-len(end) * 4 :] + junk + end + end)
        one = CsvFiles(path, CsvFormat(encoding=name))
        found = texts(one)
        assert found[0] == b"2"
        assert texts(CsvFiles(path, CsvFormat(encoding=name), block=7)) == found


@pytest.mark.parametrize("name", ["utf-8", "latin-1", "cp1252", "utf-16", "utf-16-be", "utf-32"])
def test_text_is_the_same_in_every_encoding(name, tmp_path):
    path = tmp_path / "data.csv"
    content = "größe,b\n1,é\n2,“x”\n3,ÿ\n" if name != "latin-1" else "größe,b\n1,é\n2,ÿ\n"
    path.write_bytes(content.encode(name))
    for block in (1, 3, 2**20):
        files = CsvFiles(path, CsvFormat(encoding=name), block=block)
        assert files.columns() == ("größe", "b")
        assert texts(files) == [line.split(",")[1].encode() for line in content.split()[1:]]


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_no_part_of_a_name(mark, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes('"a",b\n1,2\n'.encode(mark))
    name = {"utf-8-sig": "utf-8"}.get(mark, mark)
    assert CsvFiles(path, CsvFormat(encoding=name)).columns() == ("a", "b")


# What a line may hold that changes how later bytes are read, if nobody starts anew.
SHIFTS = {
    "iso2022_jp": b"\x1b$B",
    "hz": b"~{",
    "utf_7": b"+AGE",
    "shift_jis": b"\x81",
    "gbk": b"\x81",
    "gb18030": b"\x81\x30\x81",
    "big5": b"\xa4",
    "euc_jp": b"\x8f\xa2",
    "utf_8": b"\xf0\x9f\x98",
}


@pytest.mark.parametrize("name", SHIFTS)
def test_no_line_changes_how_the_next_one_is_read(name, tmp_path):
    path = tmp_path / "data.csv"
    for hostile in (SHIFTS[name], SHIFTS[name] + b",", b"x," + SHIFTS[name]):
        path.write_bytes(b"a,b\n1,one\n" + hostile + b"\n3,three\n4,four\n")
        found = texts(CsvFiles(path, CsvFormat(encoding=name)))
        assert [found[0], *found[2:]] == [b"one", b"three", b"four"]


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("utf-16-le", b"\x00\xd8"),  # the first half of a character
        ("utf-16-be", b"\xdc\x00"),  # the second half of one
        ("utf-32-le", b"\xff\xff\xff\xff"),
        ("utf-32-be", b"\x00\x00\xd8\x00"),
    ],
)
def test_a_broken_unit_stays_in_its_line(name, unit, tmp_path):
    path = tmp_path / "data.csv"
    before, after = "a,b\n1,one\n2,".encode(name), "\n3,three\n4,four\n".encode(name)
    path.write_bytes(before + unit + after)
    for block in (1, 3, 8, 2**20):
        found = texts(CsvFiles(path, CsvFormat(encoding=name), block=block))
        assert [found[0], *found[2:]] == [b"one", b"three", b"four"]


def test_an_encoded_line_end_is_no_line_end(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b\n1,x+AAo-y\n2,z\n")  # a line end in UTF-7
    assert texts(CsvFiles(path, CsvFormat(encoding="utf-7"))) == [b"x y", b"z"]


def test_a_unit_that_is_cut_at_the_end_is_text(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes("a,b\n1,x".encode("utf-16-le") + b"\x00")
    assert texts(CsvFiles(path, CsvFormat(encoding="utf-16-le"))) == ["x\ufffd".encode()]


@pytest.mark.parametrize("name", ["nonsense", "", "rot13", "undefined", "unicode_escape", 5])
def test_an_encoding_that_files_are_not_read_in_is_refused(name, tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b"a\n")
    with pytest.raises(SpecError, match="is not one that files are read in"):
        CsvFiles(path, CsvFormat(encoding=name))
