"""Compiled functions are loaded once, so that parts can be tested without a release around them.

Where there is no cache yet, they are compiled before any test runs, and by one process.
"""

from __future__ import annotations

import pytest

from kng.core.compiled import load
from kng.data.column_steps import divide_columns, scale_columns
from kng.losses.enclosures.plane_cover import load_planes
from kng.losses.enclosures.smooth_cover import load_smooth
from kng.losses.kernels.gram import load_products


def pytest_configure(config: pytest.Config) -> None:
    load(divide_columns, scale_columns)
    load_products()
    load_planes()
    load_smooth()
