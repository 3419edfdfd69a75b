"""Numbers in text: what Python's float reads in ASCII, to the last bit, and nothing else."""

from __future__ import annotations

import itertools
import math
import random
import struct
from decimal import Decimal, localcontext

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kng.core.compiled import load
from kng.data.ingest import number
from kng.data.text.decimal_floats import nearest
from kng.data.text.number_columns import NumberColumns
from kng.data.text.text_numbers import numbers_in

READ = NumberColumns()


@pytest.fixture(scope="module", autouse=True)
def _prepared():
    READ.prepare()
    load(nearest)


def by_float(cell: bytes) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan


def differing(cells: list[bytes], expected: list[float]) -> list[bytes]:
    """Return the cells that are read as other bits, any NaN being missing."""
    ours, theirs = READ.array(pa.array(cells, pa.binary())), np.array(expected)
    same = ours.view(np.int64) == theirs.view(np.int64)
    same |= np.isnan(ours) & np.isnan(theirs)
    return [cells[i] for i in np.flatnonzero(~same)]


def every(alphabet: list[str] | str, longest: int) -> list[str]:
    """Return all texts of up to so many letters."""
    return [
        "".join(letters)
        for length in range(longest + 1)
        for letters in itertools.product(alphabet, repeat=length)
    ]


SHORT = [
    pytest.param("01.e-_ ", 6, id="numbers"),
    pytest.param("19.eE+-_ \t\n\v\f\r\x1c\x00,dx", 4, id="what is around them"),
    pytest.param("infaty+- ", 5, id="words"),
    pytest.param(["INF", "inity", "Nan", "nan", "+", "-", " ", "N", "1", "_"], 4, id="long words"),
]


@pytest.mark.parametrize(("alphabet", "longest"), SHORT)
def test_every_short_text_is_read_as_python_reads_it(alphabet, longest):
    cells = [text.encode() for text in every(alphabet, longest)]
    expected = [by_float(cell) for cell in cells]
    assert 10 < sum(x == x for x in expected) < len(cells) / 2
    assert differing(cells, expected) == []


@pytest.mark.parametrize(("alphabet", "longest"), SHORT)
def test_every_short_text_is_read_as_duckdb_reads_it(alphabet, longest):
    # DuckDB passes over a plus before a minus, which float does not.
    table = pa.table({"cell": [text for text in every(alphabet, longest) if "+-" not in text]})
    with duckdb.connect() as database:
        database.register("texts", table)
        found = database.sql("SELECT try_cast(cell AS DOUBLE) AS x FROM texts").to_arrow_table()
    cells = [text.encode() for text in table["cell"].to_pylist()]
    assert differing(cells, found["x"].to_numpy().tolist()) == []


def doubles(seed: int, many: int) -> list[float]:
    """Return float64 numbers with random bits, subnormals among them."""
    draw = random.Random(seed)
    patterns = [draw.getrandbits(64) for _ in range(many)]
    small = [bits & ~(0x7FF << 52) if k % 8 == 0 else bits for k, bits in enumerate(patterns)]
    found = struct.unpack(f"<{many}d", struct.pack(f"<{many}Q", *small))
    return [x for x in found if math.isfinite(x)]


@pytest.mark.parametrize(
    "show",
    [
        pytest.param(lambda x: b"%r" % x, id="repr"),
        pytest.param(lambda x: b"%.16e" % x, id="17 digits"),
        pytest.param(lambda x: b"%.18e" % x, id="19 digits"),
        pytest.param(lambda x: b"%.24e" % x, id="25 digits"),
        pytest.param(lambda x: b"%.5e" % x, id="6 digits"),
    ],
)
def test_numbers_have_the_bits_that_python_gives_them(show):
    cells = [show(x) for x in doubles(1, 200_000)]
    assert differing(cells, [float(cell) for cell in cells]) == []


def test_whole_numbers_and_few_decimals():
    draw = random.Random(2)
    cells = [b"%d" % draw.getrandbits(draw.randint(1, 90)) for _ in range(50_000)]
    cells += [b"%.*f" % (draw.randint(0, 9), draw.gauss(0, 10**6)) for _ in range(50_000)]
    cells += [
        b"0" * draw.randint(0, 30) + cell + b"0" * draw.randint(0, 30) for cell in cells[:999]
    ]
    assert differing(cells, [float(cell) for cell in cells]) == []


def halfway(x: float) -> list[bytes]:
    """Return the middle between a number and the next one, and what is just beside it."""
    with localcontext() as exact:
        exact.prec = 1200
        middle = (Decimal(x) + Decimal(math.nextafter(x, math.inf))) / 2
        text = format(middle, "f" if 1e-5 < abs(x) < 1e20 else "e")
        tiny = middle * Decimal("1e-300")
        return [text.encode(), *(format(middle + t, "e").encode() for t in (tiny, -tiny))]


