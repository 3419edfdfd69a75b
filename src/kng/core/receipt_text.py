"""A release in words: the receipt that people read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING

from kng.core import receipt_groups
from kng.core.exact import listed, show
from kng.core.noise.shown import brief, numbers_shown, words_for
from kng.core.privacy import Guarantee
from kng.core.receipt_names import BINS, answer_of, kind_of, stated
from kng.core.receipt_table import Table

if TYPE_CHECKING:
    from kng.core.noise.interval import NoiseInterval
    from kng.core.release import Fact, Release

_METHODS = {
    "kng": "K-norm gradient mechanism",
    "exponential": "exponential mechanism",
    "k-norm": "K-norm mechanism",
    "objective": "objective perturbation",
}

_TIERS = {
    Guarantee.EXACT: "proved for the program that ran",
    Guarantee.IDEAL: "exact in real arithmetic, computed in floating point",
    Guarantee.APPROXIMATE: "a Markov chain; no certificate",
    Guarantee.SIMULATION: "seeded and therefore repeatable; do not publish",
}
# The fact that names the ball that records were pulled into; shown as their bounds.
RECORD_BALL = "record ball"
# The fact that says whose each record is.
PERSON = "person"
# Facts that stand elsewhere: bins beside their counts.
_BESIDE = (RECORD_BALL, BINS)
# So many named numbers are shown as a table.
_MANY = 3
# Statistics that a record has a part in or not: its bounds say nothing.
_COUNTED = ("count", "proportion", "histogram")


def rows(release: Release) -> list[tuple[str, str]]:
    """Return the value and the public facts as label and text, for people."""
    answer = receipt_groups.summary(release) or _shown(release)
    return [(release.statistic, answer), *facts(release)]


def facts(release: Release) -> list[tuple[str, str]]:
    """Return the public facts as label and text; of the value only what was released beside it."""
    unit = unit_of(release)
    change = "replaced by another" if release.neighbours == "replace-one" else "added or removed"
    method = _METHODS.get(release.mechanism, f"{release.mechanism} mechanism")
    # Names stand beside their numbers.
    beside = _BESIDE if labels(release) is None else (*_BESIDE, "quantiles", "coefficients")
    return [
        ("epsilon", f"{show(release.event.epsilon)}  ({unit} {change})"),
        ("guarantee", f"{release.guarantee.value}  ({_TIERS[release.guarantee]})"),
        ("method", f"{method} ({release.sampler} sampler)"),
        *([] if release.statistic in _COUNTED else [("bounds", _bounds(release))]),
        *(_fact(release, *fact) for fact in release.details.items() if fact[0] not in beside),
        *(("assumption", a.meaning) for a in release.assumptions),
        ("version", f"kng {release.version}"),
    ]


def unit_of(release: Release) -> str:
    """Return who is protected: with person= a person, however many records they have.

    A single record is not, even if one of each person is used: another may then take its place.
    """
    if PERSON in release.details:
        return "one person with all their records"
    most = release.event.records_per_person
    return "one record" if most == 1 else f"one person with up to {most} records"


def _fact(release: Release, label: str, fact: Fact) -> tuple[str, str]:
    if label != "also released":
        return _row(label, fact)
    return label, ", ".join(f"{name} {brief(value)}" for name, value in release.also.items())


def labels(release: Release) -> Sequence[str] | None:
    """Return what the numbers of a value are called; None for one number, or without names."""
    if release.groups is not None:
        return receipt_groups.labels(release)
    found = stated(release)
    if release.scalar or found is None or len(found) != len(release.exact_value):
        return None
    return found


def _shown(release: Release) -> str:
    values, names, noise = _numbers(release), labels(release), words_for(_interval(release))
    if names is None:
        return ", ".join(values) + noise
    named = (f"{_name(name)}: {value}" for name, value in zip(names, values, strict=True))
    return ", ".join(named) + noise


def _interval(release: Release) -> NoiseInterval | None:
    return None if release.noise is None else release.noise_interval()


def _numbers(release: Release) -> list[str]:
    """Return each number with its noise, and no digit that is only noise."""
    return numbers_shown([float(number) for number in release.exact_value], _interval(release))


def table_of(release: Release) -> Table | None:
    """Return a table of the numbers where one line would be long: of groups, or of many names."""
    if release.groups is not None:
        return receipt_groups.table(release)
    names = labels(release)
    if names is None or len(names) < _MANY:
        return None
    named = [kind_of(release), *(name if name.isprintable() else repr(name) for name in names)]
    return Table([named, [answer_of(release), *_numbers(release)]], [False, True])


def _counted(release: Release) -> str:
    """Return what stands in place of the numbers below a table of them."""
    if release.groups is not None:
        return receipt_groups.summary(release) or ""
    many = f"{len(release.exact_value)} {kind_of(release)}s"
    return many + words_for(_interval(release))


def _bounds(release: Release) -> str:
    ball = release.details.get(RECORD_BALL)
    if isinstance(ball, str):
        return ball
    pairs = [
        f"[{show(low)}, {show(high)}]"
        for low, high in zip(release.bounds.low, release.bounds.high, strict=True)
    ]
    if release.bounds.columns is None or len(set(pairs)) == 1 < len(pairs):
        return _each(listed(pairs))
    return ", ".join(
        f"{_name(column)} {pair}"
        for column, pair in zip(release.bounds.columns, pairs, strict=True)
    )


def plain(release: Release) -> str:
    """Return the facts as lines, for a terminal."""
    lines, table = rows(release), table_of(release)
    width = max(len(label) for label, _ in lines)
    above: list[str] = []
    if table is not None:
        lines[0] = lines[0][0], _counted(release)
        above = [*table.lines(), ""]
    return "\n".join([*above, *(f"{label:<{width}}  {text}" for label, text in lines)])


def html(release: Release) -> str:
    """Return the facts as a table, for a notebook."""
    (label, text), *rest = rows(release)
    table = table_of(release)
    shown = text if table is None else _counted(release)
    title = f"<b>{escape(shown)}</b> <span style='opacity:.7'>private {escape(label)}</span>"
    return _page(title, f"{'' if table is None else table.html()}{_table(rest)}")


def model_html(release: Release, model: str) -> str:
    """Return the coefficients of a model as a table, and its receipt below, for a notebook."""
    (label, _), *rest = rows(release)
    title = f"<b>{escape(model)}</b> <span style='opacity:.7'>private {escape(label)}</span>"
    names = release.names or (release.statistic,)
    numbers = "".join(
        f"<tr><th style='text-align:left;padding-right:1.5em'>{escape(_name(name))}</th>"
        f"<td style='text-align:right;font-variant-numeric:tabular-nums'>{escape(number)}</td></tr>"
        for name, number in zip(names, _numbers(release), strict=True)
    )
    noise = escape(words_for(_interval(release)).strip(" ()").capitalize())
    below = f"<div style='opacity:.7'>{noise}</div>" if noise else ""
    receipt = [row for row in rest if row[0] != "coefficients"]
    table = f"<table style='border:0;margin:.4em 0'>{numbers}</table>"
    return _page(title, f"{table}{below}{_table(receipt)}")


def _page(title: str, body: str) -> str:
    return (
        "<div style='border-left:3px solid #3b7; padding:.2em 0 .2em 1em'>"
        f"<div style='font-size:1.3em'>{title}</div>{body}</div>"
    )


def _table(facts: Sequence[tuple[str, str]]) -> str:
    """Return labels and texts as a table; every name in it is the caller's, so it is escaped."""
    cells = "".join(
        f"<tr><th style='text-align:left;padding-right:1.5em;font-weight:normal;opacity:.7'>"
        f"{escape(name)}</th><td style='text-align:left'>{escape(fact)}</td></tr>"
        for name, fact in facts
    )
    return f"<table style='border:0;margin:.4em 0 0 0'>{cells}</table>"


