"""References in messages: what they say, that they survive, and that nobody can forge one."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import traceback
from fractions import Fraction

import numpy as np
import pytest

from kng.core.errors import BudgetError, MissingExtra, SpecError, UnknownName
from kng.core.naming import (
    Argument,
    Call,
    Code,
    argument,
    call,
    in_python,
    joined,
    keyword,
    outside_python,
    parts,
    renamed,
    told,
)

PYTHON = {
    "n_max": argument("n_max"),
    "n_max=5": argument("n_max", 5),
    "by=": keyword("by"),
    "coef_bound=None": argument("coef_bound", None),
    "fit_intercept=False": argument("fit_intercept", False),
    "neighbours='add-remove'": argument("neighbours", "add-remove"),
    "bounds=(0, 100)": argument("bounds", (0, 100)),
    "bounds={'age': (0, 100)}": argument("bounds", {"age": (0, 100)}),
    "by={'sex': ['F', 'M']}": argument("by", {"sex": ["F", "M"]}),
    "edges=[-inf, 0, 100, inf]": argument("edges", [float("-inf"), 0, 100, float("inf")]),
    "bounds=(low, high)": argument("bounds", (Code("low"), Code("high"))),
    "smoothing=Fraction(1, 3)": argument("smoothing", Fraction(1, 3)),
    "by={3: ('a',)}": argument("by", {3: ("a",)}),
    "weights of L1": argument("weights of L1"),
    "kng.median": call("kng.median"),
    "history()": call("history()"),
    "Ledger.adopt('a b')": call("Ledger.adopt", "a b"),
    "Leave it out, or give domain=Box(5).": f"Leave it out{in_python(', or give domain=Box(5)')}.",
    "Name it.": f"Name it{outside_python(' with --column')}.",
}


@pytest.mark.parametrize("words", PYTHON)
def test_words_of_python(words):
    assert told(PYTHON[words]) == words
    assert str(SpecError(PYTHON[words])) == words


# What a caller may call a column or a file.
ODD = ("it's", 'a"b', "{x}", "}{", "\x0e", "\x0f", "a\x0fb\x0e", "\n", "\ud800", "é", "", "'", "\\")


@pytest.mark.parametrize("text", ODD)
def test_any_value_survives(text):
    message = f"{text!r}: {argument('by', {text: [text, 1]})}, {call('f', text)}."
    _, by, comma, called, dot = parts(message)
    assert by == Argument("by", ({text: [text, 1]},))
    assert (called, comma, dot) == (Call("f", (text,)), ", ", ".")
    assert joined(parts(message)) == message
    assert told(f"{argument('where', text)}") == f"where={text!r}"
    # Braces would be read by str.format.
    assert (
        told(("{path}: " + argument("by", {"a": ["b"]})).format(path="p")) == "p: by={'a': ['b']}"
    )


@pytest.mark.parametrize("text", [*ODD, "\x0e7f[1]\x0f", '\x0e["argument", "n_max"]\x0f'])
def test_a_text_of_the_callers_is_no_reference(text):
    assert told(text) == text
    assert str(SpecError(f"{text} {argument('n_max')} {text}")) == f"{text} n_max {text}"
    assert SpecError(text).arguments == ()


def test_no_mark_is_shown():
    message = f"{argument('n_max', 5)} belongs to {argument('neighbours', 'add-remove')}"
    plain = "n_max=5 belongs to neighbours='add-remove'"
    try:
        raise SpecError(message)
    except SpecError as caught:
        error, lines = caught, traceback.format_exc()
    assert (str(error), f"{error}", repr(error)) == (plain, plain, f"SpecError({plain!r})")
    assert error.args == (plain,)
    assert lines.endswith(f"SpecError: {plain}\n")
    record = logging.LogRecord("kng", logging.ERROR, "", 0, "failed: %s", (error,), None)
    assert record.getMessage() == f"failed: {plain}"


def test_what_an_error_is_about():
    either = in_python(f", or {argument('domain')}")
    message = f"{argument('coef_bound', 1)} and {argument('n_max')}{either}; {argument('n_max', 2)}"
    assert SpecError(message).arguments == ("coef_bound", "n_max", "domain")
    assert SpecError("the data are empty").arguments == ()


def test_messages_are_made_of_messages():
    first = SpecError(f"{argument('where')} is empty")
    again = SpecError(f"question 1: {first.message}; {argument('by')}")
    assert str(again) == "question 1: where is empty; by"
    assert again.arguments == ("where", "by")
    other = SpecError(renamed(first.message, {"where": "of"}))
    assert (str(other), other.arguments) == ("of is empty", ("of",))


ERRORS = (
    SpecError(f"give {argument('by', {'a': ['b']})} or {call('history()')}"),
    MissingExtra(f"{argument('ledger')} needs a library"),
    UnknownName(f"{argument('q')} is not there"),
)


@pytest.mark.parametrize("error", ERRORS)
def test_errors_are_pickled(error):
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.message, again.arguments) == (
        str(error),
        error.message,
        error.arguments,
    )


def test_errors_go_to_another_process():
    """Marks of one process mean nothing in another, so references travel as what they are."""
    program = (
        "import pickle, sys; from kng.core.naming import told; e = pickle.load(sys.stdin.buffer);"
        "print(e, e.arguments, told(e.message, lambda r: r.name.upper()))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(ERRORS[0]),
        capture_output=True,
        check=True,
    )
    assert found.stdout.decode() == (
        "give by={'a': ['b']} or history() ('by',) give BY or HISTORY\n"
    )


def test_errors_with_more_to_tell():
    error = BudgetError(f"{argument('epsilon')}", requested=Fraction(1), remaining=Fraction(0))
    assert (str(error), error.arguments) == ("epsilon", ("epsilon",))


def test_values_of_other_kinds_are_expressions():
    assert told(argument("scale", np.float64(2.5))) == "scale=2.5"
    assert told(argument("ledger", Fraction)) == f"ledger={Fraction!r}"
