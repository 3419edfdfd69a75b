"""Records in declared groups: one pass serves all of them.

Sums are kept group by group while records stream past. What looks at records again and again gets
the rows of its group from memory, where all groups are put by one pass; if they do not fit, each
group reads the table by itself. Nothing depends on whether they fit but the time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kng.core.encoding import BATCH_RECORDS, Encoding
from kng.core.parts import Point
from kng.core.privacy import Assumption
from kng.core.promise import Promise
from kng.core.records import USUAL_MEMORY, Integers, Kernel, Rows, Selection, State
from kng.core.row_order import in_order
from kng.data.declared_name import declared_name
from kng.data.engine import Blocks, Engine
from kng.data.ingest import Ingest, prepare
from kng.data.recipe import Recipe, load
from kng.data.source import known, promise_of
from kng.data.work import Gathered

Codes = NDArray[np.intp]
# Longer whole numbers are added in two halves.
_LOW_BITS = 2**30
# Bytes for one number of one record: as it is kept, as it is split, and its group.
_EACH, _CODE = 16, 24

T = TypeVar("T")


class GroupKernel(Protocol[T]):
    """A mergeable computation on records and their groups; picklable."""

    def zero(self) -> T:
        """State of no records."""
        ...

    def partial(self, batch: Integers, codes: Codes) -> T:
        """State of one batch."""
        ...

    def merge(self, left: T, right: T) -> T:
        """State of both together."""
        ...


@dataclass(frozen=True, slots=True)
class GroupWork(Generic[T]):
    """A kernel over records and their groups; picklable, so that it can travel."""

    recipe: Recipe
    encoding: Encoding
    kernel: GroupKernel[T]

    def __call__(self, blocks: Blocks) -> T:
        """Run over blocks of cells; the last table of the recipe is the codes of groups."""
        prepare(self.encoding)  # done already, unless this is another process
        state, ingest = self.kernel.zero(), Ingest(self.encoding)
        size = max(1, BATCH_RECORDS // (len(self.encoding) + 1))
        # Threads and other processes do not inherit the silence about floating-point faults.
        with np.errstate(all="ignore"):
            for block in blocks:
                for at in range(0, len(block), size):
                    part = block if len(block) <= size else block.part(at, at + size)
                    *tables, codes = self.recipe.tables(part)
                    batch, groups = ingest(*tables), codes[:, 0].astype(np.intp)
                    if ingest.present is not None:
                        groups = groups.compress(ingest.present)
                    state = self.kernel.merge(state, self.kernel.partial(batch, groups))
        return state


# The number of records in each group, and the sums of each column, group by group.
Totals = tuple[NDArray[np.int64], list[list[int]]]


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Number of records and exact column sums of each group; ``last`` bounds the records."""

    last: Point
    groups: int

    def zero(self) -> Totals:
        """No records."""
        return np.zeros(self.groups, dtype=np.int64), [[0] * self.groups for _ in self.last]

    def partial(self, batch: Integers, codes: Codes) -> Totals:
        """Sum one batch in float64, which is exact below 2**53.

        2**17 numbers of 2**44 are longer; their halves, of 30 and 14 bits, are not.
        """
        counts = np.bincount(codes, minlength=self.groups + 1)[: self.groups]
        sums = []
        for column, last in zip(batch.T, self.last, strict=True):
            if len(batch) * last < 2**53:
                sums.append(self._added(codes, column))
                continue
            high = np.floor(column / _LOW_BITS)
            low = self._added(codes, column - high * _LOW_BITS)
            sums.append(
                [h * _LOW_BITS + k for h, k in zip(self._added(codes, high), low, strict=True)]
            )
        return counts, sums

    def merge(self, left: Totals, right: Totals) -> Totals:
        """Add as Python integers, which cannot overflow."""
        pairs = zip(left[1], right[1], strict=True)
        sums = [[a + b for a, b in zip(one, other, strict=True)] for one, other in pairs]
        return left[0] + right[0], sums

    def _added(self, codes: Codes, numbers: NDArray[np.float64]) -> list[int]:
        added = np.bincount(codes, weights=numbers, minlength=self.groups + 1)
        return [int(total) for total in added[: self.groups].tolist()]


# Rows of each group, in pieces; None once they are too many to keep.
Split = tuple[list[list[Rows]], int] | None


@dataclass(frozen=True, slots=True)
class SplitRows:
    """The rows of each group, as long as there are at most ``most`` in all of them."""

    groups: int
    most: int

    def zero(self) -> Split:
        """No records."""
        return [[] for _ in range(self.groups)], 0

    def partial(self, batch: Integers, codes: Codes) -> Split:
        """Put one batch in the order of its groups, and cut it."""
        order = np.argsort(codes.astype(np.uint16), kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=self.groups + 1))
        # Columns one after the other, as in the batch.
        rows = batch.T[:, order[: ends[-2]]].T
        starts = [0, *ends[:-2].tolist()]
        cut = zip(starts, ends[:-1].tolist(), strict=True)
        return [[rows[a:b]] if b > a else [] for a, b in cut], len(rows)

    def merge(self, left: Split, right: Split) -> Split:
        """Return the rows of both; the left ones are given up."""
        if left is None or right is None or left[1] + right[1] > self.most:
            return None
        for mine, other in zip(left[0], right[0], strict=True):
            mine.extend(other)
        return left[0], left[1] + right[1]


