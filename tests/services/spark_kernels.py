"""Kernels that travel to Spark's workers, some of them to fail there."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Products:
    """Sums of the first column times the last, in whole numbers of any length."""

    def zero(self) -> int:
        return 0

    def partial(self, batch: Any) -> int:
        return sum(int(row[0]) * int(row[-1]) for row in batch.tolist())

    def merge(self, left: int, right: int) -> int:
        return left + right


@dataclass(frozen=True)
class Killed(Products):
    """The same; a worker that finds no file there makes it and is killed in the middle."""

    flag: str

    def partial(self, batch: Any) -> int:
        found = super().partial(batch)
        try:
            Path(self.flag).touch(exist_ok=False)
        except FileExistsError:
            return found
        os.kill(os.getpid(), signal.SIGKILL)
        return found


@dataclass(frozen=True)
class Raising(Products):
    """The same; always fails, with a record in its message."""

    def partial(self, batch: Any) -> int:
        raise ValueError(f"the record {batch[0].tolist()}")


@dataclass(frozen=True)
class Everything:
    """All rows as they are."""

    def select(self, batch: Any) -> Any:
        return batch


def raising_sums(self: Any, batch: Any) -> Any:
    """Fail in place of a kernel of ours."""
    raise ValueError(f"the record {np.asarray(batch)[0].tolist()}")
