"""The demo tells the truth, fits a terminal and is quick; its data are what the note says."""

from __future__ import annotations

import csv
import math
import re
import time
from collections import Counter
from importlib.resources import files
from statistics import median_low

import pytest

import kng
from kng.cli import demo
from kng.core import receipt_words
from kng.core.privacy import Assumption
from kng.report import read_receipts


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "demo.html"


@pytest.fixture(scope="module")
def story(shell, page):
    start = time.monotonic()
    done = shell("demo", "--out", page.name, cwd=page.parent)
    assert time.monotonic() - start < 45
    assert (done.code, done.err) == (0, "")
    return done.out


@pytest.fixture(scope="module")
def records():
    with (files("kng.cli") / "doctor_visits.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_it_has_every_chapter(story):
    chapters = re.findall(r"^(\d)\. ", story, flags=re.MULTILINE)
    assert chapters == list("123456789")


def test_it_fits_a_terminal(story):
    assert max(map(len, story.splitlines())) <= 88
    assert story.replace("±", "").isascii()


def test_the_plain_answer_is_as_told(story, records):
    bills = [float(record["spending"]) for record in records]
    others = [float(record["spending"]) for record in records if record["person"] != "1"]
    assert f"${median_low(bills):.2f}" in story
    assert bills.count(median_low(bills)) == 1  # "somebody's bill"
    assert median_low(others) > median_low(bills)  # "it went up"
    assert f"it becomes ${median_low(others):.2f}" in story
    mine = [float(record["spending"]) for record in records if record["person"] == "1"]
    assert sum(bill < median_low(bills) for bill in mine) > len(mine) / 2


def test_the_release_is_real(story):
    assert re.search(r"^   guarantee +exact ", story, flags=re.MULTILINE)
    [answer] = re.findall(
        r"^   median +([0-9.]+) \(rank ± .+: privacy noise, 95 %\)$", story, flags=re.MULTILINE
    )
    assert 30 < float(answer) < 41
    assert "up to 5 records" in story


def test_every_line_of_the_receipt_is_explained():
    release = kng.median([1, 2, 3], bounds=(0, 5), epsilon=1)
    labels = {label for label, _ in release.rows()} - {"assumption"}
    assert labels <= {*demo._LINES, *receipt_words.LINES}
    assert set(release.assumptions) <= set(receipt_words.ASSUMED) == set(Assumption)


def test_the_promise_in_words_is_the_one_in_numbers():
    factor = math.exp(0.5)
    assert f"{factor:.2f} times" in demo._LINES["epsilon"]
    share = round(100 * factor / (1 + factor))
    assert f"{share}:{100 - share}" in demo._LINES["epsilon"]


def test_the_ledger_refuses_and_then_grants(story):
    told = " ".join(story.split())
    assert "Error: This release asks for epsilon 0.75" in told
    assert "has 0.5 left of its cap of 1. Nothing was charged and no answer was drawn." in told
    assert re.search(r"At epsilon 0\.25 it fits: \d+ visits\. A third question takes", told)


def test_the_page_has_the_three_answers_and_the_history(story, page):
    assert "Open it in a browser: demo.html" in " ".join(story.split())
    names = [receipt.release.statistic for receipt in read_receipts(str(page))]
    assert names == ["median", "quantile", "mean"]
    text = page.read_text()
    assert "Ledger verified: 3 charges, hash chain intact, total matches." in text
    assert "together they cost 1." in text
    assert "kng verify demo.html --ledger visits.ledger" in text


def test_the_simulation_narrows(story):
    ranges = re.findall(r"^   (0\.01|0\.1|1) .* ([0-9.]+) to ([0-9.]+)$", story, re.MULTILINE)
    widths = [float(high) - float(low) for _, low, high in ranges]
    assert len(widths) == 3
    assert widths == sorted(widths, reverse=True)
    assert "simulation" in story


def test_the_commands_of_the_demo_run_as_printed(story, shell, tmp_path):
    """On 0.1 (e301d72) the data of the first ones did not exist."""
    commands = re.findall(r"^ +kng ((?:sample|budget|median|mean) .*)$", story, re.MULTILINE)
    assert [command.split()[0] for command in commands] == [
        *("sample", "budget", "median", "sample", "mean"),
    ]
    del commands[3]  # the same again
    told = story.replace("\\\n", "")
    for start in commands:
        [whole] = set(re.findall(f"kng ({re.escape(start.removesuffix(chr(92)))}.*)", told))
        done = shell(*whole.split(), cwd=tmp_path)
        assert done.code == 0, done.err


def test_the_data_are_what_the_note_says(records):
    note = (files("kng.cli") / "doctor_visits.md").read_text(encoding="utf-8")
    counts = Counter(record["person"] for record in records)
    assert f"{len(records):,} yearly records of {len(counts):,} people" in note
    assert max(counts.values()) == 5
    by_size = Counter(counts.values())
    assert f"({by_size[5]:,} people have five; {by_size[3]:,} have three)" in note
    assert len({(record["person"], record["year"]) for record in records}) == len(records)
    limits = {"year": (1, 5), "age": (0, 120), "coinsurance": (0, 100), "visits": (0, 100)}
    for column, (low, high) in limits.items():
        assert all(low <= int(record[column]) <= high for record in records)
    assert all(float(record["spending"]) >= 0 for record in records)
    assert "public domain" in note
