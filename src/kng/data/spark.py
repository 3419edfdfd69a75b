"""Spark frames: kernels run in the workers, and the driver sees merged whole numbers.

**One snapshot.** The columns that a release reads are stored in the memory of the executors when
the records are counted or first summed up, and every pass reads them from there, at a third of the
cost of reading them anew. Nothing is stored on disk: a partition that does not fit into memory, or
whose executor is lost, is read from the table again. Whether it is still the same is not left to
chance. Every pass counts and marks the records that it saw (`kng.data.spark_worker`), and a pass
that saw others than the first one fails the release: nothing is ever summed up from two versions of
a table.

**Once.** Spark runs a task again that fails, and some twice at the same time. It hands the driver
one result for each task; results carry the number of theirs, and that none is missing or twice is
checked as well: by the number of records, which is the same in all passes.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from kng.core.errors import KngError, MissingExtra, SchemaError
from kng.core.privacy import Assumption
from kng.core.version import __version__
from kng.data.engine import Asked, Blocks, Column, Kind, Result
from kng.data.spark_plan import plan_of
from kng.data.spark_worker import (
    STATES,
    STORED,
    Installed,
    Merge,
    Share,
    Store,
    answers_of,
    seen,
)
from kng.data.sql.stated_rows import rows_per_record
from kng.data.table import Table
from kng.data.work import Work

# Tasks of a pass for each core, as some are slower than others; and partitions that are stored, few
# because each costs a call of a worker, and not too few because each has to fit into memory.
_PER_CORE, _STORED_PER_CORE = 3, 8
# From here on states are merged in the workers first, by so many tasks.
_STATES, _MERGERS = 256, 64
# Workers that are asked whether they can run kernels.
_PROBES = 64
# Applications whose workers have been asked.
_ABLE: set[str] = set()
_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double"), Kind.NUMBER),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), Kind.DATE),
    **dict.fromkeys(("string", "char", "varchar", "binary"), Kind.TEXT),
    "decimal": Kind.NUMBER,
    "boolean": Kind.BOOLEAN,
    "void": Kind.CELLS,
}


class ChangedTable(KngError):  # noqa: N818 - what it says, not what it is
    """A table was written to while it was read."""


@dataclass(frozen=True, slots=True)
class _Nothing:
    """Look at all records and keep nothing."""

    def __call__(self, blocks: Blocks) -> None:
        for _ in blocks:
            pass


class SparkEngine:
    """A frame of a Spark session on this process's own driver."""

    called = "the data"
    room = 0  # nothing comes into this process that could be kept

    def __init__(self, frame: Any, rows_per_record: int | None = None) -> None:
        self.rows_per_record = rows_per_record
        self.assumptions = () if rows_per_record is None else (Assumption.ROWS_PER_RECORD,)
        self._frame, self._wanted = frame, Asked(())
        self._context = frame.sparkSession.sparkContext
        self._records: int | None = None
        self._mark: int | None = None
        self._stored: Any = None
        self._release: Callable[[], Any] = bool  # nothing to let go of

    def columns(self) -> tuple[Column, ...]:
        """Return names and kinds from the schema."""
        return tuple(
            _column(field.name, field.dataType, field.nullable)
            for field in self._frame.schema.fields
        )

    def advice(self, wanted: Sequence[str]) -> str:  # noqa: ARG002
        """Know no more than the names."""
        return ""

    def prepare(self, asked: Asked) -> None:
        """Ask the workers whether they can run kernels, on a frame that holds no record."""
        _refuse_stopped(self._context)
        _refuse_unable(self._frame.sparkSession)
        wanted = Asked(
            tuple(sorted({*self._wanted.numbers, *asked.numbers})),
            tuple(sorted({*self._wanted.texts, *asked.texts})),
        )
        if wanted != self._wanted:  # what was stored lacks a column
            self.close()
            self._wanted, self._mark = wanted, None

    def count(self) -> int:
        """Return the number of records."""
        if self._records is None:
            with _speaking():
                self.run(Asked(()), _Nothing())
        assert self._records is not None  # by the pass
        return self._records

    def run(self, asked: Asked, task: Callable[[Blocks], Result]) -> Sequence[Result]:
        """Run a task in the workers; nothing else comes back but its results."""
        numbers, texts = self._wanted.numbers, self._wanted.texts
        picked = Asked(
            tuple(numbers.index(at) for at in asked.numbers),
            tuple(texts.index(at) for at in asked.texts),
        )
        if self._stored is None:
            self._store()
        cores = int(self._context.defaultParallelism)
        few = self._stored.coalesce(_PER_CORE * cores)
        states = few.mapInArrow(Share(len(numbers), picked, task), STATES)
        if isinstance(task, Work) and _PER_CORE * cores > _STATES:
            merged = states.repartition(_MERGERS, "share")
            states = merged.mapInArrow(Merge(task.kernel), STATES)
        answers = answers_of(states.toArrow().to_batches())
        self._same(*seen(answers))
        return [cast(Result, pickle.loads(answer.state)) for answer in answers]

    def close(self) -> None:
        """Let the executors forget what is stored."""
        self._stored = None
        self._release()

    def _same(self, records: int, mark: int) -> None:
        """Compare what a pass has seen with what the first one saw."""
        if self._records not in (None, records) or self._mark not in (None, mark):
            raise ChangedTable("The table changed while it was read. Copy it, then read the copy.")
        self._records, self._mark = records, mark

    def _store(self) -> None:
        """Let the executors keep what is read, in memory, until this engine is gone."""
        from pyspark import StorageLevel

        few = self._cells().coalesce(_STORED_PER_CORE * int(self._context.defaultParallelism))
        stored = few.mapInArrow(Store(self._places()), STORED)
        self._stored = stored.persist(StorageLevel.MEMORY_ONLY)
        self._release = weakref.finalize(self, _forget, self._stored)

    def _cells(self) -> Any:
        """Return the columns that are read, named by their positions: names may be repeated."""
        width = len(self._frame.schema.fields)
        placed = self._frame.toDF(*(f"c{at}" for at in range(width)))
        return placed.select(*(f"c{at}" for at in self._read()))

    def _read(self) -> list[int]:
        return sorted({*self._wanted.numbers, *self._wanted.texts})

    def _places(self) -> Asked:
        """Return where the columns stand among those that are read."""
        read, wanted = self._read(), self._wanted
        return Asked(tuple(map(read.index, wanted.numbers)), tuple(map(read.index, wanted.texts)))


