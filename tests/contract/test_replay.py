"""Replay: the same random bits over neighbouring data. Only the value may differ.

Everything else that leaves the library is compared: the receipt in all its forms, errors,
warnings, output, log records, the ledger's rows, and the state of the process.
"""

from __future__ import annotations

import csv
import dataclasses
import decimal
import json
import logging
import math
import random
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any

import flint
import numpy as np
import pandas as pd
import pytest

import kng
from kng.core import receipt_text
from kng.core.bits import SeededBits, SystemBits

RECORDS = [1.0, 2.0, 3.0, 4.0, 4.0, 6.0, 8.0, 9.0]
HOSTILE = [
    math.nan,
    math.inf,
    -math.inf,
    1e6,
    -1e6,
    None,
    "text",
    b"\xff",
    10**400,
    [1.0, 2.0],
    pd.NA,
    np.ma.masked,
    1j,
    object(),
]
RELATIONS = ["replace-one", "add-remove"]


class Repeated(SystemBits):
    """Bits that a ledger takes for real ones, the same in every run."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = random.Random(seed)

    def take(self, k: int) -> int:
        return self._generator.getrandbits(k) if k else 0


ASKED: dict[str, Callable[..., kng.Release]] = {
    "mean": kng.mean,
    "mean by kng": lambda data, **o: kng.mean(data, mechanism="kng", **o),
    "mean by exponential": lambda data, **o: kng.mean(data, mechanism="exponential", **o),
    "median": kng.median,
    "median by exponential": lambda data, **o: kng.median(data, mechanism="exponential", **o),
    "quantile": lambda data, **o: kng.quantile(data, 0.9, **o),
    "quantiles": lambda data, **o: kng.quantile(data, [0.9, 0.1, 0.5], **o),
    "sum": kng.sum,
    "variance": kng.variance,
    "edges": lambda data, bounds, **o: kng.histogram(data, edges=[*bounds, 11], **o),
    "levels": lambda data, bounds, **o: kng.histogram(data, levels=["text", *"ab"], **o),
    "proportion": lambda data, bounds, **o: kng.proportion(data, **o),
}


def surroundings() -> dict[str, Any]:
    """Return state of the process that a release might disturb."""
    return {
        "floating point": np.geterr(),
        "printing": np.get_printoptions(),
        "decimal flags": {str(k): v for k, v in decimal.getcontext().flags.items()},
        "filters": list(warnings.filters),
        "random": random.getstate(),
        # The state and how far it is used up.
        "numpy random": (np.random.get_state()[1].tolist(), np.random.get_state()[2]),
        "precision": flint.ctx.prec,
        "recursion": sys.getrecursionlimit(),
        "cells": csv.field_size_limit(),
        "handlers": list(logging.getLogger().handlers),
    }


def receipt(release: kng.Release) -> dict[str, Any]:
    """Return everything that a release shows, without its value."""
    facts = {
        f.name: getattr(release, f.name)
        for f in dataclasses.fields(release)
        if f.name not in ("integers", "noise")  # JSON has what the noise says
    }
    written = json.loads(release.to_json())
    written["provenance"] = unsealed(written["provenance"])
    written["noise"] = undrawn(written["noise"])
    facts["provenance"] = unsealed(facts["provenance"] and facts["provenance"].to_mapping())
    size = np.shape(written.pop("value")), len(written.pop("integers"))
    size = *size, list(written.pop("also", {}))
    drawn = dict(release.rows()).get("also released", "\0")
    # Many numbers stand in a table of their own, which is the value.
    lines, cells = repr(release).splitlines(), "\0"
    if (table := receipt_text.table_of(release)) is not None:
        lines, cells = lines[lines.index("") + 1 :], table.html()
    page = re.sub("<b>.*?</b>", "", release._repr_html_())
    return {
        "facts": facts,
        "json": written,
        "json keys in order": list(json.loads(release.to_json())),
        "size": size,
        "text": [line.replace(drawn, "") for line in lines[1:]],
        "first label": lines[0].split("  ")[0],
        "html": page.replace(drawn, "").replace(cells, ""),
        "attributes": sorted(name for name in dir(release) if not name.startswith("__")),
        "epsilon": release.epsilon,
        "guarantee": release.guarantee,
        "mechanism": release.mechanism,
        "neighbours": release.neighbours,
    }


def undrawn(noise: Any) -> Any:
    """Return it without the noisy sums that the value was read off, which are drawn as it is."""
    if isinstance(noise, dict):
        return {name: undrawn(fact) for name, fact in noise.items() if name != "noisy"}
    return [undrawn(part) for part in noise] if isinstance(noise, list) else noise


def unsealed(provenance: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return it without the ledger and its hashes: each has a name and a nonce of its own."""
    return provenance and {**provenance, "ledger": None, "hash": None}


