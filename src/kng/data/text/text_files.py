"""Files as streams of bytes: one or several, compressed or not, or what comes by a pipe."""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from glob import glob
from pathlib import Path
from typing import Any, BinaryIO, cast

from kng.core.errors import SchemaError

# Suffixes of compressed files, and Arrow's names for them.
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
STANDARD_INPUT = "-"
# What is said of a compressed file that is not one, or not all of one.
BROKEN = "it is cut, broken or not compressed as its name says"

Address = str | Path | Sequence[str | Path]
# Device, inode, size in bytes, time of the last change in nanoseconds.
Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that may be read again and again.

    A pipe can be read only once, so what came by one is kept in memory as it came: every pass must
    see the same bytes.
    """

    path: Path
    kept: bytes | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return "standard input" if str(self.path) == STANDARD_INPUT else self.path.name

    @property
    def compressed(self) -> bool:
        """Whether its name says so."""
        return self.path.suffix.lower() in COMPRESSIONS

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the bytes in pieces of at most this size, decompressed."""
        with ExitStack() as held:
            file: Any = io.BytesIO(self.kept) if self.kept is not None else _opened(self.path)
            file = held.enter_context(file)
            codec = COMPRESSIONS.get(self.path.suffix.lower())
            if codec is not None:
                import pyarrow as pa

                raw = held.enter_context(pa.PythonFile(file, mode="r"))
                file = held.enter_context(pa.CompressedInputStream(raw, codec))
            while piece := file.read(size):
                yield piece

    def stamp(self) -> Stamp:
        """Return what tells whether the file is still the same."""
        if self.kept is not None:
            return 0, 0, len(self.kept), 0
        found = self.path.stat()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def files_of(address: Address) -> tuple[TextFile, ...]:
    """Return the files at an address: a path, a pattern such as "claims/*.csv", "-", or a list.

    Files of a pattern are in the order of their names. A pipe is read here.
    """
    if not isinstance(address, str | Path):
        found = tuple(file for one in address for file in files_of(one))
        if not found:
            raise SchemaError("the list of files is empty. Name at least one.")
        return found
    if str(address) == STANDARD_INPUT:
        return (TextFile(Path(address), _standard_input()),)
    path = Path(address)
    if not any(c in str(address) for c in "*?[") or path.exists():
        return (_file(path),)
    names = sorted(glob(str(address), recursive=True))
    if not names:
        raise SchemaError(f"no file matches {str(address)!r}. Check the pattern.")
    return tuple(_file(Path(name)) for name in names)


def _file(path: Path) -> TextFile:
    """Return a file that is there; what is no ordinary file is read, once."""
    try:
        with _opened(path) as file:
            ordinary = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return TextFile(path, None if ordinary else cast("io.RawIOBase", file).readall())
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: Exception) -> SchemaError:
    """Return what is said of a file that cannot be opened."""
    if isinstance(error, OSError) and error.strerror is None:
        return SchemaError(f"cannot read {str(path)!r}: {BROKEN}. Check the file.")
    reason = getattr(error, "strerror", None) or "not a path"
    return SchemaError(f"cannot read {str(path)!r}: {reason}. Check the path.")


def _opened(path: Path) -> BinaryIO:
    return path.open("rb", buffering=0)


@cache
def _standard_input() -> bytes:
    """Read standard input to its end, once a process."""
    if sys.stdin is None:
        raise SchemaError("there is no standard input. Name a file.")
    return sys.stdin.buffer.read()
