"""scikit-learn's own checks, with the ones that privacy forbids argued one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.utils.estimator_checks import (
    check_classifiers_classes,
    check_classifiers_train,
    check_regressors_train,
    parametrize_with_checks,
)

import kng

# A check that asks fit to raise on what a record holds asks for an output that nobody paid for:
# whether the error comes tells the record, and comes before the charge. Everything else must hold.
EXPECTED_FAILURES = {
    "check_supervised_y_no_nan": (
        "asks fit to raise where y holds NaN or infinity. One record would decide, before the "
        "charge, whether the caller sees an error; it is read as missing, or clipped."
    ),
    "check_dtype_object": (
        "asks fit to raise where one cell of X is a dict. The type of a cell of an object array is "
        "content as much as its value is; the cell is read as missing."
    ),
    "check_regressors_train": (
        "fits a list of rows with one pair of bounds for all columns. Only a record could then say "
        "how many columns there are; with a pair per column the check passes, as tested below."
    ),
}

LINEAR = kng.LinearRegression(epsilon=100, bounds_X=(-10, 10), bounds_y=(-10, 10), random_state=0)
BALL = kng.LinearRegression(
    epsilon=100, bounds_X=(-10, 10), bounds_y=(-10, 10), coef_bound=200, random_state=0
)
HUBER = kng.HuberRegressor(epsilon=100, threshold=1, bounds_X=(-10, 10), random_state=0)
# Five coefficients of 150 records take branch and bound the longer the larger epsilon is.
QUANTILE = kng.QuantileRegressor(
    epsilon=0.1, bounds_X=(-10, 10), bounds_y=(-10, 10), random_state=0
)
CHAIN = kng.QuantileRegressor(
    epsilon=100, bounds_X=(-10, 10), bounds_y=(-10, 10), sampler="hit-and-run", random_state=0
)

LOGISTIC = kng.LogisticRegression(epsilon=100, classes=(0, 1), bounds_X=(-10, 10), random_state=0)
COUNTS = kng.PoissonRegressor(epsilon=100, bounds_X=(-10, 10), bounds_y=(0, 10), random_state=0)

# Checks of classifiers that ask for what only records could tell.
CLASSIFIER_CHECKS = {
    "check_classifiers_classes": (
        "asks for classes that are found in y. They are declared, and never read from the data."
    ),
    "check_classifiers_train": EXPECTED_FAILURES["check_regressors_train"],
    "check_classifiers_regression_target": (
        "asks fit to raise where labels are no classes. Such records are absent, silently."
    ),
}


def argued(estimator: Any) -> dict[str, str]:
    classifies = isinstance(estimator, kng.LogisticRegression)
    return EXPECTED_FAILURES | (CLASSIFIER_CHECKS if classifies else {})


ESTIMATORS = [LINEAR, BALL, HUBER, QUANTILE, CHAIN, LOGISTIC, COUNTS]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=argued)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "estimator", [LINEAR, BALL, HUBER, CHAIN], ids=["linear", "ball", "huber", "chain"]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("memmap", [False, True])
def test_training_on_rows_whose_width_is_stated(estimator, dtype, memmap):
    class Stated(type(estimator)):
        """The estimator with a good score, which this epsilon gives, and bounds for 10 columns."""

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            # The chain's fixed number of steps does not reach the mode of a law this narrow.
            tags.regressor_tags.poor_score = estimator is CHAIN
            return tags

    stated = Stated(**estimator.get_params())
    stated.set_params(bounds_X=([-10] * 10, [10] * 10), epsilon=10_000)
    check_regressors_train("Stated", stated, readonly_memmap=memmap, X_dtype=dtype)


def test_classes_that_are_declared_are_those_of_the_check():
    """What is argued above holds once the check's own labels and width are stated."""

    class Stated(kng.LogisticRegression):
        def fit(self, X, y):
            labels = np.unique(np.asarray(y))
            width = np.shape(X)[1]
            self.set_params(classes=labels, bounds_X=([-10] * width, [10] * width))
            return super().fit(X, y)

    stated = Stated(epsilon=10_000, random_state=0)
    check_classifiers_classes("Stated", stated)
    check_classifiers_train("Stated", stated)
