"""Connecting to a PostgreSQL server.

Addresses hold passwords, and the client library quotes what it cannot read of one, so neither is
shown.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from kng.core.errors import KngError, MissingExtra

# What the client library says of a connection that it does not get, and what we say.
_REASONS = (
    (r"translate host", "there is no such host"),
    (r"refused|running on that host|no such file", "no server answers there"),
    (r"timeout|timed out", "the server does not answer"),
    (r"password|authentication", "the user name or the password is wrong"),
    (r'role ".*" does not exist', "there is no such user"),
    (r'database ".*" does not exist', "there is no such database"),
    (r"too many|reserved for", "the server has no connection left"),
)


def server_of(address: str) -> str:
    """Return what messages call a server: its host, if that is sure to be no password."""
    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "the server"
    # An @ behind the host is one of a password with a / in it.
    unsure = "@" in parts.path + parts.query + parts.fragment
    return "the server" if unsure or not host else f"the server {host}"


def connected(address: str, *, failure: type[KngError], autocommit: bool) -> Any:
    """Return a connection, or say in a word why there is none."""
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtra(
            "PostgreSQL needs a driver, which is not installed. Install it by "
            "pip install 'kng[postgres]'."
        ) from None
    try:
        return dbapi.connect(address, autocommit=autocommit)
    except dbapi.Error as error:
        said = str(error).lower()
        found = (what for pattern, what in _REASONS if re.search(pattern, said))
        reason = next(found, "the address cannot be used")
        raise failure(
            f"cannot connect to {server_of(address)}: {reason}. Check the address."
        ) from None


def text_of(value: bytes | str) -> str:
    """Return what the server says as text."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
