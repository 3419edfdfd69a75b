"""The page shows the tables of the committed files, and the files are whole."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SCRIPT = DOCS / "tables" / "reproduction.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="no checkout around the tests")


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("reproduction_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_tables_of_the_files(script):
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.filled(page) == page


@pytest.mark.parametrize("name", ["figure1", "figure1-zoom", "figure2"])
def test_every_curve_has_every_size_and_its_replicates(script, name):
    from kng.reproduce.figure1 import Figure1, zoom
    from kng.reproduce.figure2 import Figure2

    experiment = {"figure1": Figure1(), "figure1-zoom": zoom(), "figure2": Figure2()}[name]
    with (script.FOLDER / f"{name}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    points = {(row["method"], int(row["n"])) for row in rows}
    assert points >= {(m, n) for m in script.LABELS[name] for n in experiment.sizes}
    assert {row["replicates"] for row in rows} == {str(experiment.replicates)}


def test_chains_and_draws_of_the_tables_agree_where_a_chain_can_arrive(script):
    """At n = 10^4 within five standard errors; a factor of 1.2 would be seen."""
    for name in ("figure1", "figure2"):
        at = {row["method"]: row for row in script.read(f"{name}.csv") if row["n"] == "10000"}
        for method in at:
            drawn, chain, _ = method.partition("-chain")
            if chain:
                height, error = (
                    [float(at[each][column]) for each in (method, drawn)]
                    for column in ("log10_mean_error", "log10_se")
                )
                assert abs(height[0] - height[1]) < 5 * (error[0] ** 2 + error[1] ** 2) ** 0.5


def test_the_pictures_are_there(script):
    for name in ("figure1", "figure1-zoom", "figure2", "theorem"):
        assert (script.FOLDER / f"{name}.png").is_file()
        assert (script.FOLDER / f"{name}.svg").is_file()
        assert f"](reproduction/{name}.png)" in script.PAGE.read_text(encoding="utf-8")
