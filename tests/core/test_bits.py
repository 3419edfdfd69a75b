"""Random bits: uniform integers, never the same ones twice."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from kng.core import bits as module
from kng.core.bits import SeededBits, SystemBits, TapeBits, TapeEnd, bits_of
from kng.core.errors import SpecError, SpecTypeError

FORKED = """
import os, signal, sys, threading
from kng.core.bits import SystemBits
signal.alarm(20)
bits = SystemBits()
bits.take(64)
if sys.argv[1] == "held":
    bits._lock.acquire()
reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.write(writing, " ".join(str(bits.take(64)) for _ in range(50)).encode())
    os._exit(0)
os.close(writing)
told = b"".join(iter(lambda: os.read(reading, 65536), b"")).decode()
assert os.waitpid(child, 0)[1] == 0
if sys.argv[1] == "held":
    bits._lock.release()
print(told)
print(" ".join(str(bits.take(64)) for _ in range(50)))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="no fork on this system")
@pytest.mark.parametrize("lock", ["free", "held"])
def test_a_forked_child_spends_other_bits_than_its_parent(lock):
    # In a process of its own: the test runner has threads, with which fork does not mix.
    run = subprocess.run(
        [sys.executable, "-c", FORKED, lock], capture_output=True, text=True, check=True, timeout=60
    )
    child, parent = (line.split() for line in run.stdout.splitlines())
    assert len(child) == len(parent) == 50
    assert len({*child, *parent}) == 100


class Slow(SystemBits):
    """Bits whose bookkeeping lets other threads in at every step."""

    @property
    def _left(self) -> int:
        time.sleep(0)
        return self.__dict__["left"]

    @_left.setter
    def _left(self, value: int) -> None:
        self.__dict__["left"] = value
        time.sleep(0)


@pytest.mark.parametrize(("kind", "each"), [(SystemBits, 2000), (Slow, 200)])
def test_threads_never_get_the_same_bits(kind, each, monkeypatch):
    # Small blocks make threads meet while a new one is bought.
    monkeypatch.setattr(module, "_BLOCK", 64)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        bits, words, start = kind(), [[] for _ in range(8)], threading.Barrier(8)

        def spend(own: list[int]) -> None:
            start.wait()
            own.extend(bits.take(64) for _ in range(each))

        threads = [threading.Thread(target=spend, args=(own,)) for own in words]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    everything = [word for own in words for word in own]
    assert len(everything) == 8 * each
    assert len(set(everything)) == 8 * each
    assert max(everything) < 2**64


def test_system_bits_are_all_of_the_block_and_each_once(monkeypatch):
    block = bytes(range(200, 216))
    bought = []

    def buy(size: int) -> bytes:
        bought.append(size)
        return (block * size)[:size]

    monkeypatch.setattr(module, "_BLOCK", 16)
    monkeypatch.setattr(module.os, "urandom", buy)
    bits = SystemBits()
    taken = [bits.take(k) for k in (1, 7, 8, 0, 64, 48)]
    # Short requests cut up one word, a request for a word takes a whole one.
    whole, cut = (int.from_bytes(part, sys.byteorder) for part in (block[:8], block[8:]))
    stream, at, expected = f"{cut:064b}", 0, []
    for k in (1, 7, 8, 0, 48):
        expected.append(int(stream[at : at + k] or "0", 2))
        at += k
    assert taken == [*expected[:4], whole, expected[4]]
    assert bought == [16]
    assert bits.take(1000) == int.from_bytes((block * 8)[:125])
    assert bought == [16, 125], "a long request buys what it needs"


def test_system_bits_are_balanced():
    # 640 000 fair bits stray from the half by 2400 = 6 standard deviations once in 500 million.
    bits = SystemBits()
    ones = sum(bits.take(64).bit_count() for _ in range(10_000))
    assert abs(ones - 320_000) < 2400
    assert not bits.seeded


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))]
)
def test_a_copy_of_system_bits_buys_its_own(again):
    bits = SystemBits()
    bits.take(1)
    other = again(bits)
    assert [bits.take(64) for _ in range(20)] != [other.take(64) for _ in range(20)]