def _column(name: str, declared: Any, nullable: bool) -> Column:
    """Return what is public of a column; floats can be NaN, which is missing too."""
    words = declared.simpleString()
    return Column(name, _kind(declared), nullable or words in ("float", "double"), words)


def _kind(declared: Any) -> Kind:
    # As in "decimal(20,3)" and "string collate UNICODE".
    name = declared.simpleString().partition("(")[0].partition(" ")[0]
    return _KINDS.get(name, Kind.OTHER)


def _forget(stored: Any) -> None:
    """Unpersist a frame; a session that is gone has forgotten it already."""
    try:
        stored.unpersist()
    except Exception:
        return


@contextmanager
def _speaking() -> Iterator[None]:
    """Replace what Spark says by what is public: that it failed."""
    try:
        yield
    except KngError:
        raise
    except Exception:
        raise SchemaError(
            "Spark could not count the records of the frame. Its own log says why; check that the "
            "files or tables can be read, as with frame.count()."
        ) from None


def _refuse_stopped(context: Any) -> None:
    try:
        gone = context._jsc is None or context._jsc.sc().isStopped()
    except Exception:  # the process behind it has ended
        gone = True
    if gone:
        raise SchemaError(
            "the Spark session of the frame has been stopped. Start one, and read the frame again."
        )


def _refuse_unable(session: Any) -> None:
    """Refuse workers that lack this package, or have another version of it: sums could differ."""
    name = str(session.sparkContext.applicationId)
    if name in _ABLE:
        return
    tasks = min(_PROBES, int(session.sparkContext.defaultParallelism))
    asked = session.range(0, tasks, 1, tasks).mapInArrow(Installed(), "version string")
    try:
        found = asked.toArrow().column(0).to_pylist()
    except Exception as error:
        missing = "No module named" in str(error)
        why = "kng or what it needs is not installed there" if missing else "Spark's log says why"
        raise MissingExtra(
            f"Spark's Python workers cannot run kng: {why}. Install 'kng[spark]' for the Python "
            "that runs on every worker (PYSPARK_PYTHON or spark.pyspark.python)."
        ) from None
    others = {version for version in found if version != __version__}
    if others:
        raise MissingExtra(
            f"Spark's Python workers have kng {min(others)}, and this is kng {__version__}. "
            "Install the same version on all of them."
        )
    _ABLE.add(name)


def open_table(table: Table) -> SparkEngine:
    """Open a frame; its plan is looked at and nothing is run."""
    frame = table.source
    _refuse_others(frame)
    table.refuse("Spark frames", takes=("rows_per_record",))
    _refuse_stopped(frame.sparkSession.sparkContext)
    if frame.isStreaming:
        raise SchemaError(
            "the Spark frame is a stream, which has no end. Give a table that is complete."
        )
    return SparkEngine(frame, rows_per_record(plan_of(frame), table.rows_per_record))


def _refuse_others(frame: Any) -> None:
    """Refuse what comes from Spark and is no frame of a classic session."""
    module, name = type(frame).__module__, type(frame).__name__
    if module.startswith("pyspark.pandas"):
        raise SchemaError(f"a pandas-on-Spark {name} has an index. Give its .to_spark() instead.")
    if module.startswith("pyspark.sql.connect"):
        raise SchemaError(
            "frames of Spark Connect do not show what they compute. Give a frame of a session "
            "that runs in this process, as from SparkSession.builder.master(...)."
        )
    if not hasattr(frame, "_jdf"):
        raise SchemaError(f"Spark's {name} is not a table. Give a data frame.")
    if not hasattr(type(frame), "mapInArrow") or not hasattr(type(frame), "toArrow"):
        raise MissingExtra("this Spark is too old. Install it with: pip install 'kng[spark]'")
