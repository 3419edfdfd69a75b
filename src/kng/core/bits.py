"""Random bits as whole numbers. The only file that may touch a random generator.

Three sources with one method, ``take(k)``: k uniform bits as an integer.

    SystemBits   the operating system's generator; what every real release uses
    SeededBits   repeatable; a release drawn from it is a `simulation`
    TapeBits     a given string of bits; tests enumerate all of them

``word`` is how many bits a lazily refined decision asks for at a time. The tape answers one by
one, so that every decision of a sampler is a branch of a small tree; the samplers are the same.
"""

from __future__ import annotations

import math
import os
import random
from array import array
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kng.core.errors import SpecError, SpecTypeError
from kng.core.naming import argument

_BLOCK = 1024
# More bits than this are bought by themselves.
_LARGE = 256


class SystemBits:
    """Bits from ``os.urandom``, bought in blocks of 1 KiB.

    A forked child drops what the parent had bought, so that no two processes ever spend the
    same bits, and a lock keeps two threads from spending the same ones.
    """

    word = 64
    seeded = False

    def __init__(self) -> None:
        self._lock = Lock()
        self._empty()

    def _empty(self) -> None:
        # What is left of the last word, how many bits that is, and whole words.
        self._pool, self._left, self._words = 0, 0, array("Q")
        self._owner = os.getpid()

    def take(self, k: int) -> int:
        """Return k fresh uniform bits as an integer."""
        if self._owner != os.getpid():  # before the lock: it may have been held across the fork
            self._lock = Lock()
            self._empty()
        if k > _LARGE:
            return int.from_bytes(os.urandom((k + 7) // 8)) >> (-k % 8)
        with self._lock:
            if k == 64 and self._words:
                return self._words.pop()
            while k > self._left:
                if not self._words:
                    self._words = array("Q", os.urandom(_BLOCK))
                self._pool, self._left = self._pool << 64 | self._words.pop(), self._left + 64
            self._left -= k
            high = self._pool >> self._left
            self._pool &= (1 << self._left) - 1
            return high

    def uniforms(self, *shape: int) -> NDArray[np.float64]:
        """Return fresh uniforms of (0, 1) as float64, for draws in real arithmetic."""
        words = np.frombuffer(os.urandom(8 * math.prod(shape)), dtype=np.uint64)
        return _open_unit(words, self.take).reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return SystemBits, ()  # a copy buys its own bits


class SeededBits:
    """Repeatable bits for simulations and tests; never for a release that counts."""

    word = 64
    seeded = True

    def __init__(self, seed: int) -> None:
        self._generator = random.Random(seed)
        self._words: np.random.PCG64 | None = None

    def take(self, k: int) -> int:
        """Return the next k bits of the seeded stream."""
        return self._generator.getrandbits(k) if k else 0

    def uniforms(self, *shape: int) -> NDArray[np.float64]:
        """Return the next uniforms of the seeded stream."""
        if self._words is None:
            self._words = np.random.PCG64(self.take(128))
        words = self._words.random_raw(math.prod(shape))
        return _open_unit(words, self.take).reshape(shape)


class TapeEnd(Exception):  # noqa: N818 - it is a signal, not a fault
    """The tape ran out; the enumeration goes on with a longer one."""


class TapeBits:
    """A fixed string of bits, read from left to right."""

    word = 1
    seeded = True

    def __init__(self, tape: Iterable[int]) -> None:
        self._tape = tuple(tape)
        self.used = 0

    def take(self, k: int) -> int:
        """Return the next k bits, or raise TapeEnd."""
        if self.used + k > len(self._tape):
            raise TapeEnd
        value = 0
        for bit in self._tape[self.used : self.used + k]:
            value = 2 * value + bit
        self.used += k
        return value

    def uniforms(self, *shape: int) -> NDArray[np.float64]:
        """Refuse: a tape is for exact samplers, which take bits one by one."""
        raise SpecError(f"a tape of bits holds no uniforms (asked for {shape}).")


def _open_unit(words: NDArray[np.uint64], take: Callable[[int], int]) -> NDArray[np.float64]:
    """Map 64-bit words to (0, 1): the middle of a cell, of 53 significant bits however small.

    A number below 2**-12 has fewer bits of its word left than float64 holds; it is given more, so
    that a logarithm of it has no gaps either.
    """
    words = np.asarray(words, dtype=np.uint64)
    # Zeros before the first bit, 12 at most, are bits that the end of the word has to spare.
    size = np.frexp(words.astype(np.float64))[1]
    spare = np.clip(size - 52, 0, 12).astype(np.uint64)
    unit = np.ldexp((words >> spare).astype(np.float64) + 0.5, spare.astype(np.int64) - 64)
    for at in np.flatnonzero(words < np.uint64(2**52)):
        value, length = int(words.flat[at]), 64
        while value < 2**52:
            value, length = value << 64 | take(64), length + 64
        short = value.bit_length() - 52
        unit.flat[at] = math.ldexp((value >> short) + 0.5, short - length)
    return np.asarray(unit)


Bits = SystemBits | SeededBits | TapeBits

# What simulated records are drawn from.
Simulator = np.random.Generator


def simulator(*seed: int) -> Simulator:
    """Return a generator of simulated records, the same one for the same whole numbers.

    For experiments on records that are made up; no release is ever drawn from it.
    """
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))


def bits_of(random_state: Any) -> Bits:
    """Turn scikit-learn's ``random_state`` into a source of bits; None means the real ones."""
    if random_state is None:
        return SystemBits()
    if isinstance(random_state, TapeBits | SeededBits | SystemBits):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return SeededBits(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return SeededBits(int(random_state.randint(2**31)))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise SpecTypeError(
            f"{argument('random_state')} must be None or a whole number, got "
            f"{type(random_state).__name__}."
        )
    if random_state < 0:
        raise SpecError(f"{argument('random_state')} must not be negative, got {random_state}.")
    return SeededBits(int(random_state))
