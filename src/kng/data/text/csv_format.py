"""How a CSV file is written: public facts that the caller declares, never guessed from cells."""

from __future__ import annotations

from dataclasses import dataclass

from kng.core.errors import SpecError
from kng.core.naming import argument
from kng.core.privacy import Assumption
from kng.data.text.notation import PLAIN, Notation

# Common separators, and what messages call them.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}


@dataclass(frozen=True, slots=True)
class CsvFormat:
    r"""How lines, cells and numbers are written.

    Parameters
    ----------
    separator : str
        One ASCII character between cells.
    rows : {"lines", "quoted"}
        "lines": every line is a record, whatever its quotes. "quoted": line ends inside quotes are
        text, read as a space; who says so states that every quote in the file is closed.
    ending : {"\n", "\r"}
        What ends a line. "\n" serves "\r\n" as well; a "\r" elsewhere is white space.
    encoding : str
        Any text encoding of Python.
    numbers : Notation
        How numbers are written.
    """

    separator: str = ","
    rows: str = "lines"
    ending: str = "\n"
    encoding: str = "utf-8"
    numbers: Notation = PLAIN

    def __post_init__(self) -> None:
        one = isinstance(self.separator, str) and len(self.separator) == 1
        if not one or not self.separator.isascii() or self.separator in '"\r\n':
            raise SpecError(
                f"{argument('separator')} must be one ASCII character such as ',' or ';', got "
                f"{self.separator!r}."
            )
        if self.rows not in ("lines", "quoted"):
            raise SpecError(f"{argument('rows')} must be 'lines' or 'quoted', got {self.rows!r}.")
        if self.ending not in ("\n", "\r"):
            raise SpecError(f"{argument('ending')} must be '\\n' or '\\r', got {self.ending!r}.")

    @property
    def end(self) -> bytes:
        """What ends a line."""
        return self.ending.encode()

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the caller has stated and nobody can check."""
        return (Assumption.CLOSED_QUOTES,) if self.rows == "quoted" else ()
