"""Linear models: directed search for a bad pair among datasets of sixty records.

Three records hardly move a normaliser; sixty can, and the search finds how. Every mechanism must
stay within epsilon wherever the search goes, and come as near to it as the floors say.

    KNG, whole space      0.68 with coordinate widths, 0.78 under add-remove
    KNG, ball             0.55 in the sup norm, 0.92 under add-remove
    exponential           0.90; under add-remove a half, because losses only add up
    objective, squared    0.94 in the sup norm, 0.92 under add-remove
    objective, Huber      0.98: epsilon is the least bound
"""

from __future__ import annotations

import pytest
from audit.regression import Verdict, climb
from audit.regression_cases import MODELS

from kng.core.plan import DensityPlan

FLOORS = {
    "kng-squared-d1-whole-coordinate-replace-one": 0.64,
    "kng-squared-d1-whole-coordinate-add-remove": 0.56,
    "kng-squared-d2-whole-coordinate-replace-one": 0.68,
    "kng-squared-d2-whole-l2-replace-one": 0.55,
    "kng-squared-d2-whole-l1-replace-one": 0.52,
    "kng-squared-d2-whole-coordinate-add-remove": 0.67,
    "kng-squared-d2-whole-l1-add-remove": 0.51,
    "kng-squared-d2+1-whole-coordinate-replace-one": 0.68,
    "kng-squared-d2+1-whole-coordinate-add-remove": 0.67,
    "kng-squared-d1-ball-coordinate-replace-one": 0.44,
    "kng-squared-d1-ball-coordinate-add-remove": 0.75,
    "kng-squared-d2-ball-linf-replace-one": 0.55,
    "kng-squared-d2-ball-l1-replace-one": 0.49,
    "kng-squared-d2-ball-linf-add-remove": 0.92,
    "kng-squared-d2-ball-l2-add-remove": 0.85,
    "exponential-squared-d1-ball-linf-replace-one": 0.9,
    "exponential-squared-d2-ball-linf-replace-one": 0.9,
    "exponential-squared-d2-ball-linf-add-remove": 0.49,
    "objective-squared-d1-ball-linf-replace-one": 0.47,
    "objective-squared-d2-ball-linf-replace-one": 0.94,
    "objective-squared-d2-ball-l2-replace-one": 0.57,
    "objective-squared-d2-ball-linf-add-remove": 0.92,
    "objective-squared-d2-ball-l1-add-remove": 0.83,
    "objective-huber-d1-whole-linf-replace-one": 0.98,
    "objective-huber-d1-ball-linf-add-remove": 0.98,
    "objective-huber-d2-whole-linf-replace-one": 0.98,
    "objective-huber-d2-whole-l1-replace-one": 0.98,
    "objective-huber-d2-whole-l2-add-remove": 0.98,
}


def search(name: str, enough: float) -> list[Verdict]:
    """Climb from one start after the other until the floor is reached."""
    model = MODELS[name]
    lines = {1: 301, 2: 49}[model.dim] if isinstance(model.plan(), DensityPlan) else 0
    found: list[Verdict] = []
    for seed in range(12):
        found.append(climb(model, 60, seed, 400, lines))
        if found[-1].tightness >= enough:
            break
    return found


@pytest.mark.every(2)
@pytest.mark.parametrize("name", FLOORS)
def test_directed_search_stays_within_epsilon(name: str) -> None:
    found = search(name, FLOORS[name])
    assert all(verdict.private for verdict in found), found
    assert max(verdict.tightness for verdict in found) >= FLOORS[name], found
