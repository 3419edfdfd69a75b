"""Events and raw access for the tests of the ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from kng.core.exact import exact
from kng.core.privacy import Guarantee, PrivacyEvent


def make_event(epsilon: object = "0.1", **changes: object) -> PrivacyEvent:
    number = exact(epsilon, "epsilon")
    fields = {
        "epsilon": number,
        "width": number,
        "mechanism": "kng",
        "neighbours": "replace-one",
        "records_per_person": 1,
        "guarantee": Guarantee.EXACT,
    }
    return PrivacyEvent(**(fields | changes))


@pytest.fixture(scope="session")
def event() -> Callable[..., PrivacyEvent]:
    return make_event


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def sql(path: Path) -> Callable[..., list[tuple[object, ...]]]:
    """Run SQL on the file as an outsider would."""

    def run(*statements: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            return [row for statement in statements for row in db.execute(statement).fetchall()]

    return run


@pytest.fixture
def unguarded(path: Path) -> Callable[..., None]:
    """Run SQL with the triggers out of the way, and put them back as they were."""

    def run(*statements: str) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
            kept = triggers.fetchall()
            for name, _ in kept:
                db.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                db.execute(statement)
            for _, text in kept:
                db.execute(text)

    return run


@pytest.fixture
def tenth() -> Fraction:
    return Fraction(1, 10)
