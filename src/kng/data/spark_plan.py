"""What a Spark frame does before its rows arrive, from its analysed plan; nothing is run.

A frame is a query. One record of its tables must stay one row, or the caller says how many rows it
can change; and no expression may fail on a record, because Spark would fail the release after its
charge and print the cell. So both nodes and expressions are listed, and what is not is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kng.core.errors import SchemaError
from kng.core.naming import argument, keyword

# One record, one row. The tables themselves have no children.
_KEEPING = frozenset(
    {
        *("SubqueryAlias", "View", "Project", "ResolvedHint", "Range"),
        *("Repartition", "RepartitionByExpression", "RebalancePartitions"),
        *("LogicalRelation", "LogicalRDD", "LocalRelation", "HiveTableRelation"),
        *("DataSourceV2Relation", "InMemoryRelation"),
    }
)
# A record may become no row, or several.
_BOUNDED = frozenset({"Union"})
# Spark skips parts of files and of what it keeps in memory by statistics that leave out NaN: with a
# filter one record then decides whether others are looked at.
_SKIPPING = frozenset({"Filter", "Join"})
# Expressions that no cell can make fail.
_TOTAL = frozenset(
    {
        *("AttributeReference", "Alias", "Literal", "Coalesce", "IsNull", "IsNotNull", "IsNaN"),
        *("EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan"),
        *("GreaterThanOrEqual", "And", "Or", "Not", "In", "InSet"),
    }
)
# Casts from a type to a later one of these never fail.
_WIDENING = ("tinyint", "smallint", "int", "bigint", "float", "double")
_NUMBERS_AND_TEXT = (*_WIDENING, "string", "boolean")


@dataclass(frozen=True, slots=True)
class FramePlan:
    """Whether every record of the tables is one row of the frame, whatever it holds."""

    keeps_rows: bool


def plan_of(frame: Any) -> FramePlan:
    """Look at the plan of a frame, and refuse what cannot be released from."""
    nodes = list(_below(frame._jdf.queryExecution().analyzed()))
    names = [_name(node) for node in nodes]
    if _SKIPPING.intersection(names):
        raise SchemaError(
            "the Spark frame filters or joins tables, and Spark skips parts of them by statistics "
            "that leave out NaN, so that one record could decide about others. Give the table "
            f"itself, with {keyword('where')} for some of its records."
        )
    unknown = [name for name in names if name not in _KEEPING | _BOUNDED]
    if unknown:
        raise SchemaError(
            f"the Spark frame is a query with {_spoken(unknown[0])}, where one record can change "
            "more than its own row. Give the table itself; unions are possible with "
            f"{argument('rows_per_record')} and {argument('neighbours', 'add-remove')}."
        )
    for node in nodes:
        for expression in _listed(node.expressions()):
            _refuse_partial(expression)
        _refuse_strict(node)
    return FramePlan(keeps_rows=not _BOUNDED.intersection(names))


def _below(node: Any) -> Iterator[Any]:
    yield node
    for child in _listed(node.children()):
        yield from _below(child)


def _listed(sequence: Any) -> list[Any]:
    return [sequence.apply(at) for at in range(sequence.size())]


def _name(node: Any) -> str:
    return str(node.getClass().getSimpleName())


def _spoken(name: str) -> str:
    """Return how users of Spark call a node."""
    known = {
        "Aggregate": "an aggregate or distinct",
        "GlobalLimit": "a limit",
        "LocalLimit": "a limit",
        "Window": "a window function",
        "Generate": "an explode",
        "Deduplicate": "a drop of duplicates",
    }
    return known.get(name, f"a step {name!r}")


def _refuse_partial(expression: Any) -> None:
    """Refuse an expression that one record could make fail."""
    name = _name(expression)
    if name not in _TOTAL and not (name == "Cast" and _casts_any(expression)):
        raise SchemaError(
            f"the Spark frame computes {name.lower()!r}, and Spark would fail with a message about "
            "the record on which that fails. Give the columns as they are stored; or store the "
            "result first, as with frame.localCheckpoint()."
        )
    for child in _listed(expression.children()):
        _refuse_partial(child)


def _casts_any(cast: Any) -> bool:
    """Whether a cast gives null where it cannot give a value, or always can."""
    first, second = (kind.simpleString() for kind in (cast.child().dataType(), cast.dataType()))
    if first in _WIDENING and second in _WIDENING:
        return _WIDENING.index(first) <= _WIDENING.index(second)
    known = {first, second} <= {*_NUMBERS_AND_TEXT} or second == "string"
    return known and str(cast.evalMode()) != "ANSI"


def _refuse_strict(node: Any) -> None:
    """Refuse files that are read so that a broken record fails."""
    if _name(node) != "LogicalRelation" or _name(node.relation()) != "HadoopFsRelation":
        return
    mode = node.relation().options().get("mode")
    if mode.isDefined() and str(mode.get()).upper() == "FAILFAST":
        raise SchemaError(
            "the Spark frame reads files with mode FAILFAST, which fails on the first record that "
            "is broken and prints it. Read them with mode PERMISSIVE."
        )
