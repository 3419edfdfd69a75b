"""Points of a unit ball from uniform numbers, by rejection from a cube.

    u = R v,      R of Gamma(d + 1),      v uniform in the ball

has density proportional to exp(-||u||) (docs/proofs/samplers/noise.md). The first d + 1 of 2 d + 1
uniforms make the radius, the others a point w of the cube [-1, 1]^d around the ball.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from flint import arb

from kng.core.bits import SeededBits
from kng.norms.rounding import Array

# Points of a ball that its moments are computed from, which leaves an error of 1 %, and how many
# points of the cube are tried at most.
_POINTS, _BLOCK, _BLOCKS = 2**14, 2**16, 16


def radius_of(uniforms: Sequence[arb], dim: int) -> arb:
    """Enclose a radius of Gamma(d + 1): minus the log of d + 1 uniforms."""
    return -sum((number.log() for number in uniforms[: dim + 1]), arb(0))


def cube_of(uniforms: Sequence[arb], dim: int) -> list[arb]:
    """Enclose a point of the cube."""
    return [2 * number - 1 for number in uniforms[dim + 1 :]]


def sampled_moments(walls: Array, back: Array) -> tuple[float, ...]:
    """Return mean squares of v = back w for w uniform in { |w_j| <= 1, |walls w| <= 1 }.

    In float64, from the same points every time: a prediction, on which no privacy rests.
    """
    return _moments(walls.tobytes(), back.tobytes(), len(back))


@lru_cache(maxsize=64)
def _moments(sides: bytes, ways: bytes, dim: int) -> tuple[float, ...]:
    """Return the same, once for the same numbers: plans ask again for each n and epsilon."""
    walls = np.frombuffer(sides).reshape(-1, dim)
    back, bits = np.frombuffer(ways).reshape(dim, dim), SeededBits(0)
    total, found = np.zeros(dim), 0
    for _ in range(_BLOCKS):
        cube = 2 * bits.uniforms(_BLOCK, dim) - 1
        kept = cube[(np.abs(cube @ walls.T) <= 1).all(axis=1)] @ back.T
        total, found = total + (kept * kept).sum(axis=0), found + len(kept)
        if found >= _POINTS:
            break
    return tuple((total / max(found, 1)).tolist())
