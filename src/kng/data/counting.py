"""Records as codes, for counts: in which bin a cell is, whether a condition holds, or just there.

A code is a whole number from 0 on; NaN makes a record absent. The codes of a recipe are encoded by
`codes`, which leaves them as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from kng.core.bounds import Bounds
from kng.core.encoding import Encoding
from kng.core.errors import KngError, SchemaError
from kng.core.groups import Groups
from kng.core.naming import argument, renamed
from kng.data.bins import Edges, Rule
from kng.data.engine import Asked, Block, Column, Engine, Floats, Kind, kinds_of
from kng.data.grouped import GroupedTable
from kng.data.kinds import Boolean, Category, Number
from kng.data.memory import MemoryEngine, layout
from kng.data.opening import counting, in_groups
from kng.data.positions import positions_of
from kng.data.present import ALL, Present
from kng.data.recipe import Recipe
from kng.data.registry import open_table
from kng.data.source import TableSource
from kng.data.stated_columns import StatedColumn, StatedColumns
from kng.data.where.filter import Filter

Opened = TableSource | GroupedTable
_NUMBERS = (Kind.NUMBER, Kind.BOOLEAN, Kind.CELLS)


@dataclass(frozen=True, slots=True)
class Binned:
    """One column, by the bin of each cell; ``instead`` is the bin of what is missing, if any.

    ``declared`` says how cells become numbers, where they are not numbers or texts as they are.
    """

    position: int
    rule: Rule
    instead: int | None = None
    declared: StatedColumns | None = None

    @property
    def asked(self) -> Asked:
        """The column, as numbers or as text."""
        if self.declared is not None:
            return self.declared.asked
        return Asked((), (self.position,)) if self.rule.text else Asked((self.position,))

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Tell whether a record can be in no bin."""
        column = columns[self.position]
        can_be = column.optional if self.declared is None else any(self.declared.optional(columns))
        missing = self.instead is None and can_be
        return [missing or not self.rule.covers(column)]

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return the codes; a text of no character is missing."""
        missing = np.nan if self.instead is None else self.instead
        if isinstance(self.rule, Edges) or not self.rule.text:
            tables = block.numbers if self.declared is None else self.declared.tables(block)
            cells = tables[0][:, 0]
            there = ~np.isnan(cells)
            return [np.where(there, self.rule.codes(cells), missing).reshape(-1, 1)]
        import pyarrow.compute as pc

        (texts,) = block.texts
        there = np.asarray(pc.fill_null(pc.greater(pc.binary_length(texts), 0), False))
        return [np.where(there, self.rule.codes(texts), missing).reshape(-1, 1)]


@dataclass(frozen=True, slots=True)
class Judged:
    """0 where a condition holds, 1 where it fails; absent where it is unknown."""

    condition: Filter

    @property
    def asked(self) -> Asked:
        """The columns of the condition."""
        return Asked(tuple(self.condition.numbers.values()), tuple(self.condition.texts.values()))

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:
        """Tell whether a condition can be unknown."""
        return [self.condition.optional(columns)]

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return the codes."""
        numbers = [column for table in block.numbers for column in table.T]
        yes, no = self.condition.truth(numbers, block.texts)
        return [np.where(yes, 0.0, np.where(no, 1.0, np.nan)).reshape(-1, 1)]


@dataclass(frozen=True, slots=True)
class There:
    """0 for every record; a column is read, and what it holds decides nothing."""

    position: int
    text: bool

    @property
    def asked(self) -> Asked:
        """The column."""
        return Asked((), (self.position,)) if self.text else Asked((self.position,))

    def optional(self, columns: Sequence[Column]) -> Sequence[bool]:  # noqa: ARG002
        """Return that no record is absent."""
        return [False]

    def tables(self, block: Block) -> Sequence[Floats]:
        """Return the codes."""
        return [np.zeros((len(block), 1))]


def codes(bins: int, column: str | None = None) -> Encoding:
    """Return the encoding that leaves codes below ``bins`` as they are."""
    names = None if column is None else (column,)
    bounds = Bounds((Fraction(0),), (Fraction(bins),), names)
    return Encoding(bounds, (Fraction(1),), (None,))


