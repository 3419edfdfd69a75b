"""Time of one draw of K-norm noise on a sum, in every norm and beside that of the sup norm."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.timing import HEAD, Call, Ratio, line, measure
from kng.core.bits import SystemBits
from kng.core.lazy_noise import LazyNoise, rounded_noise
from kng.core.parts import Norm
from kng.norms import L2, InterceptSup, Polytope
from kng.samplers.exact.noise import discrete_laplace, rounded_box_noise

DIMS = (2, 5)
_BITS, _RATE, _ONE = SystemBits(), Fraction(1, 100), Fraction(1)
# Acceptance is 1/d! or more; in five coordinates a draw stays within a few milliseconds.
BARS = {("vertices", 5): 150.0}


def main() -> int:
    """Print the table and return how many bars are missed."""
    print(f"\none draw of noise / that of the sup norm, CPU time\n\n{'':<34}{HEAD}")
    missed = 0
    for dim in DIMS:
        times = measure(_calls(dim))
        for name in times:
            bar = BARS.get((name, dim))
            missed += line(f"{name}, d = {dim}", Ratio(times[name], times["linf"]), bar)
    return missed


def _calls(dim: int) -> dict[str, Call]:
    ones = (_ONE,) * dim
    norms: dict[str, Norm] = {
        "l2": L2(),
        "intercept": InterceptSup(Fraction(1, 2)),
        "facets": Polytope(_tilted(dim)),
        "vertices": Polytope(
            vertices=[[s * v for v in row] for row in _random(dim) for s in (1, -1)]
        ),
    }
    return {
        "linf": lambda: rounded_box_noise(_BITS, _RATE, ones),
        "l1": lambda: [discrete_laplace(_BITS, _RATE) for _ in ones],
        **{name: _draw(norm, ones) for name, norm in norms.items()},
    }


def _draw(norm: Norm, steps: tuple[Fraction, ...]) -> Call:
    return lambda: rounded_noise(_BITS, LazyNoise(norm, _RATE, len(steps)), steps)


def _tilted(dim: int) -> list[list[int]]:
    """Return the axes and the differences of neighbours."""
    axes = [[int(j == k) for j in range(dim)] for k in range(dim)]
    return axes + [[(j == k) - (j == k + 1) for j in range(dim)] for k in range(dim - 1)]


def _random(dim: int) -> list[list[int]]:
    """Return 3 d points at random: in five coordinates they have hundreds of facets."""
    rows: list[list[int]] = np.random.default_rng(0).integers(-9, 10, (3 * dim, dim)).tolist()
    return rows
