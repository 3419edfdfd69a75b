"""The receipt: exact on its way through JSON, pickles and copies, and safe to look at."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re
from fractions import Fraction as F
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import kng
from kng.core.bounds import Bounds
from kng.core.errors import SpecError
from kng.core.lattice import Lattice
from kng.core.noise.shown import brief
from kng.core.privacy import Assumption, Guarantee, PrivacyEvent
from kng.core.release import Release

POSITIVE = st.fractions(min_value=F(1, 10**6), max_value=10**6)
WORDS = st.text(max_size=12)


@st.composite
def releases(draw: Any) -> Release:
    width = draw(st.integers(1, 3))
    low = tuple(draw(st.fractions(-100, 100)) for _ in range(width))
    step = tuple(draw(POSITIVE) for _ in range(width))
    last = tuple(draw(st.integers(0, 10**6)) for _ in range(width))
    epsilon = draw(POSITIVE)
    names = tuple(draw(WORDS) for _ in range(width))
    return Release(
        statistic=draw(st.sampled_from(["mean", "median", "quantile"])),
        integers=tuple(draw(st.integers(0, k)) for k in last),
        lattice=Lattice(low, step, last),
        scalar=width == 1 and draw(st.booleans()),
        event=PrivacyEvent(
            epsilon,
            epsilon * draw(st.fractions(1, 2)),
            draw(WORDS),
            draw(st.sampled_from(["replace-one", "add-remove"])),
            draw(st.integers(1, 9)),
            draw(st.sampled_from(list(Guarantee))),
        ),
        sampler=draw(WORDS),
        bounds=Bounds(
            low,
            tuple(a + h * k + 1 for a, h, k in zip(low, step, last, strict=True)),
            draw(st.sampled_from([None, names])),
        ),
        assumptions=tuple(draw(st.lists(st.sampled_from(list(Assumption)), max_size=3))),
        details=draw(st.dictionaries(WORDS, WORDS, max_size=3)),
        version=draw(WORDS),
    )


@given(releases())
def test_a_release_comes_back_from_json_exactly(release):
    for text in (release.to_json(), release.to_json(indent=2)):
        back = Release.from_json(text)
        assert back == release
        assert back.to_json() == release.to_json()
        assert repr(back) == repr(release)


@given(releases())
def test_a_release_comes_back_from_pickles_and_copies(release):
    for back in (pickle.loads(pickle.dumps(release)), copy.copy(release), copy.deepcopy(release)):
        assert back == release
        assert repr(back) == repr(release)


@given(releases())
def test_json_is_plain_and_its_value_is_the_value(release):
    written = json.loads(release.to_json(), parse_constant=pytest.fail)
    assert np.array_equal(np.asarray(written["value"]), np.asarray(release.value))
    assert F(written["epsilon"]) == release.event.epsilon
    exact = [
        F(a) + F(h) * k
        for a, h, k in zip(
            written["lattice"]["origin"],
            written["lattice"]["step"],
            written["integers"],
            strict=True,
        )
    ]
    assert tuple(exact) == release.exact_value


ORDINARY = kng.quantile(
    {"x": [1, 2, 3]}, [0.2, 0.8], bounds={"x": (0, 4)}, epsilon=1, random_state=1
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "null",
        "[]",
        "3",
        '"text"',
        "{}",
        "{",
        '{"format": "kng-release-2"}',
        '{"format": null}',
        '{"format": "kng-release-1"}',
        "\ud800",
        b"\xff",
        None,
        5,
        "[" * 300,
    ],
    ids=repr,
)
def test_garbage_is_no_release(text):
    with pytest.raises(SpecError):
        Release.from_json(text)


WRONG: list[tuple[str, Any]] = [
    ("integers", ["x", 1]),
    ("integers", [1.7, 2]),
    ("integers", [1.0, 2]),
    ("integers", [True, 2]),
    ("integers", ["1", "2"]),
    ("lattice", {"origin": ["0", "0"], "step": ["1", "1"], "last": [9.5, 9]}),
    ("records_per_person", 1.5),
    ("details", {"quantiles": [0.2, 0.8]}),
    ("integers", None),
    ("lattice", None),
    ("lattice", {"origin": ["0"], "step": ["1/0"], "last": [1]}),
    ("lattice", {"origin": ["x"], "step": ["1"], "last": [1]}),
    ("epsilon", "nan"),
    ("epsilon", "0"),
    ("epsilon", "-1"),
    ("epsilon", None),
    ("loss_range", "1/2"),
    ("guarantee", "certain"),
    ("assumptions", ["luck"]),
    ("records_per_person", "many"),
    ("bounds", {"low": ["1"], "high": ["0"], "columns": None}),
    ("bounds", {"low": [], "high": [], "columns": None}),
    ("bounds", []),
    ("details", 5),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=str)
def test_a_release_with_a_wrong_part_is_refused(name, wrong):
    raw = json.loads(ORDINARY.to_json())
    with pytest.raises(SpecError):
        Release.from_json(json.dumps({**raw, name: wrong}))


# Receipts of 0.1 say no law and nothing of noise; what is for people is not read back.
READ = json.loads(ORDINARY.to_json()).keys() - {"law", "noise", "in_words", "provenance"}


@pytest.mark.parametrize("name", sorted(READ))
def test_a_release_without_a_part_is_refused(name):
    raw = json.loads(ORDINARY.to_json())
    del raw[name]
    with pytest.raises(SpecError):
        Release.from_json(json.dumps(raw))


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(st.sampled_from(sorted(json.loads(ORDINARY.to_json()))), JSON)
@example("integers", [float("inf"), 0])
@example("integers", [0])
@example("integers", [-5, 10**9])
@example("statistic", 5)
@example("details", {"a": 5})
@example("details", [["a", 5]])
@example("bounds", {"low": ["0"], "high": ["1"], "columns": ["a", "b"]})
def test_what_is_read_from_json_can_be_shown(name, part):
    raw = {**json.loads(ORDINARY.to_json()), name: part}
    try:
        release = Release.from_json(json.dumps(raw))
    except SpecError:
        return
    assert Release.from_json(release.to_json()) == release
    assert repr(release)
    assert release._repr_html_()


FITTED = (
    kng.LinearRegression(
        epsilon=1, bounds_X={"a, b": (0, 4), "c": (0, 4)}, bounds_y=(0, 4), random_state=1
    )
    .fit(pd.DataFrame({"a, b": [1.0, 2.0], "c": [3.0, 4.0]}), [1.0, 2.0])
    .release_
)


@pytest.mark.parametrize("change", [{"units": None}, {"units": ...}], ids=["none", "removed"])
def test_coefficients_without_their_units_are_refused(change):
    # Their lattice is a standardised one: the numbers would be read as if they were the caller's.
    raw = {**json.loads(FITTED.to_json()), **change}
    with pytest.raises(SpecError):
        Release.from_json(json.dumps({key: part for key, part in raw.items() if part is not ...}))


def test_names_of_coefficients_are_a_list_and_shown_apart():
    assert json.loads(FITTED.to_json())["details"]["coefficients"] == ["intercept", "a, b", "c"]
    assert Release.from_json(FITTED.to_json()) == FITTED
    (_, value), *rest = FITTED.rows()
    assert value.startswith("intercept: ")
    assert ", 'a, b': " in value
    assert "coefficients" not in dict(rest)  # names stand beside their numbers
    assert dict(rest)["bounds"] == "[0, 4] each"


def test_many_numbers_are_a_table():
    head, *rows, empty, summary = repr(FITTED).split("\n")[:6]
    assert head.split() == ["coefficient", "estimate"]
    assert [row.partition("  ")[0] for row in rows] == ["intercept", "a, b", "c"]
    assert empty == ""
    assert re.fullmatch(r"linear regression +3 coefficients( \(predicted .*\))?", summary)
    page = FITTED._repr_html_()
    assert page.count("<tr>") == 4 + len(FITTED.rows()) - 1
    assert "<b>3 coefficients" in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (35.38, "35.38"),
        (0.0, "0"),
        (-2.5, "-2.5"),
        (340.6914062, "340.691"),
        (280.2500291, "280.25"),
        (1234567.875, "1234567.875"),
        (1234567.12345678, "1234567"),
        (0.00123456789, "0.00123457"),
        (1e-7, "1e-07"),
    ],
)
def test_a_number_of_unknown_noise_has_the_digits_that_tell(value, shown):
    assert brief(value) == shown


def test_names_in_a_receipt_of_the_first_versions_are_still_shown():
    raw = json.loads(FITTED.to_json())
    raw["details"]["coefficients"] = "intercept, a, c"
    old = Release.from_json(json.dumps(raw))
    assert old.details["coefficients"] == "intercept, a, c"
    assert ", a: " in old.rows()[0][1]


@pytest.mark.parametrize("name", ["x\ny", "a: 3", " a", "", "a,b"])
def test_a_name_that_would_be_misread_is_shown_in_quotes(name):
    release = kng.mean(
        {name: [1.0], "c": [1.0]}, bounds={name: (0, 4), "c": (0, 5)}, epsilon=1, random_state=1
    )
    rows = dict(release.rows())
    assert rows["mean"].startswith(f"{name!r}: ")
    assert rows["bounds"] == f"{name!r} [0, 4], c [0, 5]"
    assert "\n" not in rows["mean"]


def test_deep_garbage_is_no_release():
    with pytest.raises(SpecError):
        Release.from_json("[" * 100_000)


class Seen(HTMLParser):
    """Collects the tags and attributes of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.names: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.names.update(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = [
    "<script>alert(1)</script>",
    "</td></tr></table><img src=x onerror=alert(1)>",
    "'\"><b onclick='x'>",
    "&lt;script&gt;",
    "a & b",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_stay_text_in_a_notebook(name):
    release = kng.mean(
        {name: [1.0, 2.0], "other": [1.0, 2.0]},
        bounds={name: (0, 4), "other": (0, 4)},
        epsilon=1,
        random_state=1,
    )
    page = Seen()
    page.feed(release._repr_html_())
    assert page.tags == {"div", "b", "span", "table", "tr", "th", "td"}
    assert page.names == {"style"}
    assert name in page.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_facts_stay_text_in_a_notebook(text):
    event = dataclasses.replace(ORDINARY.event, mechanism=text)
    release = dataclasses.replace(
        ORDINARY, statistic=text, sampler=text, version=text, details={text: text}, event=event
    )
    page = Seen()
    page.feed(release._repr_html_())
    assert page.tags == {"div", "b", "span", "table", "tr", "th", "td"}
    assert page.names == {"style"}
    assert page.text.count(text) >= 6


@given(releases())
def test_whatever_a_release_holds_a_notebook_shows_only_our_tags(release):
    page = Seen()
    page.feed(release._repr_html_())
    assert page.tags <= {"div", "b", "span", "table", "tr", "th", "td"}
    assert page.names == {"style"}


def test_every_public_fact_is_shown():
    release = kng.quantile(
        [1, 2, 3, 4],
        [0.25, 0.75],
        bounds=(0, 4),
        epsilon="0.3",
        granularity=1,
        records_per_person=2,
        random_state=3,
        sampler="order",
    )
    text = repr(release)
    for fact in (
        "quantile",
        "0.25: ",
        "0.75: ",
        "0.3  (one person with up to 2 records replaced by another)",
        "simulation  (seeded and therefore repeatable; do not publish)",
        "method                K-norm gradient mechanism (order sampler)",
        "[0, 4]",
        "step                  1\n",
        "epsilon per quantile  0.15\n",
        "4 (public)",
        "assumption            nobody who can guess the seed of the random bits sees the answer",
        f"kng {kng.__version__}",
    ):
        assert fact in text
    assert release.epsilon == 0.3
    assert (release.guarantee, release.mechanism, release.neighbours) == (
        "simulation",
        "kng",
        "replace-one",
    )


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("1", "1"),
        ("0.01", "0.01"),
        ("250000", "250000"),
        ("1000000000", "1000000000"),
        ("25/8388608", "0.00000298"),
        ("1/3", "0.333"),
        ("1.9073486328125e-06", "0.00000191"),
        ("1/2147483648 (2 times), 0.5", "0.000000000466 (2 times), 0.5"),
        ("3.0517578125e-05 (1234567 times)", "0.0000305 each"),
        ("1/0", "1/0"),
        ("1.2.3", "1.2.3"),
        ("1e999", "1e999"),
        ("1e999999999", "1e999999999"),
        ("7" * 5000, "7" * 5000),
        ("fine", "fine"),
    ],
)
def test_a_step_is_shown_with_the_digits_that_tell_and_stored_exactly(stored, shown):
    raw = json.loads(ORDINARY.to_json())
    raw["details"]["granularity"] = stored
    release = Release.from_json(json.dumps(raw))
    assert dict(release.rows())["step"] == shown
    assert json.loads(release.to_json())["details"]["granularity"] == stored


