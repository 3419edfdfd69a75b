"""A condition on the columns of a table: which of them it reads, and which records it holds for.

Every record is looked at by itself. What is missing makes a comparison unknown, as in SQL, and a
record for which the condition is unknown is left out: it is absent, as one that fails it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SchemaError, SpecError
from kng.core.naming import argument
from kng.data.engine import Column, Floats, Kind
from kng.data.kinds.category import Category
from kng.data.kinds.date import Date
from kng.data.where.reading import read_condition
from kng.data.where.reads import readings, with_dates
from kng.data.where.tree import (
    Both,
    Calculated,
    Compared,
    Condition,
    Either,
    Listed,
    Missing,
    Name,
    Node,
    Not,
    Number,
    Text,
    Truth,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from kng.data.kinds import Declared

Mask = NDArray[np.bool_]
_NUMBERS = (Kind.NUMBER, Kind.BOOLEAN, Kind.CELLS)
_TEXTS = (Kind.TEXT, Kind.CELLS)
_COMPARE = {
    "=": np.equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_CALCULATE = {"+": np.add, "-": np.subtract, "*": np.multiply}
# Words for 1 and 0 where no column has the name.
_TRUTH = {"true": 1.0, "false": 0.0}


class Answer(NamedTuple):
    """Where a condition holds and where it fails; neither where it is unknown."""

    yes: Mask
    no: Mask


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition, and the positions of the columns that it reads, as numbers and as text.

    ``declared`` says how some of them become numbers. Public, and picklable, so that it can travel
    to the records.
    """

    condition: Condition
    numbers: dict[str, int]
    texts: dict[str, int]
    declared: dict[str, Declared]

    @classmethod
    def of(
        cls,
        stated: Any,
        columns: Sequence[Column],
        called: str,
        kinds: Mapping[str, Declared] = MappingProxyType({}),
    ) -> Filter:
        """Read a condition on columns of a table.

        ``called`` is what messages call the table; ``kinds`` are declarations of its columns.
        """
        if not isinstance(stated, str):
            raise SpecError(
                f"{argument('where')} must be a text such as 'age >= 40', got {stated!r}."
            )
        known = {column.name: (at, column) for at, column in enumerate(columns) if column.name}
        condition = _with_truth(read_condition(stated), known)
        declared = readings(condition, known, kinds)
        dates = {name: each for name, each in declared.items() if isinstance(each, Date)}
        condition = with_dates(condition, dates)
        numbers: dict[str, int] = {}
        texts: dict[str, int] = {}
        for name, kind in _uses(condition):
            if name not in known:
                has = ", ".join(repr(each) for each in list(known)[:20])
                raise SchemaError(
                    f"{argument('where', stated)} names {name!r}, which is not a column of "
                    f"{called}. {f'It has {has}' if has else 'Its columns have no names'}."
                )
            if sum(column.name == name for column in columns) > 1:
                raise SchemaError(f"{called} has two columns named {name!r}; rename one of them.")
            at, column = known[name]
            if name in declared and kind != "text" and _read_as_declared(declared[name], kind):
                asks = declared[name].asks(column, called)
                numbers |= {name: at} if asks.numbers else {}
                texts |= {name: at} if asks.texts else {}
                continue
            wanted = kind or ("text" if column.kind is Kind.TEXT else "number")
            _refuse_kind(stated, column, wanted)
            (texts if wanted == "text" else numbers)[name] = at
        if not numbers and not texts:
            raise SpecError(
                f"{argument('where', stated)} names no column. Give a condition on records."
            )
        found = cls(condition, numbers, texts, declared)
        if texts:
            # Asked of no records before anything is charged: Arrow loads more when it is used.
            import pyarrow as pa

            none = np.empty(0)
            found.truth([none] * len(numbers), [pa.array([], pa.binary())] * len(texts))
        return found

    def holds(self, numbers: Sequence[Floats], texts: Sequence[pa.BinaryArray]) -> Mask:
        """Return for which records it holds, given the columns in the order that it names them."""
        with np.errstate(all="ignore"):
            return self._look(numbers, texts).yes(self.condition)

    def truth(self, numbers: Sequence[Floats], texts: Sequence[pa.BinaryArray]) -> Answer:
        """Return for which records it holds and for which it fails."""
        look = self._look(numbers, texts)
        with np.errstate(all="ignore"):
            return Answer(look.yes(self.condition), look.no(self.condition))

    def _look(self, numbers: Sequence[Floats], texts: Sequence[pa.BinaryArray]) -> _Look:
        cells: dict[tuple[str, str], Any] = {}
        cells |= {("number", name): c for name, c in zip(self.numbers, numbers, strict=True)}
        cells |= {("text", name): c for name, c in zip(self.texts, texts, strict=True)}
        return _Look(cells, len(numbers[0]) if numbers else len(texts[0]), self.declared)

    def optional(self, columns: Sequence[Column]) -> bool:
        """Tell whether the condition can be unknown of a record."""
        odd = {
            name
            for name, each in self.declared.items()
            if each.kind != columns[{**self.texts, **self.numbers}[name]].kind.value
        }
        return bool(odd) or any(
            columns[at].optional for at in (*self.numbers.values(), *self.texts.values())
        )


