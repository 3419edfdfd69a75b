"""Compiled functions are loaded once, so that parts can be tested without a release around them.

Where there is no cache yet, they are compiled before any test runs, and by one process.

Of a test marked `every(k)` one case in k runs, always the same ones; `--thorough` runs them all.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from kng.core.compiled import load
from kng.data import column_steps as loops
from kng.losses.enclosures.plane_cover import load_planes
from kng.losses.enclosures.smooth_cover import load_smooth
from kng.losses.kernels.gram import load_products

SERVICES = Path(__file__).parent / "services"


def pytest_configure(config: pytest.Config) -> None:
    load(loops.divide_column, loops.scale_column, loops.divide_columns, loops.scale_columns)
    load_products()
    load_planes()
    load_smooth()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run all cases of every test")
    parser.addoption("--services", action="store_true", help="run tests that start servers")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what needs PostgreSQL or Spark, unless it is asked for."""
    return True if collection_path == SERVICES and not config.getoption("--services") else None


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("--services"):
        terminalreporter.write_line(
            "Left out: PostgreSQL and Spark (tests/services); make test-services runs them."
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all but one case in k, spread over the axes by a checksum of their names."""
    if config.getoption("--thorough"):
        return
    left_out: set[pytest.Item] = set()
    for _, group in groupby(items, lambda item: item.nodeid.split("[")[0]):
        cases = list(group)
        marker = cases[0].get_closest_marker("every")
        if marker is not None:
            ranked = sorted(cases, key=lambda item: crc32(item.nodeid.encode()))
            left_out.update(ranked[-(-len(cases) // marker.args[0]) :])
    if left_out:
        config.hook.pytest_deselected(items=sorted(left_out, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether all cases of every test are asked for."""
    return bool(request.config.getoption("--thorough"))
