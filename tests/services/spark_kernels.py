"""Kernels that travel to Spark's workers, some of them to fail there."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kng.data.sums import Sums


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
class KilledSums(Sums):
    """Column sums; the first worker that finds no file there makes it and is killed."""

    flag: str = ""

    def partial(self, batch: Any) -> Any:
        found = super().partial(batch)
        try:
            Path(self.flag).touch(exist_ok=False)
        except FileExistsError:
            return found
        os.kill(os.getpid(), signal.SIGKILL)
        return found


@dataclass(frozen=True)
class AlwaysKilledSums(Sums):
    """Column sums of workers that are killed whenever they try."""

    def partial(self, batch: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().partial(batch)


@dataclass(frozen=True)
class RaisingSums(Sums):
    """Column sums that always fail, with a record in the message."""

    def partial(self, batch: Any) -> Any:
        raise ValueError(f"the record {batch[0].tolist()}")


@dataclass(frozen=True)
class Everything:
    """All rows as they are."""

    def select(self, batch: Any) -> Any:
        return batch
