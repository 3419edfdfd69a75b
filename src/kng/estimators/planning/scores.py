"""What the score of one record is on average, for records of the declared shape; standard units.

With eta a prediction, eta_0 the true one, y = eta_0 + e and e normal with deviation s,

    A(t) = E (t - e)_+ = s phi(t / s) + t Phi(t / s)

gives all means of losses that are made of lines and parabolas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import erf, exp, pi, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from kng.core.errors import IncompatibleParts
from kng.core.parts import described
from kng.estimators.planning.declared import Array, normal_quantile, normal_share

_NORMAL = NormalDist()
# Losses of a residual; those of labels and counts have a spread of their own.
RESIDUAL = ("squared", "huber", "pinball", "smoothed pinball", "expectile")
# Equally likely residuals, where responses are clipped.
_RESIDUALS = 64


# A number for each prediction.
Weights = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Score:
    """Moments of psi at a prediction, beside the plane that the loss estimates.

    Attributes
    ----------
    mean : callable
        E psi from the prediction of the estimated plane, and another prediction.
    slope, square : callable
        The derivative of the mean, and E psi^2, at the estimated plane.
    shift : float
        How far the estimated plane lies above that of means.
    """

    mean: Callable[[Array, Array], Array]
    slope: Weights
    square: Weights
    shift: float = 0.0


def score_of(loss: Any, sigma: float | None) -> Score:
    """Return the moments of a loss's score for residuals of deviation ``sigma``, or refuse."""
    pointwise = loss.pointwise
    name = pointwise.name
    if name == "logistic":
        return Score(lambda at, eta: _odds(eta) - _odds(at), _curved, _curved)
    if name == "counts":
        return _counts(float(loss.design.records.bounds.low[-1]), float(pointwise.most))
    if name not in RESIDUAL:
        raise IncompatibleParts(f"{described(loss)} has no formula for its error.")
    if sigma is None:
        raise IncompatibleParts("a residual spread is needed.")
    return _of_residuals(pointwise, sigma)


def _of_residuals(pointwise: Any, s: float) -> Score:
    name = pointwise.name
    if name == "squared":
        return Score(lambda at, eta: eta - at, *_steady(1.0, s * s))
    if name == "huber":
        inside = 2 * _NORMAL.cdf(1 / s) - 1
        second = s * s * (inside - 2 * _NORMAL.pdf(1 / s) / s) + 1 - inside
        return Score(
            lambda at, eta: _beyond(eta - at + 1, s) - _beyond(eta - at - 1, s) - 1,
            *_steady(inside, second),
        )
    tau = float(pointwise.tau)
    if name == "expectile":
        shift = s * expectile_of_normal(tau)
        up, below = s * s * _NORMAL.cdf(shift / s), s * shift * _NORMAL.pdf(shift / s)
        # E (shift - e)_+^2, and that of the other side.
        over = (shift * shift / s / s + 1) * up + below
        under = shift * shift + s * s - over
        held = _NORMAL.cdf(shift / s)
        return Score(
            lambda at, eta: (1 - 2 * tau) * _beyond(eta - at + shift, s) + tau * (eta - at + shift),
            *_steady((1 - tau) * held + tau * (1 - held), (1 - tau) ** 2 * over + tau**2 * under),
            shift,
        )
    z = _NORMAL.inv_cdf(tau)
    return Score(
        lambda at, eta: normal_share((eta - at) / s + z) - tau,
        *_steady(_NORMAL.pdf(z) / s, tau * (1 - tau)),
        s * z,
    )


def _steady(slope: float, square: float) -> tuple[Weights, Weights]:
    return lambda at: np.full(len(at), slope), lambda at: np.full(len(at), square)


def _beyond(t: Array, s: float) -> Array:
    """Return E (t - e)_+."""
    z = t / s
    return np.asarray(s * np.exp(-z * z / 2) / sqrt(2 * pi) + t * normal_share(z))


def _odds(eta: Array) -> Array:
    return np.asarray(0.5 * (1 + np.tanh(eta / 2)))


def _curved(eta: Array) -> Array:
    tail = np.exp(-np.abs(eta))
    return np.asarray(tail / (1 + tail) ** 2)


def _counts(least: float, most: float) -> Score:
    """Return psi = (mean - y) / M for counts that are clipped to L and M."""

    def mean(at: Array, eta: Array) -> Array:
        true = _mean(at, 16 * most)
        held = _up_to(true, most) + least - _up_to(true, least)
        return np.asarray((_mean(eta, most) - held) / most)

    def slope(at: Array) -> Array:
        return np.where(np.exp(np.minimum(at, 64)) < most, _mean(at, most) / most, 0.0)

    return Score(mean, slope, lambda at: _mean(at, most) / most**2)


def _mean(eta: Array, most: float) -> Array:
    return np.asarray(np.minimum(np.exp(np.minimum(eta, 64.0)), most))


def _up_to(mean: Array, most: float) -> Array:
    """Return E min(y, M) = mean - mean P(y >= M) + M P(y > M) of Poisson counts."""
    from scipy.special import gammainc

    if most <= 0:
        return np.zeros_like(mean)
    return np.asarray(mean - mean * gammainc(most, mean) + most * gammainc(most + 1, mean))


def expectile_of_normal(tau: float) -> float:
    """Return t with  tau E (e - t)_+ = (1 - tau) E (t - e)_+  for a standard normal e."""
    low, high = -40.0, 40.0
    for _ in range(200):
        t = (low + high) / 2
        over = exp(-t * t / 2) / sqrt(2 * pi) + t * (1 + erf(t / sqrt(2))) / 2
        low, high = (t, high) if (1 - tau) * over < tau * (over - t) else (low, t)
    return (low + high) / 2


def clipped_score(loss: Any, at: Array, sigma: float) -> Array:
    """Return what clipping of responses adds to E psi at the estimated plane."""
    score, design = score_of(loss, sigma), loss.design
    bounds, middle = design.records.bounds, design.middles[-1]
    low, high = (float((end[-1] - middle) / design.half_y) for end in (bounds.low, bounds.high))
    errors = sigma * normal_quantile((np.arange(_RESIDUALS) + 0.5) / _RESIDUALS)
    responses = (at - score.shift)[:, None] + errors
    psi = _psi(loss.pointwise)
    change = psi(at[:, None] - np.clip(responses, low, high)) - psi(at[:, None] - responses)
    return np.asarray(np.mean(change, axis=1))


def _psi(pointwise: Any) -> Callable[[Array], Array]:
    name = pointwise.name
    if name == "squared":
        return lambda r: r
    if name == "huber":
        return lambda r: np.clip(r, -1, 1)
    tau = float(pointwise.tau)
    if name == "expectile":
        return lambda r: np.where(r < 0, tau, 1 - tau) * r
    return lambda r: np.where(r > 0, 1 - tau, -tau)
