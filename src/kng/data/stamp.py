"""Whether files are still the ones that were opened: all passes see the same records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kng.core.errors import KngError, SchemaError


class ChangedFile(KngError):  # noqa: N818 - what it says, not what it is
    """A file was written to while it was read."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Device, inode, size and time of each file, when it was opened."""

    paths: tuple[Path, ...]
    marks: tuple[tuple[int, int, int, int], ...]

    @classmethod
    def of(cls, paths: Iterable[Path]) -> Stamp:
        """Look at files, not into them."""
        files = tuple(paths)
        return cls(files, tuple(_mark(path) for path in files))

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
        reason = getattr(error, "strerror", None) or "not a path"
        raise SchemaError(f"cannot read {str(path)!r}: {reason}. Check the path.") from None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
