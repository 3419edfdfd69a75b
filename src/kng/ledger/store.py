"""The ledger: durable charges against a cap, and the releases they paid for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kng.core.composition import epsilon_at, read_delta
from kng.core.errors import LedgerError, SpecError, SpecTypeError
from kng.core.exact import whole
from kng.core.naming import argument, call
from kng.core.payment import BLOCKS, Charge
from kng.core.privacy import PrivacyEvent, read_records
from kng.ledger import charging, opening, restoring, rows
from kng.ledger.accepting import accept, read_currency, read_name, read_relation, read_text
from kng.ledger.account import Account, Share
from kng.ledger.amounts import read_cap, tell
from kng.ledger.backend import Backend, SqliteFile, backend_of
from kng.ledger.charging import Purse
from kng.ledger.entries import Booking, Entry
from kng.ledger.rows import Connection


class Ledger:
    """A budget for one dataset, kept in a file or on a server, which cannot be overspent.

    A release is charged before any record is read, in one durable transaction, and charges are
    never given back: a program that is killed while it draws has spent its epsilon. Any number
    of threads and processes may use one ledger at once. Copies, clones and pickles of a ledger
    reopen the same account, so that no copy doubles a budget. In a ``with`` block it is the
    ledger of every release that names none.

    Parameters
    ----------
    path : str or path
        A file on a local disk, with one name: hard links to it are refused, and a container
        mounts its directory. It is made if it does not exist. Or the address of a database, as in
        ``"postgresql://host/budgets"``. See docs/ledger.md.
    cap : number or str, optional
        The largest total, as in ``10``, ``0.1`` or ``"1/3"``; needed to open a new account or to
        give an analyst a share of it, and never changed afterwards.
    account : str
        A ledger may hold several accounts. Each belongs to one dataset: two accounts for the same
        records have their caps added up.
    analyst : str, optional
        Charge to this analyst's share of the account too; ``cap`` is then that of the share.
    currency : {"epsilon", "rho"}, optional
        What the cap limits: the sum of epsilons (as if not given), or that of rhos, which grows
        more slowly over many small releases, for a promise with a delta: see ``epsilon_at``.
    neighbours : {"replace-one", "add-remove"}, optional
    records_per_person : int, optional
        What this account protects. Fixed here or by the first charge, and never changed. Releases
        for another relation are counted as often as it takes, or refused: see docs/ledger.md.

    Notes
    -----
    Beside the file lies ``<path>.head``, the place of the newest entry. Keep the two together.
    A ledger that lacks the entry named there is an older copy, which would un-spend budget, and
    is refused. One that goes on beyond it was written under another name, and is refused too, as
    is a ledger without that file: ``Ledger.adopt`` accepts both, ``Ledger.restore`` an older copy.
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

    __slots__ = ("_backend", "_purse")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        cap: Any = None,
        account: str = "default",
        analyst: str | None = None,
        currency: str | None = None,
        neighbours: str | None = None,
        records_per_person: int | None = None,
    ) -> None:
        self._backend: Backend = backend_of(path)
        self._purse = Purse(
            read_name(account), None if analyst is None else read_name(analyst, "analyst")
        )
        asked = opening.Asked(
            None if cap is None else read_cap(cap),
            None if currency is None else read_currency(currency),
            None if neighbours is None else read_relation(neighbours),
            None if records_per_person is None else read_records(records_per_person),
        )
        opening.open_purse(self._backend, self._purse, asked)

    @classmethod
    def adopt(cls, path: str | os.PathLike[str], *, account: str = "default") -> Self:
        """Accept a ledger that was moved, or whose ``.head`` file is missing or behind; open it.

        The whole history is verified first. An older copy is accepted too where nothing in it can
        tell: call this only where you know that nothing was charged since, and that no other name
        or copy of it is in use.
        """
        restoring.adopt(backend_of(path))
        return cls(path, account=account)

    @classmethod
    def restore(
        cls,
        path: str | os.PathLike[str],
        *,
        spent: Any | Mapping[str, Any] = None,
        account: str = "default",
    ) -> Self:
        """Go on with an older copy, after booking what was charged since it was made; open it.

        Parameters
        ----------
        path : str or path
        spent : number, or mapping of accounts to numbers, optional
            What was charged since, in the currency of the account: by the receipts, say. All that
            is left unless given, so that nothing can be spent twice.
        account : str
        """
        restoring.restore(backend_of(path), spent)
        return cls(path, account=account)

    def request(self, key: str) -> Self:
        """Return this ledger for one request, which is charged once however often it is made.

        A release with this ledger is charged and stored under the key. Made again with the same
        parameters, it returns the stored answer and costs nothing; with others it is refused. One
        that was charged and cut short stays charged, and says so.
        """
        view = object.__new__(type(self))
        view._backend = self._backend
        view._purse = replace(self._purse, request=read_name(key, "request key"))
        return view

    @property
    def path(self) -> Path:
        """Where the file is."""
        if not isinstance(self._backend, SqliteFile):
            raise SpecError(f"{self.called} is on a server, and has no path.")
        return self._backend.path

    @property
    def called(self) -> str:
        """What messages call this ledger: a path, or a server and its database."""
        return self._backend.called

    @property
    def account(self) -> str:
        """The name of this account."""
        return self._purse.account

    def is_account(self, other: Any) -> bool:
        """Tell whether another ledger spends from this account, or a path or address is its own."""
        if isinstance(other, Ledger):
            mine, its = self._purse.account, other._purse.account
            return (self._backend.place, mine) == (other._backend.place, its)
        known = isinstance(other, str | os.PathLike)
        return known and backend_of(other).place == self._backend.place

    @property
    def analyst(self) -> str | None:
        """Whose share of the account this is."""
        return self._purse.analyst

    @property
    def currency(self) -> str:
        """What the cap limits: "epsilon" or "rho"."""
        return self._read().currency.value

    @property
    def cap(self) -> Fraction:
        """The largest total of this account, or of this analyst."""
        return self._limit().cap

    @property
    def spent(self) -> Fraction:
        """The total of all charges to this account, or to this analyst."""
        return self._limit().spent

    @property
    def remaining(self) -> Fraction:
        """What may still be charged."""
        account = self._read()
        if self._purse.analyst is None:
            return account.remaining
        return min(account.remaining, account.share(self._purse.analyst).remaining)

    @property
    def epsilon(self) -> Fraction | None:
        """The sum of epsilons of all charges; None if charges in rho were lost and restored."""
        return self._read().epsilon

    @property
    def rho(self) -> Fraction:
        """The sum of rhos of all charges (zero-concentrated differential privacy)."""
        return self._read().rho

    @property
    def neighbours(self) -> str | None:
        """The relation that this account is kept for, once it is fixed."""
        return self._read().neighbours

    @property
    def records_per_person(self) -> int | None:
        """The records of a person that this account is kept for, once it is fixed."""
        return self._read().records_per_person

    @property
    def closed(self) -> bool:
        """Whether the account takes no more charges."""
        return self._read().closed

    @property
    def shares(self) -> Mapping[str, Share]:
        """What analysts may spend and have spent, by name."""
        return dict(self._read().shares)

    @property
    def head(self) -> str:
        """The hash of the newest entry of the ledger, which seals all of its history."""
        with self._backend.reading() as db:
            end = rows.last(db)
        if end is None:
            raise LedgerError(f"{self.called} has no entries. Put back the newest copy.")
        return end.hash

    def epsilon_at(self, delta: Any) -> Fraction:
        """Return an epsilon that all charges together keep, but for a probability of delta."""
        account, chance = self._read(), read_delta(delta)
        found = epsilon_at(account.rho, chance)
        return found if account.epsilon is None else min(found, account.epsilon)

    def reserve(
        self, event: PrivacyEvent, *, parameters: str, dataset: str | None = None
    ) -> Booking:
        """Book an event durably, or refuse it and write nothing.

        Parameters
        ----------
        event : PrivacyEvent
            What the release costs. Seeded and approximate releases are refused.
        parameters : str
            The public facts of the release, kept for the auditor.
        dataset : str, optional
            A fingerprint of the declared dataset. It is charged to one account of a ledger.

        Raises
        ------
        BudgetError
            If it does not fit below the cap, or the account is closed.
        SpecError
            If it is not a certified release, tells what the account protects, is another request
            than the one that has this key, or its dataset is charged to another account.
        """
        event = accept(event)
        parameters = read_text(parameters, "parameters")
        dataset = None if dataset is None else read_name(dataset, "dataset")
        with self._backend.charging() as db:
            return charging.charge(db, self._purse, event, parameters, dataset)

    def settle(self, charge: Charge, payload: str) -> None:
        """Store the release that a charge paid for; once, and for good."""
        if not isinstance(charge, Booking):
            raise SpecTypeError(
                f"charge must be what reserve() returned, got {type(charge).__name__}."
            )
        payload = read_text(payload, "payload")
        with self._backend.writing() as db:
            charging.settle(db, self._purse, charge, payload)

    def close_account(self) -> None:
        """Take no more charges, for good; what is left of the budget is given up."""
        with self._backend.writing() as db:
            charging.close(db, self._purse)

    def history(self) -> list[Entry]:
        """Return the charges of this account, oldest first."""
        with self._backend.reading() as db:
            charging.account_in(db, self._purse)
            return rows.history(db, self._purse.account)

    def release_of(self, sequence: int) -> str | None:
        """Return what a charge paid for, or None if it was never settled.

        A charge without a release was cut short by a crash, or is under way. It stays spent: a
        second draw would be a second release.
        """
        number = whole(sequence, "sequence", 1)
        with self._backend.reading() as db:
            if number >= 2**63 or rows.charge_at(db, self._purse.account, number) is None:
                raise SpecError(
                    f"{argument('sequence')} must be the number of a charge of account "
                    f"{self.account!r}, and entry {tell(Fraction(number))} is not a charge. "
                    f"{call('history()')} lists them."
                )
            return rows.release_at(db, number)

    def verify(self, head: str | None = None) -> None:
        """Check the whole ledger: its rules, chain and sums, and that nothing was taken away.

        Parameters
        ----------
        head : str, optional
            A head that was written down earlier; the history must still contain it.

        Raises
        ------
        LedgerError
            With the first thing that does not hold.
        """
        with self._backend.reading() as db:
            self._backend.audit(db)
            charging.account_in(db, self._purse)
            if head is not None and not _has_hash(db, read_text(head, "head")):
                raise LedgerError(
                    f"{self.called} does not contain the head {head!r}: it is an older copy or "
                    "another ledger. Put back the newest copy."
                )

    def __enter__(self) -> Self:
        BLOCKS.enter(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        BLOCKS.leave(self)

    def __repr__(self) -> str:
        return f"Ledger({self.called!r}, {self._purse})"

    def __eq__(self, other: object) -> bool:
        return self._identity == other._identity if isinstance(other, Ledger) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple[Any, ...]:
        # What opens it and no more: whatever copies this, the copy spends from the same account.
        return _reopen, (type(self), *self._identity)

    @property
    def _identity(self) -> tuple[str, Purse]:
        return self._backend.place, self._purse

    def _read(self) -> Account:
        with self._backend.reading() as db:
            return charging.account_in(db, self._purse)

    def _limit(self) -> Account | Share:
        account, analyst = self._read(), self._purse.analyst
        return account if analyst is None else account.share(analyst)


def _has_hash(db: Connection, head: str) -> bool:
    return head.isascii() and rows.has_hash(db, head)  # a text that is no UTF-8 is no hash


def _reopen(kind: type[Ledger], path: str, purse: Purse) -> Ledger:
    ledger = kind(path, account=purse.account, analyst=purse.analyst)
    return ledger if purse.request is None else ledger.request(purse.request)
