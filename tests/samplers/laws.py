"""Goodness of fit with fixed seeds and a stated false-alarm rate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

import numpy as np
from scipy.stats import chi2

# A right sampler fails one test in a million; seeds are fixed, so it fails always or never.
ALARM = 1e-6
# Chi-square's approximation is good to this many expected draws per cell, and better above.
LEAST = 12.0


def p_value(draws: Iterable[Hashable], law: Mapping[Hashable, float]) -> float:
    """Return the chi-square p-value of draws against a law.

    Outcomes with few expected draws, and all that the law does not name, are thrown together.
    """
    counts = Counter(draws)
    n = counts.total()
    large = [x for x, p in law.items() if n * p >= LEAST]
    observed = [counts[x] for x in large]
    expected = [n * law[x] for x in large]
    rest, rest_expected = n - sum(observed), n - sum(expected)
    if rest_expected >= LEAST:
        observed.append(rest)
        expected.append(rest_expected)
    else:  # too rare for a cell of its own: count it with the last one
        observed[-1] += rest
        expected[-1] += rest_expected
    a, b = np.array(observed, dtype=float), np.array(expected)
    return float(chi2.sf(((a - b) ** 2 / b).sum(), len(b) - 1))
