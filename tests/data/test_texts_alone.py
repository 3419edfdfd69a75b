"""What a cell is as text depends on that cell alone: another one decides only how it is read."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import kng
from kng.data.engine import Asked
from kng.data.registry import open_table


class Sex(str, enum.Enum):  # noqa: UP042 - what str() makes of it is no level
    """Texts with names, as programs often hold them."""

    F = "F"
    M = "M"


class Odd(str):
    def __str__(self) -> str:
        raise ValueError


CELLS = {
    "enum": (Sex.F, b"F"),
    "own text": (Odd("F"), b"F"),
    "bytes": (b" F ", b"F"),
    "no UTF-8": (b"\xff", b"\xff"),
    "bytearray": (bytearray(b"F"), b"F"),
    "memoryview": (memoryview(b"F"), b"F"),
    "scalar": (pa.scalar("F"), b"F"),
    "surrogate": ("\ud800", b"?"),
    "no time": (pd.NaT, None),
    "missing": (pd.NA, None),
    "number": (5, None),
    "date": (pd.Timestamp("2020-01-31").date(), b"2020-01-31"),
}


def texts(cells: list[Any], container: str) -> list[bytes | None]:
    held = np.empty(len(cells), dtype=object)
    held[:] = cells
    column: Any = {"list": cells, "array": held, "frame": pd.Series(held, dtype=object)}[container]
    engine = open_table(pd.DataFrame({"c": column}) if container == "frame" else {"c": column})
    assert engine is not None
    asked = Asked((), (0,))
    engine.prepare(asked)
    (found,) = engine.run(asked, lambda blocks: [b.texts[0].to_pylist() for b in blocks])
    return [text for block in found for text in block]


@pytest.mark.parametrize("container", ["list", "array", "frame"])
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_read_the_same_beside_any_other(name, container):
    """Texts beside it let Arrow read the block in one go; a number or half a character do not."""
    cell, expected = CELLS[name]
    for other in ("M", 7, "\ud800", b"\xff", pd.NaT, [1]):
        assert texts([cell, other, "M"], container)[0] == expected


def test_one_record_moves_one_count():
    """A number among texts with names turned all of them into texts that are no level."""
    table = pd.DataFrame({"sex": pd.Series([Sex.F] * 50, dtype=object)})
    other = table.copy()
    other.loc[0, "sex"] = 7
    options: dict[str, Any] = {"levels": {"sex": ["F", "M"]}, "epsilon": 2000, "random_state": 1}
    assert list(kng.histogram(table, **options).value) == [50, 0]
    assert list(kng.histogram(other, **options).value) == [49, 0]
