"""Whether files are still the ones that were opened: all passes see the same records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kng.core.errors import SchemaError
from kng.data.files import unreadable


class ChangedFile(SchemaError):  # noqa: N818 - what it says, not what it is
    """A file was written to while it was read."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Device, inode, size and time of each file, when it was opened."""

    paths: tuple[Path, ...]
    marks: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> Stamp:
        """Look at files that may be read, not into them."""
        files = tuple(paths)
        marks = tuple(_mark(path) for path in files)
        for path in files:
            _require_readable(path)
        return cls(files, marks)

    def check(self) -> None:
        """Raise if one of them has changed."""
        if tuple(_mark(path) for path in self.paths) != self.marks:
            raise ChangedFile(
                "A file changed while it was read. Copy it first, then read the copy."
            )


def _mark(path: Path) -> tuple[int, int, int, int]:
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _require_readable(path: Path) -> None:
    """Refuse what may not be read, and what is no file: a pipe would be waited for."""
    if not path.is_file():
        raise SchemaError(f"{str(path)!r} is not an ordinary file. Copy the data into one.")
    try:
        path.open("rb").close()
    except OSError as error:
        raise unreadable(path, error) from None
