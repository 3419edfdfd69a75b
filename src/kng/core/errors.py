"""Every error of ours, and the wall between what may speak and what may not.

KngError
├── SpecError          (ValueError)   an argument is wrong: epsilon <= 0, q = 1
├── SpecTypeError      (TypeError)    an argument is of the wrong kind: epsilon=[1]
├── IncompatibleParts  (TypeError)    two parts do not fit; names both and what would
├── SchemaError        (ValueError)   a column is missing (public facts only)
├── UnknownName        (KeyError)     a release has no number of that name
├── BudgetError                       the ledger refuses; carries requested and remaining
├── MissingExtra       (ImportError)  a library is not installed; names what to install
├── LedgerError                       the ledger file is not one, or was tampered with
├── PrivateZoneError                  something failed after the charge; carries no detail
└── Unfitted           (ValueError)   a model without coefficients; `kng.estimators.unfitted`
"""

from __future__ import annotations

from fractions import Fraction
from types import TracebackType

import numpy as np

from kng.core.naming import arguments_of, joined, parts, told


class KngError(Exception):
    """Root of every error that this library raises on purpose.

    Its text has the words of Python, in which a plain program shows it.

    Attributes
    ----------
    arguments : tuple of str
        The names of the arguments that the message is about, in the order in which it names them.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(told(message))
        self._parts = parts(message)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The names of the arguments that the message is about."""
        return tuple(dict.fromkeys(arguments_of(self.message)))

    @property
    def message(self) -> str:
        """The message with its references, for another message or another front end."""
        return joined(self._parts)


class SpecError(KngError, ValueError):
    """An argument has a value that cannot be used."""


class SpecTypeError(KngError, TypeError):
    """An argument is of a kind that cannot be used."""


class IncompatibleParts(KngError, TypeError):  # noqa: N818 - what it says, not what it is
    """Two parts do not fit together; the message names what would."""


class SchemaError(KngError, ValueError):
    """The data do not have the column or the shape that was declared."""


class UnknownName(KngError, KeyError):  # noqa: N818 - what it says, not what it is
    """A release has no number of this name."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would put it in quotes


class MissingExtra(KngError, ImportError):  # noqa: N818 - what it says, not what it is
    """A library that only some parts need is not installed; the message says how to get it."""


class LedgerError(KngError):
    """A ledger cannot be opened, or its history does not verify."""


class BudgetError(KngError):
    """A charge was refused, and no answer was drawn.

    Attributes
    ----------
    requested, remaining : Fraction
        The epsilon asked for, and what the account still holds.
    """

    def __init__(self, message: str, *, requested: Fraction, remaining: Fraction) -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class PrivateZoneError(KngError):
    """Something failed after the charge. Why is not shown: it could depend on the records."""


_SILENCE = (
    "The release failed after it was charged; the charge stays. No details are shown because they "
    "could reveal records. Check disk space, memory and the data source, then retry."
)


class private_zone:  # noqa: N801 - used as `with private_zone():`
    """Let nothing out but the value: no message, no cause, no floating-point warning.

    Whatever is raised in here is replaced by an error without its text, its type and its frames,
    because each of them may depend on a record: an exit that a record's code asks for like any
    failure. Only an interrupt stays one, so that Ctrl-C works; it leaves its frames behind as well.
    """

    def __enter__(self) -> None:
        self._quiet = np.errstate(all="ignore")
        self._quiet.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._quiet.__exit__(None, None, None)
        if error is None:
            return
        silent = (
            KeyboardInterrupt()
            if isinstance(error, KeyboardInterrupt)
            else PrivateZoneError(_SILENCE)
        )
        try:
            raise silent
        finally:
            # Python has just linked the failure to this one; nobody may follow it back.
            silent.__context__ = None
            del kind, error, trace
