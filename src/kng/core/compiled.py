"""Compiled functions: declared in one way, and loaded before anything is charged.

`compiled` declares a function with its one signature; nothing happens yet. `load` finds its machine
code in a cache, or compiles it. A function that was not loaded cannot be called, so nothing is ever
compiled below the charge. Other processes, to which kernels travel, load what they call.

The cache is the directory that NUMBA_CACHE_DIR names, or stands beside the package, or is the
user's own, whichever can be written to first. With none of them, or one that is full or broken,
functions are compiled in memory: that takes longer, and nothing fails.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any

from numba import njit
from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)
from numba.core.dispatcher import Dispatcher

# Held while functions are loaded: whether one may be compiled is a property of the function.
_LOADING = RLock()
# Division by zero as in NumPy; and no wrapper for C, which nobody calls.
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
# The signature of every declared function.
_SIGNATURES: dict[Dispatcher, str] = {}
# Whether functions are loaded when they are first called: in processes that charge nothing.
_LATE: list[bool] = []
# Whether it has been said that something is compiled, and what is said.
_SAID: list[bool] = []
_KEPT = "kng is compiling for this machine, once; this takes some seconds."
_NOT_KEPT = (
    "kng is compiling, which takes some seconds in every run, because no cache directory can be "
    "written to. Set NUMBA_CACHE_DIR to one."
)


def compiled(signature: str, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Declare a function of one signature, which `load` makes ready to be called.

    Parameters
    ----------
    signature : str
        In numba's notation: ``"f8(f8[::1])"``.
    **options
        As for `numba.njit`. Division by zero gives what it gives in NumPy.
    """

    def declare(function: Callable[..., Any]) -> Any:
        declared = njit(**{**_OPTIONS, **options})(function)
        declared._can_compile = False  # until it is loaded
        declared._cache = _Cache(function)
        _SIGNATURES[declared] = signature
        if _LATE:
            _load_late(declared)
        return declared

    return declare


def load_when_called() -> None:
    """From now on load functions when they are first called.

    For a process that only runs kernels: whoever charges has loaded the same functions before.
    """
    with _LOADING:
        if not _LATE:
            _LATE.append(True)
            for function in _SIGNATURES:
                _load_late(function)


def _load_late(function: Any) -> None:
    """Let numba ask for the one signature, where it would compile for what it was given."""

    def loaded(*_: Any) -> Any:
        load(function)
        return function  # which numba then calls

    if not function.overloads:
        function._compile_for_args = loaded
        function._can_compile = True


def load(*functions: Any) -> None:
    """Make functions ready to be called: from the cache, or by compiling them.

    Says once, on the log ``kng``, that something is being compiled. Where no logs are set up, that
    is shown on stderr.
    """
    with _LOADING, _uncollected():
        for function in functions:
            if not function.overloads:
                function._can_compile = True
                try:
                    function.compile(_SIGNATURES[function])
                finally:
                    function._can_compile = False


@contextmanager
def _uncollected() -> Iterator[None]:
    """Collect no garbage meanwhile: a compiler makes little, and looking for it takes a tenth."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class _Cache:
    """Where numba looks for machine code: on disk, if there is a place for it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._files: Any = None

    @property
    def cache_path(self) -> str | None:
        """The directory, once a function is loaded."""
        return None if self._files is None else str(self._files.cache_path)

    def load_overload(self, signature: str, target: Any) -> Any:
        """Return the machine code; if there is none, load what has to be compiled into it."""
        self._files = _files_of(self._function)
        found = None
        if self._files is not None:
            try:
                found = self._files.load_overload(signature, target)
            except Exception:  # a broken file
                self._files = _emptied(self._files)
        if found is None:
            _say(kept=self._files is not None)
            load(*_called(self._function))
        return found

    def save_overload(self, signature: str, result: Any) -> None:
        """Keep machine code, if there is room for it."""
        if self._files is not None:
            try:
                self._files.save_overload(signature, result)
            except Exception:  # a full disk
                self._files = None


class _Files(FunctionCache):
    """Files that are fresh as long as no source has changed that could change the machine code.

    Numba asks for the function's own source only; what it calls may stand in another one. So all
    sources are asked for that stand beside the function, or beside one that it calls.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp="".join(_stamp(folder) for folder in sorted(_folders(function))),
        )


def _files_of(function: Callable[..., Any]) -> Any:
    """Return the files of a function, or None where there is no place for them."""
    places: list[type] = [UserProvidedCacheLocator, InTreeCacheLocator]
    if _home():
        places.append(UserWideCacheLocator)
    _Files._impl_class = type(  # type: ignore[assignment]
        "_Places", (CompileResultCacheImpl,), {"_locator_classes": places}
    )
    try:
        return _Files(function)
    except Exception:
        return None


def _home() -> bool:
    """Whether the user has a home; if not, numba would make one that is called "~"."""
    try:
        return Path.home().is_absolute()
    except RuntimeError:
        return False


def _emptied(files: Any) -> Any:
    """Return files that hold nothing any more, or None if they cannot be written."""
    try:
        files.flush()
    except Exception:
        return None
    return files


@cache
def _stamp(package: Path) -> str:
    """Return a digest of all sources of a package."""
    digest = hashlib.sha256()
    for path in sorted(package.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _folders(function: Callable[..., Any]) -> set[Path]:
    """Return where a function stands, and all those that it calls."""
    return {Path(inspect.getfile(function)).parent}.union(
        *(_folders(each.py_func) for each in _called(function))
    )


def _called(function: Callable[..., Any]) -> Iterator[Any]:
    """Yield the declared functions that a function calls."""
    for name in function.__code__.co_names:
        named = function.__globals__.get(name)
        if isinstance(named, Dispatcher):
            yield named


def _say(*, kept: bool) -> None:
    """Tell, once, why this takes long."""
    if not _SAID:
        _SAID.append(True)
        logging.getLogger("kng").warning(_KEPT if kept else _NOT_KEPT)
