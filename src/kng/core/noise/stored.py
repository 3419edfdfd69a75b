"""The noise of a release as its receipt holds it."""

from __future__ import annotations

from typing import Any

from kng.core.noise.predicted import PredictedNoise
from kng.core.noise.ranks import RankNoise
from kng.core.noise.ratio import RatioNoise
from kng.core.noise.sums import SumNoise

Noise = SumNoise | RatioNoise | RankNoise | PredictedNoise

_FORMS = {form.form: form for form in (SumNoise, RatioNoise, RankNoise, PredictedNoise)}


def noise_from(facts: Any) -> Noise | None:
    """Read it from JSON; receipts of earlier versions have none."""
    if facts is None:
        return None
    found: Noise = _FORMS[facts["form"]].from_mapping(facts)  # type: ignore[attr-defined]
    return found
