"""Paths, patterns and directories as lists of files, by their names alone."""

from __future__ import annotations

from collections.abc import Sequence
from glob import glob, has_magic
from pathlib import Path

from kng.core.errors import SchemaError

# A file name may end in one of these after its own suffix.
COMPRESSED = (".gz", ".zst", ".bz2")


def suffix_of(source: str | Path, known: Sequence[str]) -> str:
    """Return the suffix that says what a file is; of a directory that of the files in it."""
    path = Path(source)
    if path.is_dir():
        found = {_suffix(file) for file in _inside(path)} & set(known)
        if len(found) != 1:
            some = f"{len(found)} kinds of data files" if found else "no data file"
            raise SchemaError(
                f"directory {path.name!r} holds {some}. Give files of one kind, or a pattern such "
                f"as '{path.name}/*.parquet'."
            )
        return found.pop()
    return _suffix(path)


def files_of(source: str | Path, suffixes: Sequence[str]) -> list[Path]:
    """Return the files that a path, a pattern or a directory names, in the order of their names."""
    path = Path(source)
    if path.is_dir():
        return [file for file in _inside(path) if _suffix(file) in suffixes]
    if not has_magic(str(source)) or path.exists():
        return [path]
    found = sorted(Path(name) for name in glob(str(source), recursive=True))
    files = [file for file in found if file.is_file()]
    if not files:
        raise SchemaError(f"no file matches {str(source)!r}. Check the path.")
    return files


def called(source: str | Path) -> str:
    """Return what messages call files: the name of one, or the pattern."""
    return Path(source).name or str(source)


def _suffix(path: Path) -> str:
    name = path.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).suffix


def _inside(folder: Path) -> list[Path]:
    """Return the files of a directory and those below it; names with _ or . in front are notes."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    inside = (path for path in found if not path.name.startswith(("_", ".")))
    return list(inside)
