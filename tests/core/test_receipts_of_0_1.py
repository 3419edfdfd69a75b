"""Receipts that 0.1 wrote stay readable: a release is kept for years, a program is not.

``receipts_0_1.json`` was written by commit e301d72: one receipt per statistic, estimator, mechanism
and sampler, on 60 simulated records.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kng.core.privacy import Guarantee
from kng.core.release import Release

RECEIPTS = json.loads(Path(__file__).with_name("receipts_0_1.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_receipt_of_0_1_is_read_whole(name):
    stored = RECEIPTS[name]
    release = Release.from_json(json.dumps(stored))
    assert np.asarray(release.value).tolist() == stored["value"]
    written = json.loads(release.to_json())
    assert {label: written[label] for label in stored} == stored | {"format": "kng-release-2"}
    assert release.provenance is None


@pytest.mark.parametrize("name", RECEIPTS)
def test_a_receipt_of_0_1_is_shown(name):
    release = Release.from_json(json.dumps(RECEIPTS[name]))
    shown = repr(release)
    assert release.statistic in shown
    assert "kng 0.1" in shown
    assert release.guarantee.value in shown
    for number in np.atleast_1d(release.value):
        assert f"{number:.6g}" in shown
    assert "private" in release._repr_html_()


def test_every_kind_is_there():
    assert {receipt["guarantee"] for receipt in RECEIPTS.values()} == {g.value for g in Guarantee}
    statistics = {receipt["statistic"] for receipt in RECEIPTS.values()}
    assert statistics == {
        *("mean", "median", "quantile", "geometric median"),
        *("linear regression", "Huber regression", "quantile regression"),
    }
    assert {receipt["mechanism"] for receipt in RECEIPTS.values()} >= {"kng", "exponential"}
    assert {receipt["neighbours"] for receipt in RECEIPTS.values()} == {"replace-one", "add-remove"}