def rows(ledger: kng.Ledger) -> list[Any]:
    """Return the ledger's history without hashes, times and values."""
    kept = []
    for entry in ledger.history():
        payload = ledger.release_of(entry.sequence)
        body = None if payload is None else json.loads(payload)
        if body is not None:
            del body["value"], body["integers"]
            assert body["provenance"]["hash"] == entry.hash
            body["provenance"] = unsealed(body["provenance"])
            body["noise"] = undrawn(body["noise"])
        kept.append((dataclasses.replace(entry, hash="", time=None), body))
    return [*kept, ledger.spent, ledger.remaining, ledger.neighbours, ledger.records_per_person]


def outlet(ask: Callable[..., kng.Release], data: Any, capfd, caplog, **options: Any) -> Any:
    """Return all that leaves one call other than the value."""
    before = surroundings()
    capfd.readouterr()
    caplog.clear()
    with warnings.catch_warnings(record=True) as warned, caplog.at_level(1):
        warnings.simplefilter("always")
        try:
            left: Any = receipt(ask(data, **options))
        except Exception as error:
            left = (type(error), str(error), error.__cause__, vars(error))
    captured = capfd.readouterr()
    assert captured == ("", "")
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    left = {**left, "log": told} if isinstance(left, dict) else (*left, told)
    assert [str(w.message) for w in warned] == []
    assert surroundings() == before
    return left


def pairs(relation: str) -> list[Any]:
    """Return lists one record away from RECORDS."""
    if relation == "replace-one":
        return [
            [*RECORDS[:at], cell, *RECORDS[at + 1 :]]
            for at, cell in zip([0, 3, 7] * 5, HOSTILE, strict=False)
        ]
    return [RECORDS[1:], *([*RECORDS[:4], cell, *RECORDS[4:]] for cell in HOSTILE)]


@pytest.mark.parametrize("statistic", ASKED)
@pytest.mark.parametrize("relation", RELATIONS)
def test_nothing_but_the_value_leaves_a_list(statistic, relation, capfd, caplog):
    options = {"bounds": (0, 10), "epsilon": 1, "neighbours": relation}
    expected = outlet(ASKED[statistic], RECORDS, capfd, caplog, random_state=5, **options)
    assert isinstance(expected, dict), "the pattern of the comparison is an answer"
    for data in pairs(relation):
        left = outlet(ASKED[statistic], data, capfd, caplog, random_state=5, **options)
        assert left == expected


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    "container",
    [
        pytest.param(lambda cells: np.array(cells, dtype=object), id="array"),
        pytest.param(lambda cells: pd.Series(cells, dtype=object), id="series"),
        pytest.param(lambda cells: {"a": cells}, id="mapping"),
        pytest.param(lambda cells: pd.DataFrame({"a": pd.Series(cells, dtype=object)}), id="frame"),
    ],
)
def test_nothing_but_the_value_leaves_other_containers(relation, container, capfd, caplog):
    plain = [cell for cell in HOSTILE if not isinstance(cell, list)]
    options = {"bounds": (0, 10), "epsilon": 1, "neighbours": relation, "random_state": 5}
    for ask in (kng.mean, kng.median):
        expected = outlet(ask, container(RECORDS), capfd, caplog, **options)
        for cell in plain:
            changed = [cell, *RECORDS[relation == "replace-one" :]]
            assert outlet(ask, container(changed), capfd, caplog, **options) == expected


@pytest.mark.parametrize("relation", RELATIONS)
def test_nothing_but_the_value_leaves_a_table(relation, capfd, caplog):
    table = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    options = {
        "bounds": ([0, 0], [10, 10]),
        "epsilon": 1,
        "neighbours": relation,
        "random_state": 5,
    }
    expected = outlet(kng.mean, table, capfd, caplog, **options)
    for row in (None, [], [1.0], [1.0, 2.0, 3.0], ["x", math.inf], "ab", {"a": 1}, 7.0):
        changed = [row, *table[relation == "replace-one" :]]
        assert outlet(kng.mean, changed, capfd, caplog, **options) == expected


def fitted(name: str, **options: Any) -> Callable[..., kng.Release]:
    """Return a function that fits a model to rows of X and y and gives its receipt."""

    def ask(table: Any, **more: Any) -> kng.Release:
        X, y = table
        return getattr(kng, name)(**options, **more).fit(X, y).release_

    return ask


