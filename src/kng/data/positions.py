"""Where the columns of a table stand, by their names."""

from __future__ import annotations

from collections.abc import Sequence

from kng.core.errors import SchemaError
from kng.core.naming import argument, in_python, outside_python
from kng.data.engine import Engine

_WHICH = in_python("s to use,") + outside_python(f" with {argument('column')}, or")


def positions_of(
    engine: Engine, names: Sequence[str] | None, width: int, numbers: int | None = None
) -> tuple[int, ...]:
    """Return where the columns stand; the first ``numbers`` of them, or all, must be numbers."""
    columns, called = engine.columns(), engine.called
    known = [column.name for column in columns]
    has = "have" if called == "the data" else "has"
    if names is None:
        if len(columns) != width:
            raise SchemaError(
                f"{called} {has} {len(columns)} columns ({_listed(known)}), the bounds describe "
                f"{width}. Name the column{_WHICH} as in "
                f"{argument('bounds', {known[0]: (0, 100)})}.{engine.advice(())}"
            )
        names = [str(name) for name in known]
    absent = [name for name in names if name not in known]
    if absent:
        they = "they have" if has == "have" else "it has"
        raise SchemaError(
            f"{called} {has} no column named {absent[0]!r}; {they} "
            f"{_listed(known)}.{engine.advice(names)}"
        )
    twice = [name for name in names if known.count(name) > 1]
    if twice:
        raise SchemaError(f"{called} {has} two columns named {twice[0]!r}; rename one of them.")
    found = tuple(known.index(name) for name in names)
    for at in found[:numbers]:
        columns[at].require_number(called)
    return found


def _listed(names: Sequence[str | None]) -> str:
    shown = [repr(name) for name in names[:20]]
    return ", ".join([*shown, "..."] if len(names) > len(shown) else shown)
