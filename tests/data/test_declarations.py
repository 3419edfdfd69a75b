"""Tables that are declared once: every fault is named, and what is declared is read exactly."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from fractions import Fraction as F

import pytest

import kng
from kng.core.errors import SpecError, UnknownName

GOOD = """
[tables.visits]
source = "visits.csv"
relation = "add-remove"
ledger = "visits.ledger"
separator = ";"

[tables.visits.columns.spending]
kind = "number"
bounds = [0, 500]
step = 0.01

[tables.visits.columns.sex]
kind = "category"
levels = ["F", "M"]
reference = "M"

[tables."other one"]
source = "postgresql://clerk@host/claims"
table = "claims"
"""

SIX_FAULTS = """
[tables.visits]
source = "visits.csv"
relation = "swap"
legder = "visits.ledger"

[tables.visits.columns.spending]
kind = "numbr"

[tables.visits.columns.age]
bounds = [120, 0]

[tables.visits.columns.sex]
levels = ["F", "M", "F"]

[tables.people.columns.region]
kind = "category"
levels = ["north", "south"]
reference = "west"
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "kng.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def faults(path):
    with pytest.raises(SpecError) as caught:
        kng.Table.declared("visits", path)
    return str(caught.value).splitlines()


def test_a_declaration_is_read_exactly_and_paths_are_beside_its_file(file, tmp_path):
    table = kng.Table.declared("visits", file(GOOD))
    assert table.source == str(tmp_path / "visits.csv")
    assert table.ledger == str(tmp_path / "visits.ledger")
    assert (table.relation, table.separator) == ("add-remove", ";")
    spending, sex = table.columns["spending"], table.columns["sex"]
    assert (spending.kind, spending.bounds, spending.step) == ("number", (0, 500), F(1, 100))
    assert (sex.kind, sex.levels, sex.reference) == ("category", ("F", "M"), "M")
    other = kng.Table.declared("other one", tmp_path / "kng.toml")
    assert (other.source, other.columns) == ("postgresql://clerk@host/claims", None)


def test_all_faults_are_named_at_once_a_line_each_with_where_they_are(file):
    head, *lines = faults(file(SIX_FAULTS))
    assert head == "kng.toml has 7 faults; nothing was read."
    expected = [
        "table 'visits': relation must be 'replace-one' or 'add-remove', found 'swap'",
        "table 'visits': 'legder' is not a setting; did you mean ledger?",
        "table 'visits', column 'spending': kind must be 'number', 'boolean', 'date' or 'category',"
        " found 'numbr'",
        "table 'visits', column 'age': bounds must have low < high, found [120, 0]",
        "table 'visits', column 'sex': levels name 'F' twice; name each once",
        "table 'people', column 'region': reference must be one of the levels 'north', 'south'; "
        "found 'west'",
        "table 'people': source is missing; say where the data are, as in 'visits.csv'",
    ]
    assert sorted(line.strip() for line in lines) == sorted(expected)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("bounds = [0]", "bounds must be [low, high], found [0]"),
        ("bounds = []", "bounds are blank"),
        ("bounds = 5", "bounds must be [low, high], found 5"),
        ('bounds = ["a", 1]', "bounds must be made of numbers, found 'a'"),
        ("bounds = [0, nan]", "bounds must be made of numbers, found NaN"),
        ("bounds = [0, inf]", "bounds must be made of numbers, found Infinity"),
        ("bounds = [true, 2]", "bounds must be made of numbers, found True"),
        ("step = 0", "step must be positive, found 0"),
        ("step = []", "step is blank"),
        ("bounds = [0, 1]\nstep = 2", "step 2 is larger than the range of the bounds, 1"),
        ('kind = "number"\nlevels = ["a", "b"]', "levels mean nothing for a number"),
        ("levels = ['a', 'b']\nkind = 'category'\nbounds = [0, 1]", "bounds mean nothing"),
        ('kind = "date"\nbounds = ["May", "June"]', "bounds must be dates such as 2026-01-31"),
        ('kind = "date"\nbounds = [2024-02-01, 2024-01-01]', "bounds must have low < high"),
        ('kind = "date"\nbounds = [2024-02-01, 2024-02-01T10:00:00]', "two days or two times"),
        ('levels = ["a"]', "levels must be two or more, found 1"),
        ('levels = ["a", 1]', "levels must all be text or all be numbers"),
        ('levels = "ab"', 'levels must be a list such as ["F", "M"]'),
        ("levels = []", "levels are blank"),
        ('kind = "boolean"\nlevels = ["a", "b", "c"]', "exactly two, false and then true"),
        ('reference = "a"', "reference names a level, and no levels are declared"),
        ('levels = ["a", "b"]\nother = true', "other must be a text or a number"),
        ("low = 5", "'low' is not a setting"),
        ('kind = "category"', "levels of a category are missing"),
        ('levels = ["a", ""]', "levels name an empty text, which is a missing cell"),
    ],
)
def test_each_fault_of_a_column_is_said_in_one_line(file, stated, said):
    head, *lines = faults(
        file(f"[tables.visits]\nsource='v.csv'\n[tables.visits.columns.c]\n{stated}")
    )
    assert head == "kng.toml has one fault; nothing was read."
    (line,) = lines
    assert line.startswith("  table 'visits', column 'c': ")
    assert said in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tables.visits", "kng.toml is not TOML"),
        ("", "tables is missing"),
        ("tables = 3", "tables must be a table of settings, found a number"),
        ("[tables.visits]\nsource = 3", "table 'visits': source must be text"),
        ("[tables.visits]\nsource = 'a.csv'\nthreads = 0", "threads must be a whole number"),
        ("[tables.visits]\nsource = 'a.csv'\ncolumns = 4", "columns must be a table of settings"),
        ("[tables.visits]\nsource = 'a.csv'\nseparator = 1", "separator must be text, found 1"),
        ("[tables.people]\nsource = 'a.csv'", "kng.toml has no table 'visits'; it has 'people'."),
    ],
)
def test_what_is_no_declaration_is_refused(file, text, said):
    assert said in "\n".join(faults(file(text)))


