"""At most so many records of each person: a table that shows no more of anybody.

Which of a person's records are shown depends on that person's id and records alone, never on where
they stand in the table or on anybody else. So if one person's records change, however many they
are, at most ``most`` shown records are lost and as many are new. Records without an id are absent.

    shown = the records with the ``most`` smallest  hash( id, cells )  of each person

Equal records are interchangeable. The hash is fixed, so a table shows the same records every time.
Proof: docs/proofs/lemmas/people.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.encoding import BATCH_RECORDS
from kng.core.errors import IncompatibleParts, SchemaError
from kng.core.naming import argument, keyword
from kng.core.privacy import Assumption
from kng.data.engine import Asked, Block, Blocks, Column, Engine, Floats, Kind, LocalEngine
from kng.data.recipe import nothing
from kng.data.where.filter import Filter

if TYPE_CHECKING:
    import pyarrow as pa

Words = NDArray[np.uint64]
# Whole numbers from here on can be the same float64 though they differ.
_EXACT = 2.0**53
_BYTES = 8
_READS: dict[Kind, Literal["number", "text", "either"]] = {
    Kind.NUMBER: "number",
    Kind.TEXT: "text",
    Kind.CELLS: "either",
}
# The numbers of SplitMix64.
_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


@dataclass(frozen=True, slots=True)
class Person:
    """Who a record is about: the column with the ids, and how many records of each are shown."""

    position: int
    reads: Literal["number", "text", "either"]
    most: int

    @classmethod
    def of(cls, name: str, most: int, columns: Sequence[Column], called: str) -> Person:
        """Find the column of ids among those of a table; reads no record."""
        known = [column.name for column in columns]
        if known.count(name) != 1:
            found = "no column" if name not in known else "two columns"
            has = "have" if called == "the data" else "has"
            raise SchemaError(
                f"{argument('person', name)}: {called} {has} {found} of this name, among "
                f"{', '.join(repr(each) for each in known[:20])}."
            )
        column = columns[known.index(name)]
        if column.kind not in _READS:
            raise SchemaError(
                f"{argument('person', name)}: the column holds {column.kind.held}. Ids are texts "
                "or whole numbers."
            )
        import pyarrow.compute  # noqa: F401 - loaded before anything is charged

        return cls(known.index(name), _READS[column.kind], most)


class PeopleEngine(LocalEngine):
    """Another engine's table, with at most so many records of each person.

    All records come into memory once, when the first of them is asked for. ``condition`` is looked
    at before, so that records for which it does not hold take nobody's place.
    """

    room = 0
    rows_per_record = None

    def __init__(self, engine: Engine, person: Person, condition: Filter | None) -> None:
        if engine.rows_per_record is not None:
            raise SchemaError(
                f"{keyword('person')} limits the records of a table, and this is a query that can "
                "drop or multiply rows. Give the table itself, and a condition by "
                f"{keyword('where')}."
            )
        self.called, self.memory = engine.called, engine.memory
        self.assumptions: tuple[Assumption, ...] = engine.assumptions
        # The same dataset as without person=, to ledgers too; an engine of others says nothing.
        self.origin = getattr(engine, "origin", None)
        self.promise = getattr(engine, "promise", None)
        self.stated = getattr(engine, "stated", {})
        self._engine, self._person, self._condition = engine, person, condition
        self._wanted = Asked(())
        self._shown: Cells | None = None

    def columns(self) -> tuple[Column, ...]:
        """Return what is public of the columns."""
        return self._engine.columns()

    def advice(self, wanted: Sequence[str]) -> str:
        """Return what the table's own engine says."""
        return self._engine.advice(wanted)

    def prepare(self, asked: Asked) -> None:
        """Load what reading these columns and the ids needs."""
        numbers = {*self._wanted.numbers, *asked.numbers}
        texts = {*self._wanted.texts, *asked.texts}
        self._wanted = Asked(tuple(sorted(numbers)), tuple(sorted(texts)))
        gather = self._gather
        self._engine.prepare(gather.asked)
        # Nobody's records: Arrow loads more when it is used, and nothing may load after the charge.
        shown(_joined(gather, gather(iter([nothing(gather.asked)]))), self._person.most)

    def count(self) -> int:
        """Refuse: how many records are shown is private."""
        raise IncompatibleParts(f"With {keyword('person')} the number of records is private.")

    def blocks(self, asked: Asked) -> Blocks:
        """Yield the records that are shown."""
        if self._shown is None:
            gathered = list(chain.from_iterable(self._engine.run(self._gather.asked, self._gather)))
            self._shown = shown(_joined(self._gather, gathered), self._person.most)
        cells, size = self._shown, max(1, BATCH_RECORDS // max(1, len(asked.numbers)))
        numbers = [cells.numbers[self._wanted.numbers.index(at)] for at in asked.numbers]
        texts = [cells.texts[self._wanted.texts.index(at)] for at in asked.texts]
        for at in range(0, len(cells), size):
            yield Block(
                [column[at : at + size].reshape(-1, 1) for column in numbers],
                [column.slice(at, size) for column in texts],
            )

    def close(self) -> None:
        """Let go of the records and of the table."""
        self._shown = None
        self._engine.close()

    @property
    def _gather(self) -> Gather:
        return Gather(self._wanted, self._person, self._condition)


@dataclass(frozen=True, slots=True)
class Cells:
    """Columns of records in memory, and behind them their ids: as numbers, as texts, or as both."""

    numbers: list[Floats]
    texts: list[pa.Array]
    ids: tuple[Floats | None, pa.Array | None]

    def __len__(self) -> int:
        return next(len(ids) for ids in self.ids if ids is not None)


@dataclass(frozen=True, slots=True)
class Gather:
    """Brings the columns that are wanted home, with ids; picklable, so that it can travel."""

    wanted: Asked
    person: Person
    condition: Filter | None

    @property
    def asked(self) -> Asked:
        """What is wanted, then the ids, then what the condition reads."""
        at, condition = self.person.position, self.condition
        numbers = [*self.wanted.numbers, *[at][: self.person.reads != "text"]]
        texts = [*self.wanted.texts, *[at][: self.person.reads != "number"]]
        if condition is not None:
            numbers += condition.numbers.values()
            texts += condition.texts.values()
        return Asked(tuple(numbers), tuple(texts))

    def __call__(self, blocks: Blocks) -> list[Cells]:
        """Return the records of some blocks for which the condition holds."""
        return [self._cells(block) for block in blocks]

    def _cells(self, block: Block) -> Cells:
        import pyarrow as pa

        columns = [column for table in block.numbers for column in table.T]
        texts = [column.cast(pa.large_binary()) for column in block.texts]
        n, m = len(self.wanted.numbers), len(self.wanted.texts)
        number = columns[n].copy() if self.person.reads != "text" else None
        text = texts[m] if self.person.reads != "number" else None
        if self.condition is None:
            return Cells([column.copy() for column in columns[:n]], texts[:m], (number, text))
        k, j = n + (number is not None), m + (text is not None)
        with np.errstate(all="ignore"):
            kept = self.condition.holds(columns[k:], block.texts[j:])
        mask = pa.array(kept)
        return Cells(
            [column[kept] for column in columns[:n]],
            [column.filter(mask) for column in texts[:m]],
            (None if number is None else number[kept], None if text is None else text.filter(mask)),
        )


def _joined(gather: Gather, parts: Sequence[Cells]) -> Cells:
    """Return the records of all parts, one after the other."""
    import pyarrow as pa

    none = np.empty(0)
    nothing = pa.array([], pa.large_binary())
    columns = [
        np.concatenate([none, *(part.numbers[j] for part in parts)])
        for j in range(len(gather.wanted.numbers))
    ]
    texts = [
        pa.concat_arrays([nothing, *(part.texts[j] for part in parts)])
        for j in range(len(gather.wanted.texts))
    ]
    number, text = None, None
    if gather.person.reads != "text":
        number = np.concatenate([none, *(part.ids[0] for part in parts if part.ids[0] is not None)])
    if gather.person.reads != "number":
        text = pa.concat_arrays(
            [nothing, *(part.ids[1] for part in parts if part.ids[1] is not None)]
        )
    return Cells(columns, texts, (number, text))


def shown(cells: Cells, most: int) -> Cells:
    """Return at most so many records of each person, chosen by the hash of id and cells."""
    codes, words = _people(cells)
    for column in cells.numbers:
        words = _mixed(words ^ column.view(np.uint64))
    for column in cells.texts:
        words = _mixed(words ^ _hashes(column))
    there = np.flatnonzero(codes >= 0)
    order = there[np.lexsort((words[there], codes[there]))]
    ranked = codes[order]
    first = np.flatnonzero(np.diff(ranked, prepend=-1))
    sizes = np.diff(first, append=len(ranked))
    rank = np.arange(len(ranked)) - np.repeat(first, sizes)
    kept = np.sort(order[rank < most])
    number, text = cells.ids
    return Cells(
        [column[kept] for column in cells.numbers],
        [column.take(kept) for column in cells.texts],
        (None if number is None else number[kept], None if text is None else text.take(kept)),
    )


def _people(cells: Cells) -> tuple[NDArray[np.int64], Words]:
    """Return whose each record is, -1 for nobody's, and a hash of the id.

    Codes are where ids stand among all of them, so they only tell people apart; the hash is of the
    id alone.
    """
    size = len(cells)
    codes, words = np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.uint64)
    number, text = cells.ids
    if number is not None:
        number = number + 0.0  # -0 is 0
        with np.errstate(all="ignore"):
            there = (np.abs(number) < _EXACT) & (number == np.rint(number))
        known, codes[there] = np.unique(number[there], return_inverse=True)
        words[there] = _mixed(number[there].view(np.uint64))
        further = len(known)
    else:
        further = 0
    if text is not None:
        index, hashes = _coded(text)
        there = index >= 0
        codes[there] = further + index[there]
        words[there] = hashes[index[there]]
    return codes, words


def _hashes(column: pa.Array) -> Words:
    """Return a hash of each text; one number for those that are missing."""
    index, hashes = _coded(column)
    return np.append(hashes, _STEP)[index]


def _coded(column: pa.Array) -> tuple[NDArray[np.int64], Words]:
    """Return where each text stands among the different ones, -1 if missing, and their hashes."""
    import pyarrow.compute as pc

    # A text of no character is missing.
    column = pc.if_else(pc.greater(pc.binary_length(column), 0), column, None)
    coded = column.dictionary_encode()
    index = coded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
    digests = b"".join(
        blake2b(value, digest_size=_BYTES).digest() for value in coded.dictionary.to_pylist()
    )
    return index, np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def _mixed(words: Words) -> Words:
    """Return numbers whose bits all depend on all bits of the given ones (SplitMix64)."""
    words = words + _STEP
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))
