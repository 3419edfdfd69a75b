"""Replay: the same bits over neighbouring data. Only the coefficients may differ."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import random
import traceback
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contract.hostile import CELLS
from estimators.fitting import EACH, PAIRS, WAYS, model, table
from estimators.outlets import outlet
from sklearn.exceptions import NotFittedError

import kng
from kng.core.bits import SystemBits
from kng.core.errors import PrivateZoneError
from kng.data import TableSource
from kng.samplers.exact.boxes import BranchAndBound
from kng.samplers.exact.objective import Perturbed
from kng.samplers.real.affine import Affine

SECRET = "patient 4711 earns 98765"
RELATIONS = ["replace-one", "add-remove"]
FLOATS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 1e6]
# Lists and arrays as cells are tried apart: what is a cell and what is a row is less clear there.
PLAIN = {
    name: cell
    for name, cell in CELLS.items()
    if not isinstance(cell, list | tuple | dict | set | frozenset | np.ndarray)
}


def with_cell(array: np.ndarray, at: Any, cell: Any) -> np.ndarray:
    """Return a copy as objects, one cell replaced."""
    changed = array.astype(object)
    changed[at] = cell
    return changed


def neighbours(relation: str, kind: str) -> list[tuple[Any, Any]]:
    """Return tables of objects one record away from table(), in one kind of container."""
    X, y = table()
    cells = list(PLAIN.values())[:: 1 if kind == "array" else 3]
    pairs = [(with_cell(X, (3, 1), cell), y.astype(object)) for cell in cells]
    pairs += [(X.astype(object), with_cell(y, 3, cell)) for cell in cells]
    if relation == "add-remove":
        pairs += [(X[1:].astype(object), y[1:].astype(object))]
    return [(packed(kind, X), packed(kind, y)) for X, y in pairs]


def packed(kind: str, cells: np.ndarray) -> Any:
    """Put cells into a container."""
    if kind == "list":
        return cells.tolist()
    if kind == "frame":
        if cells.ndim == 1:
            return pd.Series(cells, dtype=object)
        return pd.DataFrame(cells, columns=[f"c{j}" for j in range(cells.shape[1])], dtype=object)
    return cells


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_nothing_but_the_coefficients_leaves_an_array(way, relation, capfd, caplog):
    X, y = table()
    made = model(way, neighbours=relation, random_state=5)
    expected = outlet(made, X, y, capfd, caplog)
    for cell in FLOATS:
        changed = X.copy()
        changed[2, 0] = cell
        assert outlet(made, changed, y, capfd, caplog) == expected
        changed = y.copy()
        changed[2] = cell
        assert outlet(made, X, changed, capfd, caplog) == expected
    if relation == "add-remove":
        assert outlet(made, X[:-1], y[:-1], capfd, caplog) == expected
        assert outlet(made, X[:0], y[:0], capfd, caplog) == expected


@pytest.mark.every(3)
@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["array", "list", "frame"])
def test_nothing_but_the_coefficients_leaves_objects(way, relation, kind, capfd, caplog):
    X, y = (packed(kind, part.astype(object)) for part in table())
    made = model(way, bounds_X=PAIRS[2], neighbours=relation, random_state=5)
    expected = outlet(made, X, y, capfd, caplog)
    for changed_X, changed_y in neighbours(relation, kind):
        assert outlet(made, changed_X, changed_y, capfd, caplog) == expected


@pytest.mark.parametrize("way", EACH)
def test_cells_that_hold_several_things_are_missing(way, capfd, caplog):
    X, y = (part.astype(object) for part in table())
    made = model(way, random_state=5)
    expected = outlet(made, X, y, capfd, caplog)
    for cell in ([], [1.0, 2.0], (1.0,), {"a": 1}, np.eye(2), np.array(5.0), {1.0}):
        changed = X.copy()
        changed[3, 1] = cell
        assert outlet(made, changed, y, capfd, caplog) == expected
        changed = y.copy()
        changed[3] = cell
        assert outlet(made, X, changed, capfd, caplog) == expected


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("row", [[], [1.0], [1.0, 2.0, 3.0], None, 5.0, "ab", [[1.0], [2.0]]])
def test_a_row_of_another_width_is_missing(way, row, capfd, caplog):
    # In an array there is none; in a list of rows one record must not decide about an error.
    X, y = (part.tolist() for part in table())
    made = model(way, bounds_X=PAIRS[2], random_state=5)
    expected = outlet(made, X, y, capfd, caplog)
    for at in (0, 7):
        changed = [*X[:at], row, *X[at + 1 :]]
        assert outlet(made, changed, y, capfd, caplog) == expected


@pytest.mark.parametrize("way", EACH)
def test_columns_of_any_kind_are_read(way, capfd, caplog):
    X, y = table(4)
    made = model(way, random_state=5)
    columns = {
        "objects": pd.Series([0.1, None, "x", 1j], dtype=object),
        "nullable ints": pd.Series([1, None, 3, 4], dtype="Int64"),
        "nullable floats": pd.Series([0.1, None, 0.3, 0.4], dtype="Float64"),
        "nullable booleans": pd.Series([True, None, False, True], dtype="boolean"),
        "booleans": pd.Series([True, False, True, True]),
        "small floats": pd.Series([0.1, 0.2, np.nan, np.inf], dtype=np.float32),
        "unsigned": pd.Series([0, 1, 2, 255], dtype=np.uint8),
    }
    texts = pd.DataFrame({"a": pd.Series(["0.1", "x", None, ""], dtype="string"), "b": 1.0})
    with pytest.raises(kng.KngError, match="holds text"):
        made.fit(texts, y)
    expected = None
    for a in columns.values():
        for b in columns.values():
            left = outlet(made, pd.DataFrame({"a": a, "b": b}), y, capfd, caplog)
            expected = expected or left
            assert left == expected
        left = outlet(made, X, a, capfd, caplog)
        assert left["receipt"]["size"] == expected["receipt"]["size"]


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("beside", ["Int64", "boolean", "category", "float64"])
def test_a_category_that_is_no_number_is_missing(way, beside):
    # Beside a nullable column scikit-learn would convert all columns, and raise on what they hold.
    _, y = table(4)
    other = pd.Series([1, 0, 1, 1], dtype=beside)
    for cells in ([1, 2, 2, 1], [1, "secret", 2, 1], [1, None, 2, 1], ["a", "b", "a", "a"]):
        X = pd.DataFrame({"a": pd.Series(cells, dtype="category"), "b": other})
        numbers = [x if isinstance(x, int) else np.nan for x in cells]
        expected = model(way, random_state=1).fit(X.assign(a=numbers), y).release_
        assert model(way, random_state=1).fit(X, y).release_ == expected


@pytest.mark.parametrize("way", EACH)
def test_masked_cells_are_missing(way):
    X, y = table()
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[::3, 0] = True
    expected = model(way, random_state=5).fit(np.where(hidden, np.nan, X), y).release_
    masked = model(way, random_state=5).fit(np.ma.array(X, mask=hidden), y).release_
    assert masked == expected
    gone = hidden[:, 0]
    expected = model(way, random_state=5).fit(X, np.where(gone, np.nan, y)).release_
    assert model(way, random_state=5).fit(X, np.ma.array(y, mask=gone)).release_ == expected


@pytest.mark.parametrize("way", EACH)
@pytest.mark.parametrize("relation", RELATIONS)
def test_hostile_records_are_answered_and_charged_once(way, relation, ledger):
    for cell in ("text", None, np.nan, np.inf, 1e308, 10**400):
        X, y = table()
        model(way, neighbours=relation, ledger=ledger).fit(with_cell(X, (0, 0), cell), y)
        model(way, neighbours=relation, ledger=ledger).fit(X, with_cell(y, 0, cell))
    assert ledger.spent == 12
    assert {entry.state for entry in ledger.history()} == {"released"}


class Repeated(SystemBits):
    """Bits that a ledger takes for real ones, the same in every run."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._generator = np.random.default_rng(seed)
        self._whole = random.Random(seed)

    def take(self, k: int) -> int:
        return self._whole.getrandbits(k) if k else 0

    def uniforms(self, *shape: int) -> np.ndarray:
        return self._generator.random(shape) * (1 - 2**-52) + 2**-53


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_ledger_writes_the_same_rows(way, relation, books):
    X, y = table()
    left = []
    for at, cell in enumerate([X[0, 0], "text", None, np.nan, 1e308]):
        ledger = kng.Ledger(books / f"{at}.ledger", cap=3)
        bits = Repeated(5)
        model(way, neighbours=relation, ledger=ledger, random_state=bits).fit(
            with_cell(X, (0, 0), cell), y
        )
        (entry,) = ledger.history()
        body = json.loads(ledger.release_of(entry.sequence))
        # What is predicted of the noise follows from what was drawn; each has a ledger of its own.
        for part in ("value", "integers", "noise", "provenance"):
            del body[part]
        left.append((dataclasses.replace(entry, hash="", time=None), body, ledger.spent))
    assert all(one == left[0] for one in left)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_the_caller_s_data_are_not_modified(way, order, dtype):
    X, y = (np.array(part, dtype=dtype, order=order) for part in table())
    X[0, 0], X[1, 1], y[2] = np.nan, 1e30, -1e30
    kept = copy.deepcopy((X, y))
    model(way).fit(X, y).predict(table()[0])
    assert X.tobytes() == kept[0].tobytes() or dtype is object
    assert np.array_equal(X[2:], kept[0][2:])
    assert np.array_equal(y, kept[1])
    X.flags.writeable = y.flags.writeable = False
    model(way).fit(X, y)


