"""What a notebook shows of a fitted model: coefficients and receipt, names escaped."""

from __future__ import annotations

import re

import pytest
from sklearn import config_context

import kng

NAME = "<script>age & co</script>"
FRAME = {NAME: [20.0 + i % 50 for i in range(200)], "pay": [float(i % 90) for i in range(200)]}


@pytest.fixture(scope="module")
def model():
    bounds = {NAME: (0, 120)}
    return kng.LinearRegression(epsilon=3, bounds_X=bounds, bounds_y=(0, 100)).fit(
        FRAME, target="pay"
    )


def test_the_page_has_every_coefficient_and_the_receipt(model):
    page = model._repr_html_()
    cells = re.findall(r"<th[^>]*>(.*?)</th><td[^>]*>(.*?)</td>", page)
    shown = dict(cells)
    margins = model.release_.noise_interval().margin
    for name, number, margin in zip(
        ("intercept", "&lt;script&gt;age &amp; co&lt;/script&gt;"),
        (model.intercept_, model.coef_[0]),
        margins,
        strict=True,
    ):
        value, noise = map(float, shown[name].split(" ± "))
        assert value == pytest.approx(number, abs=margin / 10)
        assert noise == pytest.approx(margin, rel=0.1)
    assert "Predicted privacy noise, 95 %" in page
    assert shown["epsilon"].startswith("3 ")
    assert "coefficients" not in shown
    assert {label for label, _ in model.release_.rows()[1:]} <= {*shown, "coefficients"}
    assert "<script>" not in page


def test_a_notebook_that_asks_for_all_forms_gets_the_same_page(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/html"] == model._repr_html_()
    assert bundle["text/plain"] == repr(model)
    assert repr(model).startswith("LinearRegression(")
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_before_a_fit_it_is_the_diagram_of_scikit_learn():
    page = kng.LinearRegression(epsilon=1)._repr_html_()
    assert "sk-" in page
    assert "guarantee" not in page
