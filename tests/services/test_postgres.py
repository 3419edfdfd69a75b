"""PostgreSQL: one snapshot, no row that fails, nothing learned too early, and no password shown."""

from __future__ import annotations

import sys
from decimal import Decimal

import numpy as np
import pytest
from data.reading import by_rule
from services.conftest import PASSWORD

import kng
from kng.cli.main import main
from kng.core.bounds import bounds_of
from kng.core.encoding import encoding_of
from kng.core.errors import SchemaError, SpecError
from kng.data import open_source, open_table

RULE = encoding_of(bounds_of({"x": (0, 100)}), granularity=["1/4"], missing=50, bits=20)
BOUNDS = {"bounds": {"x": (0, 100)}, "epsilon": 1}


class Everything:
    def select(self, batch):
        return batch


@pytest.fixture
def people(postgres):
    """A table with traps in its cells, empty of anything else."""
    postgres.run(
        "DROP SCHEMA IF EXISTS other CASCADE",
        "DROP SCHEMA public CASCADE",
        "CREATE SCHEMA public",
        "CREATE TABLE people (id int NOT NULL, x float8, big bigint, few smallint, n numeric,"
        " d numeric(10, 3), label text, ok boolean, day date, moment timestamptz, j json, m money)",
        "INSERT INTO people SELECT i, i / 2.0, (i % 3 - 1) * 9223372036854775807, 32767 * (i % 2),"
        " (ARRAY['NaN', 'Infinity', '-Infinity', '1e400', '1e-400', '-1e400', '12.5'])[i % 7 + 1]"
        "::numeric, i * 0.001, (ARRAY['yes', ' no', 'ja', NULL])[i % 4 + 1], i % 2 = 0,"
        " date '2020-01-01' + i, now(), '{}', i FROM generate_series(1, 200) i",
        "INSERT INTO people (id, x) VALUES (0, 'NaN'), (0, 'Infinity'), (0, '-Infinity'),"
        " (0, NULL), (0, '1e308'), (0, '5e-324')",
    )
    return postgres


def table(server, name="people", **stated):
    return kng.Table(server.address(), table=name, **stated)


def query(server, text, **stated):
    return kng.Table(server.address(), query=text, **stated)


def values(data):
    return open_source(data, RULE).collect(Everything())[:, 0].tolist()


@pytest.fixture
def ledger(tmp_path):
    return kng.Ledger(tmp_path / "budget.ledger", cap=5)


def test_columns_come_from_the_catalogue(people):
    columns = {column.name: column for column in open_table(table(people)).columns()}
    assert {name: str(column.kind) for name, column in columns.items()} == {
        **dict.fromkeys(("id", "x", "big", "few", "n", "d", "m"), "number"),
        **{"label": "text", "ok": "boolean", "day": "date", "moment": "date", "j": "other"},
    }
    assert [name for name, column in columns.items() if not column.optional] == ["id"]
    assert columns["d"].declared == "numeric(10,3)"
    assert "records" not in people.log()


@pytest.mark.parametrize("column", ["x", "n", "big", "few", "m", "d"])
def test_cells_that_other_programs_trip_over(column, people):
    cells = people.run(f"SELECT {column}::text FROM people")
    texts = [None if text is None else text.replace("$", "").replace(",", "") for (text,) in cells]
    expected = open_source({"x": texts}, RULE).collect(Everything())[:, 0].tolist()
    people.run(f"ALTER TABLE people {'' if column == 'x' else 'DROP x,'} ALTER id DROP NOT NULL")
    if column != "x":
        people.run(f"ALTER TABLE people RENAME {column} TO x")
    assert values(table(people)) == expected


def test_decimals_are_rounded_once(postgres):
    draw = np.random.default_rng(0)
    digits = ["".join(map(str, draw.integers(0, 10, 40))) for _ in range(2000)]
    texts = [f"{text[: k % 3]}{text[3:5]}.{text[5 : 6 + k % 34]}" for k, text in enumerate(digits)]
    rule = encoding_of(bounds_of({"x": (0, 100)}), granularity=["1/1000003"], missing=None, bits=0)
    for kind in ("numeric", "numeric(38, 34)", "numeric(15, 10)"):
        rows = ", ".join(f"({text})" for text in texts)
        create = f"CREATE TABLE numbers (x {kind})"
        postgres.run("DROP TABLE IF EXISTS numbers", create, f"INSERT INTO numbers VALUES {rows}")
        stored = [Decimal(x) for (x,) in postgres.run("SELECT x::text FROM numbers")]
        low, step = 0.0, rule.step[0]
        expected = [by_rule(float(x), low, step, rule.last[0], 0) for x in stored]
        found = open_source(table(postgres, "numbers"), rule).collect(Everything())[:, 0]
        # One more rounding is the rule's own, at steps that are no power of two.
        assert np.abs(np.sort(found) - np.sort(expected)).max() <= 0
    postgres.run("DROP TABLE numbers")