def test_seeded_bits_repeat_and_say_so():
    one, same, other = SeededBits(7), SeededBits(7), SeededBits(8)
    drawn = [one.take(k) for k in (1, 0, 64, 200)]
    assert drawn == [same.take(k) for k in (1, 0, 64, 200)]
    assert drawn != [other.take(k) for k in (1, 0, 64, 200)]
    assert one.seeded


def test_a_tape_is_read_from_left_to_right_and_ends():
    tape = TapeBits([1, 0, 1, 1, 0])
    assert tape.seeded
    assert (tape.word, tape.take(1), tape.take(0), tape.take(3)) == (1, 1, 0, 0b011)
    assert tape.used == 4
    with pytest.raises(TapeEnd):
        tape.take(2)
    assert tape.used == 4, "a request that does not fit takes nothing"
    assert tape.take(1) == 0
    with pytest.raises(TapeEnd):
        TapeBits([]).take(1)


@pytest.mark.parametrize("bits", [SystemBits(), SeededBits(4)], ids=["system", "seeded"])
def test_uniforms_lie_strictly_inside_the_unit_interval(bits):
    drawn = bits.uniforms(100, 30)
    assert drawn.shape == (100, 30)
    assert 0 < drawn.min() <= drawn.max() < 1
    assert len(np.unique(drawn)) == 3000
    assert not np.array_equal(drawn, bits.uniforms(100, 30))
    # 3000 uniforms have a mean within 7 standard deviations (0.037) of a half.
    assert abs(drawn.mean() - 0.5) < 0.037


def test_the_ends_of_the_unit_interval_are_never_reached():
    ends = module._open_unit(np.array([0, 2**64 - 1], dtype=np.uint64), SeededBits(1).take)
    assert 0 < ends[0] < ends[1] < 1


def test_uniforms_keep_their_precision_near_0():
    """Every number has 53 significant bits; on 0.1 (commit e301d72) all were odd 2**-53rds."""
    for zeros in (0, 1, 5, 11, 12, 13, 40, 63):
        words = np.array([0xB5B5B5B5B5B5B5B5 >> zeros], dtype=np.uint64)
        bits = SeededBits(zeros)
        numbers = [float(module._open_unit(words, bits.take)[0]) for _ in range(20)]
        for number in numbers:
            numerator, denominator = number.as_integer_ratio()
            assert 2.0 ** -(zeros + 1) <= number < 2.0**-zeros * (1 + 2**-52)
            assert numerator.bit_length() == 53 or zeros == 63
            assert denominator >= 2**53
        assert zeros <= 12 or len(set(numbers)) > 1  # further bits are random
    words = np.array([2**60 + 2**9 - 1, 2**60 + 2**9], dtype=np.uint64)
    low, high = module._open_unit(words, SeededBits(1).take)
    assert (high - low) / low <= 2.0**-51


def test_seeded_uniforms_repeat_and_a_tape_has_none():
    assert np.array_equal(SeededBits(4).uniforms(5), SeededBits(4).uniforms(5))
    assert not np.array_equal(SeededBits(4).uniforms(5), SeededBits(5).uniforms(5))
    with pytest.raises(SpecError, match="holds no uniforms"):
        TapeBits([1, 0]).uniforms(2)


def test_random_states_become_bits():
    assert type(bits_of(None)) is SystemBits
    for given in (SystemBits(), SeededBits(1), TapeBits([1])):
        assert bits_of(given) is given
    for state in (0, 7, 2**100, np.int64(7), np.uint8(7)):
        assert bits_of(state).take(64) == SeededBits(int(state)).take(64)
    for make in (np.random.default_rng, np.random.RandomState):
        first, same = bits_of(make(3)), bits_of(make(3))
        assert type(first) is SeededBits
        assert first.take(64) == same.take(64)
    generator = np.random.default_rng(3)
    assert bits_of(generator).take(64) != bits_of(generator).take(64)


@pytest.mark.parametrize("wrong", [True, np.True_, 1.0, "x", [1], b"1", object])
def test_what_is_no_random_state_is_refused(wrong):
    with pytest.raises(SpecTypeError, match="random_state must be None or a whole number, got"):
        bits_of(wrong)


@pytest.mark.parametrize("wrong", [-1, np.int8(-5)])
def test_a_negative_seed_is_refused(wrong):
    with pytest.raises(SpecError, match="random_state must not be negative, got -"):
        bits_of(wrong)
