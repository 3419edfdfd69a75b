"""Plans: predictions beside simulations, verdicts, targets, and what they refuse."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

import kng
from kng.core.errors import SpecError

LINE = {"bounds": (0, 100), "spread": 15}
SHAPE = {"residual": 1, "coef": (1,), "intercept": 0.5}
ONE = {"bounds_X": ([-1], [1])}

# Plans, and on how many simulated data sets they are measured.
PLANS = {
    "mean": (lambda: kng.mean.plan(n=500, epsilon=1, **LINE), 400),
    "mean of a public number": (
        lambda: kng.mean.plan(n=200, epsilon=0.5, missing=0, **LINE),
        400,
    ),
    "means": (lambda: kng.mean.plan(n=500, epsilon=1, bounds=([0, 0], [1, 50])), 400),
    "median": (lambda: kng.median.plan(n=400, epsilon=0.3, **LINE), 400),
    "quantiles": (lambda: kng.quantile.plan([0.2, 0.8], n=500, epsilon=1, **LINE), 400),
    "count": (lambda: kng.count.plan(n=200, epsilon=0.1, share=0.3), 400),
    "proportion": (lambda: kng.proportion.plan(n=300, epsilon=0.2, share=0.2), 400),
    "proportion, add-remove": (
        lambda: kng.proportion.plan(n=300, epsilon=0.2, share=0.2, neighbours="add-remove"),
        400,
    ),
    "histogram": (
        lambda: kng.histogram.plan(n=300, epsilon=0.3, bins=3, shares=(0.2, 0.3, 0.5)),
        400,
    ),
    "sum": (lambda: kng.sum.plan(n=300, epsilon=0.2, **LINE), 400),
    "variance": (lambda: kng.variance.plan(n=500, epsilon=0.5, centre=40, **LINE), 400),
    "variance of a public number": (
        lambda: kng.variance.plan(n=500, epsilon=0.5, missing=0, centre=40, **LINE),
        400,
    ),
    "linear": (
        lambda: kng.LinearRegression(epsilon=2, bounds_y=(-5, 5), **ONE).plan(n=400, **SHAPE),
        150,
    ),
    "Huber": (
        lambda: kng.HuberRegressor(epsilon=2, threshold=1, **ONE).plan(n=400, **SHAPE),
        150,
    ),
    "logistic": (
        lambda: kng.LogisticRegression(epsilon=4, classes=(0, 1), **ONE).plan(
            n=300, coef=(1,), intercept=0
        ),
        150,
    ),
    "quantile regression": (
        lambda: kng.QuantileRegressor(epsilon=4, bounds_y=(-5, 5), **ONE).plan(n=200, **SHAPE),
        100,
    ),
    "Huber from a box": (
        lambda: kng.HuberRegressor(
            epsilon=2, threshold=1, mechanism="kng", bounds_y=(-5, 5), **ONE
        ).plan(n=400, **SHAPE),
        150,
    ),
    "logistic from a box, hopeless": (
        lambda: kng.LogisticRegression(
            epsilon=0.3, classes=(0, 1), mechanism="kng", coef_bound=8, **ONE
        ).plan(n=300, coef=(1,), intercept=0.5),
        150,
    ),
    "expectile": (
        lambda: kng.ExpectileRegressor(expectile=0.8, epsilon=40, bounds_y=(-5, 5), **ONE).plan(
            n=60, **SHAPE
        ),
        40,
    ),
    "Poisson": (
        lambda: kng.PoissonRegressor(epsilon=3, bounds_y=(0, 10), **ONE).plan(
            n=500, coef=(0.5,), intercept=1
        ),
        200,
    ),
    "counts that are clipped": (
        lambda: kng.PoissonRegressor(epsilon=8, bounds_y=(0, 4), **ONE).plan(
            n=2000, coef=(0.3,), intercept=1
        ),
        150,
    ),
    "mean of those that count": (
        lambda: kng.mean.plan(n=600, epsilon=0.4, present=0.4, **LINE),
        400,
    ),
    "median of those that count": (
        lambda: kng.median.plan(n=600, epsilon=0.4, present=0.4, **LINE),
        400,
    ),
    "histogram of those that count": (
        lambda: kng.histogram.plan(n=600, epsilon=0.3, bins=3, present=0.4),
        400,
    ),
    "sum of those that count": (
        lambda: kng.sum.plan(n=600, epsilon=0.4, present=0.4, centre=40, **LINE),
        400,
    ),
    "logistic of those that count": (
        lambda: kng.LogisticRegression(epsilon=4, classes=(0, 1), **ONE).plan(
            n=800, coef=(1,), intercept=0, present=0.5
        ),
        150,
    ),
    "Huber of people": (
        lambda: kng.HuberRegressor(
            epsilon=8, threshold=1, person="id", max_records=2, bounds_X={"x": (-1, 1)}
        ).plan(n=800, **SHAPE),
        150,
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_predicted_errors_are_those_of_simulations(name):
    make, replicates = PLANS[name]
    plan = make()
    run = plan.simulate(replicates, seed=0)
    # Three standard deviations of a root mean square, and 3 % for first-order formulas.
    close = 0.03 + 3 / (2 * replicates) ** 0.5
    for each, total, sampling in zip(plan.expected, run.total, run.sampling, strict=True):
        assert each.total == pytest.approx(total, rel=close)
        assert each.sampling == pytest.approx(sampling, rel=close)
    assert run.names == tuple(each.name for each in plan.expected)


@pytest.mark.parametrize(("n", "epsilon"), [(100, 0.02), (300, 0.1), (1000, 1), (5000, 0.5)])
@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_verdicts_are_those_of_simulations(statistic, n, epsilon):
    plan = getattr(kng, statistic).plan(n=n, epsilon=epsilon, **LINE)
    assert plan.feasible == plan.simulate(60, seed=1).feasible
    assert plan.verdict.startswith("worth it" if plan.feasible else "not worth it")


def test_what_a_target_needs_meets_it_and_little_less_does_not():
    plan = kng.median.plan(n=1000, epsilon=0.1, error=0.5, **LINE)
    n, epsilon = plan.records_needed(0.5), plan.epsilon_needed(2)
    assert plan.errors_at(n, 0.1)[0].total <= 0.5 < plan.errors_at(int(0.9 * n), 0.1)[0].total
    assert plan.errors_at(1000, epsilon)[0].total <= 2
    assert plan.errors_at(1000, 0.85 * epsilon)[0].total > 2
    assert "error 0.5" in repr(plan)
    # Sampling error alone is larger.
    assert plan.epsilon_needed(0.01) is None


def test_more_records_do_not_make_the_error_of_a_count_smaller():
    plan = kng.count.plan(n=1000, epsilon=0.1, error=16)
    assert plan.expected[0].total > 16 > plan.expected[0].sampling
    assert plan.records_needed(16) is None
    assert plan.errors_at(1000, plan.epsilon_needed(16))[0].total <= 16
    # To be worth it records do help: sampling error grows with them and noise does not.
    few = kng.count.plan(n=100, epsilon=0.1)
    assert not few.feasible
    assert 100 < few.records_needed() < 1000


def test_a_plan_is_a_table_and_a_picture():
    plan = kng.mean.plan(n=3000, epsilon=1, bounds={"age": (0, 100), "pay": (0, 9)}, error=1)
    text = repr(plan)
    for word in ("plan for", "verdict", "age", "pay", "privacy noise", "best norm"):
        assert word in text
    assert plan.choices[0].best in ("auto", "weighted-sup")
    root = ET.fromstring(plan.to_svg())
    assert root.tag.endswith("svg")
    assert len(root.findall("{http://www.w3.org/2000/svg}polyline")) == 4
    assert plan.to_svg() in plan._repr_html_()


def test_options_of_a_regression_are_compared():
    model = kng.HuberRegressor(epsilon=1, threshold=1, bounds_y=(-50, 50), **ONE)
    found = {choice.option: choice.times for choice in model.plan(n=1000, residual=1).choices}
    assert set(found) == {"loss", "threshold", "share", "norm"}
    assert set(found["loss"]) == {"LinearRegression", "HuberRegressor", "QuantileRegressor"}
    assert set(found["threshold"]) == {"1", "0.5", "1.5", "2", "3", "auto"}
    assert {"auto", "0.5", "0.95"} <= set(found["share"])
    assert {"auto", "linf", "l2"} <= set(found["norm"])
    log_odds = kng.LogisticRegression(epsilon=1, classes=(0, 1), **ONE).plan(n=1000)
    assert {"mechanism", "share", "norm"} == {choice.option for choice in log_odds.choices}


AUTO = {
    "linear": (lambda e: kng.LinearRegression(epsilon=e, bounds_y=(-5, 5), **ONE), 1.5),
    "Huber": (lambda e: kng.HuberRegressor(epsilon=e, threshold=1, **ONE), 1.5),
    "logistic": (lambda e: kng.LogisticRegression(epsilon=e, classes=(0, 1), **ONE), 2),
    "Poisson": (lambda e: kng.PoissonRegressor(epsilon=e, bounds_y=(0, 20), **ONE), 2),
    "quantile": (lambda e: kng.QuantileRegressor(epsilon=e, bounds_y=(-5, 5), **ONE), 1.5),
}


@pytest.mark.parametrize(("n", "epsilon"), [(300, 2), (1000, 0.3), (10000, 0.1)])
@pytest.mark.parametrize("name", AUTO)
def test_auto_goes_by_the_errors_that_a_plan_shows(name, n, epsilon):
    make, effect = AUTO[name]
    spread = {} if name in ("logistic", "Poisson") else {"residual": 1}
    for choice in make(epsilon).plan(n=n, coef=(effect,), intercept=0.5, **spread).choices:
        if "auto" in choice.times:
            assert choice.times["auto"] <= 1.08 * choice.times[choice.best], choice


def test_a_ridge_that_finds_nothing_is_not_worth_it():
    # Without guesses there are effects to find: estimates that are all ridge are not right.
    for model in (
        kng.LinearRegression(epsilon=1e-6, bounds_y=(0, 10), **ONE),
        kng.HuberRegressor(epsilon=1e-6, threshold=1, **ONE),
        kng.LogisticRegression(epsilon=1e-6, classes=(0, 1), **ONE),
        kng.PoissonRegressor(epsilon=1e-6, bounds_y=(0, 10), **ONE),
    ):
        plan = model.plan(n=500)
        assert not plan.feasible
        assert "a guess; state the slopes" in plan.shape


@pytest.mark.parametrize(
    "model",
    [
        kng.LinearRegression(epsilon=0.1, bounds_y=(-5, 5), **ONE),
        kng.LogisticRegression(epsilon=0.1, classes=(0, 1), **ONE),
        kng.PoissonRegressor(epsilon=0.1, bounds_y=(0, 10), **ONE),
    ],
)
def test_more_records_are_enough_though_few_look_fine(model):
    plan = model.plan(n=300)
    assert not plan.feasible
    needed = plan.records_needed()
    assert needed > 300
    errors = plan.errors_at(needed, 0.1)
    assert all(each.total <= 2 * each.sampling for each in errors)


def test_a_plan_reads_no_record(monkeypatch, tmp_path):
    import inspect

    import kng.data

    def read(*_, **__):
        raise AssertionError("a plan has opened data")

    for name in ("open_source", "open_table", "open_regression", "open_columns", "open_response"):
        monkeypatch.setattr(kng.data, name, read)
        for module in ("mean", "quantile", "regression", "geometric_median", "count", "total"):
            place = f"kng.estimators.{module}.{name}"
            monkeypatch.setattr(place, read, raising=False)
    ledger = tmp_path / "account"
    plans = [
        kng.mean.plan, kng.median.plan, kng.quantile.plan, kng.count.plan, kng.proportion.plan,
        kng.histogram.plan, kng.sum.plan, kng.variance.plan, kng.LinearRegression.plan,
    ]  # fmt: skip
    for plan in plans:
        assert not {"data", "X", "y", "column", "ledger"} & set(inspect.signature(plan).parameters)
    kng.mean.plan(n=99, epsilon=1, **LINE)
    kng.median.plan(n=99, epsilon=1, **LINE)
    kng.sum.plan(n=99, epsilon=1, **LINE)
    kng.count.plan(n=99, epsilon=1)
    model = kng.LinearRegression(epsilon=1, bounds_y=(0, 1), ledger=str(ledger), **ONE)
    assert model.plan(n=99).expected
    assert not ledger.exists()
    assert not hasattr(model, "coef_")


def test_the_more_that_is_known_the_smaller_the_error():
    def error(**options):
        return kng.mean.plan(**{"n": 1000, "epsilon": 1, **LINE, **options}).expected[0].total

    assert error(epsilon=2) < error() < error(epsilon=0.5)
    assert error(n=2000) < error()
    assert error(missing=0) < error()
    assert error(records_per_person=3) > error()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kng.mean.plan(n=0, epsilon=1, bounds=(0, 1)), "n must"),
        (lambda: kng.mean.plan(n=9, epsilon=1, bounds=(0, 1), spread=-1), "spread"),
        (lambda: kng.mean.plan(n=9, epsilon=1, bounds=(0, 1), centre=4), "centre must lie"),
        (lambda: kng.mean.plan(n=9, epsilon=1, bounds=(0, 1), error="x"), "error"),
        (lambda: kng.median.plan(n=9, epsilon=0, bounds=(0, 1)), "epsilon"),
        (
            lambda: kng.HuberRegressor(epsilon=1, threshold=1, bounds_X=(0, 1)).plan(n=99),
            "features=",
        ),
        (
            lambda: kng.LogisticRegression(epsilon=1, classes=(0, 1), **ONE).plan(n=9, residual=1),
            "has no residual spread",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused(call, words):
    with pytest.raises(SpecError, match=words):
        call()