@dataclass(frozen=True, slots=True)
class OfGroup(Generic[State]):
    """A kernel of one group's records."""

    kernel: Kernel[State]
    at: int

    def zero(self) -> State:
        """No records."""
        return self.kernel.zero()

    def partial(self, batch: Integers, codes: Codes) -> State:
        """State of those records of a batch that are in the group."""
        return self.kernel.partial(batch.T[:, codes == self.at].T)

    def merge(self, left: State, right: State) -> State:
        """State of both together."""
        return self.kernel.merge(left, right)


class GroupedTable:
    """Records of a table in groups; a record that is in none of them is absent.

    Opening it has checked the columns; no record has been looked at.
    """

    presence: Literal["optional"] = "optional"

    def __init__(self, engine: Engine, recipe: Recipe, encoding: Encoding, groups: int) -> None:
        self.memory: int = getattr(engine, "memory", USUAL_MEMORY)  # a caller's may state none
        encoding = known(encoding, recipe.optional(engine.columns()))
        self._engine, self._recipe, self._encoding = engine, recipe, encoding
        self._groups = groups
        self._totals: Totals | None = None
        self._split: Split = None
        self._tried = False
        prepare(encoding)
        engine.prepare(recipe.asked)
        load(recipe)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the caller has stated of the table."""
        return self._engine.assumptions

    @property
    def promise(self) -> Promise | None:
        """What the table's holder has declared for every release from it."""
        return promise_of(self._engine)

    @property
    def rows_per_record(self) -> int | None:
        """How many rows of a query one record adds or removes; None if rows are records."""
        return self._engine.rows_per_record

    @property
    def dataset(self) -> str | None:
        """A fingerprint of the declared table; asked for where a ledger books a release."""
        from kng.data.fingerprint import dataset_of

        return dataset_of(self._engine)

    @property
    def declared(self) -> str | None:
        """What the caller has called the table."""
        return declared_name(self._engine)

    def count(self) -> int:
        """Return the number of records of the table; forbidden before the charge if private."""
        return self._engine.count()

    def prepare_sums(self, records: int) -> None:
        """Need nothing: NumPy sums groups."""

    def close(self) -> None:
        """Let go of the table."""
        self._engine.close()

    def group(self, at: int) -> GroupRows:
        """Return the records of one group."""
        return GroupRows(self, at)

    def sums(self, at: int) -> tuple[int, Point]:
        """Return the number of records of a group and the exact sum of each column."""
        if self._totals is None:
            self._totals = self._run(GroupSums(self._encoding.last, self._groups))
        counts, sums = self._totals
        return int(counts[at]), tuple(each[at] for each in sums)

    def reduce(self, kernel: Kernel[State], at: int) -> State:
        """Run a kernel over the records of a group."""
        if not self._tried:
            width = len(self._encoding)
            most = self.memory // (_EACH * width + _CODE)
            self._split, self._tried = self._run(SplitRows(self._groups, most)), True
        if self._split is None:
            return self._run(OfGroup(kernel, at))
        state = kernel.zero()
        with np.errstate(all="ignore"):
            for batch in _batches(self._split[0][at], len(self._encoding)):
                state = kernel.merge(state, kernel.partial(batch))
        return state

    def collect(self, selection: Selection, at: int) -> Rows:
        """Bring home the selected rows of a group, in an order of their own."""
        return in_order(np.concatenate(self.reduce(Gathered(selection, len(self._encoding)), at)))

    def _run(self, kernel: GroupKernel[T]) -> T:
        work = GroupWork(self._recipe, self._encoding, kernel)
        states = self._engine.run(self._recipe.asked, work)
        return functools.reduce(kernel.merge, states, kernel.zero())


def _batches(pieces: Sequence[Rows], width: int) -> Iterator[Integers]:
    """Yield the rows in batches that are long, but not longer than sums in int64 allow."""
    size, rows = max(1, BATCH_RECORDS // width), 0
    waiting: list[Rows] = []
    for piece in pieces:
        if waiting and rows + len(piece) > size:
            yield _joined(waiting)
            waiting, rows = [], 0
        waiting.append(piece)
        rows += len(piece)
    if waiting:
        yield _joined(waiting)


def _joined(pieces: Sequence[Rows]) -> Integers:
    """Return rows one after the other, column after column in memory."""
    return pieces[0] if len(pieces) == 1 else np.concatenate([rows.T for rows in pieces], axis=1).T


class GroupRows:
    """The records of one group."""

    __slots__ = ("_at", "_table", "memory")

    def __init__(self, table: GroupedTable, at: int) -> None:
        self._table, self._at = table, at
        self.memory = table.memory

    presence: Literal["optional"] = "optional"

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the caller has stated of the table."""
        return self._table.assumptions

    @property
    def promise(self) -> Promise | None:
        """What the table's holder has declared for every release from it."""
        return self._table.promise

    @property
    def rows_per_record(self) -> int | None:
        """How many rows of a query one record adds or removes; None if rows are records."""
        return self._table.rows_per_record

    @property
    def dataset(self) -> str | None:
        """The fingerprint of the whole table."""
        return self._table.dataset

    @property
    def declared(self) -> str | None:
        """What the caller has called the whole table."""
        return self._table.declared

    def count(self) -> int:
        """Return the number of records of the whole table; that of a group is private."""
        return self._table.count()

    def prepare_sums(self, records: int) -> None:
        """Need nothing."""

    def close(self) -> None:
        """Leave the table open for other groups."""

    def sums(self) -> tuple[int, Point]:
        """Return the number of records and the exact sum of each column."""
        return self._table.sums(self._at)

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over the records of the group."""
        return self._table.reduce(kernel, self._at)

    def collect(self, selection: Selection) -> Rows:
        """Bring home the selected rows of the group, in an order of their own."""
        return self._table.collect(selection, self._at)
