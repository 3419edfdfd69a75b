"""The page is whole HTML, loads nothing, and every word in it that is the caller's is escaped."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report.kinds import kinds

import kng
from kng.core.errors import SpecError
from kng.core.release import Release
from kng.report import History, Receipt, page, read_receipts

OLD = json.loads((Path(__file__).parents[1] / "core" / "receipts_0_1.json").read_text())
_VOID = {"meta", "rect", "line", "circle", "polyline", "br"}
_LOADING = {"script", "link", "img", "iframe", "object", "embed", "base", "form", "image", "use"}


class Read(HTMLParser):
    """Reads a page; elements must close in the order in which they open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.said: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


def read(text: str) -> Read:
    found = Read(text)
    assert text.startswith("<!DOCTYPE html>")
    assert not _LOADING & set(found.tags)
    assert not {name for name, _ in found.attributes} & {"src", "href", "srcset", "style"}
    assert not any(name.startswith("on") for name, _ in found.attributes)
    assert not re.search(r"url\(|@import|https?://", text)
    return found


@pytest.mark.parametrize("name", kinds())
def test_a_page_of_every_kind(name):
    release = kinds()[name]
    found = read(page([Receipt.of(release)]))
    assert found.tags.count("article") == 1
    drawn = name not in ("count", "sum", "variance") or release.noise is not None
    assert found.tags.count("svg") >= 1 + drawn  # that of the odds, and that of the answer
    for part in ("What this promises", "What is assumed", "How to verify", "50:50"):
        assert part in found.text
    simulated = release.guarantee == "simulation"
    assert ("This is a simulation" in found.text) == simulated


@pytest.mark.parametrize("name", OLD)
def test_a_page_of_every_receipt_of_0_1(name):
    text = json.dumps(OLD[name])
    found = read(page([Receipt(Release.from_json(text), text)]))
    assert "kng 0.1" in found.text


@pytest.mark.parametrize("name", ["linear", "huber", "quantiles of y", "logistic"])
def test_fitted_lines_over_the_public_range(name):
    text = page([Receipt.of(kinds()[name])])
    assert text.count("<polyline") == (2 if name == "quantiles of y" else 1)
    assert "over the stated range of age" in text


def test_a_line_goes_where_the_coefficients_say():
    release = kinds()["linear"]
    text = page([Receipt.of(release)])
    first, *_, last = re.search(r"polyline points='([^']+)'", text)[1].split()
    rises = float(last.split(",")[1]) < float(first.split(",")[1])  # down is up in SVG
    assert rises == (release["age"] > 0)


@pytest.mark.parametrize("name", ["mean by", "histogram"])
def test_bars_are_as_long_as_their_numbers(name):
    release = kinds()[name]
    text = page([Receipt.of(release)])
    widths = [float(w) for w in re.findall(r"width='([\d.]+)' height='13.0' class='bar'", text)]
    values = [float(value) for value in release.exact_value]
    assert len(widths) == len(values)
    assert [w / widths[0] for w in widths] == pytest.approx([v / values[0] for v in values], 0.02)


def test_an_answer_that_is_mostly_noise_says_so():
    values = [1.0, 2.0, 3.0] * 10
    drowned = [
        kng.mean(values, bounds=(0, 10), epsilon="0.01", random_state=1),
        kng.median(values, bounds=(0, 10), epsilon="0.01", random_state=1),
        kng.quantile(values, [0.2, 0.8], bounds=(0, 10), epsilon="0.01", random_state=1),
    ]
    for release in drowned:
        assert "next to nothing about the records" in page([Receipt.of(release)])
    for release in kinds().values():
        assert "next to nothing about the records" not in page([Receipt.of(release)])


def test_quantiles_stand_on_one_scale_in_their_order():
    text = page([Receipt.of(kinds()["quantiles"])])
    low, high = map(float, re.findall(r"<circle cx='([\d.]+)'", text))
    assert low < high
    assert "Quantiles of cost" in text


HOSTILE = "</pre><script>alert(1)</script>'\"&<img src=x onerror=alert(2)>"


