"""A session with a PostgreSQL server: one read-only snapshot from its opening to its end.

What the server says reaches the caller only where it cannot speak of records. Addresses hold
passwords, and the client library quotes what it cannot read of one, so neither is shown.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kng.core.errors import KngError, SchemaError
from kng.core.postgres import connected, server_of, text_of

_SETTINGS = (
    # One snapshot for the count and all passes.
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    # A limit on time or a lock would make the length of the data decide whether there is an answer.
    "SET LOCAL statement_timeout = 0",
    "SET LOCAL lock_timeout = 0",
    "SET LOCAL idle_in_transaction_session_timeout = 0",
    "SET LOCAL standard_conforming_strings = on",
    "SET LOCAL client_min_messages = error",
)
# Records of a batch take about so many bytes.
_BATCH_BYTES = 2**22


class Session:
    """A connection in one transaction; ended by `close`, or when nothing refers to it any more."""

    def __init__(self, address: str) -> None:
        self.server = server_of(address)
        self._connection = connected(address, failure=SchemaError, autocommit=False)
        self.close = weakref.finalize(self, self._connection.close)
        for setting in _SETTINGS:
            self.rows(setting)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the result of a query about public facts; errors speak."""
        with _public_errors(), self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
            cursor.execute(query)
            return list(cursor.fetchall()) if cursor.description else []

    def count(self, query: str) -> int:
        """Return the number that a query gives; what fails says nothing of records."""
        try:
            ((number,),) = self.rows(query)
        except KngError:
            raise SchemaError(
                f"{self.server} could not count the records. Check the connection, then retry."
            ) from None
        return int(number)

    def batches(self, query: str) -> Iterator[Any]:
        """Yield Arrow batches as the server sends them."""
        with self._connection.cursor() as cursor:
            size = {"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)}
            cursor.adbc_statement.set_options(**size)
            cursor.execute(query)
            with cursor.fetch_record_batch() as reader:
                yield from reader


@contextmanager
def _public_errors() -> Iterator[None]:
    """Say what the server finds wrong with a query that reads no record."""
    from adbc_driver_postgresql import dbapi

    try:
        yield
    except dbapi.Error as error:
        details = {text_of(key): text_of(value) for key, value in error.details}
        what = details.get("PG_DIAG_MESSAGE_PRIMARY", "the connection was lost")
        raise SchemaError(f"PostgreSQL refuses the query: {what}.") from None
