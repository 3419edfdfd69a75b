"""How far a release is, on the terminal of whoever runs it.

What is shown is public: what is being done, the number of records where it is public, and which
part of the first pass over them is done. How many passes follow can depend on records, so none is
counted: after the first one a bar runs to and fro until the answer is there. All of it is erased
then. When it changes tells the time, as any terminal does, and so it is never written to a file.
docs/threat-model.md.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

from kng.core.events import Counting, Event, Planned, Reading, Settled, watched_by

if TYPE_CHECKING:
    from rich.console import Console

# Work that takes less is not worth a bar.
DELAY = 1.0


class Progress:
    """A line on a terminal that appears after a second; watches the events of a release.

    Made before the charge, because it loads what draws it.
    """

    def __init__(self, console: Console, delay: float = DELAY) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
            TimeElapsedColumn,
        )
        from rich.progress import Progress as Line

        self._line = Line(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
        )
        self._task = self._line.add_task("preparing", total=None)
        self._records: int | None = None
        self._lock, self._over = Lock(), False
        self._timer = Timer(delay, self._start)
        self._timer.daemon = True
        Console(file=io.StringIO(), force_terminal=True).print(self._line)  # loads all it needs

    def told(self, event: Event) -> None:
        """Say what is being done."""
        match event:
            case Counting():
                self._show("counting records")
            case Planned():
                self._show("preparing")
            case Reading(None):
                self._show("reading records and drawing the answer")
            case Reading(int(records)):
                self._records = records
                self._show(f"reading {records:,} records", records)
            case Settled():
                self.close()
            case _:
                pass

    def passed(self, records: int) -> None:
        """Move the bar of the first pass."""
        if self._records is not None:
            self._line.advance(self._task, records)

    def ended(self) -> None:
        """Show the same from the end of the first pass on, whatever follows."""
        if self._records is not None:
            self._records = None
            self._show("drawing the answer")

    def open(self) -> None:
        """Wait for a second, then appear."""
        self._timer.start()

    def close(self) -> None:
        """Disappear, or never appear."""
        self._timer.cancel()
        with self._lock:
            self._over = True
            self._line.stop()

    def _start(self) -> None:
        with self._lock:
            if not self._over:
                self._line.start()

    def _show(self, text: str, total: int | None = None) -> None:
        before, self._task = self._task, self._line.add_task(text, total=total)
        self._line.remove_task(before)


@contextmanager
def progress_shown(*, quiet: bool) -> Iterator[None]:
    """Show how far the release inside is, where stderr is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_dumb_terminal:  # it cannot take anything back
        yield
        return
    progress = Progress(console)
    progress.open()
    try:
        with watched_by(progress):
            yield
    finally:
        progress.close()
