"""What runs where the records are: cells become whole numbers, and a kernel sums them up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic

import numpy as np

from kng.core.encoding import BATCH_RECORDS, Encoding
from kng.core.records import Integers, Kernel, Rows, Selection, State
from kng.data.engine import Blocks
from kng.data.ingest import Ingest, prepare
from kng.data.recipe import Recipe


@dataclass(frozen=True, slots=True)
class Work(Generic[State]):
    """A kernel over the records that a recipe makes of cells; picklable, so that it can travel.

    ``keep`` is told every batch, in this process only.
    """

    recipe: Recipe
    encoding: Encoding
    kernel: Kernel[State]
    keep: Callable[[Integers], None] | None = None

    def __call__(self, blocks: Blocks) -> State:
        """Run over blocks of cells."""
        prepare(self.encoding)  # done already, unless this is another process
        return self.over(self._kept(integers(blocks, self.recipe, self.encoding)))

    def over(self, batches: Iterator[Integers]) -> State:
        """Run over batches of whole numbers."""
        state = self.kernel.zero()
        # Threads and other processes do not inherit the silence about floating-point faults.
        with np.errstate(all="ignore"):
            for batch in batches:
                state = self.kernel.merge(state, self.kernel.partial(batch))
        return state

    def _kept(self, batches: Iterator[Integers]) -> Iterator[Integers]:
        for batch in batches:
            if self.keep is not None:
                self.keep(batch)
            yield batch


def integers(blocks: Blocks, recipe: Recipe, encoding: Encoding) -> Iterator[Integers]:
    """Yield records as whole numbers; a batch lives until the next one.

    The wider the table the fewer its rows: about a megabyte, which stays in the cache.
    """
    ingest, size = Ingest(encoding), max(1, BATCH_RECORDS // len(encoding))
    for block in blocks:
        for at in range(0, len(block), size):
            part = block if len(block) <= size else block.part(at, at + size)
            yield ingest(*recipe.tables(part))


@dataclass(frozen=True, slots=True)
class Gathered:
    """Bring home the rows that a selection makes of batches."""

    selection: Selection
    width: int

    def zero(self) -> list[Rows]:
        """No records."""
        return [self.selection.select(np.empty((0, self.width)))]

    def partial(self, batch: Integers) -> list[Rows]:
        """Select from one batch; a view of it would be overwritten by the next one."""
        rows = self.selection.select(batch)
        return [rows.copy() if np.may_share_memory(rows, batch) else rows]

    def merge(self, left: list[Rows], right: list[Rows]) -> list[Rows]:
        """Return the rows of both; the left ones are given up."""
        left.extend(rows for rows in right if len(rows))
        return left
