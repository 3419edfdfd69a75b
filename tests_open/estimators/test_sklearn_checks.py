"""scikit-learn's own checks, with the ones that privacy forbids argued one by one."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import kng

# A check that asks fit to raise on what a record holds asks for an output that nobody paid for:
# whether the error comes tells the record, and comes before the charge. Everything else must hold.
EXPECTED_FAILURES = {
    "check_supervised_y_no_nan": (
        "asks fit to raise where y holds NaN or infinity. One record would decide, before the "
        "charge, whether the caller sees an error; the record is read as missing or clipped."
    ),
    "check_dtype_object": (
        "asks fit to raise where one cell of X is a dict. The type of a cell of an object array is "
        "content as much as its value is; the cell is read as missing."
    ),
}


def argued(_: Any) -> dict[str, str]:
    return EXPECTED_FAILURES


@parametrize_with_checks(
    [
        kng.LinearRegression(epsilon=100, bounds_X=(-10, 10), bounds_y=(-10, 10), random_state=0),
        kng.LinearRegression(
            epsilon=100, bounds_X=(-10, 10), bounds_y=(-10, 10), coef_bound=5000, random_state=0
        ),
        kng.LinearRegression(
            epsilon=100,
            bounds_X=(-10, 10),
            bounds_y=(-10, 10),
            coef_bound=5000,
            mechanism="exponential",
            random_state=0,
        ),
        kng.HuberRegressor(epsilon=100, threshold=1, bounds_X=(-10, 10), random_state=0),
    ],
    expected_failed_checks=argued,
)
def test_scikit_learn(estimator, check):
    check(estimator)