def test_every_kind_is_read_as_it_is_declared(file, tmp_path):
    rows = [f"2024-01-{1 + i % 31:02},{'JN'[i % 4 == 0]},{i % 9}" for i in range(400)]
    (tmp_path / "v.csv").write_text("\n".join(["day,smoker,age", *rows]) + "\n")
    text = """
    [tables.visits]
    source = "v.csv"
    [tables.visits.columns.day]
    kind = "date"
    bounds = [2024-01-01, 2024-12-31]
    [tables.visits.columns.smoker]
    kind = "boolean"
    levels = ["N", "J"]
    """
    table = kng.Table.declared("visits", file(text))
    median = kng.median(table["day"], epsilon=5)
    assert median.bounds.dates == (0,)
    assert 19723 + 10 < median.value < 19723 + 20  # days since 1970
    assert 0.7 < kng.mean(table["smoker"], epsilon=5).value < 0.8
    seconds = text.replace("01-01,", "01-01T00:00:00,").replace("12-31]", "12-31T00:00:00]")
    found = kng.Table.declared("visits", file(seconds)).columns["day"]
    assert (found.unit, found.bounds[0]) == ("seconds", 19723 * 86400)


def test_declarations_of_both_forms_stand_side_by_side():
    columns = {"sex": kng.columns.Category(["F", "M"]), "age": {"bounds": (0, 120)}}
    table = kng.Table("v.csv", columns=columns)
    assert table.columns["sex"] == columns["sex"]
    assert table.columns["age"] == kng.columns.Number(bounds=(0, 120))


def test_a_file_that_is_not_there_says_what_a_bare_word_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SpecError, match=r"no kng\.toml here.*kng init.*visits\.csv.*visits/"):
        kng.Table.declared("visits")
    (tmp_path / "kng.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="cannot be read"):
        kng.Table.declared("visits")


def test_no_fault_repeats_an_address(file):
    text = '[tables.visits]\nsource = ["postgresql://clerk:secret@host/x"]\nquery = ["secret"]\n'
    message = "\n".join(faults(file(text + "rows = ['lines']")))
    assert "secret" not in message
    assert message.count("must be text") == 3


def test_tables_in_python_are_checked_alike():
    with pytest.raises(SpecError) as caught:
        kng.Table(
            "v.csv",
            columns={"age": {"bounds": (9, 0)}, "sex": {"levels": ["F", "F"]}},
            relation="swap",
        )
    assert str(caught.value).splitlines()[0] == "This table has 3 faults; nothing was read."
    with pytest.raises(SpecError, match="columns must be a table of settings, found a list"):
        kng.Table("v.csv", columns=["age"])


def test_a_table_gives_some_of_its_columns_and_keeps_its_promise():
    columns = {"age": {"bounds": (0, 120), "step": 1}, "pay": {"bounds": (0, 1e5)}}
    table = kng.Table("v.csv", columns=columns, relation="add-remove", ledger="v.ledger")
    one, two = table["pay"], table[["pay", "age"]]
    assert (list(one.asked), list(two.asked)) == (["pay"], ["pay", "age"])
    assert one.columns == table.columns == table.asked
    assert one.promise == two.promise == table.promise
    assert one.promise is not None
    for wrong in ("height", ["age", "height"], []):
        with pytest.raises(UnknownName, match="'age', 'pay'"):
            table[wrong]
    with pytest.raises(SpecError, match="declares no columns"):
        kng.Table("v.csv")["age"]
    assert pickle.loads(pickle.dumps(table)) == copy.deepcopy(table) == table
    assert kng.Table("v.csv", columns=table.columns).columns == table.columns
    assert "ledger='v.ledger'" in repr(table)
    assert repr(one).endswith("['pay']")


def test_declarations_need_column_names():
    table = kng.Table([1, 2, 3], columns={"a": {"bounds": (0, 9)}})
    with pytest.raises(SpecError, match="columns means nothing for data without column names"):
        kng.median(table, epsilon=1)


def test_plain_releases_do_not_load_the_checker():
    program = (
        "import sys, kng, kng.cli.main; kng.median([1, 2], bounds=(0, 4), epsilon=1);"
        "kng.Table('v.csv', separator=';'); print('pydantic' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
