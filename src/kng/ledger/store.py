"""The ledger: durable charges against a cap, and the releases they paid for."""

from __future__ import annotations

import os
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from kng.core.errors import LedgerError, SpecError, SpecTypeError
from kng.core.exact import whole
from kng.core.parts import Charge
from kng.core.privacy import PrivacyEvent, read_records
from kng.ledger import database, entries, rows
from kng.ledger.account import Account, accept, read_name, read_relation, read_text
from kng.ledger.amounts import read_cap, tell
from kng.ledger.audit import audit
from kng.ledger.entries import Booking, Entry


class Ledger:
    """A budget of epsilon for one dataset, kept in a file, which cannot be overspent.

    A release is charged before any record is read, in one durable transaction, and charges are
    never given back: a program that is killed while it draws has spent its epsilon. Any number
    of threads and processes may use one file at once. Copies, clones and pickles of a ledger
    reopen the same account, so that no copy doubles a budget.

    Parameters
    ----------
    path : str or path
        A file on a local disk, with one name: hard links to it are refused, and a container
        mounts its directory. It is made if it does not exist. See docs/ledger.md.
    cap : number or str, optional
        The largest total epsilon, as in ``10``, ``0.1`` or ``"1/3"``; needed to open a new
        account, and never changed afterwards.
    account : str
        A file may hold several accounts. Each belongs to one dataset: two accounts for the same
        records have their caps added up.
    neighbours : {"replace-one", "add-remove"}, optional
    records_per_person : int, optional
        What the epsilons of this account promise. Fixed here or by the first charge, and never
        changed afterwards, because epsilons of different promises do not add up.

    Notes
    -----
    Beside the ledger lies ``<path>.head``, the place of the newest entry. Keep the two together.
    A ledger that lacks the entry named there is an older copy, which would un-spend budget, and
    is refused. One that goes on beyond it was written under another name, and is refused too, as
    is a ledger without that file: ``Ledger.adopt`` accepts both.
    Whoever restores both files from the same old backup is not found out by them; to guard
    against that, write ``ledger.head`` down somewhere else now and then, and check it later with
    ``ledger.verify(head)``.

    Amounts are exact: ten charges of 0.1 fit a cap of 1, and not a trillionth more.

    Examples
    --------
    >>> ledger = Ledger("survey.ledger", cap=2)  # doctest: +SKIP
    >>> kng.median(ages, bounds=(0, 120), epsilon=0.5, ledger=ledger)  # doctest: +SKIP
    >>> ledger.remaining  # doctest: +SKIP
    Fraction(3, 2)
    """

    __slots__ = ("_account", "_path")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        cap: Any = None,
        account: str = "default",
        neighbours: str | None = None,
        records_per_person: int | None = None,
    ) -> None:
        self._path = _absolute(path)
        self._account = read_name(account)
        asked_cap = None if cap is None else read_cap(cap)
        relation = None if neighbours is None else read_relation(neighbours)
        records = None if records_per_person is None else read_records(records_per_person)
        if not self._is_open():
            self._open(asked_cap, relation, records)
        self._require(cap=asked_cap, neighbours=relation, records_per_person=records)

    @classmethod
    def adopt(cls, path: str | os.PathLike[str], *, account: str = "default") -> Self:
        """Accept a ledger whose ``.head`` file is missing or behind as the newest copy; open it.

        The whole history is verified first. An older copy is accepted too, since nothing in it
        can tell: call this only where you know that nothing was charged since, and that no other
        name of the file is in use.
        """
        place = _absolute(path)
        if not database.exists(place):
            raise LedgerError(f"{place} does not exist, so there is nothing to adopt.")
        with database.adopting(place) as db:
            audit(db)
        return cls(place, account=account)

    @property
    def path(self) -> Path:
        """Where the ledger is."""
        return self._path

    @property
    def account(self) -> str:
        """The name of this account."""
        return self._account

    @property
    def cap(self) -> Fraction:
        """The largest total epsilon."""
        return self._read().cap

    @property
    def spent(self) -> Fraction:
        """The total epsilon of all charges."""
        return self._read().spent

    @property
    def remaining(self) -> Fraction:
        """What may still be charged."""
        return self._read().remaining

    @property
    def neighbours(self) -> str | None:
        """The relation that this account is kept for, once it is fixed."""
        return self._read().neighbours

    @property
    def records_per_person(self) -> int | None:
        """The records of a person that this account is kept for, once it is fixed."""
        return self._read().records_per_person

    @property
    def head(self) -> str:
        """The hash of the newest entry of the file, which seals all of its history."""
        with database.reading(self._path) as db:
            end = rows.last(db)
        if end is None:
            raise LedgerError(f"{self._path} has no entries. Put back the newest copy.")
        return end.hash

    def reserve(self, event: PrivacyEvent, *, parameters: str) -> Booking:
        """Book an event durably, or refuse it and write nothing.

        Parameters
        ----------
        event : PrivacyEvent
            What the release costs. Seeded and approximate releases are refused.
        parameters : str
            The public facts of the release, kept for the auditor.

        Raises
        ------
        BudgetError
            If it does not fit below the cap.
        SpecError
            If it is not a certified release, or promises another relation than the account's.
        """
        event = accept(event)
        parameters = read_text(parameters, "parameters")
        with database.charging(self._path) as db:
            before = self._account_in(db)
            after = before.charged(event)
            rows.spend(db, before, after)
            body = entries.ChargeBody(event, parameters, after.spent, entries.now())
            place = rows.append(db, "charge", self._account, body.write())
        return Booking(place.sequence, self._account, event.epsilon, place.hash)

    def settle(self, charge: Charge, payload: str) -> None:
        """Store the release that a charge paid for; once, and for good."""
        if not isinstance(charge, Booking):
            raise SpecTypeError(
                f"charge must be what reserve() returned, got {type(charge).__name__}."
            )
        payload = read_text(payload, "payload")
        with database.writing(self._path) as db:
            if rows.charge_at(db, self._account, charge.sequence) != charge.hash:
                raise SpecError(
                    f"Charge {charge.sequence} was not booked in account {self._account!r} of "
                    f"{self._path}. Settle it in the ledger that booked it."
                )
            if rows.release_at(db, charge.sequence) is not None:
                raise SpecError(
                    f"Charge {charge.sequence} is settled already. A charge pays for one release; "
                    "reserve another."
                )
            body = entries.write_release(payload)
            rows.append(db, "release", self._account, body, charge.sequence)

    def history(self) -> list[Entry]:
        """Return the charges of this account, oldest first."""
        with database.reading(self._path) as db:
            self._account_in(db)
            return rows.history(db, self._account)

    def release_of(self, sequence: int) -> str | None:
        """Return what a charge paid for, or None if it was never settled.

        A charge without a release was cut short by a crash, or is under way. It stays spent: a
        second draw would be a second release.
        """
        number = whole(sequence, "sequence", 1)
        with database.reading(self._path) as db:
            if number >= 2**63 or rows.charge_at(db, self._account, number) is None:
                raise SpecError(
                    f"sequence must be that of a charge of account {self._account!r}; entry "
                    f"{tell(Fraction(number))} is none. history() lists them."
                )
            return rows.release_at(db, number)

    def verify(self, head: str | None = None) -> None:
        """Check the whole file: its rules, chain and sums, and that nothing was taken away.

        Parameters
        ----------
        head : str, optional
            A head that was written down earlier; the history must still contain it.

        Raises
        ------
        LedgerError
            With the first thing that does not hold.
        """
        with database.reading(self._path) as db:
            audit(db)
            self._account_in(db)
            if head is not None and all(link.hash != head for link, _ in rows.links(db)):
                raise LedgerError(
                    f"{self._path} does not contain the head {head!r}: it is an older copy or "
                    "another ledger. Put back the newest copy."
                )

    def __repr__(self) -> str:
        return f"Ledger({str(self._path)!r}, account={self._account!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return (self._path, self._account) == (other._path, other._account)

    def __hash__(self) -> int:
        return hash((self._path, self._account))

    def __reduce__(self) -> tuple[Any, ...]:
        # Path and account only: whatever copies this, the copy spends from the same file.
        return _reopen, (type(self), str(self._path), self._account)

    def _is_open(self) -> bool:
        """Return whether the file holds this account."""
        if not database.exists(self._path):
            return False
        with database.reading(self._path) as db:
            return rows.read_account(db, self._account) is not None

    def _open(
        self, cap: Fraction | None, neighbours: str | None, records_per_person: int | None
    ) -> None:
        if cap is None:
            other = "" if self._account == "default" else f", account={self._account!r}"
            raise SpecError(
                f"{self._path} has no account {self._account!r} yet. Open it first, with the "
                "largest total epsilon of its dataset, as in "
                f"kng.Ledger({self._path.name!r}{other}, cap=1)."
            )
        account = Account(self._account, cap, Fraction(0), neighbours, records_per_person)
        with database.creating(self._path) as db:
            if rows.read_account(db, self._account) is None:  # or another process was faster
                rows.insert_account(db, account)
                rows.append(db, "account", self._account, entries.write_account(account))

    def _require(self, **asked: Fraction | str | int | None) -> None:
        """Refuse an account that is not the one that was asked for."""
        stored = self._read()
        for name, value in asked.items():
            kept = getattr(stored, name)
            if value is None or value == kept:
                continue
            if kept is None:
                raise SpecError(
                    f"Account {self._account!r} has no {name} yet; its first charge will fix it. "
                    f"Open it without {name}=."
                )
            old, new = (tell(x) if isinstance(x, Fraction) else x for x in (kept, value))
            raise SpecError(
                f"Account {self._account!r} of {self._path} has {name} {old}, not {new}. "
                f"That never changes; open it without {name}=."
            )

    def _read(self) -> Account:
        with database.reading(self._path) as db:
            return self._account_in(db)

    def _account_in(self, db: sqlite3.Connection) -> Account:
        found = rows.read_account(db, self._account)
        if found is None:
            raise LedgerError(
                f"{self._path} has no account {self._account!r}; it holds "
                f"{', '.join(map(repr, rows.account_names(db))) or 'none'}. Put back the file "
                "that this ledger was opened with."
            )
        return found


def _reopen(kind: type[Ledger], path: str, account: str) -> Ledger:
    return kind(path, account=account)


def _absolute(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike) or isinstance(path, bytes):
        raise SpecTypeError(f"path must name a file, got {type(path).__name__}.")
    try:
        # One name per file: through a link, the head file must be found as well.
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        raise SpecError(f"path must name a file, got {path!r} ({error}).") from error
