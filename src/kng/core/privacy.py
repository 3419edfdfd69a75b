"""Who is protected, from what change, and how far the promise has been carried."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar, Literal

from kng.core.errors import SpecError
from kng.core.exact import positive, whole
from kng.core.naming import argument


class Guarantee(StrEnum):
    """How far the epsilon on a release has been carried into the program that ran."""

    EXACT = "exact"  # proved for the program: integers in, lattice out, exact coins
    IDEAL = "ideal"  # exact in real arithmetic, computed in floating point
    APPROXIMATE = "approximate"  # a Markov chain; no certificate
    SIMULATION = "simulation"  # seeded, hence reproducible by anyone who knows the seed


class Assumption(StrEnum):
    """What a release takes for granted; printed with it."""

    RANDOM_BITS = "random-bits"
    UNSEEN_CLOCK = "unseen-clock"
    UNBOUNDED_TIME = "unbounded-time"
    REAL_ARITHMETIC = "real-arithmetic"
    CONVERGED = "converged-chain"
    SEEDED = "seeded"
    CALLERS_PARTS = "callers-parts"
    CLOSED_QUOTES = "closed-quotes"
    ROWS_PER_RECORD = "rows-per-record"
    PUBLIC_SCHEMA = "public-schema"

    @property
    def meaning(self) -> str:
        """The assumption in one sentence."""
        return _MEANING[self]


_MEANING = {
    Assumption.RANDOM_BITS: "the operating system's random bits are uniform and unpredictable",
    Assumption.UNSEEN_CLOCK: "nobody can time the program or watch its memory",
    Assumption.UNBOUNDED_TIME: "the draw runs until it is done, however long that takes",
    Assumption.REAL_ARITHMETIC: "floating-point arithmetic behaves like real arithmetic",
    Assumption.CONVERGED: "the Markov chain has reached its target, which nothing certifies",
    Assumption.CALLERS_PARTS: "the caller's own loss, norm, domain or sampler keeps its promises",
    Assumption.CLOSED_QUOTES: "every quote in the file is closed, so that no record holds others",
    Assumption.ROWS_PER_RECORD: "a record adds or removes at most the stated rows of the query",
    Assumption.PUBLIC_SCHEMA: "the types that the data declare for their columns are public facts",
    Assumption.SEEDED: "nobody who can guess the seed of the random bits sees the answer",
}


@dataclass(frozen=True, slots=True)
class ReplaceOne:
    """Neighbours have the same public number of records, and one record differs (the paper's)."""

    n: int
    name: ClassVar[str] = "replace-one"
    changes: ClassVar[int] = 1  # how often one replaced row changes the sum of scores

    def __post_init__(self) -> None:
        whole(self.n, "n", 1)

    @property
    def stated(self) -> int:
        """The public number of records."""
        return self.n


# More records than any table has; nobody has stated it, so no receipt shows it.
_UNSTATED = 2**40


@dataclass(frozen=True, slots=True)
class AddRemove:
    """Neighbours differ by the presence of one record; the number of records is private.

    ``n_max`` is a public statement about the size of the data. It sizes nothing that carries
    privacy: sums are integers of any length, so a larger file is still protected.
    """

    n_max: int = _UNSTATED
    name: ClassVar[str] = "add-remove"
    n: ClassVar[int | None] = None  # nothing public
    changes: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole(self.n_max, "n_max", 1)

    @property
    def stated(self) -> int | None:
        """What the caller has said about the number of records, if anything."""
        return None if self.n_max == _UNSTATED else self.n_max


@dataclass(frozen=True, slots=True)
class RemoveAndAdd:
    """A replaced record is one removed and one added; the number of those that count is private.

    A record of one group may be replaced by one of another, a person with two records by one with
    five. So n and Delta are those of `AddRemove`, and the change is made twice for each row:

        Delta' = 2 max || u ||_K,     the add-remove release at epsilon / 2

    It is replace-one to receipts and ledgers. docs/proofs/lemmas/groups.md.
    """

    n_max: int = _UNSTATED
    name: ClassVar[str] = ReplaceOne.name
    n: ClassVar[int | None] = None
    changes: ClassVar[int] = 2

    def __post_init__(self) -> None:
        whole(self.n_max, "n_max", 1)

    @property
    def stated(self) -> int | None:
        """What is known of the number of records, if anything: the size of the whole table."""
        return None if self.n_max == _UNSTATED else self.n_max


Neighbours = ReplaceOne | AddRemove | RemoveAndAdd


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """What one unit of protection is: a record, or a person with at most k records.

    By the triangle inequality k records move any score by at most k sensitivities. Where rows are
    those of a query, ``rows_per_record`` is how many of them one record adds or removes, at most;
    None where a row is a record. ``presence`` says whether a record may be absent (missing,
    filtered out, of another group): it then has the score 0, and replacing a record may turn a
    present one into an absent one.
    """

    neighbours: Neighbours
    records_per_person: int = 1
    presence: Literal["always", "optional"] = "always"
    rows_per_record: int | None = None
    # How many changes of one row the whole unit can make, at most.
    rows: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        read_records(self.records_per_person)
        if self.rows_per_record is not None and isinstance(self.neighbours, ReplaceOne):
            raise SpecError(
                f"{argument('rows_per_record')} needs {argument('neighbours', 'add-remove')}."
            )
        rows = self.records_per_person * (self.rows_per_record or 1)
        object.__setattr__(self, "rows", rows * self.neighbours.changes)

    def group(self, sensitivity: Fraction) -> Fraction:
        """Return the sensitivity for the whole unit."""
        return self.rows * sensitivity


def read_records(value: Any) -> int:
    """Read how many records one person may have."""
    number = whole(value, "records_per_person", 1)
    if number > 2**53:
        raise SpecError(
            f"{argument('records_per_person')} must be at most 2**53: no file holds more records."
        )
    return number


@dataclass(frozen=True, slots=True)
class PrivacyEvent:
    """What one release costs; all a ledger needs to know.

    ``width`` bounds the range of the privacy loss, given random numbers that no record decides:
    epsilon for KNG and the exponential mechanism (a bounded-range mechanism), 2 epsilon for
    additive noise. ``rho`` is what concentrated privacy adds up: the sum of width**2 / 8 over the
    draws of the release (docs/proofs/lemmas/conversion.md); 0 stands for one draw.
    """

    epsilon: Fraction
    width: Fraction
    mechanism: str
    neighbours: str
    records_per_person: int
    guarantee: Guarantee
    rho: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        if self.width < self.epsilon:
            raise SpecError("The range of the privacy loss cannot be below epsilon.")
        if self.rho == 0:
            object.__setattr__(self, "rho", rho_of(self.width))


def rho_of(width: Fraction) -> Fraction:
    """Return the concentrated privacy of one draw whose loss has this range: width**2 / 8."""
    return width * width / 8
