"""The log-odds of one declared class against the others, where records may be of none."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from kng.losses.pointwise.curved import Derivatives
from kng.losses.pointwise.function import Chords, Interval
from kng.losses.pointwise.logistic import Logistic, LogisticSteps

Array = NDArray[np.float64]

_LOGISTIC = Logistic()


@dataclass(frozen=True, slots=True)
class Odds:
    """The logistic function of class ``position`` out of ``classes``, 0, 1, ...

        psi = sigma(eta) - [y = position],  and 0 if y = classes: the record is absent

    Responses are the whole numbers from 0 to ``classes``; a label that is none of the classes is
    read as the last of them.

    Paper    beyond it.
    Privacy  psi lies where the logistic function's does; 0 is among it, so absent records change no
             sensitivity. docs/proofs/losses/odds.md.
    Cost     O(1) a record.
    """

    position: int
    classes: int
    name: ClassVar[str] = "logistic"
    residual: ClassVar[bool] = False
    sides: ClassVar[tuple[Fraction, Fraction] | None] = None
    curvature: ClassVar[Fraction | None] = Fraction(1, 4)
    scale: ClassVar[Fraction | None] = None

    def rescaled(self, scale: Fraction) -> Odds:  # noqa: ARG002
        """Return the same: it has no scale."""
        return self

    def psi(self, eta: Interval, y: Interval) -> Interval:
        """Return the range of the logistic function."""
        return _LOGISTIC.psi(eta, y)

    def psi_ends(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return that of the logistic function."""
        return _LOGISTIC.psi_ends(low, high)

    def apart(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return 1: two classes, at every eta; an absent record lies between them."""
        return Interval.at(Fraction(1))

    def rho(self, eta: Interval, y: Interval) -> Interval:  # noqa: ARG002
        """Return from 0, of an absent record, to the larger value of the two classes."""
        both = _LOGISTIC.rho(eta, Interval(Fraction(0), Fraction(1)))
        return Interval(Fraction(0), both.high)

    def derivatives(self, eta: Array, y: Array, reach: float) -> Derivatives:
        """Return those of the logistic function; all are 0 of an absent record."""
        found = _LOGISTIC.derivatives(eta, np.where(np.rint(y) == self.position, 1.0, 0.0), reach)
        here = np.where(np.rint(y) == self.classes, 0.0, 1.0)
        return Derivatives(
            found.psi * here, found.doubt * here, found.least * here, found.most * here
        )

    def enclosed(self, eta: Fraction, y: Fraction) -> arb:
        """Enclose psi."""
        if round(y) == self.classes:
            return arb(0)
        return _LOGISTIC.enclosed(eta, Fraction(round(y) == self.position))

    def stepped(self, unit: Fraction, eta: Interval, y: Interval) -> OddsSteps:
        """Return the function on whole numbers."""
        return OddsSteps(_LOGISTIC.stepped(unit, eta, y), self.position, self.classes)


@dataclass(frozen=True, slots=True)
class OddsSteps:
    """The logistic function in whole steps, and 0 for absent records."""

    logistic: LogisticSteps
    position: int
    classes: int

    @property
    def psi_step(self) -> Fraction:
        """That of the logistic function."""
        return self.logistic.psi_step

    @property
    def rho_step(self) -> Fraction:
        """That of the logistic function."""
        return self.logistic.rho_step

    def _read(self, y: Array) -> tuple[Array, Array]:
        """Return classes 0 and 1 in whole numbers, and 0 for absent records but 1 for others."""
        code = np.rint(y * self.logistic.unit)
        ours = np.where(code == self.position, 1 / self.logistic.unit, 0.0)
        return ours, np.where(code == self.classes, 0.0, 1.0)

    def psi(self, eta: Array, y: Array) -> Array:
        """Return sigma of the margin, truncated, with the sign of its class."""
        ours, here = self._read(y)
        return np.asarray(self.logistic.psi(eta, ours) * here)

    def rho(self, eta: Array, y: Array) -> Array:
        """Return the value, rounded down."""
        ours, here = self._read(y)
        return np.asarray(self.logistic.rho(eta, ours) * here)

    @property
    def bend(self) -> float:
        """That of the logistic function."""
        return self.logistic.bend

    @property
    def grain(self) -> float:
        """That of the logistic function."""
        return self.logistic.grain

    def tangents(self, eta: Array, y: Array) -> tuple[Array, Array]:
        """Return psi and its slope; both are 0 of an absent record."""
        ours, here = self._read(y)
        psi, slope = self.logistic.tangents(eta, ours)
        return psi * here, slope * here

    def psi_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return the lines of the logistic function."""
        ours, here = self._read(y)
        return _masked(self.logistic.psi_chords(low, high, ours), here)

    def rho_chords(self, low: Array, high: Array, y: Array) -> Chords:
        """Return the lines of the logistic function."""
        ours, here = self._read(y)
        return _masked(self.logistic.rho_chords(low, high, ours), here)


def _masked(found: Chords, here: Array) -> Chords:
    return Chords(found.slope * here, found.middle * here, found.miss * here)
