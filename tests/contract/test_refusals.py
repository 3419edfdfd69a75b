"""Bad input: a clear error before anything is charged, read or written."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contract.asking import RECORDS, STATISTICS, Watched, ask

import kng
from kng.core.errors import IncompatibleParts, SchemaError, SpecError, SpecTypeError

NAN, INF = math.nan, math.inf


@dataclass(frozen=True)
class Refusal:
    """One fault; ``says`` are the argument, what was found and what to do, in its words."""

    label: str
    error: type[kng.KngError]
    says: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)
    data: Callable[[], Any] = lambda: RECORDS
    only: tuple[str, ...] = tuple(STATISTICS)


def bad(label: str, error: type[kng.KngError], *says: str, **options: Any) -> Refusal:
    return Refusal(label, error, says, options)


EPSILON = [
    bad("0", SpecError, "epsilon", "got 0", "must be greater than 0", epsilon=0),
    bad("0.0", SpecError, "epsilon", "got 0.0", "must be greater than 0", epsilon=0.0),
    bad("-1", SpecError, "epsilon", "got -1", "must be greater than 0", epsilon=-1),
    bad("nan", SpecError, "epsilon", "got nan", "must be a finite number", epsilon=NAN),
    bad("inf", SpecError, "epsilon", "got inf", "must be a finite number", epsilon=INF),
    bad("none", SpecError, "epsilon", "missing", "as in epsilon=1", epsilon=None),
    bad("left out", SpecError, "epsilon", "missing", "as in epsilon=1", epsilon=...),
    bad("text", SpecError, "epsilon", "got 'much'", "must be a number", epsilon="much"),
    bad("no text", SpecError, "epsilon", "got ''", "must be a number", epsilon=""),
    bad("one over none", SpecError, "epsilon", "got '1/0'", "must be a finite", epsilon="1/0"),
    bad("true", SpecTypeError, "epsilon", "got True", "Give it as 1, 0.5", epsilon=True),
    bad("list", SpecTypeError, "epsilon", "got list", "must be a number", epsilon=[1]),
    bad("complex", SpecTypeError, "epsilon", "got complex", "must be a number", epsilon=1j),
]

PAIR = "must be a pair (low, high)"
BOUNDS = [
    bad("none", SpecError, "bounds", "missing", "as in bounds=(0, 100)", bounds=None),
    bad("left out", SpecError, "bounds", "missing", "as in bounds=(0, 100)", bounds=...),
    bad("reversed", SpecError, "bounds", "got (10, 0)", "as in bounds=(0, 100)", bounds=(10, 0)),
    bad("equal", SpecError, "bounds", "got (5, 5)", "as in bounds=(0, 100)", bounds=(5, 5)),
    bad("nan", SpecError, "bounds low", "got nan", "must be a finite number", bounds=(NAN, 1)),
    bad("inf", SpecError, "bounds high", "got inf", "must be a finite number", bounds=(0, INF)),
    bad("one number", SpecTypeError, "bounds", "got int", PAIR, bounds=7),
    bad("one end", SpecError, "bounds", "got 1 value", PAIR, bounds=(0,)),
    bad("three ends", SpecError, "bounds", "got 3 values", PAIR, bounds=(0, 1, 2)),
    bad("one text", SpecTypeError, "bounds", "got str", PAIR, bounds="0,10"),
    bad("texts", SpecError, "bounds low", "got 'a'", "must be a number", bounds=("a", "b")),
    bad("none inside", SpecTypeError, "bounds low", "got None", "number", bounds=(None, 1)),
    bad("true inside", SpecTypeError, "bounds low", "got True", "Give it as", bounds=(True, 2)),
    bad("no columns", SpecError, "bounds", "no column", "give {column: (low, high)}", bounds={}),
    bad("ends differ", SpecError, "bounds", "got 2 and 1", "one low", bounds=([0, 0], [1])),
    bad("no ends", SpecError, "bounds", "got 0 and 0", "one low and one high", bounds=([], [])),
    bad("no pair", SpecTypeError, "bounds['a']", "got int", PAIR, bounds={"a": 5}),
    bad("two pairs", SpecError, "bounds", "np.array", "pairs", bounds=[(0, 1), (10, 20)]),
    bad("no names", SchemaError, "bounds", "(z)", "Give a data frame", bounds={"z": (0, 1)}),
]

GRANULARITY = [
    bad("0", SpecError, "granularity", "got 0", "greater than 0", granularity=0),
    bad("negative", SpecError, "granularity", "got -1", "greater than 0", granularity=-1),
    bad("nan", SpecError, "granularity", "got nan", "finite number", granularity=NAN),
    bad("too large", SpecError, "granularity", "got 11", "not exceed the range", granularity=11),
    bad("too fine", SpecError, "granularity", "1e-30", "a larger granularity", granularity=1e-30),
    bad("text", SpecError, "granularity", "got 'x'", "must be a number", granularity="x"),
    bad("true", SpecTypeError, "granularity", "got True", "a number", granularity=True),
    bad("two", SpecError, "granularity", "got 2", "per column", granularity=[1, 1]),
    bad("names", SpecError, "granularity", "same columns as the bounds", granularity={"a": 1}),
]

INSIDE = "must lie inside the bounds (0, 10)"
MISSING = [
    bad("above", SpecError, "missing", "got 11", INSIDE, missing=11),
    bad("below", SpecError, "missing", "got -0.5", INSIDE, missing=-0.5),
    bad("nan", SpecError, "missing", "got nan", "must be a finite number", missing=NAN),
    bad("text", SpecError, "missing", "got 'x'", "must be 'drop'", missing="x"),
    bad("two", SpecError, "missing", "got 2", "per column", missing=[1, 1]),
]

RELATION = [
    bad(
        "unknown",
        SpecError,
        "neighbours",
        "got 'swap'",
        "'replace-one'",
        "'add-remove'",
        neighbours="swap",
    ),
    bad(
        "none",
        SpecError,
        "neighbours",
        "got None",
        "'replace-one'",
        "'add-remove'",
        neighbours=None,
    ),
    bad("n_max with replace-one", SpecError, "n_max", "replace-one", "add-remove", n_max=5),
    *(
        bad(
            f"n_max {value}",
            SpecError,
            "n_max",
            f"got {value}",
            "whole number of at least 1",
            neighbours="add-remove",
            n_max=value,
        )
        for value in (0, -1, 1.5)
    ),
    *(
        bad(
            f"records_per_person {value}",
            SpecError,
            "records_per_person",
            f"got {value}",
            "whole number of at least 1",
            records_per_person=value,
        )
        for value in (0, 1.5, -1)
    ),
    bad(
        "records_per_person none",
        SpecTypeError,
        "records_per_person",
        "got None",
        "number",
        records_per_person=None,
    ),
]

PARTS = [
    bad("mechanism", SpecError, "mechanism", "got 'laplace'", "'auto'", mechanism="laplace"),
    bad("mechanism none", SpecError, "mechanism", "got None", "'auto'", mechanism=None),
    bad("sampler", SpecError, "sampler", "got 'dice'", "'auto'", sampler="dice"),
    bad("sampler none", SpecError, "sampler", "got None", "'auto'", sampler=None),
    Refusal("norm", SpecError, ("norm", "got 'l7'", "'auto'"), {"norm": "l7"}, only=("mean",)),
    Refusal(
        "sampler of noise",
        SpecError,
        ("sampler", "got 'noise'", "'order'"),
        {"sampler": "noise"},
        only=("quantile", "median"),
    ),
    Refusal(
        "order for noise",
        IncompatibleParts,
        ("sampler", "'order'", "use 'noise'"),
        {"sampler": "order"},
        only=("mean",),
    ),
    Refusal(
        "noise for kng",
        IncompatibleParts,
        ("sampler", "'noise'", "use 'order'"),
        {"mechanism": "kng", "sampler": "noise"},
        only=("mean",),
    ),
    Refusal(
        "vector too long for kng",
        IncompatibleParts,
        ("up to 5 columns", "these are 6", "hit-and-run"),
        {"mechanism": "kng", "bounds": ([0] * 6, [1] * 6)},
        lambda: np.zeros((3, 6)),
        ("mean",),
    ),
    Refusal(
        "vector for a rank",
        SpecError,
        ("bounds", "2", "one column at a time"),
        {"bounds": ([0, 0], [1, 1])},
        lambda: np.zeros((3, 2)),
        ("quantile", "median"),
    ),
]

SEEDS = [
    bad("negative", SpecError, "random_state", "got -1", "must not be negative", random_state=-1),
    bad("text", SpecTypeError, "random_state", "got str", "whole number", random_state="x"),
    bad("true", SpecTypeError, "random_state", "got bool", "whole number", random_state=True),
    bad("float", SpecTypeError, "random_state", "got float", "whole number", random_state=1.0),
    bad("with a ledger", SpecError, "random_state=None", "seeded", "Leave", random_state=3),
]


def unfit(label: str, data: Callable[[], Any], *says: str, **options: Any) -> Refusal:
    return Refusal(label, SchemaError, says, options, data)


COLUMN = "must have one row per record and 1 column"
KINDS = "must be an array, a list, a series or a data frame"
DATA = [
    unfit("none", lambda: None, "data", "missing", "give an array"),
    unfit("empty list", lambda: [], "data", "empty", "at least one"),
    unfit("empty array", lambda: np.array([]), "data", "empty", "at least one"),
    unfit("number", lambda: 3.0, "data", "got float", KINDS),
    unfit("numpy number", lambda: np.float64(3), "data", "got float64", KINDS),
    unfit("array of no dimension", lambda: np.array(3.0), "data", "shape", COLUMN),
    unfit("bytes", lambda: b"12", "data", "got bytes", KINDS),
    unfit("object", object, "data", "got object", KINDS),
    unfit("generator", lambda: (x for x in RECORDS), "data", "got generator", KINDS),
    unfit("set", lambda: set(RECORDS), "data", "got set", KINDS),
    unfit("values of a dict", lambda: {1: 2.0}.values(), "data", "got dict_values", KINDS),
    unfit("no such file", lambda: "nowhere.csv", "'nowhere.csv'", "No such file", "Check the path"),
    unfit(
        "no known file", lambda: "data.xyz", "'data.xyz'", "cannot tell", "must end in one of .csv"
    ),
    unfit("three dimensions", lambda: np.zeros((2, 2, 3)), "data", "n x 2 x 3", COLUMN),
    unfit(
        "two columns",
        lambda: np.zeros((3, 2)),
        "data",
        "n x 2",
        COLUMN,
        "Give bounds with one low and one high per column",
    ),
    unfit(
        "two named columns",
        lambda: pd.DataFrame({"a": [1.0], "b": [2.0]}),
        "data",
        "2 columns",
        "Name the columns to use",
    ),
    unfit(
        "other column",
        lambda: pd.DataFrame({"a": [1.0]}),
        "'z'",
        "'a'",
        "no column named",
        bounds={"z": (0, 1)},
    ),
    unfit(
        "dates",
        lambda: np.array(["2020-01-01"], dtype="M8[D]"),
        "column",
        "datetime64[D]",
        "bounds as dates",
    ),
    unfit(
        "series of dates",
        lambda: pd.Series(pd.to_datetime(["2020-01-01"])),
        "column",
        "datetime64",
        "bounds as dates",
    ),
    unfit(
        "frame of dates",
        lambda: pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])}),
        "column",
        "datetime64",
        "bounds as dates",
    ),
    unfit("complex", lambda: np.array([1j]), "column", "complex128", "must hold", "column.real"),
    unfit(
        "structured",
        lambda: np.zeros(3, dtype=[("a", float)]),
        "column",
        "'a'",
        "must hold numbers",
    ),
]

SIZE = "lie between 1e-300 and 1e300"
SIZES = [
    bad(f"{name} {label}", SpecError, name, "float64 can hold", SIZE, **{name: wrong})
    for label, number in (
        ("beyond doubles", 10**400),
        ("beyond text", 10**5000),
        ("as an exponent", "1e999999999"),
        ("as a small ratio", "1/1e299999999"),
        ("too small", "1e-301"),
        ("too small a double", 5e-324),
        ("too large a double", 1.7976931348623157e308),
    )
    for name, wrong in (
        ("epsilon", number),
        ("bounds", (0, number)),
        ("granularity", number),
        ("missing", number),
        ("records_per_person", number),
    )
]

ARGUMENTS = {
    "size": SIZES,
    "epsilon": EPSILON,
    "bounds": BOUNDS,
    "granularity": GRANULARITY,
    "missing": MISSING,
    "relation": RELATION,
    "parts": PARTS,
    "random_state": SEEDS,
    "data": DATA,
}


def cases() -> list[Any]:
    return [
        pytest.param(
            statistic,
            refusal,
            id=f"{statistic}-{argument}-{refusal.label}",
        )
        for argument, refusals in ARGUMENTS.items()
        for refusal in refusals
        for statistic in refusal.only
    ]


@pytest.mark.parametrize(("statistic", "refusal"), cases())
def test_bad_input_is_refused_with_a_clear_error_and_nothing_charged(statistic, refusal, ledger):
    head, files = ledger.head, sorted(ledger.path.parent.iterdir())
    with pytest.raises(kng.KngError) as caught:
        ask(statistic, refusal.data(), ledger=ledger, **refusal.options)
    assert type(caught.value) is refusal.error
    assert isinstance(caught.value, ValueError | TypeError)
    message = str(caught.value)
    assert [part for part in refusal.says if part not in message] == []
    if refusal.error not in {SchemaError, IncompatibleParts}:  # about data, or about two parts
        assert set(refusal.options) & set(caught.value.arguments)
    assert "\x0e" not in message + repr(caught.value), "a reference that nobody worded"
    assert "\n" not in message
    assert message.endswith(".")
    assert message.count(". ") <= 2, "a message is one or two sentences, and an example"
    assert (ledger.spent, ledger.history(), ledger.head) == (0, [], head)
    assert sorted(ledger.path.parent.iterdir()) == files


def outside(label: str, error: type[kng.KngError], q: Any, *says: str) -> Any:
    return pytest.param(q, error, says, id=label)


BETWEEN = "strictly between 0 and 1"


@pytest.mark.parametrize(
    ("q", "error", "says"),
    [
        pytest.param(0, SpecError, ("q", "got 0", BETWEEN), id="0"),
        pytest.param(1, SpecError, ("q", "got 1", BETWEEN), id="1"),
        pytest.param(-0.1, SpecError, ("q", "got -0.1", BETWEEN), id="-0.1"),
        pytest.param(1.1, SpecError, ("q", "got 1.1", BETWEEN), id="1.1"),
        pytest.param([0.5, 1], SpecError, ("q", "got 1", BETWEEN), id="[0.5, 1]"),
        outside("nan", SpecError, NAN, "q", "got nan", "finite number"),
        outside("none", SpecTypeError, None, "q", "got None", "a number"),
        outside("true", SpecTypeError, True, "q", "got True", "a number"),
        outside("huge", SpecError, 10**400, "q", "float64", SIZE),
        outside("text", SpecError, "a", "q", "got 'a'", "a number"),
        outside("text inside", SpecError, [0.2, "b"], "q", "got 'b'", "a number"),
        outside("set", SpecTypeError, {0.5}, "q", "got set", "a number"),
        outside("list of lists", SpecTypeError, [[0.1, 0.2]], "q", "got list", "a number"),
        outside("empty", SpecError, [], "q", "empty", "such as 0.5"),
        outside("repeated", SpecError, [0.5, 0.5], "q", "names 0.5 twice", "each quantile once"),
        outside(
            "repeated otherwise",
            SpecError,
            [0.5, "1/2"],
            "q",
            "names 0.5 twice",
            "each quantile once",
        ),
    ],
)
def test_bad_quantiles_are_refused_and_nothing_charged(q, error, says, ledger):
    with pytest.raises(kng.KngError) as caught:
        kng.quantile(RECORDS, q, bounds=(0, 10), epsilon=1, ledger=ledger)
    assert type(caught.value) is error
    message = str(caught.value)
    assert caught.value.arguments == ("q",)
    words = message.replace(";", " ").replace(",", " ").split()
    assert says[0] in words, "the message names the argument"
    assert [part for part in says[1:] if part not in message] == []
    assert (ledger.spent, ledger.history()) == (0, [])


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(3, id="number"),
        pytest.param(True, id="true"),
        pytest.param(object(), id="object"),
        pytest.param(["books"], id="list"),
        pytest.param({}, id="dict"),
        pytest.param(b"books", id="bytes"),
    ],
)
def test_a_ledger_of_the_wrong_kind_is_refused(statistic, wrong):
    with pytest.raises(
        SpecTypeError, match=r"^ledger must be a kng\.Ledger, the path or the address of one"
    ):
        ask(statistic, RECORDS, ledger=wrong)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_ledger_that_does_not_exist_is_not_made_by_a_release(statistic, books):
    with pytest.raises(SpecError, match=r"Open it first.*kng\.Ledger\('new\.ledger', cap=1\)"):
        ask(statistic, RECORDS, ledger=books / "new.ledger")
    assert list(books.iterdir()) == []


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_refused_budget_reads_nothing_and_charges_nothing(statistic, books):
    journal: list[str] = []
    small = kng.Ledger(books / "small.ledger", cap="1/2")
    with pytest.raises(
        kng.KngError, match=r"asks for epsilon 1, but account 'default' has 0\.5 left"
    ):
        ask(statistic, Watched(RECORDS, journal), ledger=small)
    assert "records" not in journal
    assert (small.spent, small.history()) == (0, [])


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_bad_options_are_refused_before_a_record_is_looked_at(statistic, relation, ledger):
    journal: list[str] = []
    data = Watched(RECORDS, journal)
    for refusal in (*EPSILON, *BOUNDS, *GRANULARITY, *MISSING, *PARTS[:4], *SEEDS):
        with pytest.raises(refusal.error):
            ask(statistic, data, neighbours=relation, ledger=ledger, **refusal.options)
    # Under replace-one the number of records is public and may be asked for; nothing else.
    assert set(journal) <= ({"len"} if relation == "replace-one" else set())
    assert ledger.spent == 0


# Raw errors from NumPy and Python, a failure after the charge, or records that count twice.
TWICE = pd.DataFrame([[1.0, 2.0]] * 5, columns=["a", "a"])
ODD = [
    pytest.param({"bounds": (b"a", b"b")}, id="bounds of bytes"),
    pytest.param({"mechanism": np.array(["kng", "exponential"])}, id="mechanisms"),
    pytest.param({"neighbours": np.array(["replace-one", "x"])}, id="relations"),
    pytest.param({"data": deque(RECORDS)}, id="queue"),
    pytest.param({"data": {"a": 5}}, id="mapping to a number"),
    pytest.param({"data": {"a": "text"}}, id="mapping to text"),
    pytest.param({"data": {"a": np.ones((5, 2))}}, id="mapping to a table"),
    pytest.param({"data": TWICE, "bounds": {"a": (0, 10)}}, id="a name twice"),
    pytest.param({"data": "a\0.csv"}, id="path with a zero byte"),
]


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("options", ODD)
def test_odd_input_is_refused_with_an_error_of_ours(statistic, options, ledger):
    given = {"data": RECORDS, **options}
    with pytest.raises(kng.KngError) as caught:
        ask(statistic, given.pop("data"), ledger=ledger, **given)
    assert isinstance(caught.value, ValueError | TypeError)
    assert (ledger.spent, ledger.history()) == (0, [])


@pytest.mark.parametrize("q", [[[0.1], [0.2, 0.3]]], ids=["ragged"])
def test_odd_quantiles_are_refused_with_an_error_of_ours(q, ledger):
    with pytest.raises(kng.KngError):
        kng.quantile(RECORDS, q, bounds=(0, 10), epsilon=1, ledger=ledger)
    assert ledger.spent == 0
