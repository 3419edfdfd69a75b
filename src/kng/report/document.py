"""The page: answers, pictures, the promise in words, what is assumed, how to verify, and all facts.

It loads nothing: style and pictures are inside. Every word that is the caller's is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from html import escape
from importlib.resources import files
from math import ceil
from shlex import quote

from kng.core.noise.interval import NoiseInterval
from kng.core.noise.shown import numbers_shown
from kng.core.privacy import Assumption
from kng.core.receipt_names import answer_of, kind_of
from kng.core.receipt_words import (
    ASSUMED,
    caveat,
    decimal,
    for_custodians,
    for_laypeople,
    law_in_words,
    odds,
)
from kng.core.release import Release
from kng.core.version import __version__
from kng.report.pictures import drowned, figures, interval_of, names_of, values_of
from kng.report.receipts import RECEIPT, Receipt
from kng.report.svg import WIDTH, picture, rect, text
from kng.report.titles import title_of

_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


@dataclass(frozen=True, slots=True)
class History:
    """What an account of a ledger shows: facts, and a table of charges with its head."""

    facts: Sequence[tuple[str, str]]
    charges: Sequence[Sequence[str]]
    verified: str


def page(receipts: Sequence[Receipt], history: History | None = None) -> str:
    """Return one page for some receipts.

    Parameters
    ----------
    receipts : sequence of Receipt
        At least one.
    history : History, optional
        The account that paid for them.
    """
    titles = [title_of(receipt.release) for receipt in receipts]
    several = len(receipts) > 1
    assumptions = [receipt.release.assumptions for receipt in receipts]
    alike = several and len(set(assumptions)) == 1
    heading = f"{len(receipts)} private answers" if several else titles[0]
    body = [
        "<header><p class='kicker'>Released under differential privacy</p>",
        f"<h1>{escape(heading)}</h1></header>",
        _overview(receipts, titles) if several else "",
        *(
            _article(receipt, title if several else None, () if alike else _assumed(own))
            for receipt, title, own in zip(receipts, titles, assumptions, strict=True)
        ),
        # Said once where it is the same of all answers.
        "\n".join(["<article>", *_assumed(assumptions[0]), "</article>"]) if alike else "",
        "" if history is None else _history(history),
        f"<footer>Made by kng {escape(__version__)}. This page is complete in itself: it loads "
        "nothing from the network, and holds the receipts that it was made from.</footer>",
    ]
    return (
        "<!DOCTYPE html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
        f"<title>{escape(heading)}</title>\n<style>\n{style()}</style>\n</head>\n"
        f"<body>\n<main>\n{chr(10).join(part for part in body if part)}\n</main>\n</body>\n</html>"
    )


@lru_cache(maxsize=1)
def style() -> str:
    """Return the style of the page; read once, and before a release is charged."""
    return (files("kng.report") / "page.css").read_text(encoding="utf-8")


def _overview(receipts: Sequence[Receipt], titles: Sequence[str]) -> str:
    rows = [
        [title, _short(receipt.release), decimal(receipt.release.event.epsilon), _time(receipt)]
        for receipt, title in zip(receipts, titles, strict=True)
    ]
    head = ["question", "answer", "epsilon", "time (UTC)"]
    events = [receipt.release.event for receipt in receipts]
    together = ""
    if len({(event.neighbours, event.records_per_person) for event in events}) == 1:
        total = sum((event.epsilon for event in events), Fraction(0))
        together = (
            "<p>If these answers are about the same people, their epsilons add up: together they "
            f"cost {decimal(total)}.</p>"
        )
    return f"{_grid(head, rows)}{together}"


def _article(receipt: Receipt, title: str | None, assumed: Sequence[str]) -> str:
    release = receipt.release
    weaker = caveat(release)
    drawn = "".join(
        f"<figure>{figure.svg}<figcaption>{escape(figure.caption)}</figcaption></figure>"
        for figure in figures(release)
    )
    return "\n".join(
        [
            "<article class='alone'>" if title is None else "<article>",
            "" if title is None else f"<h2>{escape(title)}</h2>",
            _answer(release),
            *(f"<p class='warn'>{escape(text)}</p>" for text in (weaker, drowned(release)) if text),
            drawn,
            "<h3>What this promises</h3>",
            f"<p>{escape(for_laypeople(release))}</p>",
            f"<figure>{_odds(release)}</figure>",
            f"<p>For those who answer for the data: {escape(_lower(for_custodians(release)))}</p>",
            *assumed,
            "<h3>How the answer was drawn</h3>",
            f"<p>{escape(law_in_words(release))}</p>",
            "<h3>How to verify</h3>",
            _verifying(receipt),
            "<h3>All facts of the receipt</h3>",
            _facts(release),
            f"<details><summary>The receipt as JSON</summary><pre class='{RECEIPT}'>"
            f"{escape(receipt.text.strip())}</pre></details>",
            "</article>",
        ]
    )


def _assumed(assumptions: Sequence[Assumption]) -> list[str]:
    items = "".join(
        f"<dt>{escape(a.meaning[:1].upper() + a.meaning[1:])}</dt><dd>{escape(ASSUMED[a])}</dd>"
        for a in assumptions
    )
    return ["<h3>What is assumed</h3>", f"<dl>{items}</dl>" if items else "<p>Nothing.</p>"]


def _answer(release: Release) -> str:
    interval, values = interval_of(release), values_of(release)
    shown = numbers_shown(values, interval)
    known = _noise_said(release)
    if release.scalar:
        number, sign, margin = shown[0].partition(" ± ")
        if interval is not None and interval.kind == "ranks":
            sign, margin = "±", f"{_ranks(interval)} in rank"
        beside = f" <small>± {escape(margin)}</small>" if sign else ""
        return f"<p class='answer'>{escape(number)}{beside}</p><p class='quiet'>{known}</p>"
    rows = [[name, number] for name, number in zip(names_of(release), shown, strict=True)]
    return f"{_grid(_head(release), rows)}<p class='quiet'>{known}</p>"


def _head(release: Release) -> list[str]:
    """Return what the names of the numbers are, levels of groups or others, and the numbers."""
    if release.groups is None:
        return [kind_of(release), answer_of(release)]
    return [", ".join(release.groups.columns), "answer"]


def _ranks(interval: NoiseInterval) -> str:
    """Return how far in rank the answer may be."""
    margin = interval.margin[0] if isinstance(interval.margin, tuple) else interval.margin
    if interval.unit.startswith("records"):
        return f"{ceil(margin)} records"
    return f"{100 * margin:.2g} % of the records"


def _noise_said(release: Release) -> str:
    """Say what the margin means."""
    interval = interval_of(release)
    if interval is None:
        return (
            "Random noise protects people and moves the answer. How far is not stated in this "
            "receipt."
        )
    level = f"{100 * interval.level:.10g} %"
    if interval.kind == "ranks":
        return (
            "Random noise protects people. If the records stand in order, the answer is at most "
            f"{_ranks(interval)} away from the place that was asked for, with {level} probability."
        )
    if interval.kind == "predicted":
        return (
            f"± is the privacy noise to expect ({level}) if the records look as declared. Sampling "
            "error comes on top."
        )
    return (
        f"± is privacy noise: without it the answer on the same records lies within, with {level} "
        "probability. Sampling error comes on top."
    )


def _short(release: Release) -> str:
    """Return the answer in a few words."""
    shown = numbers_shown(values_of(release), interval_of(release))
    if release.scalar:
        return shown[0]
    named = [f"{name}: {number}" for name, number in zip(names_of(release), shown, strict=True)]
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")


def _odds(release: Release) -> str:
    """Draw 50:50 becoming at most x:y."""
    high, low = odds(release.event.epsilon)
    marks = []
    for y, left, words in (
        (4.0, 50.0, "before  50:50"),
        (44.0, float(high), f"after, at most  {high}:{low}"),
    ):
        marks += [
            rect(0, y, WIDTH, 28, "band1"),
            rect(0, y, WIDTH * left / 100, 28, "band3"),
            text(12, y + 19, words, "label"),
        ]
    return picture(marks, 76, f"50:50 becomes at most {high}:{low}")


def _verifying(receipt: Receipt) -> str:
    origin = receipt.release.provenance
    if origin is None or origin.entry is None:
        return (
            "<p>No ledger is named in this receipt, so nothing proves that it was charged to a "
            "budget. Releases with --ledger can be verified.</p>"
        )
    ledger = origin.ledger or "LEDGER"
    account = (
        "" if origin.account in (None, "default") else f" --account {quote(origin.account or '')}"
    )
    command = f"kng verify {quote(receipt.called)} --ledger {quote(ledger)}{account}"
    return (
        "<p>Whoever holds the ledger can check that this receipt is the one stored in entry "
        f"{origin.entry}, and that no entry was changed since. This page can be given in place of "
        f"the receipt.</p><pre>{escape(command)}</pre>"
    )


def _facts(release: Release) -> str:
    """Return all facts but those that stand elsewhere on the page."""
    origin = [] if release.provenance is None else release.provenance.rows
    rows = [row for row in release.rows()[1:] if row[0] != "assumption"]
    return _table([*rows, *origin])


def _history(history: History) -> str:
    head, *rows = history.charges
    return "\n".join(
        [
            "<article>",
            "<h2>The account</h2>",
            f"<p>{escape(history.verified)}</p>",
            _table(history.facts),
            "<h3>All charges</h3>",
            _grid(head, rows) if rows else "<p>None yet.</p>",
            "</article>",
        ]
    )


def _table(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<table><tbody>{cells}</tbody></table>"


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(
        f"<tr>{''.join(f'{_opened(cell)}{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<div class='scroll'><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
        "</div>"
    )


def _opened(cell: str) -> str:
    """Return the tag before a cell; a time stays on one line."""
    return "<td class='time'>" if _TIME.match(cell) else "<td>"


def _time(receipt: Receipt) -> str:
    origin = receipt.release.provenance
    return "" if origin is None else origin.time.replace("T", " ").removesuffix("Z")


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