def test_all_passes_see_one_snapshot(people):
    source = open_source(table(people), RULE)
    people.run("INSERT INTO people (id, x) SELECT i, 50 FROM generate_series(1, 1000) i")
    assert source.count() == source.sums()[0] == 206
    people.run("DELETE FROM people")
    assert source.count() == source.sums()[0] == len(source.collect(Everything())) == 206
    source.close()
    assert open_source(table(people), RULE).count() == 0


def test_the_session_can_only_read(people):
    engine = open_table(table(people))
    assert engine._session.rows("SHOW transaction_read_only") == [("on",)]
    assert engine._session.rows("SHOW transaction_isolation") == [("repeatable read",)]
    with pytest.raises(SchemaError, match="read-only"):
        engine._session.rows("INSERT INTO public.people (id) VALUES (1)")


def test_sessions_end_with_the_release_or_its_refusal(people, ledger):
    kng.median(table(people), **BOUNDS, ledger=ledger)
    model = kng.LinearRegression(epsilon=1, bounds_X={"x": (0, 100)}, bounds_y=(0, 200))
    model.fit(table(people), target="id")
    for asked in ({"bounds": {"y": (0, 1)}}, {"bounds": {"label": (0, 1)}}):
        with pytest.raises(SchemaError):
            kng.median(table(people), epsilon=1, ledger=ledger, **asked)
    assert people.sessions() == 0


def test_nothing_is_loaded_after_the_charge(people, ledger, monkeypatch):
    loaded = []
    reserve = ledger.reserve

    def charged(*asked, **named):
        loaded.append(set(sys.modules))
        return reserve(*asked, **named)

    monkeypatch.setattr(type(ledger), "reserve", lambda self, *a, **k: charged(*a, **k))
    kng.median(table(people), **BOUNDS, ledger=ledger)
    assert set(sys.modules) == loaded[0]


def test_a_connection_that_is_lost_after_the_charge_says_nothing(people, ledger, monkeypatch):
    reserve = type(ledger).reserve

    def charged(self, *asked, **named):
        people.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = 'kng' AND pid <> pg_backend_pid()"
        )
        return reserve(self, *asked, **named)

    monkeypatch.setattr(type(ledger), "reserve", charged)
    with pytest.raises(kng.KngError, match="failed after it was charged") as failure:
        kng.median(table(people), **BOUNDS, ledger=ledger)
    assert failure.value.__cause__ is failure.value.__context__ is None
    assert ledger.spent == 1


DROPS = {
    "a filter": ("SELECT x FROM people WHERE ok AND NOT (big > 0 OR few IN (1, 2))", 0, 100),
    "a join": ("SELECT p.x FROM people p JOIN people q ON p.id = q.id WHERE q.id <> 0", 200, 200),
    "decimals": ("SELECT x FROM people WHERE d BETWEEN 0.05 AND 0.1 AND label LIKE 'j%'", 1, 50),
    "dates": ("SELECT x FROM people WHERE day >= DATE '2020-02-01'", 1, 199),
    "numerics": ("SELECT x FROM people WHERE n > 1e300 OR n IS NULL", 1, 199),
}


@pytest.mark.parametrize("drop", DROPS)
def test_what_drops_rows_needs_add_remove(drop, people, ledger):
    text, least, most = DROPS[drop]
    assert least <= len(values(query(people, text, rows_per_record=2))) <= most
    with pytest.raises(SpecError, match="rows_per_record"):
        kng.mean(query(people, text), **BOUNDS, ledger=ledger, neighbours="add-remove")
    with pytest.raises(SpecError, match="add-remove"):
        kng.mean(query(people, text, rows_per_record=2), **BOUNDS, ledger=ledger)
    assert ledger.spent == 0
    stated = query(people, text, rows_per_record=2)
    release = kng.mean(stated, **BOUNDS, ledger=ledger, neighbours="add-remove")
    assert "rows-per-record" in [assumption.value for assumption in release.assumptions]


def test_rows_are_those_that_the_server_finds(people):
    for text, _, _ in DROPS.values():
        rows = people.run(f"SELECT count(*) FROM ({text}) AS q")[0][0]
        assert len(values(query(people, text, rows_per_record=1))) == rows