def test_the_middle_between_two_numbers_goes_to_the_even_one():
    numbers = [x for x in doubles(3, 3000) if abs(x) < 1e308]
    numbers += [float(k) for k in range(2**53, 2**53 + 50)] + [5e-324, 2.0**-1022, 0.0]
    cells = [cell for x in numbers for cell in halfway(x)]
    assert differing(cells, [float(cell) for cell in cells]) == []


def test_short_middles_go_to_the_even_number():
    # An odd number of 54 bits is one. It is w * 10^q, but for a power of two, with w < 2^64 only if
    # 5^q divides it, q <= 23, or if it may be multiplied by 5^-q, q >= -4.
    draw, cells = random.Random(4), []
    for q in range(-4, 24):
        for _ in range(300):
            if q < 0:
                w = (2**53 + 2 * draw.getrandbits(52) + 1) * 5**-q
            else:
                w = draw.randrange(2**53 // 5**q + 1, 2**54 // 5**q + 1) | 1
            shift = draw.randint(0, 64 - w.bit_length()) if w < 2**64 else 0
            if w < 2**64 and (q < 0 or (w * 5**q).bit_length() == 54):
                cells.append(b"%de%d" % (w << shift, q))
    assert len(cells) > 5000
    assert b"1e23" in cells
    assert differing(cells, [float(cell) for cell in cells]) == []


def test_the_product_decides_for_every_number_of_64_bits():
    draw = random.Random(5)
    for _ in range(50_000):
        w, q = draw.getrandbits(draw.randint(1, 64)), draw.randint(-345, 312)
        assert nearest(np.uint64(w), q) == float(f"{w}e{q}"), (w, q)


@pytest.mark.parametrize(
    "cell",
    [
        *(
            b"9" * 400,
            b"1e999",
            b"-1e999",
            b"1e-999",
            b"1e99999999999999999999999",
            b"0e99999999999",
        ),
        *(b"0." + b"0" * 400 + b"1e401", b"1" + b"0" * 400 + b"e-400", b"0" * 500 + b"7"),
        *(
            b"9" * 100_000 + b"e-100000",
            b"." + b"9" * 50,
            b"1_000.0_1e1_0",
            b"1." + b"0" * 99 + b"1",
        ),
        *(b"1e-99999999999999999999999", b"1.7976931348623157e308", b"1.7976931348623159e308"),
        *(
            b"4.9e-324",
            b"2.4703282292062327e-324",
            b"2.4703282292062328e-324",
            b"-0",
            b"-0e5",
            b"-.0",
        ),
    ],
    ids=lambda cell: cell[:24].decode(),
)
def test_long_and_extreme_numbers(cell):
    assert differing([cell], [float(cell)]) == []


def test_what_the_first_digits_do_not_tell_is_asked_of_float():
    cells = halfway(1.5)
    starts = np.cumsum([0, *map(len, cells[:-1])])
    ends = starts + np.array([len(cell) for cell in cells])
    data = np.frombuffer(b"".join(cells), dtype=np.uint8)
    out, undecided = np.empty(3), np.empty(3, dtype=np.int64)
    assert numbers_in(data, starts, ends, np.uint8(ord(".")), out, undecided) == 3
    assert undecided.tolist() == [0, 1, 2]
    assert READ.cells(data, starts, ends).tolist() == [1.5, math.nextafter(1.5, 2), 1.5]


TEXT = st.one_of(
    st.text(max_size=8),
    st.text(alphabet="0123456789+-._eEinfaty \t\r\n\x00\u0663\u00a0\uff11", max_size=12),
    st.floats().map(repr),
)


@given(st.lists(TEXT, max_size=20))
@example(["\u0663", "1\u00a0", "\x1c1", "1\x85", "\uff11", " 1 ", "+-1", "1\x00"])
def test_cells_in_memory_are_read_like_cells_in_files(cells):
    stored = [cell.encode("utf-8", "surrogatepass") for cell in cells]
    assert differing(stored, [number(cell) for cell in cells]) == []
    assert differing(stored, [number(cell) for cell in stored]) == []


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()], ids=str
)
def test_arrow_arrays_are_read_where_they_are(kind):
    texts = ["1", None, "x", " 2.5 ", "", "-inf", "7" * 30]
    expected = np.array([1, np.nan, np.nan, 2.5, np.nan, -np.inf, float("7" * 30)])
    array = pa.array(texts, kind)
    for first in range(len(texts) + 1):
        for length in range(len(texts) - first + 1):
            part = array.slice(first, length)
            assert np.array_equal(
                READ.array(part), expected[first : first + length], equal_nan=True
            )
    assert len(READ.array(pa.array([], kind))) == 0
    assert np.isnan(READ.array(pa.nulls(3, kind))).all()
