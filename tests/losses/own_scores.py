"""Scores as a user would write them, for tests."""

from __future__ import annotations

import numpy as np


def instruments(records, theta):
    """Robust instrumental variables: a bounded residual times the instruments."""
    a, b = theta
    residual = np.tanh(records["y"] - a - b * records["x"])
    return np.column_stack([residual, residual * records["z"]])


def weibull(records, theta):
    """Gradient of minus the log-likelihood in log scale and log shape."""
    shape = np.exp(theta[1])
    u = (records["t"] + 0.05) / np.exp(theta[0])
    rest = shape * (1 - u**shape)
    return np.stack([rest, -1 - np.log(u) * rest], axis=1)


def logistic_ridge(records, theta):
    """Gradient of a logistic likelihood with a ridge shared among the records."""
    X = np.stack([np.ones_like(records["x"]), records["x"]], axis=-1)
    p = 1 / (1 + np.exp(-X @ theta))
    return (p - records["y"])[:, None] * X + 0.01 * theta


def logistic_loss(records, theta):
    """Minus a log-likelihood, for `Objective`."""
    eta = theta[0] + theta[1] * records["x"]
    return np.logaddexp(0, eta) - records["y"] * eta + 0.005 * (theta**2).sum()
