"""Paths, patterns and directories as lists of files, by their names alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path

from kng.core.errors import SchemaError

# A file name may end in one of these after its own suffix.
COMPRESSED = (".gz", ".zst", ".bz2")
# Characters of a path that a message shows.
_LONGEST = 200


def suffix_of(source: str | Path, known: Sequence[str]) -> str:
    """Return the suffix that says what a file is; of a directory that of the files in it.

    A pattern such as "claims/*" is what the files are that it names.
    """
    path = Path(source)
    if not str(source).strip():
        raise SchemaError("the path is empty. Name a file, a pattern or a directory.")
    if _is_directory(path):
        found = {_suffix(file) for file in _inside(path)} & set(known)
        if len(found) != 1:
            some = f"{len(found)} kinds of data files" if found else "no data file"
            raise SchemaError(
                f"directory {path.name!r} holds {some}. Give files of one kind, or a pattern such "
                f"as '{path.name}/*.parquet'."
            )
        return found.pop()
    if not _suffix(path) and _is_pattern(source):
        kinds = {_suffix(file) for file in _named(source)} & set(known)
        if len(kinds) > 1:
            raise SchemaError(
                f"{str(source)!r} names {len(kinds)} kinds of data files. Give files of one kind, "
                f"as in '{source}.parquet'."
            )
        return kinds.pop() if kinds else ""
    return _suffix(path)


def files_of(source: str | Path, suffixes: Sequence[str]) -> list[Path]:
    """Return the files that a path, a pattern or a directory names, in the order of their names."""
    path = Path(source)
    if _is_directory(path):
        return [file for file in _inside(path) if _suffix(file) in suffixes]
    if not _is_pattern(source):
        return [path]
    files = _named(source)
    # Where a pattern says nothing of suffixes, notes beside the data are left out.
    return files if _suffix(path) else [file for file in files if _suffix(file) in suffixes]


def called(source: str | Path) -> str:
    """Return what messages call files: the name of one, or the pattern."""
    return Path(source).name or str(source)


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).suffix


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def _is_pattern(source: str | Path) -> bool:
    return has_magic(str(source)) and not Path(source).exists()


def _named(pattern: str | Path) -> list[Path]:
    """Return the files that a pattern names."""
    found = sorted(Path(name) for name in glob(str(pattern), recursive=True))
    files = [file for file in found if file.is_file()]
    if not files:
        raise SchemaError(f"no file matches {str(pattern)!r}. Check the path.")
    return files


def unreadable(path: Path, error: Exception) -> SchemaError:
    """Return what is said of a path that the system does not let us look at."""
    reason = getattr(error, "strerror", None) or "not a path"
    shown = str(path) if len(str(path)) <= _LONGEST else f"{str(path)[:_LONGEST]}..."
    return SchemaError(f"cannot read {shown!r}: {reason}. Check the path.")


def _inside(folder: Path) -> list[Path]:
    """Return the files of a directory and those below it; names with _ or . in front are notes."""
    try:
        os.listdir(folder)  # what may not be listed would look empty
        found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    except OSError as error:
        raise unreadable(folder, error) from None
    return [path for path in found if not path.name.startswith(("_", "."))]
