"""How much memory and how many threads reading may use; stated by the caller or a default."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from kng.core.errors import SpecError
from kng.core.exact import whole
from kng.core.naming import argument
from kng.core.records import USUAL_MEMORY

# Of these bytes an engine gets half and records that are kept a quarter. What a loss makes of
# them may take as much again.
# An engine that decodes Parquet needs some of it for each thread.
_LEAST = 2**27
# Beyond what any machine has, and within what engines can be told.
_MOST, _MOST_THREADS = 2**50, 1024
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_DIGITS = 100
_SIZE = re.compile(r"\s*(\d+(?:\.\d{1,40})?)\s*([KMGT]?)i?B?\s*", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Resources:
    """Bytes of memory, and threads if they are limited."""

    memory: int = USUAL_MEMORY
    threads: int | None = None

    @property
    def engine(self) -> int:
        """Bytes that an engine may use for its own work."""
        return self.memory // 2

    @property
    def kept(self) -> int:
        """Bytes in which whole numbers are kept from one pass to the next."""
        return self.memory // 4


def resources_of(memory_limit: Any, threads: Any) -> Resources:
    """Read a limit such as "2GB" or a number of bytes, and a number of threads."""
    memory = USUAL_MEMORY if memory_limit is None else _bytes(memory_limit)
    if memory < _LEAST:
        raise SpecError(f"{argument('memory_limit')} must be at least 128MB, got {memory_limit!r}.")
    if memory > _MOST:
        raise SpecError(
            f"{argument('memory_limit')} must be at most 1024TB. Give a size such as '4GB'."
        )
    number = None if threads is None else whole(threads, "threads", 1)
    if number is not None and number > _MOST_THREADS:
        raise SpecError(f"{argument('threads')} must be at most {_MOST_THREADS}, got {threads}.")
    return Resources(memory, number)


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        found = _SIZE.fullmatch(value)
        if found is None:
            raise SpecError(
                f"{argument('memory_limit')} must be a size such as '2GB' or '500MB', got "
                f"{value!r}."
            )
        if len(found[1]) > _DIGITS:  # Python refuses to read some thousands of them
            return _MOST + 1
        return int(Fraction(found[1]) * _UNITS[found[2].upper()])
    return whole(value, "memory_limit", 1)
