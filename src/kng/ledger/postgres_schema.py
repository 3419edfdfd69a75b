"""The tables of a ledger on a PostgreSQL server, and the rules that the server itself keeps.

They are those of a file (`kng.ledger.schema`), in a schema of their own. ``ledger`` has one row:
writers lock it, so that they come one after the other, and it says where the ledger lives. Like a
file, the history can only be appended to. Whoever owns the tables can drop the rules; the hash
chain finds what was edited.
"""

from __future__ import annotations

from kng.ledger.accepting import RELATIONS
from kng.ledger.account import Currency
from kng.ledger.hash_chain import GENESIS

SCHEMA = "kng_ledger"
VERSION = 1

_RELATIONS = ", ".join(f"'{name}'" for name in RELATIONS)
_CURRENCIES = ", ".join(f"'{each.value}'" for each in Currency)

_TABLES = (
    f"CREATE SCHEMA {SCHEMA}",
    """CREATE TABLE kng_ledger.ledger (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version bigint NOT NULL,
    home text NOT NULL
)""",
    f"""CREATE TABLE kng_ledger.account (
    name text PRIMARY KEY,
    currency text NOT NULL CHECK (currency IN ({_CURRENCIES})),
    cap text NOT NULL,
    spent text NOT NULL,
    cap_units bigint NOT NULL,
    spent_units bigint NOT NULL,
    epsilon text,
    rho text NOT NULL,
    neighbours text CHECK (neighbours IN ({_RELATIONS})),
    records_per_person bigint CHECK (records_per_person >= 1),
    closed bigint NOT NULL CHECK (closed IN (0, 1)),
    CHECK (0 <= spent_units AND spent_units <= cap_units)
)""",
    """CREATE TABLE kng_ledger.entry (
    sequence bigint PRIMARY KEY CHECK (sequence >= 1),
    kind text NOT NULL CHECK (kind IN ('account', 'charge', 'release', 'share', 'loss', 'close')),
    account text NOT NULL REFERENCES kng_ledger.account (name),
    charge bigint UNIQUE REFERENCES kng_ledger.entry (sequence),
    body text NOT NULL,
    previous text NOT NULL CHECK (length(previous) = 64),
    hash text NOT NULL UNIQUE CHECK (length(hash) = 64),
    CHECK ((kind = 'release') = (charge IS NOT NULL))
)""",
    """CREATE TABLE kng_ledger.share (
    account text NOT NULL REFERENCES kng_ledger.account (name),
    analyst text NOT NULL,
    cap text NOT NULL,
    spent text NOT NULL,
    cap_units bigint NOT NULL,
    spent_units bigint NOT NULL,
    PRIMARY KEY (account, analyst),
    CHECK (0 <= spent_units AND spent_units <= cap_units)
)""",
    """CREATE TABLE kng_ledger.dataset (
    fingerprint text PRIMARY KEY,
    account text NOT NULL REFERENCES kng_ledger.account (name)
)""",
    """CREATE TABLE kng_ledger.request (
    account text NOT NULL REFERENCES kng_ledger.account (name),
    key text NOT NULL,
    charge bigint NOT NULL UNIQUE REFERENCES kng_ledger.entry (sequence),
    PRIMARY KEY (account, key)
)""",
    "CREATE INDEX entry_by_account ON kng_ledger.entry (account, kind, sequence)",
)
# By the name of a function: on what it is called, and what must hold for a new row.
_CHECKS = {
    "entry_is_appended": (
        "INSERT ON kng_ledger.entry",
        "NEW.sequence = (SELECT coalesce(max(sequence), 0) + 1 FROM kng_ledger.entry) "
        "AND NEW.previous = coalesce((SELECT hash FROM kng_ledger.entry "
        f"ORDER BY sequence DESC LIMIT 1), '{GENESIS}') "
        "AND (NEW.charge IS NULL OR EXISTS (SELECT FROM kng_ledger.entry WHERE sequence = "
        "NEW.charge AND kind = 'charge' AND account = NEW.account))",
    ),
    "account_starts_unspent": (
        "INSERT ON kng_ledger.account",
        "NEW.spent = '0' AND NEW.spent_units = 0",
    ),
    "account_only_spends": (
        "UPDATE ON kng_ledger.account",
        "(NEW.name, NEW.currency, NEW.cap, NEW.cap_units) = "
        "(OLD.name, OLD.currency, OLD.cap, OLD.cap_units) "
        "AND NEW.spent_units >= OLD.spent_units AND NEW.closed >= OLD.closed "
        "AND coalesce(NEW.neighbours = OLD.neighbours, OLD.neighbours IS NULL) "
        "AND coalesce(NEW.records_per_person = OLD.records_per_person, "
        "OLD.records_per_person IS NULL)",
    ),
    "share_starts_unspent": (
        "INSERT ON kng_ledger.share",
        "NEW.spent = '0' AND NEW.spent_units = 0",
    ),
    "share_only_spends": (
        "UPDATE ON kng_ledger.share",
        "(NEW.account, NEW.analyst, NEW.cap, NEW.cap_units) = "
        "(OLD.account, OLD.analyst, OLD.cap, OLD.cap_units) "
        "AND NEW.spent_units >= OLD.spent_units",
    ),
}
# Tables whose rows never change, and those whose rows are never removed.
_FINAL = ("entry", "dataset", "request")
_KEPT = ("account", "share", "ledger")


_NEVER = "BEGIN RAISE EXCEPTION 'a ledger only grows' USING ERRCODE = 'check_violation'; END"


def _sources() -> dict[str, str]:
    """Return what the functions do, by name."""
    refusal = "USING ERRCODE = 'check_violation'; END"
    return {"never": _NEVER} | {
        name: f"BEGIN IF ({condition}) THEN RETURN NEW; END IF; "
        f"RAISE EXCEPTION '{name.replace('_', ' ')}' {refusal}"
        for name, (_, condition) in _CHECKS.items()
    }


def _triggers() -> dict[tuple[str, str, str], str]:
    """Return when the functions are called, by table, trigger and function."""
    made = {}
    for name, (event, _) in _CHECKS.items():
        table = event.rpartition(".")[2]
        made[table, name, name] = f"BEFORE {event} FOR EACH ROW"
    for table in (*_FINAL, *_KEPT):
        events = "DELETE" if table in _KEPT else "DELETE OR UPDATE"
        for each, words in (("ROW", events), ("STATEMENT", "TRUNCATE")):
            name = f"{table}_is_kept_by_{each.lower()}"
            made[table, name, "never"] = f"BEFORE {words} ON {SCHEMA}.{table} FOR EACH {each}"
    return made


STATEMENTS = (
    *_TABLES,
    *(
        f"CREATE FUNCTION {SCHEMA}.{name}() RETURNS trigger LANGUAGE plpgsql AS $${source}$$"
        for name, source in _sources().items()
    ),
    *(
        f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {SCHEMA}.{function}()"
        for (_, name, function), when in _triggers().items()
    ),
)
# The rules that are there and in force, in words that are the same on every server.
RULES = f"""
SELECT c.relname || ' ' || t.tgname || ' ' || p.proname
FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
WHERE c.relnamespace = '{SCHEMA}'::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'D'
UNION ALL
SELECT proname || ' ' || prosrc FROM pg_catalog.pg_proc
WHERE pronamespace = '{SCHEMA}'::regnamespace
UNION ALL
SELECT 'rule ' || rulename FROM pg_catalog.pg_rules WHERE schemaname = '{SCHEMA}'
"""
EXPECTED = frozenset(
    [*map(" ".join, _triggers()), *(f"{name} {source}" for name, source in _sources().items())]
)
