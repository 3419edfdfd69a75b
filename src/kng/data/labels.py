"""Records with a label in place of a response: which declared class it is, or none of them.

    k = position of the label among the classes,     classes -> a label that is none of them

A record whose label is no class, or one of whose covariates is missing, has the last code: it is
absent. Classes are public. A label is looked at by itself, so neighbouring data stay neighbouring.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kng.core.encoding import Encoding
from kng.data.csv import CsvSource
from kng.data.ingest import Floats, Ingest, number
from kng.data.memory import MemorySource
from kng.data.source import Batches


@dataclass(frozen=True, slots=True)
class Labels:
    """The classes, all of them numbers or all of them text, each once."""

    classes: tuple[float, ...] | tuple[str, ...]

    def codes(self, cells: Any) -> Floats:
        """Return the position of each label; that of what is no class is their number."""
        absent = float(len(self.classes))
        if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub":
            numeric = cells.astype(np.float64, copy=False)
            found = np.full(len(cells), absent)
            for code, label in enumerate(self.classes):
                if isinstance(label, float):
                    found[numeric == label] = code
            return found
        known = {label: float(code) for code, label in enumerate(self.classes)}
        read = _text if isinstance(self.classes[0], str) else number
        return np.fromiter((known.get(read(cell), absent) for cell in cells), dtype=np.float64)


def _text(cell: Any) -> str | None:
    """Return a cell that is text, without spaces around it; None for any other."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace").strip()
    return str(cell).strip() if isinstance(cell, str) else None


def _joined(covariates: Sequence[Floats], codes: Floats, absent: int) -> Floats:
    """Return codes as a column; a record with a covariate that is missing is absent."""
    for block in covariates:
        gone = np.isnan(block).any(axis=1)
        codes[gone] = absent
    return codes.reshape(-1, 1)


class LabelledMemory(MemorySource):
    """Covariates and labels in memory."""

    _labels: Labels

    @classmethod
    def of_classes(cls, X: Any, y: Any, encoding: Encoding, labels: Labels) -> LabelledMemory:
        """Open them; checks shapes and reads no record."""
        found = cls.regression(X, y, encoding)
        assert isinstance(found, cls)
        found._labels = labels
        return found

    def _blocks(self, rows: slice) -> list[Floats]:
        *covariates, response = self._parts
        blocks = [part.block(rows) for part in covariates]
        codes = self._labels.codes(response.cells[rows])
        return [*blocks, _joined(blocks, codes, len(self._labels.classes))]


class LabelledCsv(CsvSource):
    """Columns of a CSV file, the last of which is the label."""

    def __init__(
        self, path: str | Path, encoding: Encoding, columns: Sequence[str], labels: Labels
    ) -> None:
        super().__init__(path, encoding, columns)
        self._labels = labels

    def batches(self) -> Batches:
        """Yield the records as integers."""
        ingest = Ingest(self._encoding)
        *positions, last = self._positions
        for part in self._parts():
            table = self._table(part, positions)
            codes = self._labels.codes(_cells(part, last))
            yield ingest(table, _joined([table], codes, len(self._labels.classes)))


def _cells(rows: Iterable[list[str]], at: int) -> Iterator[str | None]:
    return (row[at] if at < len(row) else None for row in rows)


def open_labelled(X: Any, y: Any, labels: Labels, encoding: Encoding) -> LabelledMemory:
    """Return a source over covariates and labels; checks shapes and reads no record."""
    return LabelledMemory.of_classes(X, y, encoding, labels)


def open_labelled_columns(
    path: str | Path, columns: Sequence[str], labels: Labels, encoding: Encoding
) -> LabelledCsv:
    """Return a source over named columns of a CSV file, the last of them the label."""
    return LabelledCsv(path, encoding, columns, labels)
