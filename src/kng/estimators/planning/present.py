"""How many of the records count: those that lack no cell, meet a condition, or are of one group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.bits import Simulator
from kng.core.encoding import DROP
from kng.core.errors import SpecError
from kng.core.exact import exact
from kng.core.naming import argument


@dataclass(frozen=True, slots=True)
class Counted:
    """The share of records that count."""

    share: float = 1.0

    def of(self, records: int) -> int:
        """Return about how many count, at least one."""
        return max(1, round(self.share * records))

    def absent(self, rng: Simulator, records: int) -> NDArray[np.bool_]:
        """Simulate which do not count."""
        if self.share == 1:
            return np.zeros(records, dtype=bool)
        gone = np.asarray(rng.uniform(0, 1, records) >= self.share)
        gone[: int(gone.all())] = False  # without any record there is nothing to compare with
        return gone

    def said(self, words: str) -> str:
        """Put it before what records look like."""
        return words if self.share == 1 else f"{self.share:.3g} of them count; {words}"


ALL_COUNT = Counted()


def counted_of(present: Any, missing: Any) -> Counted:
    """Read the share of records that count; all of them unless it is stated."""
    if present is None:
        return ALL_COUNT
    share = float(exact(present, "present"))
    if not 0 < share <= 1:
        raise SpecError(
            f"{argument('present')} must be above 0 and at most 1, as in 0.6; got {present}."
        )
    if share < 1 and missing not in (None, DROP):
        raise SpecError(
            f"{argument('present')} is the share of records that count, and with a number for "
            f"{argument('missing')} none is left out. Leave out one of them."
        )
    return Counted(share)
