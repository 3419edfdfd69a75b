"""Uniform random numbers that are known to some bits, and to more when a decision needs them."""

from __future__ import annotations

from flint import arb, fmpz

from kng.core.bits import Bits


class LazyUniform:
    """A uniform number of [0, 1), known to be in [value, value + 1] / 2**length."""

    __slots__ = ("length", "value")

    def __init__(self) -> None:
        self.value, self.length = 0, 0

    def refine(self, bits: Bits) -> None:
        """Look at the next word of its bits."""
        self.value = (self.value << bits.word) | bits.take(bits.word)
        self.length += bits.word

    def ball(self) -> arb:
        """Return a ball that holds it, at the precision in force."""
        half = arb(2) ** -(self.length + 1)
        return arb(arb(fmpz(2 * self.value + 1)) * half, half)
