"""Files that a call enters: what a reader walks through to follow it.

A call runs once, so that everything is imported, loaded and planned, and then again under
``sys.setprofile``. A file of the package counts, once, if a Python function, method, lambda or
comprehension that is written in it begins. What does not count: imports and class bodies, methods
that ``dataclass`` writes, what ``lru_cache`` remembers from the first time, and compiled loops,
which Python does not see. Seeds are fixed, so that the walk is always the same.

    python -m benchmarks.walk                files of each call, and how many it may enter
    python -m benchmarks.walk median         the same, and which files and functions those are
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import kng

ROOT = Path(kng.__file__).parent
NUMBERS = list(range(100)) * 10
X = np.linspace(-1, 1, 400)[:, None] ** [1, 2]
PLANE = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-3, 3), "random_state": 7}
LINE = {"epsilon": 1, "bounds": (0, 100), "random_state": 7}
PLACES = {"epsilon": 1, "bounds": ([-1, -1], [1, 1]), "random_state": 7}

Walk = dict[str, list[str]]


@dataclass(frozen=True)
class Call:
    """A public call, and the most files that it may enter."""

    run: Callable[[], object]
    most: int


def fit(kind: str, **options: Any) -> Callable[[], object]:
    """Return a fit to two covariates; the name is looked up in the call, as a caller does."""
    return lambda: getattr(kng, kind)(**PLANE, **options).fit(X, X[:, 0])


# Version 0.1 entered 26 files for a median and 37 for a linear regression, which was one draw. Its
# default is three now: a median of the response, its spread, and the fit. Nine files of each call
# are the road from a table of any engine to whole numbers (`kng.data`). One says what
# the noise is; where Delta depends on theta it is looked up at the theta that was drawn.
CALLS = {
    "median": Call(lambda: kng.median(NUMBERS, **LINE), 26),
    "quantile": Call(lambda: kng.quantile(NUMBERS, [0.25, 0.75], **LINE), 34),
    "mean": Call(lambda: kng.mean(NUMBERS, **LINE), 37),
    "geometric_median": Call(lambda: kng.geometric_median(X, **PLACES), 45),
    "LinearRegression": Call(fit("LinearRegression"), 73),
    "LinearRegression kng": Call(fit("LinearRegression", mechanism="kng"), 63),
    "QuantileRegressor": Call(fit("QuantileRegressor"), 65),
    "HuberRegressor": Call(fit("HuberRegressor", threshold=0.5), 50),
}


def walk(run: Callable[[], object]) -> Walk:
    """Return the files that a call enters, and the functions that begin there, as they come."""
    run()
    entered: dict[Path, dict[str, None]] = {}

    def look(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and (path := Path(code.co_filename)).is_relative_to(ROOT):
            entered.setdefault(path, {})[code.co_qualname] = None

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(before)
    return {path.relative_to(ROOT).as_posix(): list(names) for path, names in entered.items()}


def main(named: Sequence[str]) -> int:
    """Print the table; return how many calls enter too many files."""
    over = 0
    for name, call in CALLS.items():
        files = walk(call.run)
        over += len(files) > call.most
        print(f"{name:24}{len(files):4} files, at most {call.most}")
        if name in named:
            print(*(f"    {path}: {', '.join(files[path])}" for path in files), sep="\n")
    return over


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
