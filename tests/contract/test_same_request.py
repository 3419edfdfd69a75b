"""A stored answer is returned for the same request alone: every option that matters is compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import kng
from kng.core.errors import SpecError

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({name: RNG.uniform(0, 1, 60) for name in "xyz"}).assign(
    id=np.arange(60) // 4, g=RNG.choice(["F", "M"], 60), b=RNG.integers(0, 2, 60).astype(float)
)
TABLE["c"] = 1 - TABLE["b"]
SHARED: list[dict[str, Any]] = [
    {"epsilon": 2},
    {"where": "z > 0.1"},
    {"neighbours": "add-remove"},
    {"records_per_person": 2},
    {"person": "id", "max_records": 1},
    {"person": "id", "max_records": 2},
    {"person": "z", "max_records": 1},
]
BY: list[dict[str, Any]] = [{"by": {"g": ["F", "M"]}}, {"by": {"g": ["M", "F"]}}]
BOUNDED = [{"bounds": {"x": (0, 2)}}, {"bounds": {"z": (0, 1)}}, {"missing": 0.5}, {"missing": 0.2}]
X = {"bounds": {"x": (0, 1)}}


def fit(model: Any, target: str, **own: Any) -> Any:
    def ask(target: str = target, **options: Any) -> Any:
        stated = {"bounds_X": {"x": (0, 1)}, **own, **options}
        return model(**stated).fit(TABLE, target=target, features=["x"])

    return ask


CALLS: dict[str, tuple[Any, dict[str, Any], list[dict[str, Any]]]] = {
    "count": (
        lambda **o: kng.count(TABLE, **o), {"where": "x > 0"}, [{"where": "x > 0.5"}, *BY],
    ),
    "proportion": (
        lambda **o: kng.proportion(TABLE, **o), {"of": "x > 0"}, [{"of": "x > 0.5"}, *BY],
    ),
    "proportion of a column": (
        lambda **o: kng.proportion(TABLE[["b"]], **o), {}, [{"missing": 0}, {"missing": 1}],
    ),
    "levels": (
        lambda **o: kng.histogram(TABLE, **o),
        {"levels": {"g": ["F", "M"]}},
        [{"missing": "F"}, {"missing": "M"}, {"other": "X"}, {"levels": {"g": ["F", "X"]}}, *BY],
    ),
    "edges": (
        lambda **o: kng.histogram(TABLE, **o),
        {"edges": {"x": [0, 0.5, 1]}},
        [{"missing": 0.1}, {"missing": 0.6}, {"edges": {"z": [0, 0.5, 1]}}, *BY],
    ),
    "sum": (lambda **o: kng.sum(TABLE, **o), X, [*BOUNDED, *BY]),
    "variance": (lambda **o: kng.variance(TABLE, **o), X, [*BOUNDED, *BY, {"ddof": 0}]),
    "mean": (lambda **o: kng.mean(TABLE, **o), X, [*BOUNDED, *BY, {"mechanism": "kng"}]),
    "median": (lambda **o: kng.median(TABLE, **o), X, [*BOUNDED, *BY]),
    "linear": (
        fit(kng.LinearRegression, "y", bounds_y=(0, 1)),
        {},
        [{"target": "z"}, {"fit_intercept": False}, {"bounds_y": (0, 2)}, {"missing": 0.5}],
    ),
    "logistic": (
        fit(kng.LogisticRegression, "b", classes=[0, 1]),
        {},
        [{"target": "c"}, {"classes": [0, 2]}, {"missing": 0.5}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_another_request_under_the_same_key_is_refused(name, tmp_path):
    ask, stated, others = CALLS[name]
    stated = {"epsilon": 1, **stated}
    ledger = kng.Ledger(tmp_path / "a.ledger", cap=1, neighbours="replace-one")
    key = ledger.request("k")
    ask(ledger=key, **stated)
    ask(ledger=key, **stated)
    shared = SHARED if "column" not in name else SHARED[:1]
    for other in [*others, *shared]:
        with pytest.raises(SpecError, match="with another"):
            ask(ledger=key, **{**stated, **other})
    assert ledger.spent == 1
