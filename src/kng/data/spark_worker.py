"""What runs in Spark's Python workers: batches become cells, and a task sums them up.

Only whole states leave a worker, each with the number of the task that it comes from, the number
of records it saw and a mark of them. Equal marks mean equal records, in whatever order, batches
and partitions: the driver compares them from pass to pass.
"""

from __future__ import annotations

import functools
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from kng.core.compiled import load_when_called
from kng.core.encoding import BATCH_RECORDS
from kng.core.errors import private_zone
from kng.core.records import Kernel, State
from kng.core.version import __version__
from kng.data.arrow import block_of
from kng.data.engine import Asked, Block, Blocks, Result

Batches = Iterable[pa.RecordBatch]

# A state as it travels: in pieces, because a cell of Spark holds less than 2 GB.
STATES = "share int, piece int, pieces int, records long, mark long, state binary"
STORED = "records long, mark long, cells binary"
_PIECE = 2**24
_MODULUS = 2**64
# Odd, so that multiplying loses nothing; the digits are those of the golden ratio and of pi.
_STEP, _LAST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x243F6A8885A308D3)
_SHIFT, _ABSENT = np.uint64(32), np.uint64(2**63)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one task of Spark found: a pickled state, over so many records of this mark."""

    share: int
    records: int
    mark: int
    state: bytes


@dataclass(frozen=True, slots=True)
class Store:
    """Make rows of records that later passes read faster than the table's own cells."""

    places: Asked

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield a row for each batch, or for each part of a long one."""
        begin()
        for batch in batches:
            for at in range(0, batch.num_rows, BATCH_RECORDS):
                # What fails says nothing, because Spark would log it.
                with private_zone():
                    block = block_of(batch.slice(at, BATCH_RECORDS), self.places)
                    row = [len(block)], [_signed(mark_of(block))], [_packed(block)]
                    stored = pa.record_batch([pa.array(column) for column in row], list("abc"))
                yield stored


@dataclass(frozen=True, slots=True)
class Share(Generic[Result]):
    """Run a task over stored records, whose first columns are so many numbers."""

    numbers: int
    picked: Asked
    task: Callable[[Blocks], Result]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield one state."""
        begin()
        with private_zone():
            witness = _Witness()
            blocks = witness.passed(_unpacked(batches, self.numbers))
            state = self.task(_picked(block, self.picked) for block in blocks)
            found = Answer(_task(), witness.records, witness.mark, pickle.dumps(state, 5))
        yield from _rows(found)


@dataclass(frozen=True, slots=True)
class Merge(Generic[State]):
    """Merge the states of several tasks, so that the driver need not."""

    kernel: Kernel[State]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield one state, or none where none came."""
        begin()
        with private_zone():
            answers = answers_of(batches)
            states = (pickle.loads(answer.state) for answer in answers)
            state = functools.reduce(self.kernel.merge, states, self.kernel.zero())
            records, mark = seen(answers)
            found = Answer(_task(), records, mark, pickle.dumps(state, 5))
        if answers:
            yield from _rows(found)


@dataclass(frozen=True, slots=True)
class Installed:
    """Say which version of the package a worker has."""

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the version."""
        begin()
        for _ in batches:
            pass
        yield pa.record_batch([pa.array([__version__])], ["version"])


class _Witness:
    """Counts and marks records that pass by."""

    def __init__(self) -> None:
        self.records, self.mark = 0, 0

    def passed(self, stored: Iterable[tuple[Block, int]]) -> Blocks:
        """Yield the records."""
        for block, mark in stored:
            self.records += len(block)
            self.mark = (self.mark + mark) % _MODULUS
            yield block


def _picked(block: Block, asked: Asked) -> Block:
    numbers = [block.numbers[at] for at in asked.numbers]
    return Block(numbers, [block.texts[at] for at in asked.texts])


def begin() -> None:
    """Be a process that only runs kernels."""
    load_when_called()


def mark_of(block: Block) -> int:
    """Return the sum over records of a hash of each, so that their order does not matter."""
    mixed = np.zeros(len(block), dtype=np.uint64)
    words = [column[:, 0].view(np.uint64) for column in block.numbers]
    for word in [*words, *(_hashed(column) for column in block.texts)]:
        mixed ^= word
        mixed *= _STEP
        mixed ^= mixed >> _SHIFT
    mixed *= _LAST
    mixed ^= mixed >> _SHIFT
    return int(np.add.reduce(mixed))


def _hashed(texts: pa.BinaryArray) -> Any:
    """Return a number for each text; there are few different ones."""
    coded = texts.dictionary_encode()
    words = [_ABSENT, *(zlib.crc32(text) for text in coded.dictionary.to_pylist())]
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return np.array(words, dtype=np.uint64)[codes + 1]


def _packed(block: Block) -> bytes:
    columns = [pa.array(column[:, 0]) for column in block.numbers] + list(block.texts)
    batch = pa.record_batch(columns, [str(at) for at in range(len(columns))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(memoryview(sink.getvalue()))


def _unpacked(batches: Batches, numbers: int) -> Iterator[tuple[Block, int]]:
    """Yield the records of stored rows, and the marks that stand beside them."""
    for batch in batches:
        _, marks, packed = batch.columns
        for mark, cells in zip(marks.to_pylist(), packed, strict=True):
            columns = pa.ipc.open_stream(cells.as_buffer()).read_next_batch().columns
            tables = [column.to_numpy().reshape(-1, 1) for column in columns[:numbers]]
            yield Block(tables, columns[numbers:]), mark


def _rows(answer: Answer) -> Iterator[pa.RecordBatch]:
    """Yield a state in pieces."""
    cuts = range(0, max(1, len(answer.state)), _PIECE)
    for piece, at in enumerate(cuts):
        row = (answer.share, piece, len(cuts), answer.records, _signed(answer.mark))
        kinds = (pa.int32(), pa.int32(), pa.int32(), pa.int64(), pa.int64())
        columns = [pa.array([value], kind) for value, kind in zip(row, kinds, strict=True)]
        columns.append(pa.array([answer.state[at : at + _PIECE]], pa.binary()))
        yield pa.record_batch(columns, list("abcdef"))


def answers_of(batches: Batches) -> list[Answer]:
    """Put states together from their pieces, in the order of their tasks.

    A task that Spark runs twice counts once. It sees to that; here it would be found.
    """
    rows = [row for batch in batches for row in zip(*map(pa.Array.to_pylist, batch), strict=True)]
    rows.sort(key=lambda row: row[:2])
    answers = []
    for share in dict.fromkeys(row[0] for row in rows):
        own = [row for row in rows if row[0] == share]
        _, _, pieces, records, mark, _ = own[0]
        if [row[1] for row in own] != list(range(pieces)):
            raise ValueError("Spark has lost or repeated a part of a result.")
        state = b"".join(row[5] for row in own)
        answers.append(Answer(share, records, mark % _MODULUS, state))
    return answers


def seen(answers: Iterable[Answer]) -> tuple[int, int]:
    """Return the number of records of all tasks, and their mark."""
    answers = list(answers)
    records = sum(answer.records for answer in answers)
    return records, sum(answer.mark for answer in answers) % _MODULUS


def _signed(mark: int) -> int:
    """Return a mark as Spark's long holds it."""
    return mark - _MODULUS if mark >= _MODULUS // 2 else mark


def _task() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())
