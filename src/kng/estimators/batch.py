"""Several questions under one total, charged whole before the first of them is answered.

    rehearse    run every question up to its charge, where it stops: all faults, and all costs
    charge      book the sum of the costs as one entry, durably
    answer      run every question again, which now draws from what is paid

Up to the charge nothing is read but, under replace-one, the public number of records, as for any
release. Costs add up: epsilons, ranges of the loss, and rhos (docs/proofs/lemmas/composition.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

from kng.core.certificate import weakest
from kng.core.errors import KngError, LedgerError, PrivateZoneError, SchemaError, SpecError
from kng.core.naming import argument
from kng.core.payment import Charge, Ledger, charged, settle
from kng.core.privacy import PrivacyEvent
from kng.core.promise import same_account
from kng.core.release import Release

FORMAT = "kng-batch-1"


@dataclass(frozen=True, slots=True)
class Question:
    """A name, and how its release is asked for, given who pays."""

    name: str
    ask: Callable[[Any], Release]


@dataclass(frozen=True, slots=True)
class Cost:
    """What a question would be charged, as a ledger hears of it."""

    event: PrivacyEvent
    parameters: str
    dataset: str | None


class _Stopped(Exception):  # noqa: N818 - no error: a rehearsal has come to its end
    def __init__(self, cost: Cost) -> None:
        super().__init__()
        self.cost = cost


class _Standing:
    """Stands where a ledger is asked for, and is otherwise what the ledger is."""

    def __init__(self, ledger: Ledger | None) -> None:
        self._ledger = ledger

    @property
    def account(self) -> str:
        """The account that pays."""
        return getattr(self._ledger, "account", "default")

    def is_account(self, other: Any) -> bool:
        """Tell whether another ledger, a path or an address is that of whoever pays."""
        return same_account(self._ledger, other)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._ledger, name)


class _Rehearsal(_Standing):
    """Stops a release where it would be charged."""

    def reserve(
        self, event: PrivacyEvent, *, parameters: str, dataset: str | None = None
    ) -> NoReturn:
        """Tell what it would cost."""
        raise _Stopped(Cost(event, parameters, dataset))

    def settle(self, charge: Charge, payload: str) -> NoReturn:  # noqa: ARG002
        """Come never so far."""
        raise LedgerError("A rehearsal has nothing to settle.")


class _Paid(_Standing):
    """Lets a release draw from what is paid already, if it costs what was rehearsed."""

    def __init__(self, ledger: Ledger, charge: Charge, cost: Cost) -> None:
        super().__init__(ledger)
        self._charge, self._cost = charge, cost

    def reserve(
        self, event: PrivacyEvent, *, parameters: str, dataset: str | None = None
    ) -> Charge:
        """Return the charge of the batch."""
        if Cost(event, parameters, dataset) != self._cost:
            raise PrivateZoneError(
                "The table was changed after the batch was planned, and a question would cost "
                "something else now. The charge of the batch stays."
            )
        return self._charge

    def settle(self, charge: Charge, payload: str) -> None:
        """Leave the answer to the batch, which stores all of them."""


def rehearse(questions: Sequence[Question], ledger: Ledger | None) -> list[Cost]:
    """Return what each question costs; nothing is charged, and all faults are told at once.

    Parameters
    ----------
    questions : sequence of Question
    ledger : Ledger, optional
        Who would pay.
    """
    costs, faults = planned(questions, ledger)
    if faults:
        several = "1 question" if len(faults) == 1 else f"{len(faults)} questions"
        lines = "".join(f"\n  {name}: {error.message}" for name, error in faults.items())
        schema = all(isinstance(error, SchemaError) for error in faults.values())
        kind = SchemaError if schema else SpecError
        raise kind(f"{several} of {len(questions)} cannot be answered; nothing was charged.{lines}")
    return costs


def planned(
    questions: Sequence[Question], ledger: Ledger | None
) -> tuple[list[Cost], dict[str, KngError]]:
    """Return what questions cost, and what is wrong with those that cannot be answered."""
    costs, faults = [], {}
    for question in questions:
        try:
            question.ask(_Rehearsal(ledger))
        except _Stopped as stopped:
            costs.append(stopped.cost)
        except KngError as error:
            faults[question.name] = error
    return costs, faults


def together(costs: Sequence[Cost]) -> PrivacyEvent:
    """Return what several questions about the same people cost together."""
    events = [cost.event for cost in costs]
    promises = {(event.neighbours, event.records_per_person) for event in events}
    if len(promises) > 1:
        raise SpecError(
            "the questions of a batch promise different things: all must have the same neighbours "
            f"and the same {argument('records_per_person')} or {argument('max_records')}, or their "
            "epsilons do not add up."
        )
    return replace(
        events[0],
        epsilon=sum((event.epsilon for event in events), Fraction(0)),
        width=sum((event.width for event in events), Fraction(0)),
        rho=sum((event.rho for event in events), Fraction(0)),
        mechanism=", ".join(dict.fromkeys(event.mechanism for event in events)),
        guarantee=weakest([event.guarantee for event in events]),
    )


def answers(
    questions: Sequence[Question], costs: Sequence[Cost], ledger: Ledger | None
) -> Generator[Release, None, None]:
    """Charge the whole, then yield one release after the other.

    Parameters
    ----------
    questions : sequence of Question
    costs : sequence of Cost
        What `rehearse` has returned for them.
    ledger : Ledger, optional
        Who pays; nobody unless given.
    """
    if ledger is None:
        yield from (question.ask(None) for question in questions)
        return
    charge = charged(ledger, together(costs), _parameters(questions, costs), costs[0].dataset)
    if charge.payload is not None:  # the same request was answered before
        yield from _stored(charge.payload, questions)
        return
    found = {}
    try:
        for question, cost in zip(questions, costs, strict=True):
            release = _drawn(question, _Paid(ledger, charge, cost))
            found[question.name] = json.loads(release.to_json())
            yield release
    finally:
        if found:  # whatever stopped the rest: what was answered can be read and verified
            settle(ledger, charge, lambda: json.dumps({"format": FORMAT, "releases": found}))


def _drawn(question: Question, paid: _Paid) -> Release:
    """Ask a question that is paid for; whatever fails now has been charged."""
    try:
        return question.ask(paid)
    except PrivateZoneError:
        raise
    except KngError:
        raise PrivateZoneError(
            f"Question {question.name!r} failed after the batch was charged; the charge stays. "
            "Check that the table is still there and unchanged."
        ) from None


def _parameters(questions: Sequence[Question], costs: Sequence[Cost]) -> str:
    """Return the public description that the ledger keeps with the charge."""
    each = zip(questions, costs, strict=True)
    named = {question.name: json.loads(cost.parameters) for question, cost in each}
    return json.dumps({"statistic": "batch", "questions": named})


def stored_receipts(text: str) -> list[str]:
    """Return the receipts in what a ledger stores for a charge: of one release, or of a batch.

    Parameters
    ----------
    text : str
        A receipt, or what a batch has stored.
    """
    found = json.loads(text)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return [text]
    return [json.dumps(receipt) for receipt in found["releases"].values()]


def _stored(payload: str, questions: Sequence[Question]) -> Iterator[Release]:
    releases = json.loads(payload)["releases"]
    for question in questions:
        if question.name not in releases:
            raise PrivateZoneError(
                f"Question {question.name!r} was cut short after the batch was charged; the charge "
                "stays. Ask it anew, which is charged again."
            )
        yield Release.from_json(json.dumps(releases[question.name]))
