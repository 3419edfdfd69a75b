"""One row of the audit: what was asked, the worst pair, and what was lost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isinf
from typing import Literal

from kng.audit.oracle import Verdict
from kng.audit.universe import ABSENT, Dataset, Record

# What has to come out: at most epsilon, or more than it.
Expected = Literal["holds", "fails"]


@dataclass(frozen=True, slots=True)
class Row:
    """A mechanism on a statistic, under a relation.

    ``share`` is the largest privacy loss over epsilon, and ``holds`` whether it is at most 1: for
    laws that are enumerated decided by enclosures, at the upper end where it must hold and at the
    lower end where it must fail.
    """

    mechanism: str
    statistic: str
    relation: str
    epsilon: str
    pair: str
    share: float
    holds: bool
    expected: Expected

    @property
    def right(self) -> bool:
        """Whether what was expected came out."""
        return self.holds == (self.expected == "holds")


def row_of(named: tuple[str, str, str], verdict: Verdict, expected: Expected = "holds") -> Row:
    """Return the row of a verdict; mechanism, statistic and relation are named."""
    holds = verdict.private if expected == "holds" else not verdict.broken
    share = float(verdict.high / verdict.epsilon)
    left, right = verdict.witness
    pair = f"{told(left)} → {told(right)}"
    return Row(*named, _number(verdict.epsilon), pair, share, holds, expected)


def witnessed(named: tuple[str, str, str], pair: str, loss: float, expected: Expected) -> Row:
    """Return the row of one pair at epsilon = 1, whose loss is a float."""
    # Sums of floats: a loss of exactly epsilon may come out a few units in the last place above.
    return Row(*named, "1", pair, loss, loss <= 1 + 1e-9, expected)


def told(dataset: Dataset) -> str:
    """Write a dataset: records in brackets, and a dot for one that lacks a cell."""
    return "{" + ", ".join(map(_record, dataset)) + "}"


def _record(record: Record) -> str:
    if record == ABSENT:
        return "·"
    return str(record[0]) if len(record) == 1 else str(record).replace(" ", "")


def _number(value: Fraction) -> str:
    return f"{float(value):g}"


def share_told(share: float) -> str:
    """Write a share with as many digits as tell."""
    return "infinite" if isinf(share) else f"{share:.4f}"