@pytest.mark.parametrize("way", EACH)
def test_a_frame_is_not_modified(way):
    X, y = table()
    frame = pd.DataFrame(with_cell(X, (0, 0), "text"), columns=["a", "b"])
    kept = frame.copy(deep=True)
    rows = X.tolist()
    model(way).fit(frame, pd.Series(y))
    model(way, bounds_X=PAIRS[2]).fit(rows, y.tolist())
    pd.testing.assert_frame_equal(frame, kept)
    assert rows == X.tolist()


def test_the_same_bits_and_data_give_the_same_coefficients():
    # Otherwise the comparisons above would not replay anything.
    X, y = table()
    for way in WAYS:
        drawn = {model(way, random_state=5).fit(X, y).release_.integers for _ in range(3)}
        assert len(drawn) == 1
        others = {model(way, random_state=5).fit(X, s * y).release_.integers for s in (1, -1, 0)}
        assert len(others) == 3, "coefficients do depend on the data"


def plain() -> None:
    raise ValueError(SECRET)


def chained() -> None:
    try:
        raise KeyError(SECRET)
    except KeyError as error:
        raise OSError(SECRET) from error


def ours() -> None:
    raise kng.KngError(SECRET)


def exhausted() -> None:
    raise MemoryError(SECRET)


FAILURES = [plain, chained, ours, exhausted]


