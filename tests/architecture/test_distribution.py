"""Wheel and sdist hold everything that the package reads: schema, style, sample data, types."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("hatchling", reason="the build backend is in the extra dev")


def files(folder: str) -> set[str]:
    """Return the files of a folder, without what Python leaves there."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in found if "__pycache__" not in path.parts}


def test_the_wheel_is_the_package_and_nothing_else(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    [built] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        held = {f"src/{name}" for name in wheel.namelist() if ".dist-info/" not in name}
        [entry] = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
        assert "kng = kng.cli.main:main" in wheel.read(entry).decode()
    assert held == files("src/kng")
    for name in ("py.typed", "core/receipt.schema.json", "report/page.css"):
        assert f"src/kng/{name}" in held
    assert {"src/kng/cli/doctor_visits.csv", "src/kng/cli/doctor_visits.md"} < held


def test_the_image_copies_all_that_the_wheel_is_built_from(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--" not in line]
    for name in (name for names in copied for name in names):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    [built] = WheelBuilder(str(tmp_path)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as wheel:
        assert "kng/report/page.css" in wheel.namelist()


def test_the_sdist_builds_the_wheel_and_can_be_tested(tmp_path):
    from hatchling.builders.sdist import SdistBuilder

    [built] = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(built) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "Makefile"} < held
    for folder in ("src/kng", "tests", "benchmarks"):
        assert files(folder) <= held