def _refuse_kind(stated: str, column: Column, wanted: str) -> None:
    if column.kind in (_TEXTS if wanted == "text" else _NUMBERS):
        return
    if wanted == "text":
        remedy = "compare it with a number"
    elif column.kind is Kind.TEXT:
        remedy = "compare it with a text in quotes, by =, != or in"
    elif column.kind is Kind.DATE:
        remedy = "compare it with a date in quotes, as in '2024-01-31'"
    else:
        remedy = "leave it out of the condition"
    raise SchemaError(
        f"{argument('where', stated)}: column {column.name!r} holds {column.kind.held}; {remedy}."
    )


def _with_truth(node: Any, known: Any) -> Any:
    """Read the words true and false where no column has the name."""
    match node:
        case Name(name) if name not in known and name.lower() in _TRUTH:
            return Truth(_TRUTH[name.lower()])
        case Calculated(operation, left, right):
            return Calculated(operation, _with_truth(left, known), _with_truth(right, known))
        case Compared(operation, left, right):
            return Compared(operation, _with_truth(left, known), _with_truth(right, known))
        case Both(left, right):
            return Both(_with_truth(left, known), _with_truth(right, known))
        case Either(left, right):
            return Either(_with_truth(left, known), _with_truth(right, known))
        case Listed(value, among):
            return Listed(_with_truth(value, known), among)
        case Not(condition):
            return Not(_with_truth(condition, known))
    return node


def _uses(node: Node) -> Iterator[tuple[str, str | None]]:
    """Yield the columns of a condition, and how each is read: None if its own kind decides."""
    match node:
        case Name(name):
            yield name, "number"
        case Missing(Name(name)):
            yield name, None
        case Compared(operation, Text() as left, right) | Compared(
            operation, left, Text() as right
        ):
            if operation not in ("=", "!="):
                raise SpecError(f"{argument('where')} compares texts by =, != and in only.")
            yield from _as_texts((left, right))
        case Listed(value, among) if any(isinstance(item, Text) for item in among):
            yield from _as_texts((value, *among))
        case Listed(value, _):
            yield from _uses(value)
        case Not(condition):
            yield from _uses(condition)
        case Text():
            raise SpecError(f"{argument('where')} calculates with numbers, not with texts.")
        case Calculated(_, left, right) | Compared(_, left, right):
            yield from (*_uses(left), *_uses(right))
        case Both(left, right) | Either(left, right):
            yield from (*_uses(left), *_uses(right))


def _as_texts(nodes: Sequence[Node]) -> Iterator[tuple[str, str | None]]:
    """Yield columns that are compared with a text."""
    for node in nodes:
        if isinstance(node, Name):
            yield node.name, "text"
        elif not isinstance(node, Text):
            raise SpecError(
                f"{argument('where')} compares a text with a column, not with a number."
            )


