"""When a release was asked for, of which declared data, and which entry of a ledger paid for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from kng.core.errors import SpecError
from kng.core.payment import Charge, Ledger


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a release comes from, in public facts.

    Attributes
    ----------
    time : str
        When it was asked for, in UTC: before the charge and before any record was read. A later
        time would tell how long the draw took, which may depend on the records. To the minute,
        because a program may ask again as soon as it is answered.
    source : str or None
        The data as the caller has named them, without a password; None for data in memory.
    ledger, account : str or None
        What was charged.
    entry : int or None
        The number of the charge in the ledger.
    hash : str or None
        The hash of that entry, which seals all entries before it.
    """

    time: str
    source: str | None = None
    ledger: str | None = None
    account: str | None = None
    entry: int | None = None
    hash: str | None = None

    @classmethod
    def asked(cls, source: str | None) -> Provenance:
        """Return that of a release that is asked for now."""
        return cls(f"{now():%Y-%m-%dT%H:%MZ}", source)

    def charged(self, ledger: Ledger, charge: Charge) -> Provenance:
        """Return it with the charge; a caller's own ledger may have neither names nor hashes."""
        called = _text(getattr(ledger, "called", None))
        if called is not None and PurePath(called).is_absolute():
            # Receipts are forwarded, and directories are nobody's business.
            called = PurePath(called).name
        return replace(
            self,
            ledger=called,
            account=_text(getattr(ledger, "account", None)),
            entry=charge.sequence,
            hash=_text(getattr(charge, "hash", None)),
        )

    def to_mapping(self) -> dict[str, str | int | None]:
        """Return it as JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any]) -> Provenance:
        """Read it from JSON; anything but texts and a whole number is refused."""
        found = {name: facts[name] for name in cls.__slots__}
        kinds = {name: type(value) for name, value in found.items() if value is not None}
        if kinds.pop("entry", int) is not int or not set(kinds.values()) <= {str}:
            raise SpecError("this release holds something other than text where text belongs.")
        if "time" not in kinds:
            raise SpecError("this release has no time.")
        return cls(**found)

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The facts as label and text, for people."""
        rows = [("time", self.time.replace("T", " ").replace("Z", " UTC"))]
        if self.source is not None:
            rows.append(("source", self.source))
        if self.entry is not None:
            where = "" if self.ledger is None else f" of {self.ledger}"
            account = "" if self.account in (None, "default") else f", account {self.account}"
            rows.append(("entry", f"{self.entry}{where}{account}"))
        if self.hash is not None:
            rows.append(("entry hash", self.hash))
        return rows


def now() -> datetime:
    """Return the time of day in UTC."""
    return datetime.now(UTC)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
