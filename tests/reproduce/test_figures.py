"""A reduced figure: order of the curves, slopes, and what R and the public bound decide."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import log10, sqrt

import pytest
from reproduce.predictions import SEED, Some, moments, run

from kng.reproduce import figure1
from kng.reproduce.algorithm1 import Sample
from kng.reproduce.experiment import Task
from kng.reproduce.figure1 import Figure1
from kng.reproduce.figure2 import Figure2
from kng.reproduce.summary import fact, last_slopes, table

SMALL, LARGE = 10**4, 10**5
PAPER = {m for m in figure1.METHODS if not m.startswith("ours") and m != "non-private"}


def assert_shape(found):
    """Curves lie as in the paper and fall as its theory says."""
    rows = table("figure1", found)
    at = {(row.method, row.n): row for row in rows}
    order = ["non-private", "ours-huber", "kng-derived", "kng-printed", "exponential"]
    heights = [at[method, LARGE].mean_error for method in order]
    assert heights == sorted(heights)
    assert at["objective-perturbation", LARGE].mean_error < at["kng-printed", LARGE].mean_error
    slopes = {slope.method: slope for slope in last_slopes(rows)}
    [drift] = last_slopes(fact("R", found))
    plain = slopes["non-private"]
    assert abs(plain.slope + 0.5) < 4 * plain.se
    for method in ("kng-printed", "kng-derived", "objective-perturbation"):
        assert slopes[method].slope < -0.7  # still far above the non-private line, and closing in
        ratios = [
            at[method, n].mean_error / at["non-private", n].mean_error for n in (SMALL, LARGE)
        ]
        assert ratios[1] < ratios[0]
    assert 0.02 < drift.slope < 0.12


@pytest.fixture(scope="module")
def reduced():
    return run(Figure1(sizes=(SMALL, LARGE), replicates=12))


def test_figure_1_has_the_paper_s_shape(reduced):
    assert_shape(reduced)


def test_the_exponential_curve_falls_by_a_half_less_the_drift_of_r():
    found = run(Some(Figure1(sizes=(LARGE, 3 * LARGE), replicates=40), "exponential"))
    [slope] = [s for s in last_slopes(table("", found)) if s.method == "exponential"]
    [drift] = last_slopes(fact("R", found))
    assert abs(slope.slope - (-0.5 + drift.slope)) < 4 * sqrt(slope.se**2 + drift.se**2)


@pytest.mark.parametrize("n", [SMALL, LARGE])
def test_leaving_r_out_moves_the_private_curves_of_the_paper_alone(monkeypatch, reduced, n):
    """Leaving R out, as a careless reader might, moves every private curve of the paper."""
    monkeypatch.setattr(Sample, "moments", lambda sample: replace(moments(sample), largest=1.0))
    before, after = reduced[Task(n, 0)].errors, Figure1().measure(Task(n, 0), SEED).errors
    assert {method for method in before if before[method] != after[method]} == PAPER
    # the ball has radius 1 then, and theta* a sum of 61/11
    assert all(after[method] > max(1.0, before[method]) for method in PAPER)


def test_the_public_bound_matters_to_ours_alone(monkeypatch, reduced):
    """Huber has no bound on Y, and the paper's methods have R."""
    before = reduced[Task(LARGE, 0)].errors
    monkeypatch.setattr(figure1, "public_bound", lambda _: 80.0)
    after = Figure1().measure(Task(LARGE, 0), SEED).errors
    changed = {method for method in before if before[method] != after[method]}
    assert changed == {"ours-default", "ours-objective"}


