"""PostgreSQL gives the same integers and, from the same bits, the same releases."""

from __future__ import annotations

import pytest
from data.every_source import arrow_of, same

import kng

COLUMNS = "pay, age, visits, paid"
ALTERED = {
    "table": (),
    "decimals": ("ALTER TABLE records ALTER pay TYPE numeric(12, 2)",),
    "decimals of any length": ("ALTER TABLE records ALTER pay TYPE numeric",),
    "money": ("ALTER TABLE records ALTER pay TYPE money USING pay::numeric::money",),
    "small types": (
        "ALTER TABLE records ALTER visits TYPE smallint",
        "ALTER TABLE records ALTER paid TYPE varchar(20)",
    ),
    "domains": (
        "CREATE DOMAIN amount AS numeric(12, 2) CHECK (value < 1e9)",
        "CREATE DOMAIN wage AS amount",
        "ALTER TABLE records ALTER pay TYPE wage",
    ),
    "partitions": (
        "CREATE TABLE parts (LIKE records) PARTITION BY LIST (visits)",
        "CREATE TABLE few PARTITION OF parts FOR VALUES IN (0, 1, 2)",
        "CREATE TABLE many PARTITION OF parts DEFAULT",
        "INSERT INTO parts SELECT * FROM records",
        "DROP TABLE records",
        "ALTER TABLE parts RENAME TO records",
    ),
    "materialised": (
        "ALTER TABLE records RENAME TO kept",
        "CREATE MATERIALIZED VIEW records AS SELECT * FROM kept",
    ),
}
QUERIES = {
    "query": f"SELECT {COLUMNS} FROM records",
    "star": "SELECT * FROM public.records",
    "nested": f"SELECT t.* FROM (SELECT {COLUMNS} FROM Records) AS t",
    "arithmetic": "SELECT pay, age, visits * 2 - visits AS visits, paid FROM records",
    "case": "SELECT CASE WHEN pay > 0 THEN pay ELSE pay END AS pay, age, visits, paid FROM records",
}


@pytest.fixture
def stored(postgres):
    """Return what makes a table of a frame, in an empty schema."""

    def store(table, *statements):
        postgres.run("DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
        postgres.store("records", arrow_of(table))
        postgres.run("ALTER TABLE records ALTER pay TYPE numeric(14, 2) USING pay::numeric")
        postgres.run(*statements)
        return postgres.address()

    return store


@pytest.mark.parametrize("form", ALTERED)
def test_a_table_is_the_same(form, stored, tmp_path):
    def store(table, folder):
        return kng.Table(stored(table, *ALTERED[form]), table="records")

    same(store, tmp_path)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_the_same(query, stored, tmp_path):
    same(lambda table, folder: kng.Table(stored(table), query=QUERIES[query]), tmp_path)


def test_names_of_schemas_and_tables_are_quoted(stored, tmp_path):
    def store(table, folder):
        address = stored(
            table,
            'CREATE SCHEMA "My ""Schema"',
            'ALTER TABLE records SET SCHEMA "My ""Schema"',
            'ALTER TABLE "My ""Schema".records RENAME TO "Re cords"',
        )
        return kng.Table(address, table='My "Schema.Re cords')

    same(store, tmp_path)