def test_a_real_release_is_exact_and_a_seeded_one_is_not():
    data = [1, 2, 3]
    assert kng.mean(data, bounds=(0, 4), epsilon=1).guarantee == "exact"
    assert kng.median(data, bounds=(0, 4), epsilon=1).guarantee == "exact"
    for state in (1, np.random.default_rng(1)):
        assert (
            kng.mean(data, bounds=(0, 4), epsilon=1, random_state=state).guarantee == "simulation"
        )


def test_one_number_is_a_float_and_several_are_an_array():
    one = kng.median([1, 2, 3], bounds=(0, 4), epsilon=1)
    assert type(one.value) is float
    several = kng.quantile([1, 2, 3], [0.5], bounds=(0, 4), epsilon=1)
    assert isinstance(several.value, np.ndarray)
    assert several.value.shape == (1,)
    table = kng.mean(np.ones((3, 2)), bounds=([0, 0], [1, 1]), epsilon=1)
    assert table.value.shape == (2,)


def test_a_release_cannot_be_edited():
    with pytest.raises(AttributeError):
        ORDINARY.integers = (0, 0)
    with pytest.raises((AttributeError, TypeError)):
        ORDINARY.value = 5.0


def test_one_number_is_a_number():
    release = kng.median([1, 2, 3] * 50, bounds=(0, 10), epsilon=1, granularity=1, random_state=1)
    assert float(release) == release.value == release[0] == release["median"]
    assert f"{release:.2f}" == f"{release.value:.2f}"
    assert f"{release}" == str(release)
    assert release == release.value
    assert hash(release) == hash(release.value)
    assert release < release.value + 1
    assert release >= release.value
    assert release > 0
    assert release <= release
    assert release != "2"
    assert np.asarray(release).shape == ()
    assert np.mean([release, release]) == release.value
    assert release.to_dict() == {"median": release.value}
    assert release.names is None
    for wrong in ("1", None, [1]):
        with pytest.raises(kng.KngError, match="compared with a number"):
            release < wrong  # noqa: B015


def test_several_numbers_have_names():
    data = {"age": [20.0, 30.0] * 50, "pay": [1.0, 2.0] * 50}
    bounds = {"age": (0, 100), "pay": (0, 10)}
    release = kng.mean(data, bounds=bounds, epsilon=1, random_state=1)
    assert release["pay"] == release[1] == release.value[1]
    assert release.to_dict() == dict(zip(("age", "pay"), release.value.tolist(), strict=True))
    frame = release.to_frame()
    assert frame["name"].tolist() == ["age", "pay"]
    assert frame["value"].tolist() == release.value.tolist()
    assert np.asarray(release).tolist() == release.value.tolist()
    with pytest.raises(KeyError, match="no number called 'wages'; it has 'age', 'pay'"):
        release["wages"]
    for one in (float, lambda r: f"{r:.2f}", lambda r: r < 1):
        with pytest.raises(TypeError, match="has 2 numbers, and one is needed"):
            one(release)
    assert release != 1.0
    with pytest.raises(IndexError):
        release[2]