def open_binned(
    data: Any,
    binned: tuple[Rule, int | None],
    encoding: Encoding,
    present: Present,
    groups: Groups | None,
    *,
    remedy: str,
) -> Opened:
    """Return a source over the bins of one column: a rule, and the bin of what is missing.

    ``remedy`` says how one of several columns is named.
    """
    rule, instead = binned
    engine = open_table(data)
    if engine is None:
        _refuse_names(encoding, present, groups)
        engine, position = MemoryEngine(layout(data, 1)), 0
        column = engine.columns()[0]
    else:
        several = len(engine.columns())
        if encoding.bounds.columns is None and several != 1:
            raise SchemaError(
                f"{engine.called}: one column is needed, and there are {several}. {remedy}"
            )
        (position,) = positions_of(engine, encoding.bounds.columns, 1, numbers=0)
        column = engine.columns()[position]
    declared = _declared(engine, column, position, rule)
    if declared is not None:
        return _opened(engine, Binned(position, rule, instead, declared), encoding, present, groups)
    if not rule.text:
        column.require_number(engine.called)
    elif column.kind not in (Kind.TEXT, Kind.CELLS):
        named = "the column" if column.name is None else f"column {column.name!r}"
        raise SchemaError(
            f"{named} of {engine.called} holds {column.kind.held}, and the levels are texts. "
            f"Give the levels as numbers, as in {argument('levels', [0, 1])}."
        )
    else:
        import pyarrow.compute  # noqa: F401 - loaded before anything is charged
    return _opened(engine, Binned(position, rule, instead), encoding, present, groups)


def _declared(engine: Engine, column: Column, position: int, rule: Rule) -> StatedColumns | None:
    """Return how cells become numbers: as booleans or dates that are declared, or are asked for."""
    declared = kinds_of(engine).get(column.name or "")
    if rule.text or isinstance(declared, Category | Number):
        return None
    if declared is None:
        if column.kind is not Kind.CELLS or isinstance(rule, Edges) or not rule.truths:
            return None
        declared = Boolean()
    asks = declared.asks(column, engine.called)
    return StatedColumns((StatedColumn(column.name or "", position, asks, declared),))


def open_judged(
    data: Any, of: Any, encoding: Encoding, present: Present, groups: Groups | None
) -> Opened:
    """Return a source over whether a condition holds."""
    engine = _table(data, "of")
    try:
        condition = Filter.of(of, engine.columns(), engine.called, kinds_of(engine))
    except KngError as error:
        # The grammar is that of where, and so are its messages.
        raise type(error)(renamed(error.message, {"where": "of"})) from None
    return _opened(engine, Judged(condition), encoding, present, groups)


def open_there(data: Any, encoding: Encoding, present: Present, groups: Groups | None) -> Opened:
    """Return a source over records, whatever they hold."""
    engine = open_table(data)
    if engine is None:
        _refuse_names(encoding, present, groups)
        width = data.shape[1] if len(getattr(data, "shape", ())) == 2 else 1
        return TableSource(MemoryEngine(layout(data, width)), There(0, text=False), encoding)
    columns = engine.columns()
    # A column that the condition reads anyway, or the first that can be read.
    near: Sequence[int] = range(len(columns))
    if present.where is not None:
        condition = Filter.of(present.where, columns, engine.called, kinds_of(engine))
        asked = Judged(condition).asked
        near = (*asked.numbers, *asked.texts)
    readable = [at for at in near if columns[at].kind in (*_NUMBERS, Kind.TEXT, Kind.DATE)]
    if not readable:
        raise SchemaError(
            f"{engine.called} has no column of numbers or text to count records by. Add one."
        )
    there = There(readable[0], text=columns[readable[0]].kind is Kind.TEXT)
    return _opened(engine, there, encoding, present, groups)


def _opened(
    engine: Engine, recipe: Recipe, encoding: Encoding, present: Present, groups: Groups | None
) -> Opened:
    """Return a source over the records that count, in groups where there are any."""
    if groups is None:
        return counting(engine, recipe, encoding, present)
    return in_groups(engine, recipe, encoding, groups, present)


def _table(data: Any, option: str) -> Engine:
    engine = open_table(data)
    if engine is None:
        raise SchemaError(
            f"{argument(option)} names columns, but the data have no column names. Give a data "
            "frame, a file or a table."
        )
    return engine


def _refuse_names(encoding: Encoding, present: Present, groups: Groups | None) -> None:
    """Refuse what names columns where they have no names."""
    if encoding.bounds.columns is not None:
        raise SchemaError(
            f"column {encoding.bounds.columns[0]!r} is named, but the data have no column names. "
            "Give a data frame, a file or a table."
        )
    if present != ALL or groups is not None:
        option = "where" if groups is None else "by"
        raise SchemaError(
            f"{argument(option)} names columns, but the data have no column names. Give a data "
            "frame, a file or a table."
        )