# Expressions that PostgreSQL itself would stop at; here they are computed with more digits.
WIDE = {
    "big * big * big": "big::numeric ^ 3",
    "big + big - few * 3": "big::numeric + big - few * 3",
    "- big * 4": "-(big::numeric) * 4",
    "few * few": "few::numeric * few",
    "abs(big) + abs(few)": "abs(big::numeric) + abs(few::numeric)",
    "CASE WHEN ok THEN big * 2 ELSE d * 3 END": "CASE WHEN ok THEN big::numeric * 2 ELSE d * 3 END",
    "COALESCE(big * 2, 7)": "coalesce(big::numeric * 2, 7)",
    "CAST(ok AS INTEGER) * 3": "ok::int * 3",
    "CAST(d AS DOUBLE)": "d::float8",
    "greatest(few, d)": "greatest(few, d)",
}


@pytest.mark.parametrize("text", WIDE)
def test_expressions_never_fail(text, people):
    cells = people.run(f"SELECT ({WIDE[text]})::text FROM people")
    expected = open_source({"x": [cell for (cell,) in cells]}, RULE)
    found = values(query(people, f"SELECT {text} AS x FROM people"))
    assert found == expected.collect(Everything())[:, 0].tolist()


REFUSED = {
    "SELECT x FROM nobody": "no table 'nobody'. It has 'people'",
    "SELECT y FROM people": "no column 'y'",
    "SELECT ctid AS x FROM people": "no column 'ctid'",
    "SELECT 1 / few AS x FROM people": "has / of whole numbers",
    "SELECT few % 2 AS x FROM people": "has % of whole numbers",
    "SELECT x * 2 AS x FROM people": r"has \* of floats",
    "SELECT sqrt(x) AS x FROM people": "has sqrt of floats",
    "SELECT CAST(label AS INTEGER) AS x FROM people": "casts text to integer",
    "SELECT CAST(n AS DOUBLE) AS x FROM people": "casts decimals of any length",
    "SELECT CAST(big AS INTEGER) AS x FROM people": "casts whole numbers",
    "SELECT TRY(x) AS x FROM people": "has TRY",
    "SELECT x FROM people WHERE n > x": "one type",
    "SELECT x FROM people WHERE day > moment": "one type",
    "SELECT x FROM people WHERE j = '{}'": "one type",
    "SELECT x FROM people WHERE m > '3'": "one type",
    "SELECT x FROM people WHERE label > 3": "one type",
    "SELECT x FROM people WHERE few > 'three'": "invalid input syntax",
    "SELECT x FROM people WHERE label LIKE 'a\\'": "without",
    "SELECT x FROM people WHERE label LIKE label": "without",
    "SELECT x FROM people WHERE few": "conditions|not a condition",
    "SELECT avg(x) AS x FROM people": "function avg",
    "SELECT x FROM people LIMIT 1": "LIMIT",
    "SELECT random() AS x FROM people": "function random",
    "SELECT pg_sleep(1) AS x FROM people": "function pg_sleep",
    "SELECT x FROM people FOR UPDATE": "cannot be parsed",
    "SELECT x FROM 'people.parquet'": "reads files",
    "SELECT x FROM view_of": "is a view",
    "SELECT x FRM people": "cannot be parsed",
    "SELECT j AS x FROM people": "holds other",
    "SELECT label AS x FROM people": "holds text",
    "SELECT day AS x FROM people": "holds date",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_a_query_may_not_hold(text, people, ledger):
    people.run("CREATE VIEW view_of AS SELECT 1 / (id - 5) AS x FROM people")
    stated = 1 if " WHERE " in text else None
    with pytest.raises(SchemaError, match=REFUSED[text]):
        kng.median(
            query(people, text, rows_per_record=stated),
            **BOUNDS,
            neighbours="add-remove",
            ledger=ledger,
        )
    assert ledger.spent == 0
    assert people.sessions() == 0


def test_what_is_no_stored_table_is_refused(people, ledger):
    people.run(
        "CREATE VIEW seen AS SELECT 1 / (id - 5) AS x FROM people",
        "CREATE TABLE hidden AS SELECT * FROM people",
        "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
        "DROP ROLE IF EXISTS clerk",
        f"CREATE ROLE clerk LOGIN PASSWORD '{PASSWORD}'",
        "GRANT USAGE ON SCHEMA public TO clerk",
        "GRANT SELECT ON hidden TO clerk",
    )
    clerk = people.address(user="clerk")
    for data, says in (
        (table(people, "seen"), "is a view"),
        (table(people, "nobody"), "no table 'nobody'. It has 'hidden', 'people'"),
        (table(people, "other.people"), "no table 'other.people'"),
        (table(people, "people; DROP TABLE people"), "no table"),
        (kng.Table(clerk, table="hidden"), "row security policy"),
        (kng.Table(clerk, table="people"), "permission denied for table people"),
    ):
        with pytest.raises(SchemaError, match=says):
            kng.median(data, **BOUNDS, ledger=ledger)
    assert ledger.spent == 0
    people.run("DROP OWNED BY clerk", "DROP ROLE clerk")


def wrong_addresses(server):
    good = server.address()
    host = f"127.0.0.1:{server.port}"
    return {
        server.address(password="wrong-4711"): "user name or the password is wrong",
        server.address(base="nothing"): "no such database",
        good.replace(str(server.port), "1"): "no server answers there",
        good.replace("127.0.0.1", "nowhere.invalid"): "no such host",
        f"postgresql://kng:{PASSWORD}@{host}/kng": "cannot connect to the server:",
        f"postgresql://kng:4711%zz@{host}/kng": "cannot be used",
        f"postgresql://{host}/kng?user=kng&password=wrong-4711": "password is wrong",
    }


def test_addresses_that_lead_nowhere(people, ledger):
    for address, says in wrong_addresses(people).items():
        with pytest.raises(SchemaError, match=says) as failure:
            kng.median(kng.Table(address, table="people"), **BOUNDS, ledger=ledger)
        assert "4711" not in str(failure.value) + repr(failure.value)
        assert failure.value.__cause__ is None
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({}, "needs the name of a table, or else a query"),
        ({"table": "people", "query": "SELECT x FROM people"}, "or else a query"),
        ({"table": "people", "separator": ";"}, "separator means nothing for PostgreSQL"),
        ({"table": "people", "rows_per_record": 2}, "each record is one row"),
    ],
)
def test_what_is_stated_has_to_fit(stated, says, people):
    with pytest.raises(SpecError, match=says):
        kng.median(kng.Table(people.address(), **stated), **BOUNDS)


