"""Reading a million rows from PostgreSQL: ADBC against psycopg 3, in time and memory.

    python -m benchmarks.postgres_drivers postgresql://user@host/base

Makes a table kng_benchmark in that database and drops it. Needs psycopg beside kng[postgres].
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

ROWS = 10**6
COLUMNS = ("a", "b", "c", "d", "e", "n::float8", "k")
_MAKE = """
CREATE TABLE kng_benchmark AS SELECT random() AS a, random() AS b, random() AS c, random() AS d,
  random() AS e, (random() * 1e6)::numeric(12, 2) AS n, CASE WHEN i % 10 > 0 THEN i END AS k
FROM generate_series(1, 1000000) i
"""


def adbc(address: str) -> int:
    """Arrow batches."""
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        size = {"adbc.postgresql.batch_size_hint_bytes": str(2**22)}
        cursor.adbc_statement.set_options(**size)
        cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM kng_benchmark")
        return sum(batch.num_rows for batch in cursor.fetch_record_batch())


def cursor(address: str) -> int:
    """A server-side cursor, rows as tuples, 20,000 at a time."""
    import numpy as np
    import psycopg

    found = 0
    with psycopg.connect(address) as connection, connection.cursor("c", binary=True) as stream:
        stream.execute(f"SELECT {', '.join(COLUMNS)} FROM kng_benchmark")
        while rows := stream.fetchmany(20_000):
            found += len(np.array(rows, dtype=float))
    return found


def copy(address: str) -> int:
    """A binary COPY of float8 without nulls, whose rows are of one length."""
    import numpy as np
    import psycopg

    wanted = ", ".join(f"coalesce({name}::float8, 'NaN')" for name in COLUMNS)
    query = f"COPY (SELECT {wanted} FROM kng_benchmark) TO STDOUT (FORMAT BINARY)"
    cells = [(f"{kind}{k}", kind) for k in range(len(COLUMNS)) for kind in (">i4", ">f8")]
    row, found, held = np.dtype([("fields", ">i2"), *cells]), 0, bytearray()
    with (
        psycopg.connect(address) as connection,
        connection.cursor() as stream,
        stream.copy(query) as pieces,
    ):
        for piece in pieces:
            held += piece
            if len(held) > 2**22:
                end = 19 + (len(held) - 19) // row.itemsize * row.itemsize
                table = np.frombuffer(bytes(held[19:end]), row)
                read = np.column_stack([table[name] for name, kind in cells if kind == ">f8"])
                found += len(read.astype(float))
                del held[19:end]
    return found + (len(held) - 19) // row.itemsize


WAYS: dict[str, Callable[[str], int]] = {"adbc": adbc, "cursor": cursor, "copy": copy}


def measure(way: str, address: str) -> None:
    WAYS[way](address)  # once for what is loaded
    wall, cpu = time.perf_counter(), time.process_time()
    assert WAYS[way](address) == ROWS
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{way:8} {wall:6.2f} s  CPU {cpu:5.2f} s  peak {peak} MB")


def main(address: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS kng_benchmark")
        connection.execute(_MAKE)
        try:
            for way in [*WAYS] * 2:  # in turn, because machines are shared
                subprocess.run([sys.executable, "-m", __spec__.name, address, way], check=True)
        finally:
            connection.execute("DROP TABLE kng_benchmark")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        measure(sys.argv[2], sys.argv[1])
    else:
        main(sys.argv[1])