def test_hostile_names_are_only_text(tmp_path):
    data = {HOSTILE: [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0], "g": [HOSTILE, "x", "x"]}
    bounds = {HOSTILE: (0, 5)}
    releases = [
        kng.mean(data, bounds=bounds, epsilon=1),
        kng.mean(data, bounds={**bounds, "b": (0, 5)}, epsilon=1),
        kng.mean(data, bounds={"b": (0, 5)}, by={"g": [HOSTILE, "x"]}, epsilon=1),
        kng.histogram(data["g"], levels=[HOSTILE, "x"], epsilon=1),
    ]
    history = History([(HOSTILE, HOSTILE)], [[HOSTILE], [HOSTILE]], HOSTILE)
    text = page([Receipt.of(release) for release in releases], history)
    found = read(text)
    assert "<script" not in text
    assert "<img" not in text
    assert HOSTILE in found.text
    path = tmp_path / "page.html"
    path.write_text(text)
    assert [one.release for one in read_receipts(str(path))] == releases


def test_a_hostile_source_and_ledger_are_only_text():
    body = json.loads(kng.mean([1, 2, 3], bounds=(0, 5), epsilon=1).to_json())
    body["provenance"] |= {"source": HOSTILE, "ledger": HOSTILE, "account": HOSTILE, "entry": 3}
    body["provenance"]["hash"] = HOSTILE
    release = Release.from_json(json.dumps(body))
    found = read(page([Receipt(release, json.dumps(body), HOSTILE)]))
    assert found.text.count("<script>") >= 4


def test_several_receipts_make_one_page(tmp_path):
    mean, median = (kinds()[name] for name in ("mean", "median"))
    text = page([Receipt.of(mean), Receipt.of(median)])
    found = read(text)
    assert found.tags.count("article") == 3  # what both assume is said once, after them
    assert found.text.count("What is assumed") == 1
    assert page([Receipt.of(mean), Receipt.of(kinds()["unseeded"])]).count("What is assumed") == 2
    assert "2 private answers" in found.text
    assert "together they cost 2." in found.text
    path = tmp_path / "both.html"
    path.write_text(text)
    assert [one.body for one in read_receipts(str(path))] == [
        json.loads(mean.to_json()),
        json.loads(median.to_json()),
    ]


def test_epsilons_of_different_promises_are_not_added():
    one, other = kinds()["median"], kinds()["median of a private number"]
    assert "together they cost" not in page([Receipt.of(one), Receipt.of(other)])
    assert "together they cost" in page([Receipt.of(one), Receipt.of(one)])


NUMBERS = [("law", "rate"), ("law", "delta"), ("epsilon",), ("bounds", "high", 0)]
NUMBERS += [("noise", "reach", 0), ("noise", "middles", 0), ("lattice", "step", 0)]
NONE_OF_OURS = ["1e999999999", "1/0", "NaN", "<b>", "0.5 "]
LARGE = "9" * 4000


@pytest.mark.parametrize(
    ("part", "number"),
    [(part, number) for part in NUMBERS for number in NONE_OF_OURS]
    + [(part, LARGE) for part in NUMBERS[3:-1]],
    ids=lambda value: str(value)[:24],
)
def test_a_number_that_no_receipt_of_ours_holds_is_refused(part, number):
    # At once: 1e999999999 is not written out.
    release = kng.mean([1, 2, None], bounds=(0, 4), epsilon=1)
    body = inner = json.loads(release.to_json())
    for key in part[:-1]:
        inner = inner[key]
    inner[part[-1]] = number
    with pytest.raises(SpecError, match="release"):
        Release.from_json(json.dumps(body))


def test_noise_that_no_float_can_hold_is_told():
    release = kng.median(range(9), bounds=(0, 9), epsilon=1, missing=0)
    body = json.loads(release.to_json())
    body["noise"]["rate"] = LARGE
    with pytest.raises(SpecError, match="no float can; it was changed"):
        Release.from_json(json.dumps(body)).noise_interval()
