"""Records that a careless reader trips over; each one is a record all the same."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

# Cells that are not numbers count as missing.
MISSING: dict[str, Any] = {
    "nan": math.nan,
    "numpy nan": np.float32("nan"),
    "none": None,
    "text": "text",
    "empty text": "",
    "text that nearly counts": "12abc",
    "nan as text": "nan",
    "bytes": b"\xff\x00",
    "complex": 1 + 2j,
    "numpy complex": np.complex64(1j),
    "signalling nan": Decimal("sNaN"),
    "pandas NA": pd.NA,
    "pandas NaT": pd.NaT,
    "masked": np.ma.masked,
    "date": datetime.date(2020, 1, 1),
    "timestamp": pd.Timestamp("2020-01-01"),
    "numpy date": np.datetime64("2020-01-01"),
    "no time": np.timedelta64("NaT", "s"),
    "empty list": [],
    "two numbers": [1.0, 2.0],
    "empty array": np.array([]),
    "array of two": np.array([1.0, 2.0]),
    "array of none": np.array(5.0),
    "matrix": np.eye(2),
    "nested list": [[1.0]],
    "dict": {"a": 1.0},
    "set": frozenset({1.0}),
    "object": object,
    "ellipsis": ...,
    "function": len,
}

# Cells that are numbers, with the float64 that they are.
NUMBERS: dict[str, tuple[Any, float]] = {
    "infinity": (math.inf, math.inf),
    "minus infinity": (-math.inf, -math.inf),
    "infinity as text": ("inf", math.inf),
    "huge int": (10**400, math.inf),
    "huge negative int": (-(10**400), -math.inf),
    "huge ratio": (Fraction(10**400), math.inf),
    "huge decimal": (Decimal("1e999"), math.inf),
    "huge text": ("1e400", math.inf),
    "long text": ("9" * 5000, math.inf),
    "largest double": (1.7976931348623157e308, 1.7976931348623157e308),
    "minus largest double": (-1.7976931348623157e308, -1.7976931348623157e308),
    "minus zero": (-0.0, 0.0),
    "subnormal": (5e-324, 5e-324),
    "minus subnormal": (-5e-324, -5e-324),
    "out of range": (1e6, 1e6),
    "decimal": (Decimal("2.5"), 2.5),
    "ratio": (Fraction(5, 2), 2.5),
    "number as text": (" 2.5\n", 2.5),
    "number as bytes": (b"2.5", 2.5),
    "true": (True, 1.0),
    "numpy true": (np.True_, 1.0),
    "numpy int": (np.int8(3), 3.0),
    "numpy half": (np.float16(2.5), 2.5),
    "numpy long double": (np.longdouble("1e4000"), math.inf),
    "list of one": ([2.5], 2.5),
    "tuple of one": ((2.5,), 2.5),
    "array of one": (np.array([2.5]), 2.5),
}

CELLS: dict[str, Any] = {**MISSING, **{name: cell for name, (cell, _) in NUMBERS.items()}}
