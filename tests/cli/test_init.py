"""``kng init``: a declaration from the names of columns, by asking; cells are never looked at."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import kng
from kng.cli.main import commands
from kng.core.errors import SpecError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("age,sex,notes\n31,F,x\n45,M,y\n")
    return tmp_path


def ask(*words, answers=()):
    text = "".join(f"{answer}\n" for answer in answers)
    return CliRunner().invoke(commands, ["init", *map(str, words)], input=text)


ANSWERS = [
    *("number", "120", "0", "0", "120", "-1", "1"),  # the wrong way round first, then a bad step
    *("category", "F,F", "F, M", "X", "M"),
    *("boolean", "no", "no,yes"),
    *("add-remove", "visits.ledger"),
]


def test_answers_become_a_declaration_that_is_right(here):
    done = ask("visits.csv", answers=ANSWERS)
    assert done.exit_code == 0, done.output
    assert "bounds must have low < high" in done.output
    assert "step must be positive" in done.output
    assert "levels name 'F' twice" in done.output
    assert "reference must be one of the levels 'F', 'M'; found 'X'" in done.output
    table = kng.Table.declared("visits")
    assert (table.relation, table.ledger) == ("add-remove", "visits.ledger")
    assert "levels must be exactly two, false and then true" in done.output
    assert list(table.columns) == ["age", "sex", "notes"]
    assert (table.columns["notes"].yes, table.columns["notes"].no) == (("yes",), ("no",))
    assert (table.columns["age"].bounds, table.columns["age"].step) == ((0, 120), 1)
    assert (table.columns["sex"].levels, table.columns["sex"].reference) == (("F", "M"), "M")
    assert "kng budget create visits.ledger" in done.output
    assert "kng median visits --column age" in done.output


def test_a_template_has_blanks_that_the_checker_names(here):
    done = ask("visits.csv", "--yes")
    assert done.exit_code == 0, done.output
    with pytest.raises(SpecError) as caught:
        kng.Table.declared("visits")
    assert str(caught.value).count("bounds are blank") == 3


def test_types_of_the_container_suggest_kinds(here):
    table = pa.table(
        {
            "n": pa.array([1], pa.int64()),
            "b": pa.array([True]),
            "d": pa.array([0], pa.date32()),
            "t": pa.array(["x"]),
            "l": pa.array([[1]]),
        }
    )
    pq.write_table(table, here / "t.parquet")
    assert ask("t.parquet", "--yes", "--name", "odd name").exit_code == 0
    text = (here / "kng.toml").read_text()
    assert '[tables."odd name"]' in text
    kinds = [line.split('"')[1] for line in text.splitlines() if line.startswith("kind")]
    assert kinds == ["number", "boolean", "date", "category"]


def test_an_existing_file_is_never_changed(here):
    (here / "kng.toml").write_text("mine")
    done = ask("visits.csv", "--yes")
    assert isinstance(done.exception, SpecError)
    assert "exists already" in str(done.exception)
    assert (here / "kng.toml").read_text() == "mine"


def test_a_column_can_be_left_out(here):
    answers = ["skip", "skip", "number", "0", "9", "", "", ""]
    assert ask("visits.csv", answers=answers).exit_code == 0
    table = kng.Table.declared("visits")
    assert list(table.columns) == ["notes"]
    assert (table.relation, table.ledger) == ("replace-one", None)


def test_only_the_first_line_is_read(here, monkeypatch):
    """A file whose records cannot be read at all gives the same declaration."""
    assert ask("visits.csv", "--yes", "--out", "a.toml").exit_code == 0
    (here / "visits.csv").write_bytes(b"age,sex,notes\n" + b"\xff\x00,,,\n" * 3)
    assert ask("visits.csv", "--yes", "--out", "b.toml").exit_code == 0
    assert (here / "a.toml").read_text() == (here / "b.toml").read_text()


def test_paths_are_seen_from_where_the_file_is(here):
    (here / "conf").mkdir()
    assert ask("visits.csv", "--yes", "--out", "conf/kng.toml").exit_code == 0
    text = (here / "conf" / "kng.toml").read_text().replace("bounds = []", "bounds = [0, 99]")
    (here / "conf" / "kng.toml").write_text(text)
    table = kng.Table.declared("visits", "conf/kng.toml")
    assert kng.median(table["age"], epsilon=1, neighbours="replace-one").bounds.columns == ("age",)


def test_how_a_file_is_read_is_written_too(here):
    (here / "b.csv").write_text("age;pay\n1;2\n")
    assert ask("b.csv", "--yes", "--separator", ";", "--threads", "2").exit_code == 0
    text = (here / "kng.toml").read_text()
    assert 'separator = ";"\nthreads = 2\n' in text
    assert "[tables.b.columns.pay]" in text


@pytest.mark.parametrize("data", ["-", "visits"])
def test_a_source_is_needed(here, data):
    assert "DATA must be a file with its suffix" in str(ask(data, "--yes").exception)


def test_an_end_of_the_input_says_how_to_ask_nothing(here):
    done = ask("visits.csv", answers=["number"])
    assert "Use --yes" in str(done.exception)
    assert not (here / "kng.toml").exists()


def test_passwords_are_not_written(here, capsys):
    from kng.cli.init import _without_password

    assert _without_password("postgresql://clerk:secret@host/x") == "postgresql://clerk@host/x"
    assert _without_password("postgresql://host/x?a=b") == "postgresql://host/x?a=b"
    assert "secret" not in capsys.readouterr().err


def test_names_of_any_kind_are_read_back(here):
    names = ['a "b"', "c.d", "é\x7f", "tab\tname", "=", "#"]
    pq.write_table(pa.table({name: [1.0] for name in names}), here / "n.parquet")
    assert ask("n.parquet", "--yes").exit_code == 0
    text = (here / "kng.toml").read_text(encoding="utf-8").replace("[]", "[0, 1]")
    (here / "kng.toml").write_text(text, encoding="utf-8")
    assert list(kng.Table.declared("n").columns) == names
