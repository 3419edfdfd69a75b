"""Decimal commas, thousands marks, currencies and percent signs: declared, never guessed."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pyarrow as pa
import pytest

from kng.core.errors import SpecError
from kng.data.text.notation import PLAIN, Notation
from kng.data.text.number_columns import NumberColumns

AMERICAN = Notation(thousands=",", symbols=("$", "%", "USD", "US$"))
GERMAN = Notation(decimal=",", thousands=".", symbols=("€", "EUR"))
FRENCH = Notation(decimal=",", thousands=" ", symbols=("€", "%"))
SWISS = Notation(thousands="'", symbols="CHF")
COMMA = Notation(decimal=",")


@pytest.mark.parametrize(
    ("notation", "cell", "value"),
    [
        (AMERICAN, "$1,234.50", 1234.5),
        (AMERICAN, "-$1,234.50", -1234.5),
        (AMERICAN, "$-5", -5),
        (AMERICAN, "US$ 5", 5),
        (AMERICAN, "5 %", 5),
        (AMERICAN, " 5% ", 5),
        (AMERICAN, "5USD", 5),
        (AMERICAN, "12,34,567", 1234567),
        (AMERICAN, "1,234,567e-3", 1234.567),
        (AMERICAN, "1234567.5", 1234567.5),
        (AMERICAN, "1_000", 1000),
        (AMERICAN, "$inf", math.inf),
        (AMERICAN, "- Infinity", None),
        (AMERICAN, "-Infinity", -math.inf),
        (AMERICAN, "5\u00a0%", 5),
        (AMERICAN, "1,5", None),
        (AMERICAN, "1,23", None),
        (AMERICAN, "1,2345", None),
        (AMERICAN, "1234,567", None),
        (AMERICAN, "1,234,56", None),
        (AMERICAN, "1,,234", None),
        (AMERICAN, "1,234,", None),
        (AMERICAN, ",234", None),
        (AMERICAN, "1,234_5", None),
        (AMERICAN, "1.234,567", None),
        (AMERICAN, "$", None),
        (AMERICAN, "$ - 5", None),
        (AMERICAN, "5 € ", None),
        (AMERICAN, "usd 5", None),
        (AMERICAN, "(5)", None),
        (GERMAN, "1.234,5 €", 1234.5),
        (GERMAN, "EUR 1.234.567", 1234567),
        (GERMAN, "-,5", -0.5),
        (GERMAN, "5,", 5),
        (GERMAN, "1.5", None),
        (GERMAN, "1,5.000", None),
        (FRENCH, "1 234,5 €", 1234.5),
        (FRENCH, "1\u202f234\u00a0567,25\u00a0€", 1234567.25),
        (FRENCH, "1  234", None),
        (FRENCH, "1 2", None),
        (SWISS, "CHF 1'234.50", 1234.5),
        (SWISS, "1\u2019234", 1234),
        (COMMA, "1,5", 1.5),
        (COMMA, "1.5", None),
        (COMMA, " -1,5e3 ", -1500),
        (PLAIN, "1,5", None),
        (PLAIN, "$5", None),
        (PLAIN, "5\u00a0", None),
    ],
)
def test_numbers_as_they_are_written(notation, cell, value):
    reader = NumberColumns(notation)
    reader.prepare()
    expected = math.nan if value is None else float(value)
    for found in (notation.read(cell.encode()), *reader.array(pa.array([cell])).tolist()):
        assert found == expected or (math.isnan(found) and math.isnan(expected))


ODD = Notation(thousands=",", symbols=("$", "USD", "e", "US", "$U", "é", "k"))


@pytest.mark.parametrize(
    ("notation", "letters", "longest"),
    [
        pytest.param(PLAIN, "1.e-_ i", 6, id="plain"),
        pytest.param(COMMA, "1.,e-_ ", 6, id="decimal comma"),
        pytest.param(ODD, ["1", "0", ",", ".", "$", "USD", "US", " ", "-", "e", "_"], 5, id="odd"),
        pytest.param(ODD, ["1", ",234", ",56", "$U", "S", "\u00a0", "k", "é"], 5, id="groups"),
        pytest.param(
            GERMAN, ["1", "23", ",", ".", "€", " ", "-", "inf", "nan", "\x02"], 5, id="de"
        ),
        pytest.param(
            FRENCH, ["1", "23", "456", "\u00a0", "\u202f", " ", ",", "%", "e"], 5, id="fr"
        ),
        pytest.param(SWISS, ["1", "23", "456", "'", "\u2019", ".", "CHF", "C", "-"], 5, id="ch"),
    ],
)
def test_compiled_loops_follow_the_grammar(notation, letters, longest):
    reader = NumberColumns(notation)
    reader.prepare()
    cells = [
        "".join(parts).encode()
        for length in range(longest + 1)
        for parts in itertools.product(letters, repeat=length)
    ]
    # Bytes that are cut, or of no character.
    draw = random.Random(0)
    cells += [cell[: draw.randrange(len(cell))] + b"\x82" for cell in cells[1:2000]]
    found = reader.array(pa.array(cells, pa.binary()))
    expected = np.array([notation.read(cell) for cell in cells])
    same = (found.view(np.int64) == expected.view(np.int64)) | (
        np.isnan(found) & np.isnan(expected)
    )
    assert [cells[i] for i in np.flatnonzero(~same)] == []
    assert np.isfinite(expected).sum() > 100


def test_what_a_formatter_groups_is_read_back():
    draw = random.Random(1)
    numbers = [round(draw.gauss(0, 10 ** draw.randint(0, 12)), 2) for _ in range(20_000)]
    reader = NumberColumns(AMERICAN)
    reader.prepare()
    assert reader.array(pa.array([f"${x:,.2f}" for x in numbers])).tolist() == numbers
    reader = NumberColumns(GERMAN)
    reader.prepare()
    german = str.maketrans(",.", ".,")
    cells = [f"{x:,.2f} €".translate(german) for x in numbers]
    assert reader.array(pa.array(cells)).tolist() == numbers


def test_a_long_number_with_marks_is_asked_of_float():
    cell = "$1,500.000000000000000055511151231257827021181583404541015625" + "0" * 40 + "1"
    reader = NumberColumns(AMERICAN)
    reader.prepare()
    assert reader.array(pa.array([cell])).tolist() == [float(cell[1:].replace(",", ""))]
    middle = "$9,007,199,254,740,993.0000000000000001"
    assert reader.array(pa.array([middle])).tolist() == [9007199254740994.0]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"decimal": ";"}, "decimal must be '.' or ',', got ';'"),
        ({"thousands": "x"}, "thousands must be"),
        ({"thousands": "."}, "not the decimal mark, got '.'"),
        ({"decimal": ",", "thousands": ","}, "not the decimal mark"),
        *(({"symbols": (bad,)}, "cannot be a symbol") for bad in ("", "5", "+", "a b", '"', "1st")),
        *(
            ({"symbols": (bad,)}, "cannot be a symbol")
            for bad in ("i", "Inf", "na", "NaN", "_", ".")
        ),
        ({"symbols": (5,)}, "cannot be a symbol"),
        ({"thousands": ",", "symbols": ("a,",)}, "cannot be a symbol"),
        ({"thousands": " ", "symbols": ("\u00a0",)}, "cannot be a symbol"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(words, says):
    with pytest.raises(SpecError, match=says):
        Notation(**words)
