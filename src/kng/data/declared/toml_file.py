"""``kng.toml``: tables that are declared once, in a file beside the data."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any

from kng.core.errors import SpecError

FILE = "kng.toml"


def declared_tables(path: str | Path = FILE) -> dict[str, dict[str, Any]]:
    """Return the arguments of `kng.Table` for every table of a file; any fault refuses it whole.

    Paths in it, of sources and ledgers, are relative to its directory.
    """
    # Imported here: only declarations need it, and a plain release should not wait for it.
    from kng.data.declared.checks import tables_in

    place = Path(path)
    tables = tables_in(_content(place), place.name)
    for table in tables.values():
        for name in ("source", "ledger"):
            if name in table:
                table[name] = _beside(place, table[name])
    return tables


def declared_table(name: str, path: str | Path = FILE) -> dict[str, Any]:
    """Return the arguments of `kng.Table` for one table of a file."""
    if not Path(path).is_file():
        raise SpecError(
            f"There is no {Path(path).name} here to declare the table {name!r}. Make one with kng "
            f"init; or give a file with its suffix ({name}.csv), a directory with a slash "
            f"({name}/)."
        )
    tables = declared_tables(path)
    if name not in tables:
        known = ", ".join(map(repr, tables)) or "no table"
        raise SpecError(f"{Path(path).name} has no table {name!r}; it has {known}.")
    return tables[name]


def _content(place: Path) -> dict[str, Any]:
    try:
        # Numbers as they are written: 0.01 is one hundredth.
        return tomllib.loads(place.read_text(encoding="utf-8"), parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{place.name} is not TOML: {error}.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise SpecError(f"{place.name} cannot be read ({reason}).") from None


def _beside(place: Path, path: str) -> str:
    """Return a path as seen from where we are; addresses and standard input stay."""
    return path if path == "-" or "://" in path else str(place.parent / path)
