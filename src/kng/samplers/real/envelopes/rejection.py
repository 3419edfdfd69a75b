"""Rejection: proposals in growing batches, until one is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Protocol

import numpy as np

from kng.core.bits import Bits
from kng.core.privacy import Assumption
from kng.core.quadratic import Matrix, Vector

ASSUMPTIONS = (
    Assumption.RANDOM_BITS,
    Assumption.UNSEEN_CLOCK,
    Assumption.REAL_ARITHMETIC,
    Assumption.UNBOUNDED_TIME,
)

_FIRST_BATCH = 2**6
_LAST_BATCH = 2**15


class Envelope(Protocol):
    """A density that is nowhere below the stated one, up to the constant ``log_envelope``."""

    @property
    def log_envelope(self) -> float:
        """Return the log of its integral, in the units of the stated density."""
        ...

    def batch(self, bits: Bits, size: int) -> tuple[Matrix, Vector]:
        """Return proposed coefficients and the log of their acceptance probabilities."""
        ...


def offered(*makers: Callable[[], Sequence[Envelope]]) -> list[Envelope]:
    """Return what the makers offer; one whose matrices float64 cannot solve with offers nothing."""
    found: list[Envelope] = []
    for make in makers:
        with suppress(np.linalg.LinAlgError):
            found += make()
    return found


def smallest(envelopes: Iterable[Envelope]) -> Envelope:
    """Return the envelope with the least integral: the most is accepted of it.

    Of those that are alike to a hundredth the first, so that the simplest may stand first.
    """
    return min(envelopes, key=lambda envelope: round(envelope.log_envelope, 2))


def first_accepted(envelope: Envelope, bits: Bits) -> Vector:
    """Return the first proposal that is accepted."""
    size = _FIRST_BATCH
    while True:
        theta, log_accept = envelope.batch(bits, size)
        accepted = np.flatnonzero(np.log(bits.uniforms(size)) < log_accept)
        if len(accepted):
            return np.asarray(theta[accepted[0]])
        size = min(2 * size, _LAST_BATCH)