def test_nobody_sees_the_password_and_the_log_sees_no_record(people, tmp_path):
    secret = "918273.645"
    people.run(f"INSERT INTO people (id, x, label) VALUES (1, {secret}, 'seldom-seen')")
    before, path = len(people.log()), tmp_path / "budget.ledger"
    ledger, data = kng.Ledger(path, cap=5), table(people)
    release = kng.median(data, **BOUNDS, ledger=ledger)
    model = kng.LogisticRegression(
        epsilon=1, bounds_X={"x": (0, 100)}, classes=("yes", "no"), ledger=ledger
    )
    model.fit(data, target="label")
    shown = f"{data!r} {release!r} {release} {release.to_json()} {release._repr_html_()}"
    for text in (shown, path.read_bytes().decode("latin-1"), people.log()[before:]):
        assert "4711" not in text
        assert secret not in text
        assert "seldom-seen" not in text
    assert "SELECT" in people.log()[before:]


def test_the_shell(people, tmp_path, capfd):
    def shell(*words):
        capfd.readouterr()
        return main(list(words)), *capfd.readouterr()

    ask = ["--column", "x", "--bounds", "0:100", "--epsilon", "1"]
    address, path = people.address(), str(tmp_path / "budget.ledger")
    assert shell("budget", "create", path, "--epsilon", "3")[0] == 0
    charged = [*ask, "--ledger", path]
    code, out, err = shell("median", address, "--table", "people", *charged)
    assert (code, err) == (0, "")
    assert "206 (public)" in out
    text = "SELECT x FROM people WHERE ok"
    for words, says, expected in (
        (["--query", text], "--rows-per-record", 2),
        (["--query", text, "--rows-per-record", "1"], "--neighbours add-remove", 2),
        (["--table", "nobody"], "no table 'nobody'", 4),
        (["--query", "SELECT x FRM people"], "cannot be parsed", 4),
        ([], "--table", 2),
    ):
        code, out, err = shell("median", address, *words, *charged)
        assert (code, out) == (expected, ""), err
        assert says in err
        assert "4711" not in err
        assert "Traceback" not in err
    words = ["--query", text, "--rows-per-record", "1", "--neighbours", "add-remove"]
    code, out, err = shell("mean", address, *words, *ask)
    assert (code, err) == (0, "")
    assert "rows per record" in out
    for wrong in wrong_addresses(people):
        code, out, err = shell("median", wrong, "--table", "people", *charged)
        assert (code, out) == (4, "")
        assert "4711" not in err
    assert kng.Ledger(path).spent == 1