X, Y = [[float(k), -float(k)] for k in range(6)], [float(k) for k in range(6)]
MODELS = {
    "linear": fitted("LinearRegression", bounds_y=(0, 5)),
    "huber": fitted("HuberRegressor", bounds_y=(0, 5), threshold=1),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_nothing_but_the_value_leaves_a_fit(model, relation, capfd, caplog):
    options = {
        "bounds_X": ([0, -5], [5, 0]),
        "epsilon": 1,
        "neighbours": relation,
        "random_state": 5,
    }
    expected = outlet(MODELS[model], (X, Y), capfd, caplog, **options)
    assert isinstance(expected, dict), "the pattern of the comparison is an answer"
    rest = slice(relation == "replace-one", None)
    for cell in HOSTILE:
        changed = [[cell, 0.0], *X[rest]], [cell, *Y[rest]]
        assert outlet(MODELS[model], changed, capfd, caplog, **options) == expected


@pytest.mark.parametrize("relation", RELATIONS)
def test_nothing_but_the_value_leaves_a_fit_of_ragged_rows(relation, capfd, caplog):
    options = {
        "bounds_X": ([0, -5], [5, 0]),
        "epsilon": 1,
        "neighbours": relation,
        "random_state": 5,
    }
    expected = outlet(MODELS["linear"], (X, Y), capfd, caplog, **options)
    for row in ([1.0], [1.0, 2.0, 3.0], None, 7.0, np.zeros((2, 2))):
        left = outlet(MODELS["linear"], ([row, *X[1:]], Y), capfd, caplog, **options)
        assert left == expected


def test_the_first_record_of_a_list_does_not_set_the_width_of_a_fit(capfd, caplog):
    options = {"bounds_X": (-5, 5), "epsilon": 1, "random_state": 5}
    expected = outlet(MODELS["linear"], (X, Y), capfd, caplog, **options)
    for row in ([1.0], [1.0, 2.0, 3.0], None):
        left = outlet(MODELS["linear"], ([row, *X[1:]], Y), capfd, caplog, **options)
        assert left == expected


@pytest.mark.parametrize("statistic", ASKED)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ledger_writes_the_same_rows(statistic, relation, books, capfd, caplog):
    left = []
    for at, data in enumerate([RECORDS, *pairs(relation)[::4]]):
        ledger = kng.Ledger(books / f"{at}.ledger", cap=3)
        shown = outlet(
            ASKED[statistic],
            data,
            capfd,
            caplog,
            bounds=(0, 10),
            epsilon=1,
            neighbours=relation,
            ledger=ledger,
            random_state=Repeated(5),
        )
        left.append((shown, rows(ledger)))
    assert isinstance(left[0][0], dict)
    assert all(one == left[0] for one in left)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_nothing_but_the_value_leaves_a_file(relation, statistic, tmp_path, capfd, caplog):
    path = tmp_path / "data.csv"

    def left(cells: list[bytes]) -> Any:
        path.write_bytes(b"a,b\n" + b"".join(cell + b",7\n" for cell in cells))
        return outlet(
            ASKED[statistic],
            path,
            capfd,
            caplog,
            bounds={"a": (0, 10)},
            epsilon=1,
            neighbours=relation,
            random_state=5,
        )

    cells = [str(x).encode() for x in RECORDS]
    expected = left(cells)
    assert isinstance(expected, dict)
    long = b"9" * 200_000
    quotes = (b'"1,5"', b'"', b'"7', b'""', b'"7"7', b'7"', b'"",""')
    for cell in (b"", b"text", b"nan", b"inf", b"1e999", b"\xff\xfe", b"\0", b"\r", long, *quotes):
        assert left([cell, *cells[relation == "replace-one" :]]) == expected


def test_the_same_bits_and_data_give_the_same_value():
    # Otherwise the comparisons above would not replay anything.
    for ask in ASKED.values():
        drawn = {
            ask(RECORDS, bounds=(0, 10), epsilon=1, random_state=bits).integers
            for bits in (5, SeededBits(5), Repeated(5))
        }
        assert len(drawn) == 1


def test_different_data_give_different_values():
    # The value does depend on the data, so a replay that saw no difference would be broken.
    values = {
        kng.median([x] * 50, bounds=(0, 10), epsilon=1, random_state=5).value for x in (2, 5, 8)
    }
    assert len(values) == 3


def test_a_leak_would_be_seen(capfd, caplog):
    # The comparison itself must notice each kind of leak.
    def leaks(how: Callable[[], Any]) -> Callable[..., kng.Release]:
        def ask(data: Any, **options: Any) -> kng.Release:
            how()
            return kng.mean(data, bounds=(0, 10), epsilon=1, random_state=5)

        return ask

    for how in (
        lambda: print("count"),
        lambda: print("count", file=sys.stderr),
        lambda: warnings.warn("count", stacklevel=1),
        lambda: np.seterr(divide="print"),
        lambda: np.random.random(),
    ):
        state = np.geterr()
        with pytest.raises(AssertionError):
            outlet(leaks(how), RECORDS, capfd, caplog)
        np.seterr(**state)
    silent, telling = (
        outlet(leaks(how), RECORDS, capfd, caplog)
        for how in (lambda: None, lambda: logging.getLogger("kng").debug("count"))
    )
    assert silent != telling
    ordinary = kng.mean(RECORDS, bounds=(0, 10), epsilon=1, random_state=5)
    told = dataclasses.replace(ordinary, details={**ordinary.details, "clipped": "1"})
    assert receipt(told) != receipt(ordinary)
