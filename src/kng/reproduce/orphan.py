"""A worker that outlives its parent ends itself.

A parent that is killed cannot stop its workers: they would finish the task they have, and one at
n = 10^7 takes seconds, or wait for ever.
"""

from __future__ import annotations

import os
from multiprocessing import parent_process
from threading import Thread


def watch_parent() -> None:
    """Start a thread that ends this process when its parent has ended."""
    Thread(target=_end_with_parent, name="parent watch", daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()  # returns when the parent has ended, in whatever way
        os._exit(1)