def test_figure_2_has_the_paper_s_shape():
    drawn = ("non-private", "exponential-printed", "exponential-derived", "kng")
    found = run(Some(Figure2(sizes=(10**3, 10**4), replicates=30), *drawn))
    rows = table("figure2", found)
    at = {(row.method, row.n): row for row in rows}
    for n in (10**3, 10**4):
        plain, kng = at["non-private", n].mean_error, at["kng", n].mean_error
        printed = at["exponential-printed", n].mean_error
        derived = at["exponential-derived", n].mean_error
        assert kng < 1.25 * plain
        assert 2 * plain < derived < printed
        # twice the rate is half the variance
        off = log10(printed / derived) - log10(sqrt(2))
        error = sqrt(
            at["exponential-printed", n].log10_se ** 2 + at["exponential-derived", n].log10_se ** 2
        )
        assert abs(off) < 4 * error
    slopes = {slope.method: slope for slope in last_slopes(rows)}
    assert abs(slopes["non-private"].slope + 0.5) < 4 * slopes["non-private"].se
    assert all(measured.facts["truth inside"] == 1 for measured in found.values())


def test_a_replicate_repeats_to_the_last_bit():
    experiment = Figure1(sizes=(1000,), replicates=1)
    assert experiment.measure(Task(1000, 3), 1) == experiment.measure(Task(1000, 3), 1)
    other = experiment.measure(Task(1000, 3), 2)
    assert set(other.errors.values()).isdisjoint(
        experiment.measure(Task(1000, 3), 1).errors.values()
    )


def test_curves_differ_without_their_colours():
    from kng.reproduce import figure2, theorem
    from kng.reproduce.picture import STYLES

    panels = [list(figure1.METHODS), [*figure2.METHODS, *figure2.PRINTED]]
    panels += [[m for m in theorem.METHODS if m.startswith(w)] for w in ("distance", "noise")]
    for methods in panels:
        looks = {(STYLES[method].line, STYLES[method].marker) for method in methods}
        assert len(looks) == len(methods)


def test_every_method_has_a_label_a_style_and_bits_of_its_own():
    from kng.reproduce import figure2, theorem
    from kng.reproduce.experiment import method_bits
    from kng.reproduce.picture import STYLES

    for methods in (figure1.METHODS, {**figure2.METHODS, **figure2.PRINTED}, theorem.METHODS):
        assert set(methods) <= set(STYLES)
        first = [method_bits((1,), method).take(64) for method in methods]
        assert len(set(first)) == len(first)
    assert set(Figure1(sizes=(100,)).measure(Task(100, 0), 1).errors) == set(figure1.METHODS)
    assert set(Figure2(sizes=(10,)).measure(Task(10, 0), 1).errors) == set(figure2.METHODS)


def test_own_settings_change_the_law_and_the_truth():
    """tau moves the intercept, epsilon the noise, theta* the records; print and theorem part."""
    plain, steep = Figure2(sizes=(2000,)), Figure2(sizes=(2000,), tau=Fraction(9, 10))
    assert "kng-printed" not in plain.labels
    assert "kng-printed" in steep.labels
    assert steep.target() == pytest.approx([1.2815515655446004, -1.0])
    found = [steep.measure(Task(2000, k), 3, ("non-private", "kng")).errors for k in range(10)]
    assert max(errors["non-private"] for errors in found) < 0.5  # it is the right truth
    tight = replace(steep, epsilon=Fraction(20))
    close = [tight.measure(Task(2000, k), 3, ("non-private", "kng")).errors for k in range(10)]
    assert [e["non-private"] for e in close] == [e["non-private"] for e in found]
    assert sum(e["kng"] for e in close) < sum(e["kng"] for e in found)
    own = Figure1(sizes=(1000,), truth=(1.0, 2.0, 3.0), epsilon=Fraction(4))
    errors = own.measure(Task(1000, 0), 3).errors
    assert set(errors) == set(figure1.METHODS)
    assert errors["non-private"] < 0.3


def test_the_zoom_is_the_note_in_the_source():
    near = figure1.zoom()
    assert (near.sizes[0], near.sizes[-1]) == (100, 5000)
    assert set(near.labels) == set(figure1.DRAWN)
    assert set(near.measure(Task(100, 0), 1).errors) == set(figure1.DRAWN)
    # the same samples and draws as the figure's
    whole = Figure1().measure(Task(100, 0), 1).errors
    assert near.measure(Task(100, 0), 1).errors.items() <= whole.items()