def _name(text: str) -> str:
    """Write a name for people: in quotes where a list of names would be misread without."""
    plain = text.isprintable() and text == text.strip() and not set(text) & {",", ":"}
    return text if text and plain else repr(text)


# Facts that are exact numbers of many digits; a receipt in JSON keeps all of them.
_NUMBERS = {"granularity": "step", "epsilon per quantile": "epsilon per quantile"}
_NUMBER = re.compile(r"\b\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?(?:/[1-9]\d*)?(?![\d.]| times)")
_DECIMAL = re.compile(r"\b\d+\.\d+\b")
_ALIKE = re.compile(r"^([^,()]+|\[[^\[\]]+\]) \(\d+ times\)$")


def _row(label: str, fact: Fact) -> tuple[str, str]:
    """Return a public fact for people: its label, and numbers with the digits that tell."""
    if label in _NUMBERS and isinstance(fact, str):
        return _NUMBERS[label], _each(_NUMBER.sub(lambda found: _digits(found[0]), fact))
    if label == "response" and isinstance(fact, str):
        return label, _DECIMAL.sub(lambda found: _digits(found[0]), fact)
    return label, _each(_text(fact))


def _each(text: str) -> str:
    """Write "1 each" where a list is one number, several times."""
    return _ALIKE.sub(r"\1 each", text)


def _digits(text: str) -> str:
    """Write a number of at most six digits as it is, another one with three."""
    try:
        number = Fraction(text)
        short = Decimal(f"{float(number):.6g}")
    except (ValueError, OverflowError):  # not a number that a release of ours has
        return text
    if Fraction(short) != number:
        short = Decimal(f"{float(number):.3g}")
    return f"{short.normalize():f}"


def _text(fact: Fact) -> str:
    return fact if isinstance(fact, str) else ", ".join(map(_name, fact))
