"""Hand a release over: on the terminal, as JSON, and in a file that was made before the charge."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import click

from kng.cli.budget_views import left
from kng.cli.progress import progress_shown
from kng.cli.tables import threads_limited
from kng.cli.verbosity import is_quiet
from kng.core.errors import KngError, PrivateZoneError, SpecError
from kng.core.events import Charged, Event, Repeated, watched_by
from kng.core.release import Release
from kng.ledger import Ledger
from kng.ledger.amounts import tell


class ReceiptFile(AbstractContextManager["ReceiptFile"]):
    """A new file for one receipt; taken away again if there is no release to put into it.

    It is made before the charge, because a name that is taken or a directory that may not be
    written to must not cost epsilon.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self._written = False
        try:
            self._file = self.path.open("x", encoding="utf-8")
        except FileExistsError:
            raise SpecError(
                f"--out {path} exists already, and receipts are not overwritten. "
                "Choose another name."
            ) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a file name"
            raise SpecError(
                f"--out {path} cannot be written ({reason}). Choose a directory that exists and "
                "may be written to."
            ) from None

    def append(self, text: str) -> None:
        """Write a part of what is to be stored."""
        self._written = True
        try:
            self._file.write(text)
        except OSError as error:
            raise SpecError(f"{self.path} could not be written ({error.strerror}).") from None

    def write(self, text: str) -> None:
        """Store the receipt durably."""
        self._written = True
        self._file.write(text + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file, and remove it if nothing was written."""
        try:
            self._file.close()
        except OSError:
            self._written = False  # what the disk did not take is no receipt
        if not self._written:
            self.path.unlink(missing_ok=True)


def page_file(path: str) -> ReceiptFile:
    """Make the file of a page, whose name says that it is one."""
    if not is_page(path):
        raise SpecError(f"--out {path} is a page; its name must end in .html.")
    return ReceiptFile(path)


def is_page(path: str) -> bool:
    """Tell whether a file is named as a page is."""
    return path.lower().endswith((".html", ".htm"))


def hand_over(
    compute: Callable[[], Release], options: Mapping[str, Any], ledger: Ledger | None
) -> None:
    """Make room for the receipt, release, and deliver."""
    out = options["out"]
    with nullcontext() if out is None else ReceiptFile(out) as file:
        # A program that reads JSON from a pipe is not looking at a terminal.
        piped = options["as_json"] and not sys.stdout.isatty()
        write = _writer(out)
        charges = _Charges()
        shown = progress_shown(quiet=piped or is_quiet())
        with threads_limited(options), shown, watched_by(charges):
            release = compute()
        booked = _booked(release, ledger, charges)
        deliver(
            release,
            write,
            as_json=options["as_json"],
            file=file,
            ledger=ledger,
            booked=booked,
        )


def _writer(out: str | None) -> Callable[[Release], str]:
    """Return what makes the text of the file; a page is loaded now, before the charge."""
    if out is None or not is_page(out):
        return lambda release: release.to_json(indent=2)
    from kng.report.document import page, style
    from kng.report.receipts import Receipt

    style()
    name = Path(out).name
    return lambda release: page([Receipt(release, release.to_json(indent=2), name)])


class _Charges:
    """Remembers what a release was charged."""

    def __init__(self) -> None:
        self.last: Charged | Repeated | None = None

    def told(self, event: Event) -> None:
        """Note a charge."""
        if isinstance(event, Charged | Repeated):
            self.last = event

    def passed(self, records: int) -> None:
        """Ignore records."""

    def ended(self) -> None:
        """Ignore passes."""


def deliver(
    release: Release,
    write: Callable[[Release], str],
    *,
    as_json: bool,
    file: ReceiptFile | None,
    ledger: Ledger | None,
    booked: str,
) -> None:
    """Show the release, and store it if a file is waiting for it.

    The charge is made, so neither way out may stop the other.
    """
    receipt = release.to_json(indent=2)
    troubles = []
    if file is not None:
        try:
            file.write(write(release))
        except OSError as error:
            troubles.append(f"{file.path} could not be written ({error.strerror})")
        except Exception:  # a fault of the page: the answer is paid for and is shown below
            troubles.append(f"the page {file.path} could not be made")
    try:
        click.echo(receipt if as_json else f"{release!r}\n{booked}")
    except OSError as error:
        troubles.append(f"standard output could not be written ({error.strerror})")
    if troubles:
        again = f" Read it with: kng budget history {ledger.called} --receipt N" if ledger else ""
        raise PrivateZoneError(
            f"The answer was drawn and its charge stays, but {' and '.join(troubles)}.{again}"
        )
    if file is not None:
        click.echo(f"Receipt written to {file.path}", err=True)


def _booked(release: Release, ledger: Ledger | None, charges: _Charges) -> str:
    """Return one more row for the table: what was charged, and what is left of the budget."""
    width = max(len(label) for label, _ in release.rows())
    if ledger is None:
        text = "none: nothing keeps count of this epsilon (see --ledger)"
    else:
        text = Path(ledger.called).name + _counted(release, charges.last)
        with suppress(KngError):  # the answer is paid for, whatever became of the ledger
            unit = ledger.currency
            text += f", {left(ledger.remaining, unit)} of {left(ledger.cap, unit)} left"
    rows = [("ledger", text)]
    if release.provenance is not None:
        rows += [row for row in release.provenance.rows if row[0] != "entry hash"]
    return "\n".join(f"{label:<{width}}  {words}" for label, words in rows)


def _counted(release: Release, charge: Charged | Repeated | None) -> str:
    """Say what was charged where it is not the epsilon of the release."""
    if isinstance(charge, Repeated):
        return f", answered before as entry {charge.entry}: nothing was charged"
    if charge is None or charge.epsilon == release.event.epsilon:
        return ""
    times = charge.epsilon / release.event.epsilon
    return f", charged {tell(charge.epsilon)} (counts {times} times under its promise)"