def failed(way: str, ledger: Any) -> PrivateZoneError:
    with pytest.raises(PrivateZoneError) as caught:
        model(way, ledger=ledger).fit(*table())
    return caught.value


@pytest.mark.parametrize("way", EACH)
def test_a_failure_while_reading_keeps_the_charge_and_says_nothing(way, books, monkeypatch, capfd):
    told = set()
    for at, failure in enumerate(FAILURES):
        ledger = kng.Ledger(books / f"{at}.ledger", cap=5)
        monkeypatch.setattr(TableSource, "reduce", lambda *_, failure=failure: failure())
        error = failed(way, ledger)
        (entry,) = ledger.history()
        assert (ledger.spent, entry.state) == (1, "charged")
        assert error.__cause__ is error.__context__ is None
        text = "".join(traceback.format_exception(error))
        assert SECRET not in text
        told.add((str(error), repr(error.args), repr(sorted(vars(error)))))
    assert len(told) == 1, "which failure it was does not show"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("way", EACH)
def test_a_failure_while_drawing_keeps_the_charge_and_says_nothing(way, ledger, monkeypatch):
    def fail(*_: Any) -> Any:
        raise AssertionError(SECRET)

    monkeypatch.setattr(Affine, "draw", fail)
    monkeypatch.setattr(Perturbed, "draw", fail)
    monkeypatch.setattr(BranchAndBound, "draw", fail)
    error = failed(way, ledger)
    assert SECRET not in "".join(traceback.format_exception(error))
    assert ledger.spent == 1


@pytest.mark.parametrize("way", EACH)
def test_a_failed_fit_leaves_no_frame_alive_and_no_model(way, monkeypatch):
    class Record:
        """Something a reader holds while it fails."""

    def reading(self: Any, kernel: Any) -> Any:
        held = Record()
        raise ValueError(held)

    monkeypatch.setattr(TableSource, "reduce", reading)
    made = model(way)
    with pytest.raises(PrivateZoneError) as caught:
        made.fit(*table())
    gc.collect()
    assert caught.value is not None
    assert not any(isinstance(thing, Record) for thing in gc.get_objects())
    assert not hasattr(made, "coef_")
    assert not hasattr(made, "release_")


@pytest.mark.parametrize("way", EACH)
def test_after_a_failed_fit_a_model_is_not_fitted(way, monkeypatch):
    monkeypatch.setattr(TableSource, "reduce", lambda *_: plain())
    made = model(way)
    with pytest.raises(PrivateZoneError):
        made.fit(*table())
    with pytest.raises(NotFittedError):
        made.predict(table()[0])


@pytest.mark.parametrize("way", EACH)
def test_an_interrupt_passes_and_keeps_the_charge(way, ledger, monkeypatch):
    def interrupted(self: Any, kernel: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(TableSource, "reduce", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model(way, ledger=ledger).fit(*table())
    assert ledger.spent == 1


@pytest.mark.parametrize("way", WAYS)
def test_floating_point_settings_of_the_caller_do_not_matter_and_stay(way):
    X, y = table()
    X[0], y[0] = [np.nan, np.inf], -np.inf
    with np.errstate(all="raise"):
        state = np.geterr()
        seeded = model(way, random_state=1).fit(X, y).release_
        assert np.geterr() == state
    assert model(way, random_state=1).fit(X, y).release_ == seeded
