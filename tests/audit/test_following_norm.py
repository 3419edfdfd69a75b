"""A norm that follows what one record can change, in mechanisms that score or draw in one norm.

`CoordinateSup` is another norm for every body. Delta is 1 in the one that fits, so whatever is
measured or drawn must be measured and drawn in that one as well.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from audit.cases import LINE, MEAN, PLANE, QUANTILE, universe_of
from audit.oracle import RELATIONS, Setting, Verdict, audit, audit_noise, datasets, sizes

from kng.core.plan import DensityPlan
from kng.core.problem import Problem
from kng.losses import Location
from kng.mechanisms import KNG, KNorm
from kng.norms import CoordinateSup

LOSSES = {"mean": MEAN, "quantile": QUANTILE["0.9"]}
SHAPES = {"line": LINE, "plane": PLANE}


def asked(loss: Location, shape: str, relation: str, mechanism: KNG | KNorm) -> Setting:
    last, _ = SHAPES[shape]
    return Setting(loss, mechanism, relation, Fraction(1), last, norm=CoordinateSup())


def verdict(loss: str, shape: str, relation: str) -> Verdict:
    setting = asked(LOSSES[loss], shape, relation, KNG())
    return audit(setting, datasets(SHAPES[shape][1], sizes(relation, 3)))


def noise(shape: str, relation: str) -> Fraction:
    setting = asked(MEAN, shape, relation, KNorm())
    worst, _ = audit_noise(setting, universe_of(SHAPES[shape][1], relation))
    return worst


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_scores_are_measured_in_the_norm_of_their_sensitivity(
    loss: str, shape: str, relation: str
) -> None:
    found = verdict(loss, shape, relation)
    assert found.private, found
    assert found.spread <= 1, found
    assert found.tightness > 0.4, found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_noise_is_drawn_in_the_norm_of_its_sensitivity(shape: str, relation: str) -> None:
    assert noise(shape, relation) == 1


@pytest.fixture
def unfitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure and draw in the norm as it was stated."""
    monkeypatch.setattr(Problem, "fitted", lambda self, _: self)
    monkeypatch.setattr(DensityPlan, "measure", lambda self, _, v: self.problem.norm.value(v))


@pytest.mark.usefixtures("unfitted")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_scores_in_another_norm_are_caught(shape: str, relation: str) -> None:
    assert verdict("mean", shape, relation).broken


@pytest.mark.usefixtures("unfitted")
def test_noise_in_another_norm_is_caught() -> None:
    assert noise("line", RELATIONS[0]) > 1
