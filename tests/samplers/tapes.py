"""Every string of bits, fed to the production samplers in order of length.

A run that ends after reading L bits contributes exactly 2**-L to its outcome, and a run that wants
more bits than the tape holds is continued with both. After any number of runs

    lower(x)  <=  P(x)  <=  lower(x) + unresolved        for every outcome x

holds without statistical error, and it is the program that is measured, not a model of it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from audit.oracle import ends
from flint import arb

from kng.core.bits import TapeBits, TapeEnd

# Nobody can tell a law from one this near to it.
RESOLVED = Fraction(1, 2**80)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """What all short tapes say about the law of a sampler."""

    lower: Mapping[Any, Fraction]
    unresolved: Fraction

    def escapes(self, law: Mapping[Any, arb | Fraction]) -> list[Any]:
        """Return the outcomes whose stated probability lies outside its bracket."""
        wrong = []
        for outcome in {*self.lower, *law}:
            stated = law.get(outcome, Fraction(0))
            low, high = ends(stated) if isinstance(stated, arb) else (stated, stated)
            least = self.lower.get(outcome, Fraction(0))
            if high < least or low > least + self.unresolved:
                wrong.append(outcome)
        return wrong


def enumerate_tapes(run: Callable[[TapeBits], Hashable], runs: int) -> Enumeration:
    """Run a sampler on tapes of growing length, ``runs`` times in all or until all is known."""
    lower: dict[Hashable, Fraction] = defaultdict(Fraction)
    waiting: deque[tuple[int, ...]] = deque([()])
    unresolved = Fraction(1)
    while waiting and runs and unresolved > RESOLVED:
        tape = waiting.popleft()
        bits = TapeBits(tape)
        runs -= 1
        try:
            outcome = run(bits)
        except TapeEnd:
            waiting.append((*tape, 0))
            waiting.append((*tape, 1))
            continue
        # A run that left bits unread would be counted twice.
        assert bits.used == len(tape)
        lower[outcome] += Fraction(1, 2 ** len(tape))
        unresolved -= Fraction(1, 2 ** len(tape))
    return Enumeration(dict(lower), unresolved)
