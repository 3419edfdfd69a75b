"""The noise of a release as its receipt holds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kng.core.noise.grouped import GroupedNoise
from kng.core.noise.moments import MomentNoise
from kng.core.noise.predicted import PredictedNoise
from kng.core.noise.ranks import RankNoise
from kng.core.noise.ratio import RatioNoise
from kng.core.noise.share import ShareNoise
from kng.core.noise.sums import SumNoise
from kng.core.parts import Point

Noise = SumNoise | RatioNoise | ShareNoise | MomentNoise | RankNoise | PredictedNoise | GroupedNoise

# Says what is known of the noise once points are drawn; post-processing.
Noisy = Callable[[Sequence[Point]], Noise | None]


def noise_from(facts: Any) -> Noise | None:
    """Read it from JSON; receipts of earlier versions have none."""
    if facts is None:
        return None
    match facts["form"]:
        case SumNoise.form:
            return SumNoise.from_mapping(facts)
        case RatioNoise.form:
            return RatioNoise.from_mapping(facts)
        case ShareNoise.form:
            return ShareNoise.from_mapping(facts)
        case MomentNoise.form:
            return MomentNoise.from_mapping(facts)
        case RankNoise.form:
            return RankNoise.from_mapping(facts)
        case PredictedNoise.form:
            return PredictedNoise.from_mapping(facts)
        case GroupedNoise.form:
            if any(part["form"] == GroupedNoise.form for part in facts["groups"]):
                raise ValueError("groups have no groups")
            return GroupedNoise.of([noise_from(part) for part in facts["groups"]])
    raise ValueError("noise of a form that is none of ours")