class _Look:
    """Evaluates a condition on one block of records: where it holds, and where it fails."""

    def __init__(
        self, cells: dict[tuple[str, str], Any], size: int, declared: Mapping[str, Declared]
    ) -> None:
        self._cells, self._size, self._declared = cells, size, declared

    def yes(self, node: Condition | Node) -> Mask:
        match node:
            case Compared(operation, left, right):
                return self._compared(operation, left, right)
            case Listed(value, among):
                return self._listed(value, among)
            case Missing(Name(name)):
                return ~self._known(name)
            case Not(condition):
                return self.no(condition)
            case Both(left, right):
                return self.yes(left) & self.yes(right)
            case Either(left, right):
                return self.yes(left) | self.yes(right)
        raise AssertionError(node)

    def no(self, node: Condition | Node) -> Mask:
        match node:
            case Compared(operation, left, right):
                return self._compared(_OPPOSITE[operation], left, right)
            case Listed(value, among):
                return self._unlisted(value, among)
            case Missing(Name(name)):
                return self._known(name)
            case Not(condition):
                return self.yes(condition)
            case Both(left, right):
                return self.no(left) | self.no(right)
            case Either(left, right):
                return self.no(left) & self.no(right)
        raise AssertionError(node)

    def _compared(self, operation: str, left: Node, right: Node) -> Mask:
        if isinstance(left, Text) or isinstance(right, Text):
            column, text = (left, right) if isinstance(right, Text) else (right, left)
            same = operation == "="
            return self._listed(column, (text,)) if same else self._unlisted(column, (text,))
        a, b = self._number(left), self._number(right)
        # No order holds of NaN, but NaN differs from everything.
        held = (a < b) | (a > b) if operation == "!=" else _COMPARE[operation](a, b)
        return np.broadcast_to(held, (self._size,))

    def _listed(self, value: Node, among: Sequence[Node]) -> Mask:
        """Return where a value is among the items; NaN is none of them."""
        texts = [item.value for item in among if isinstance(item, Text)]
        if texts:
            return self._spelled(value, texts) & self._there(value)
        numbers = [item.value for item in among if isinstance(item, Number)]
        return np.broadcast_to(np.isin(self._number(value), numbers), (self._size,))

    def _unlisted(self, value: Node, among: Sequence[Node]) -> Mask:
        """Return where a value is there, and none of the items."""
        texts = [item.value for item in among if isinstance(item, Text)]
        if texts:
            return ~self._spelled(value, texts) & self._there(value)
        there = np.broadcast_to(~np.isnan(self._number(value)), (self._size,))
        return there & ~self._listed(value, among)

    def _spelled(self, value: Node, texts: Sequence[str]) -> Mask:
        """Return where a text is one of those; texts that are missing are looked at apart."""
        if isinstance(value, Text):
            return np.full(self._size, value.value.strip() in [text.strip() for text in texts])
        assert isinstance(value, Name)
        import pyarrow as pa
        import pyarrow.compute as pc

        cells = self._cells["text", value.name]
        wanted = pa.array([text.encode().strip() for text in texts], cells.type)
        return np.asarray(pc.is_in(cells, value_set=wanted))

    def _there(self, value: Node) -> Mask:
        """Return where a text is there; a constant is."""
        if isinstance(value, Name):
            return self._known(value.name, "text")
        return np.full(self._size, True)

    def _known(self, name: str, kind: str = "number") -> Mask:
        """Return which cells are there; a text of no character is not."""
        if kind == "number" and name in self._declared:
            return np.asarray(~np.isnan(self._as_declared(name)))
        if kind == "number" and ("number", name) in self._cells:
            return np.asarray(~np.isnan(self._cells["number", name]))
        import pyarrow.compute as pc

        cells = self._cells["text", name]
        return np.asarray(pc.fill_null(pc.greater(pc.binary_length(cells), 0), False))

    def _number(self, node: Node) -> Any:
        match node:
            case Number(value):
                return np.float64(value)
            case Name(name) if name in self._declared and _read_as_declared(self._declared[name]):
                return self._as_declared(name)
            case Name(name):
                return self._cells["number", name]
            case Calculated(operation, left, right):
                return _CALCULATE[operation](self._number(left), self._number(right))
        raise AssertionError(node)

    def _as_declared(self, name: str) -> Floats:
        numbers, texts = (self._cells.get((kind, name)) for kind in ("number", "text"))
        return self._declared[name].floats(numbers, texts)


def _read_as_declared(declared: Declared, kind: str | None = "number") -> bool:
    """Tell columns whose numbers are what is declared; levels are compared as they are."""
    return kind is None or not isinstance(declared, Category)
