"""Calls into a library that holds Ctrl-C back until they return.

Such a call runs in a thread of its own. Who waits for it can be interrupted, tells the library to
stop, and goes on when it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

Result = TypeVar("Result")
Stop = Callable[[], None]

# Seconds between two requests to stop: the first may come before there is anything to stop.
_AGAIN = 0.1
# Batches that are handed from one thread to the other at a time, which costs some hundredth of one.
_SOME = 4


def called(function: Callable[[], Result], stop: Stop) -> Result:
    """Return what a function returns."""
    with ThreadPoolExecutor(1) as thread:
        return _waited(thread, function, stop)


def streamed(opened: Callable[[], Iterator[Result]], stop: Stop) -> Iterator[Result]:
    """Yield what an iterator yields, which is opened by the first call."""
    with ThreadPoolExecutor(1) as thread:
        source = _waited(thread, opened, stop)
        while some := _waited(thread, lambda: list(islice(source, _SOME)), stop):
            yield from some


def _waited(thread: ThreadPoolExecutor, function: Callable[[], Result], stop: Stop) -> Result:
    future = thread.submit(function)
    try:
        return future.result()
    except KeyboardInterrupt:
        while not future.done():
            stop()
            wait([future], _AGAIN)
        raise
