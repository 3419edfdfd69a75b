"""Records behind a public encoding, from a table of any engine.

Kernels are exact and order-free, so neither blocks nor shares nor engines change a bit of a result.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kng.core.encoding import Encoding
from kng.core.parts import Point
from kng.core.privacy import Assumption
from kng.core.promise import Promise
from kng.core.records import USUAL_MEMORY, Kernel, Rows, Selection, State
from kng.core.row_order import in_order
from kng.data.declared_name import declared_name
from kng.data.engine import Engine, WholeColumns
from kng.data.ingest import prepare
from kng.data.kept import Kept
from kng.data.recipe import Filtered, Plain, Recipe, load
from kng.data.sums import MANY, ColumnSum, Sums
from kng.data.work import Gathered, Work


class TableSource:
    """Records of a table as whole numbers.

    Opening it has checked the columns; no record has been looked at.
    """

    def __init__(self, engine: Engine, recipe: Recipe, encoding: Encoding) -> None:
        self.memory: int = getattr(engine, "memory", USUAL_MEMORY)  # a caller's may state none
        stated, encoding = encoding, known(encoding, recipe.optional(engine.columns()))
        self._engine, self._recipe, self._encoding = engine, recipe, encoding
        self._typed = bool(stated.complete) and self.presence == "always"
        self._column_sum: ColumnSum | None = None
        self._kept = Kept(encoding, engine.room)
        prepare(encoding)
        engine.prepare(recipe.asked)
        load(recipe)

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the caller has stated of the table; types may have said that nothing is missing."""
        schema = (Assumption.PUBLIC_SCHEMA,) if self._typed else ()
        return tuple(dict.fromkeys((*self._engine.assumptions, *schema)))

    @property
    def rows_per_record(self) -> int | None:
        """How many rows of a query one record adds or removes; None if rows are records."""
        return self._engine.rows_per_record

    @property
    def promise(self) -> Promise | None:
        """What the table's holder has declared for every release from it."""
        return promise_of(self._engine)

    @property
    def presence(self) -> Literal["always", "optional"]:
        """Whether a record may be absent: one that fails a condition is, or lacks a cell."""
        absent = self._encoding.complete or isinstance(self._recipe, Filtered)
        return "optional" if absent else "always"

    @property
    def dataset(self) -> str | None:
        """A fingerprint of the declared table; asked for where a ledger books a release."""
        # Imported here: a release without a ledger does not need it.
        from kng.data.fingerprint import dataset_of

        return dataset_of(self._engine)

    @property
    def declared(self) -> str | None:
        """What the caller has called the table."""
        return declared_name(self._engine)

    def count(self) -> int:
        """Return the number of records; forbidden before the charge under add-remove."""
        return self._engine.count()

    def reduce(self, kernel: Kernel[State]) -> State:
        """Run a kernel over all records."""
        kept = self._kept
        if kept.whole:
            return Work(self._recipe, self._encoding, kernel).over(kept.batches())
        work = Work(self._recipe, self._encoding, kernel, kept.keeper())
        states = self._engine.run(self._recipe.asked, work)
        state = functools.reduce(kernel.merge, states, kernel.zero())
        kept.finish()
        return state

    def collect(self, selection: Selection) -> Rows:
        """Bring home the selected rows, in an order of their own."""
        gathered = self.reduce(Gathered(selection, len(self._encoding)))
        return in_order(np.concatenate(gathered))

    def prepare_sums(self, records: int) -> None:
        """Load a compiled sum for many numbers in one array."""
        whole = self._whole() if records >= MANY else None
        if whole is not None:
            self._column_sum = ColumnSum(self._encoding, whole.dtype)

    def sums(self) -> tuple[int, Point]:
        """Return the number of records and the exact sum of each column."""
        whole = None if self._column_sum is None else self._whole()
        if self._column_sum is None or whole is None:
            return self.reduce(Sums(self._encoding.last))
        return self._column_sum(whole)

    def close(self) -> None:
        """Let go of the table."""
        self._engine.close()

    def _whole(self) -> NDArray[Any] | None:
        """Return the one column that is asked for, if the engine has it as an array of numbers."""
        engine, recipe = self._engine, self._recipe
        if len(self._encoding) > 1 or not isinstance(recipe, Plain):
            return None
        return engine.whole(recipe.positions[0]) if isinstance(engine, WholeColumns) else None


def known(encoding: Encoding, optional: Sequence[bool]) -> Encoding:
    """Return the encoding without absence for columns in which no cell can be missing."""
    for column, can_be_missing in enumerate(optional):
        if not can_be_missing:
            encoding = encoding.always(column)
    return encoding


def promise_of(engine: Engine) -> Promise | None:
    """Return what is declared for every release from a table; an engine of others declares none."""
    return getattr(engine, "promise", None)
