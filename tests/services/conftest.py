"""Real servers, started on ports and in folders of their own and stopped afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

# Recognised wherever it should not be; its marks have to be escaped in an address.
PASSWORD = "hush/4711@x"


@dataclass(frozen=True)
class Postgres:
    """A running server with a database of its own."""

    port: int
    folder: Path

    def address(self, *, user: str = "kng", password: str = PASSWORD, base: str = "kng") -> str:
        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{base}"

    def run(self, *statements: str, base: str = "kng") -> list[tuple[Any, ...]]:
        """Run statements as the owner, and return what the last one gives."""
        from adbc_driver_postgresql import dbapi

        rows: list[tuple[Any, ...]] = []
        with dbapi.connect(self.address(base=base), autocommit=True) as connection:
            for statement in statements:
                with connection.cursor() as cursor:
                    cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
                    cursor.execute(statement)
                    rows = cursor.fetchall() if cursor.description else []
        return rows

    def store(self, table: str, records: Any) -> None:
        """Make a table of an Arrow table, anew."""
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.address()) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(table, records, mode="replace")
            connection.commit()

    def sessions(self) -> int:
        """Return how many others are connected to the database."""
        others = "datname = 'kng' AND pid <> pg_backend_pid()"
        return int(self.run(f"SELECT count(*) FROM pg_stat_activity WHERE {others}")[0][0])

    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")


def _programs() -> Path:
    """Return where the server's programs are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    known = str(found[-1]) if found else shutil.which("initdb")
    if known is None:
        pytest.fail("PostgreSQL is not installed; make test-services says how.", pytrace=False)
    return Path(known).parent


def _as_server(command: Sequence[str]) -> list[str]:
    """Return a command as a user without rights: the server refuses root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else list(command)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server with passwords, which logs every statement."""
    folder, programs = Path(tempfile.mkdtemp(prefix="kng-postgres-")), _programs()
    data, words, port = folder / "data", folder / "password", _free_port()
    words.write_text(PASSWORD)
    if os.geteuid() == 0:
        for path in (folder, words):
            shutil.chown(path, "postgres")

    def call(program: str, *arguments: str) -> None:
        command = _as_server([str(programs / program), *arguments])
        subprocess.run(command, check=True, capture_output=True, cwd=folder)

    settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    settings += " -c log_statement=all -c log_min_messages=warning"
    make = ["--username=kng", f"--pwfile={words}", "--auth=scram-sha-256", "--no-sync"]
    call("initdb", "-D", str(data), "--encoding=UTF8", "--locale=C", *make)
    call("pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", settings, "start")
    try:
        server = Postgres(port, folder)
        server.run("CREATE DATABASE kng", base="postgres")
        yield server
    finally:
        call("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
